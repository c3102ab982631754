// The vectorised inner loops, one copy per instruction set, chosen once at run time.
//
// kernels.cpp is compiled several times (baseline, AVX2, AVX-512); `kernels()` returns the widest copy that this
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

// Transition matrices ready for the recursions, [padded][padded]. For sums: exp(score - shift).
struct PackedTransitions {
    double* forward;   // [from][to]
    double* backward;  // [to][from]
    double shift;      // added back once per step
    bool underflow;    // a finite score too small for the rescaled recursion: use log space
};

// The state of one sequence in the rescaled sum-product recursion.
struct SumTrellis {
    Sequence sequence;
    double* local;     // [length][padded], or kPreparedRows: exp(unary - row maximum), start and end folded in
    double* alpha;     // [length][padded], or two rows when only the total is wanted
    double* scratch;   // 3 padded rows for the backward pass
    double log_scale;  // sum of row maxima, and of the powers of two taken out
    double log_total;  // log partition; -inf when every path is forbidden
    bool underflow;    // a value left the safe range: the answer must come from log space
};

struct SumOutputs {                // any may be null
    double* marginals;             // [length][n_labels]
    double* edge_marginals;        // [length - 1][n_labels][n_labels]
    double* total_edge_marginals;  // [n_labels][padded], added to; the factor exp(transitions) is left out
};

struct Kernels {
    const char* name;
    std::size_t width;  // doubles in a vector

    // First index whose value is NaN, +inf or finite beyond 1e300; `size` when there is none.
    std::size_t (*first_invalid)(const double* values, std::size_t size);
    double (*log_sum_exp)(const double* values, std::size_t size);
    void (*softmax)(double* values, std::size_t size);  // all -inf gives zeros
    void (*exponentials)(const double* values, std::size_t size, double* out);

    void (*pack_sum)(const Potentials&, std::size_t step, std::size_t padded, PackedTransitions&);
    void (*pack_max)(const Potentials&, std::size_t step, std::size_t padded, PackedTransitions&);

    // Rescaled sum-product (Rabiner 1989, sec. V-A) over 1 or kSideBySide sequences, lengths descending.
    void (*sum_forward)(const Potentials&, PackedTransitions&, std::size_t padded, bool keep, SumTrellis*,
                        std::size_t count);
    void (*sum_backward)(const Potentials&, PackedTransitions&, std::size_t padded, SumTrellis*, const SumOutputs*,
                         std::size_t count);

    // Viterbi scores (eq. 2.39): scores[s] is [length][padded].
    void (*max_forward)(const Potentials&, PackedTransitions&, std::size_t padded, const Sequence*,
                        double* const* scores, std::size_t count);
    // The best labelling, read off the scores: back-pointers are recomputed along it. Returns its score.
    double (*max_trace)(const Potentials&, PackedTransitions&, std::size_t padded, const Sequence&,
                        const double* scores, std::int32_t* labels);
    // Turns Viterbi scores into max-marginals; out is [length][n_labels], scratch 2 padded rows.
    void (*max_backward)(const Potentials&, PackedTransitions&, std::size_t padded, const Sequence&,
                         const double* scores, double* scratch, double* out);

    // Machine probes for the benchmark's roofline: fused multiply-adds and exponentials done, in registers or L1.
    double (*probe_multiply_add)(std::size_t rounds);
    double (*probe_exponential)(std::size_t rounds);
    double (*probe_max_plus)(std::size_t rounds);
};

// The widest copy this processor runs, or the one that the environment variable TRELLISWORK_KERNELS names.
const Kernels& kernels() noexcept;

}  // namespace tw
