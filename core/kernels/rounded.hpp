// The best labelling of one chain in single precision, from rounded weights: see kernels.hpp for how copies are chosen.
// Rows are padded to a whole number of vectors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels.hpp"

namespace tw {

inline constexpr double kSingleRounding = 0x1p-24;  // the relative error of rounding to single precision, at most

// Of at most 64 labels; transitions are the same at all positions.
struct RoundedChain {
    std::size_t n_labels, padded, length;
    const float* unary;               // [length][padded], padded with anything finite
    const float *forward, *backward;  // transitions [from][to] and [to][from], [padded][padded], padded with -inf
    const float *start, *end;         // [padded], padded with -inf
};

struct RoundedBestLoops {  // chain_rounded.cpp
    std::size_t width;     // numbers of single precision in a vector

    // As ChainBestLoops::max_meet.
    float (*best)(const RoundedChain&, float* scores, std::int32_t* labels);
    // The same for several chains with the same transitions, side by side: up to kSideBySide, the longest first.
    // `scores` has a row for each position. A labelling is `sure` to be the best one if no other comes as near at any
    // position t as (t + 1) * (near[0] + near[1] * (t + 3)), or at the end, which is position `length`.
    void (*best_of_several)(const RoundedChain* chains, std::size_t count, float* const* scores, const double* near,
                            std::int32_t* const* labels, bool* sure);
    // Sums of rows, [end - begin][padded]: those of token t are weights + numbers[i] * padded for the i from starts[t]
    // to starts[t + 1] - 1.
    void (*add_rows)(const float* weights, const std::uint32_t* starts, const std::uint32_t* numbers, std::size_t begin,
                     std::size_t end, std::size_t padded, float* out);
};

struct RoundedScoreLoops {  // unit_scores.cpp
    // As UnitScoreLoops::gather, [end - begin][padded].
    void (*gather)(const UnitWeights<float>&, const TokenUnits&, std::size_t begin, std::size_t end,
                   std::size_t n_labels, float* out);
};

struct RoundedLoops : RoundedBestLoops, RoundedScoreLoops {};

const RoundedLoops& rounded_loops() noexcept;

}  // namespace tw
