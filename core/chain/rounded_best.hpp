// The best labelling of one short chain after the other, in single precision: for learners that are content with it,
// and whose chains mostly meet the transitions of the last one, but for a few.
//
//     unary      [length][padded]   local scores, which callers put there
//     forward    [padded][padded]   transitions by label before, and
//     backward   [padded][padded]   by label after; -inf where they are forbidden, and beyond the labels
//     scores     [length + 1][padded]
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../base/huge_pages.hpp"
#include "../kernels/rounded.hpp"

namespace tw::chain {

class RoundedBest {
public:
    // Sums of more positions than these lose digits that the local scores have.
    static constexpr std::size_t kLongest = 256, kMostLabels = 64;
    static bool fits(std::size_t n_labels, std::size_t length) {
        return n_labels <= kMostLabels && length >= 2 && length <= kLongest;
    }
    static std::size_t padded(std::size_t n_labels) {
        const std::size_t w = rounded_loops().width;
        return (n_labels + w - 1) / w * w;
    }

    // `start` and `end`: of each label. `pairs`: from * n_labels + to of each transition that has a weight.
    RoundedBest(std::span<const double> start, std::span<const double> end, std::span<const std::uint32_t> pairs,
                std::span<const std::uint8_t> allowed);

    std::size_t padded() const { return padded_; }
    float* unary(std::size_t length);  // room for so many rows
    const float* unary() const { return unary_.data(); }
    // The weight of each of the pairs.
    void set_transitions(std::span<const float> weights);
    float transition(std::size_t from, std::size_t to) const { return forward_[from * padded_ + to]; }

    // The score of the best labelling, -inf where all are forbidden. `guess` is what it may be. False where others may
    // be as good: none is told then.
    bool search(std::size_t length, std::span<const std::uint16_t> guess, double& total);
    std::span<const std::int32_t> labels() const { return labels_; }

private:
    std::size_t n_labels_, padded_;
    struct Places {
        std::uint32_t forward, backward;
    };
    std::vector<Places> places_;  // of the pairs in the matrices; of those that are not allowed, behind these
    std::vector<float> weights_;  // of the pairs, as they were last
    LargeArray<float> unary_, scores_, forward_, backward_, start_, end_;  // rows begin cache lines
    std::vector<std::int32_t> labels_;
};

}  // namespace tw::chain
