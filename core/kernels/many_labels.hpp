// The inner loops of training with many labels, where most labels of an attribute, and most pairs of labels, have no
// weight: rows with gaps, and transitions as a sparse matrix plus a constant.
//
// Rows of weights, and of sums, keep only the blocks of eight labels that hold a weight. Labels are numbered by how
// often they occur, so that these are few.
//
//     label            0 ..  7 |  8 .. 15 | 16 .. 23 | 24 .. 31 | ...
//     row r            x  x  x |          |     x    |          |          x: has a weight
//     columns          0                    2                              columns[starts[r]] .. [starts[r + 1] - 1]
//     values           [8 numbers] [8 numbers]                             values[8 starts[r]] ..
//
// Transitions that have no weight have the score 0, so their factor is one number, `rest`. A step of the recursion is
//
//     to[b] = rest[b] * (sum over a of from[a]) + sum over listed a of from[a] * (factor[a][b] - rest[b])
//
// where rest[b] is that number, or 0 where every possible a is listed: for labels that must not follow some other one,
// so that what is forbidden is exactly 0, and for packs of labels most of which are listed anyway. Lists are by pack,
// as wide as a vector register:
//
//     pack p of `to`   from[starts[p]] .. from[starts[p + 1] - 1]          labels a, each with one pack of numbers
//     values           [pack] [pack] [pack]
//
// Backward is the same with the matrix turned around. What the difference of two large numbers may have lost is known
// at the end, see `rest_limit`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "training.hpp"

namespace tw {

inline constexpr std::size_t kBlockLabels = 8;

struct BlockRows {
    const std::uint32_t* starts;   // [n_rows + 1]
    const std::uint16_t* columns;  // of each block
};

// Sums of the rows that one worker has met. A row is cleared when it is met for the first time.
template <class Real>
struct BlockSums {
    Real* values;
    Real* once;  // [n_tokens]
    std::uint8_t* met;
    std::uint32_t* list;  // rows that were met
    std::size_t size;     // of the list
};

template <class Real>
struct BlockLoops {
    // Rows of scores of tokens begin .. begin + n - 1, from rows and from numbers for the gold label alone. There are
    // no entries in these lists.
    void (*gather)(const TokenLists&, const BlockRows&, const Real* values, const Real* once, const Real* base,
                   std::size_t stride, std::size_t begin, std::size_t n, Real* scores);
    // Adds rows of probabilities to the sums, but sets those of `once`; `squared`: values enter squared.
    void (*scatter)(const TokenLists&, const BlockRows&, BlockSums<Real>&, std::size_t stride, std::size_t begin,
                    std::size_t n, const Real* probabilities, bool squared);
    // A stochastic step: values += factor * members * value * p in the cells that are weights, a set of bits a block.
    void (*step)(const TokenLists&, const BlockRows&, Real* values, const float* members, const std::uint8_t* cells,
                 std::size_t stride, std::size_t begin, std::size_t n, Real factor, const Real* p);
};

template <class Real>
struct SparseMatrix {
    const std::uint32_t* starts;  // [packs + 1]
    const std::uint16_t* from;    // of each pack of values
    Real* values;
};

template <class Real>
struct SparseMoves {
    SparseMatrix<Real> forward, backward;
    const Real* rest;  // [stride]
    double shift;      // logarithm of what was taken out, once per step
};

inline constexpr std::size_t kSparseRows = 20;

// A group of up to four sequences, longest first; their rows lie one after the other.
template <class Real>
struct SparseGroup {
    std::size_t count, n_labels, stride;
    bool forbidden;  // whether some transition, or some label of some token, is
    const std::uint32_t* lengths;
    const double* weights;  // of each sequence
    Real* local;            // [tokens][stride]: scores in, probabilities times weight out
    Real* alpha;            // [tokens][stride], scratch
    Real* rows;             // [kSparseRows][stride], scratch
    double* log_partition;  // of each sequence, out
    Real* edges;    // as forward.values: expected transitions times weight, added; without the factor of the move
    Real* squares;  // or null: sums of the squares of edge probabilities times weight, without that factor squared
};

template <class Real>
struct SparseLoops {
    std::size_t width;
    // Factors of transitions below e^move_floor are raised to that; the probability that goes over them must not be
    // more than raised_limit. The largest is at most e^move_ceiling.
    double move_floor, move_ceiling, raised_limit;
    void (*exponentials)(const Real* scores, std::size_t n, Real* out);  // n: a multiple of width
    // False when the precision did not suffice: outputs are then worthless.
    bool (*forward_backward)(const SparseMoves<Real>&, const SparseGroup<Real>&);
};

template <class Real>
struct ManyLabelLoops : BlockLoops<Real>, SparseLoops<Real> {};

// The copy that kernels() chooses.
template <class Real>
const ManyLabelLoops<Real>& many_label_loops() noexcept;
template <>
const ManyLabelLoops<float>& many_label_loops<float>() noexcept;
template <>
const ManyLabelLoops<double>& many_label_loops<double>() noexcept;

}  // namespace tw
