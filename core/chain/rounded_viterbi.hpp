// The best labellings of many short chains, side by side, in single precision: labels are told only where rounding
// cannot have changed them, so they are those of double precision.
//
//     unary        [position][padded], chain after chain     local scores, each with an error of at most so much
//     scores       [chain side by side][position][padded]    the best of what ends in a label
//
// At position t a score has t + 1 local scores, transitions and additions in it, so its error is at most a sum of these
// bounds. Where no other label comes within twice the error of the best one, wherever the path is read off, the exact
// recursion decides the same way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../base/huge_pages.hpp"
#include "../kernels/kernels.hpp"

namespace tw::chain {

class RoundedViterbi {
public:
    // Errors grow with the square of the length, and with them the share of chains that have to be searched again.
    static constexpr std::size_t kLongest = 128, kMostLabels = 64;

    explicit RoundedViterbi(const Potentials& shared);  // transitions, start and end; copied

    std::size_t padded() const { return padded_; }  // numbers in a row of local scores; behind the labels any finite
    // Local scores are at most `largest`, and at most `error` away from what they should be. Labels of chains with
    // these lengths, up to kLongest and not 0; the numbers of those that are to be searched otherwise go to `unsure`.
    void search(std::span<const std::size_t> lengths, const float* unary, double error, double largest,
                std::int32_t* labels, std::vector<std::size_t>& unsure);

private:
    std::size_t n_labels_, padded_;
    double largest_ = 0.0;  // of transitions, start and end
    LargeArray<float> forward_, backward_, start_, end_;
    Buffer<float> scores_;
    std::vector<std::size_t> begins_, order_;
};

}  // namespace tw::chain
