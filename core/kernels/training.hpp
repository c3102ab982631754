// The inner loops of training, in single and double precision: scores of tokens gathered from rows of weights, forward
// and backward over a group of sequences, and probabilities scattered into rows of sums.
//
// Like kernels.hpp: one copy per instruction set, plain arrays that the caller owns. A row of scores is the labels of
// one token, padded with -inf to a multiple of `row_width`, its stride; a row of weights is padded with zeros. That is
// half of `width`, a pack, where packs are wide: the last pack of a row may be half.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tw {

// `rows` and `entries` of TokenLists go on for so many valid numbers after the last: what lies ahead is fetched early.
inline constexpr std::size_t kListPadding = 96;
// A place of an entry is token << kLabelBits | label, the token counted from the first one of its group.
inline constexpr unsigned kLabelBits = 10;

// Where the weights of each token are. Token t has
//   rows[row_starts[i]] ..         whole rows, added as they are, where row_tokens[i] says t;
//   entries[entry_starts[t]] ..    single weights, each added to one label;
//   once                           one number for its gold label, all of once[t];
//   and, when there are values, valued_rows and valued_entries, multiplied with theirs.
// Loops go over the entries of a whole group, not token by token: their lengths could not be predicted. For the same
// reason the lists of rows in a group are in the order of their lengths, each with its token, counted from the first
// one of the group; without `row_tokens` they are in the order of the tokens.
struct TokenLists {
    const std::uint32_t* row_tokens;  // or null
    const std::uint32_t* row_starts;
    const std::uint32_t* rows;
    const std::uint32_t* entry_starts;
    const std::uint32_t* entries;
    const std::uint32_t* entry_places;
    const std::uint16_t* gold;
    // Null when all values are 1.
    const std::uint32_t* valued_row_starts;
    const std::uint32_t* valued_rows;
    const float* row_values;
    const std::uint32_t* valued_entry_starts;
    const std::uint32_t* valued_entries;
    const std::uint16_t* valued_entry_labels;
    const float* entry_values;
};

// Weights, or sums of probabilities, in the layout of the lists.
template <class Real>
struct RowArrays {
    Real* rows;     // [n_rows][row stride]
    Real* entries;  // [n_entries]
    Real* once;     // [n_tokens]
};

// Composite rows are sums of other rows and entries; that of composite c is row first + c.
struct CompositeLists {
    std::size_t first, size;
    const std::uint32_t* row_starts;  // [size + 1]
    const std::uint32_t* rows;
    const std::uint32_t* entry_starts;
    const std::uint32_t* entries;
    const std::uint16_t* entry_labels;
};

// Transitions as factors, the largest of them 1, and what was taken out.
template <class Real>
struct Moves {
    Real* forward;   // [stride][stride], from x to
    Real* backward;  // [stride][stride], to x from
    double shift;    // logarithm of what was taken out, once per step
    bool raised;     // some factor was so small that a larger one stands for it
};

inline constexpr std::size_t kMostTogether = 8;  // sequences of a group

// A group of one sequence, or of four or eight that advance side by side, longest first; their rows lie one after the
// other.
template <class Real>
struct TrainingGroup {
    std::size_t count, n_labels, stride;
    bool forbidden;  // whether some transition, or some label of some token, is
    const std::uint32_t* lengths;
    const double* weights;  // of each sequence
    Real* local;            // [tokens][stride]: scores in, probabilities times weight out
    Real* alpha;            // [tokens][stride], scratch
    Real* gamma;            // [tokens + count][stride], scratch
    double* log_partition;  // of each sequence, out
    Real* edges;            // [n_labels][stride]: expected transitions, times weight, out; without the factor of moves
    Real* squares;          // or null: the sum of the squares of edge probabilities times weight, without that factor
};

// How many attributes each row and each entry stands for, and which cells of the rows are weights: a set of bits for
// every pack of a row, `width` labels each. (A mask as wide as the row would double what a step reads.)
struct Members {
    const float* rows;
    const float* entries;
    const std::uint16_t* cells;  // [n_rows][packs]
    std::size_t packs;
};

template <class Real>
struct RowLoops {  // training_rows.cpp
    std::size_t width, row_width;
    // Rows of scores of tokens begin .. begin + n - 1; `base` is 0 for labels and -inf for padding.
    void (*gather)(const TokenLists&, const RowArrays<Real>& weights, std::size_t stride, const Real* base,
                   std::size_t begin, std::size_t n, Real* scores);
    // Adds rows of probabilities to the sums, but sets those of `once`; `squared`: values enter squared.
    void (*scatter)(const TokenLists&, const RowArrays<Real>& sums, std::size_t stride, std::size_t begin,
                    std::size_t n, const Real* probabilities, bool squared);
    // A stochastic step on tokens begin .. begin + n - 1: weights += factor * members * value * p, `once` left alone.
    void (*step)(const TokenLists&, const RowArrays<Real>& weights, const Members&, std::size_t stride,
                 std::size_t begin, std::size_t n, Real factor, const Real* p);
    // Composites begin .. end - 1 from their parts.
    void (*compose)(const CompositeLists&, const RowArrays<Real>& weights, std::size_t stride, std::size_t begin,
                    std::size_t end);
    // One row of sums: those of all shards, and those of the composites it is part of. Sums of sums are doubles.
    void (*collect)(const Real* const* shards, std::size_t n_shards, const Real* composites,
                    const std::uint32_t* numbers, std::size_t n, std::size_t stride, double* out);
};

template <class Real>
struct GroupLoops {  // training_sums.cpp
    // Factors of transition scores, [n_labels][n_labels], -inf where forbidden.
    void (*pack)(const double* scores, std::size_t n_labels, std::size_t stride, Moves<Real>&);
    // False when the precision did not suffice: outputs are then worthless, and nothing else was changed.
    bool (*forward_backward)(const Moves<Real>&, const TrainingGroup<Real>&);
    // p to p (weight - p) / weight in rows of probabilities that were multiplied with a weight.
    void (*variances)(Real* probabilities, std::size_t n, double weight);
};

template <template <class> class Loops>
struct BothPrecisions {
    Loops<float> float32;
    Loops<double> float64;
};

template <class Real>
struct TrainingLoops : RowLoops<Real>, GroupLoops<Real> {};

// The copy that kernels() chooses.
template <class Real>
const TrainingLoops<Real>& training_loops() noexcept;
template <>
const TrainingLoops<float>& training_loops<float>() noexcept;
template <>
const TrainingLoops<double>& training_loops<double>() noexcept;

}  // namespace tw
