// The vectorised inner loops, one copy per instruction set, chosen once at run time.
//
// The files here are compiled several times (baseline, AVX2, AVX-512); `kernels()` returns the widest copy that this
// processor runs. Everything here works on plain arrays that the caller owns and has checked. A "row" is the labels of
// one position, padded with the semiring's zero to `padded` entries, a multiple of `width` and of 4.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tw {

// Sequences that advance together through one recursion: latency is hidden and every transition load is shared.
inline constexpr std::size_t kSideBySide = 4;

// Rows of local factors that are made at a time; a whole number of them when only the total is wanted.
inline constexpr std::size_t kPreparedRows = 16;

struct Sequence {
    const double* unary;  // [length][n_labels]
    std::size_t length;
};

// One first-order model: what all sequences of a batch share.
struct Potentials {
    std::size_t n_labels;
    const double* transitions;  // [n_labels][n_labels], or [length - 1] of those when per_step
    bool per_step;
    const double* start;  // [n_labels]
    const double* end;    // [n_labels]
};

// Scores far below the best of their row (by more than 230) stand for probabilities that a rescaled recursion cannot
// carry. They are taken for forbidden, which bounds a total from below, or for 1e-90, which bounds it from above: where
// the two agree, no path with such a score matters.
enum class Bound { kLower, kUpper };

// Transition matrices ready for the recursions, [padded][padded]. For sums: exp(score - shift).
struct PackedTransitions {
    double* forward;   // [from][to]
    double* backward;  // [to][from]
    double shift;      // added back once per step
    Bound bound;       // what stands for a finite score too small for the rescaled recursion
    bool tiny;         // there is such a score
};

// Rows of a sequence, [positions][padded]. Position t is row t & mask: all rows are kept, or the latest 2^n of them.
struct Rows {
    double* data;
    std::size_t mask;
};
inline constexpr std::size_t kKeepAll = ~std::size_t{0};

// A sum that carries its rounding error along (Knuth's two-sum, which has no branch): a million terms lose no digits.
// Always inlined: a copy compiled for a wide instruction set must not be shared by the linker.
struct CompensatedSum {
    double sum = 0.0, error = 0.0;
    [[gnu::always_inline]] void add(double x) {
        const double next = sum + x, added = next - sum;
        error += (sum - (next - added)) + (x - added);
        sum = next;
    }
    [[gnu::always_inline]] double value() const { return sum + error; }
};

// The state of one sequence in the rescaled sum-product recursion.
struct SumTrellis {
    Sequence sequence;
    Rows local;                // exp(unary - row maximum), start and end folded in; at least kPreparedRows are kept
    Rows alpha;                // forward values; at least two rows are kept
    double* scratch;           // 3 padded rows for the backward pass
    CompensatedSum log_scale;  // the row maxima and transition maxima taken out
    double log2_scale;         // the powers of two taken out: whole numbers, summed exactly
    bool tiny;                 // a score was too small and taken as the bound says
    bool underflow;            // a value left the safe range: the answer must come from log space
};

struct SumOutputs {                // any may be null
    double* marginals;             // [length][n_labels]
    double* edge_marginals;        // [length - 1][n_labels][n_labels]
    double* total_edge_marginals;  // [n_labels][padded], added to; the factor exp(transitions) is left out
};

// Weights by unit (an attribute, or several that always occur together): those of all labels one after the other, a
// row, or of some labels; and for a unit without a row, a list of weights added later.
struct AddedWeight {
    std::uint32_t unit, code, weight, next;
};
inline constexpr std::uint32_t kNoneAdded = ~std::uint32_t{0};
template <class Real>
struct UnitWeights {
    const std::uint16_t* labels;  // of each weight from `first` on
    std::uint32_t first;
    const std::uint64_t* has_added;    // a bit for each unit
    const std::uint32_t* first_added;  // of each unit that has added weights
    const AddedWeight* added;
    const double* factors;
    const Real* weights;
    std::size_t n_weights;
};

// The units of tokens. Token t has the rows that begin at weights rows[row_starts[t]] .. rows[row_starts[t + 1] - 1];
// those of them that are seldom used, and so not in the cache, are also in a list to be fetched. Then there are rows
// that lack some labels, parts[part_starts[t]] .. parts[part_starts[t + 1] - 1], and all other units of token t are
// rare[rare_starts[t]] .. rare[rare_starts[t + 1] - 1].
struct PartRow {
    std::uint32_t begin;
    std::uint32_t labels;  // a bit for each that has a weight, of the first 32: they follow each other from `begin`
};
struct RareUnit {
    std::uint32_t unit, token;
    std::uint32_t begin;   // weights begin .. begin + size - 1
    std::uint16_t size;    // or kRow
    std::uint16_t factor;  // which of `factors`
    std::uint16_t label;   // of the first weight

    static constexpr std::uint16_t kRow = 0xffff;
};
struct TokenUnits {
    const std::uint32_t *row_starts, *rows;
    std::uint32_t last;         // the greatest of rows and of where parts begin
    const double* row_factors;  // or null: all ones
    const std::uint32_t *far_starts, *far;
    const std::uint32_t* part_starts;
    const PartRow* parts;
    const std::uint32_t* part_labels_above;  // the bits of the 32 labels after those; or null: none
    const double* part_values;               // or null: all ones
    const std::uint32_t* rare_starts;
    const RareUnit* rare;
    const double* rare_values;  // or null: all ones
};

inline constexpr std::int32_t kTied = -1;

// Each family of loops is a file of its own.

struct ArrayLoops {     // arrays.cpp
    std::size_t width;  // doubles in a vector

    // First index whose value is NaN, +inf or finite beyond 1e300; `size` when there is none.
    std::size_t (*first_invalid)(const double* values, std::size_t size);
    double (*log_sum_exp)(const double* values, std::size_t size);
    void (*softmax)(double* values, std::size_t size);  // all -inf gives zeros
    void (*exponentials)(const double* values, std::size_t size, double* out);

    // Machine probes for the benchmark's roofline: fused multiply-adds and exponentials done, in registers or L1.
    double (*probe_multiply_add)(std::size_t rounds);
    double (*probe_exponential)(std::size_t rounds);
    double (*probe_max_plus)(std::size_t rounds);
};

struct ChainSumLoops {  // chain_sums.cpp
    void (*pack_sum)(const Potentials&, std::size_t step, std::size_t padded, PackedTransitions&);

    // Rescaled sum-product (Rabiner 1989, sec. V-A) over 1 or kSideBySide sequences, lengths descending. Forward goes
    // over positions begin .. end - 1 (each sequence up to its own length), given the row before; backward over the
    // same positions from the last to the first, given what it left in scratch. Sequences side by side are taken whole.
    void (*sum_forward)(const Potentials&, PackedTransitions&, std::size_t padded, SumTrellis*, std::size_t count,
                        std::size_t begin, std::size_t end);
    void (*sum_backward)(const Potentials&, PackedTransitions&, std::size_t padded, SumTrellis*, const SumOutputs*,
                         std::size_t count, std::size_t begin, std::size_t end);
    // Log partition after the whole forward pass; -inf when every path is forbidden.
    double (*sum_total)(const SumTrellis&, std::size_t padded);
};

struct ChainBestLoops {  // chain_best.cpp
    void (*pack_max)(const Potentials&, std::size_t step, std::size_t padded, PackedTransitions&);

    // The best labels of a sequence of at least two positions and their score, -inf when every path is forbidden: from
    // both ends at once, so that neither recursion waits for the other. `scores` has room for length + 1 rows, `labels`
    // holds a guess, whatever it is: what was guessed is read off sooner. Transitions are the same at all positions.
    // The first label is kTied where others may be as good: max_forward must say which of them come first.
    double (*max_meet)(const Potentials&, const PackedTransitions&, std::size_t padded, const Sequence&, double* scores,
                       std::int32_t* labels);

    // Viterbi scores (eq. 2.39) of positions begin .. end - 1.
    void (*max_forward)(const Potentials&, PackedTransitions&, std::size_t padded, const Sequence*, const Rows* scores,
                        std::size_t count, std::size_t begin, std::size_t end);
    // The best last label and its score.
    double (*max_last)(const Potentials&, std::size_t padded, const Sequence&, const Rows& scores,
                       std::int32_t* labels);
    // Labels of positions begin - 1 .. end - 2 of some sequences, longest first, given that of end - 1 or the last one:
    // back-pointers are recomputed along the paths.
    void (*max_trace)(const Potentials&, PackedTransitions&, std::size_t padded, const Sequence*, const Rows* scores,
                      std::int32_t* const* labels, std::size_t count, std::size_t begin, std::size_t end);
    // What is lost, [padded], when the label of a position (the end, with total `top`, at sequence.length) is entered
    // from each label before it and not from the best of them; returns the least but for the usual one's. Transitions
    // must be the same at all positions.
    double (*max_losses)(const Potentials&, const PackedTransitions&, std::size_t padded, const Sequence&,
                         const Rows& scores, std::size_t position, std::size_t label, std::size_t usual, double top,
                         double* losses);
    // Turns all Viterbi scores into max-marginals; out is [length][n_labels], scratch 2 padded rows.
    void (*max_backward)(const Potentials&, PackedTransitions&, std::size_t padded, const Sequence&,
                         const double* scores, double* scratch, double* out);
    // One step of Viterbi with transitions [n_labels][n_labels], room for a vector behind them, and where each label's
    // best comes from, the first of equals. `to` and `from` are [padded], a multiple of `width`.
    void (*max_step)(const double* transitions, const double* before, const double* local, std::size_t n_labels,
                     std::size_t padded, double* to, std::uint16_t* from);
};

struct UnitScoreLoops {  // unit_scores.cpp
    // Parts are added so many at a time: those of a token are filled up with parts of no label. Where it is more than
    // one, a part costs no more than a row does, nor than a rare unit of one label.
    std::size_t parts_together;
    // Scores of labels, [end - begin][n_labels], from the units of tokens begin .. end - 1; `out` has room for a vector
    // more than that.
    void (*gather)(const UnitWeights<double>&, const TokenUnits&, std::size_t begin, std::size_t end,
                   std::size_t n_labels, double* out);
    void (*gather_rounded)(const UnitWeights<float>&, const TokenUnits&, std::size_t begin, std::size_t end,
                           std::size_t n_labels, double* out);
};

struct Kernels : ArrayLoops, ChainSumLoops, ChainBestLoops, UnitScoreLoops {
    const char* name;
};

// The widest copy this processor runs, or the one that the environment variable TRELLISWORK_KERNELS names.
const Kernels& kernels() noexcept;

}  // namespace tw
