// The loops of a search for the best labelling of a chain that leaves labels out; chain/pruned_search.hpp says which.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tw {

// A position, and what is known of it. Rows are padded with -inf.
struct PrunedStep {
    std::size_t n_labels, padded;
    const double* moves;                           // [n_labels][padded]
    const double *most_in, *most_out, *least_out;  // [padded]: bounds of the transitions into a label and out of it
    const double* start;                           // [n_labels], for the first position
    const double* local;                           // [n_labels]
    const std::uint32_t* before;                   // labels that are left at the position before, rising
    const double* before_scores;
    std::size_t n_before;  // 0: this is the first position
    double doubt;          // what rounding may do, but for the score itself
};
inline constexpr double kPrunedRounding = 1.0 / (std::uint64_t{1} << 48);  // 32 units in the last place

struct PrunedChainLoops {                                              // pruned_chain.cpp
    double (*largest_finite)(const double* values, std::size_t size);  // by magnitude
    // The labels that are left, rising, and their Viterbi scores; returns how many there are. `rows` is scratch, two of
    // them.
    std::size_t (*prune)(const PrunedStep&, double* rows, std::uint32_t* labels, double* scores);
};

const PrunedChainLoops& pruned_chain_loops() noexcept;

}  // namespace tw
