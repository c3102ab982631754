// The best labelling of a chain whose every step has transitions of its own. The matrix of a step is asked for when the
// search comes to it, so that not all of them need be in memory. The answer is that of Viterbi's recursion, ties
// included: the first of equals.
//
//     rows      [2][padded]         scores of the best labellings that end with each label, here and at the position
//                                   before
//     from      [length][padded]    which label each of them came from
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "../base/huge_pages.hpp"
#include "../base/interrupt.hpp"
#include "../base/semiring.hpp"
#include "../kernels/kernels.hpp"

namespace tw::chain {

class StepSearch {
public:
    // moves_to(t) are the [n_labels][n_labels] transitions to position t, with room for a vector behind them. `watched`
    // are labels whose transitions are wanted afterwards, or empty. False where every labelling is forbidden.
    template <class MovesTo>
    bool search(std::size_t n_labels, const double* start, const double* end, const Sequence& sequence,
                std::span<const std::uint16_t> watched, MovesTo moves_to) {
        const std::size_t K = n_labels, length = sequence.length;
        const std::size_t padded = (K + kernels().width - 1) / kernels().width * kernels().width;
        rows_.assign(2 * padded, kLogZero);
        if (from_.size() < length * padded) from_.resize(length * padded);  // never smaller: more again would be filled
        watched_.resize(watched.empty() ? 0 : length);
        double *here = rows_.data(), *before = here + padded;
        for (std::size_t y = 0; y < K; ++y) here[y] = start[y] + sequence.unary[y];
        InterruptCheck check;
        for (std::size_t t = 1; t < length; ++t) {
            check();
            const double* moves = moves_to(t);
            std::swap(here, before);
            kernels().max_step(moves, before, sequence.unary + t * K, K, padded, here, from_.data() + t * padded);
            if (!watched.empty()) watched_[t] = moves[watched[t - 1] * K + watched[t]];
        }
        score_ = kLogZero;
        std::size_t y = 0;
        for (std::size_t b = 0; b < K; ++b)
            if (const double score = here[b] + end[b]; score > score_) {  // the lowest of equals
                score_ = score;
                y = b;
            }
        if (score_ == kLogZero) return false;
        labels_.resize(length);
        for (std::size_t t = length; t-- > 0; y = from_[t * padded + y]) {
            labels_[t] = static_cast<std::int32_t>(y);
            if (t == 0) break;
        }
        return true;
    }
    double score() const { return score_; }
    const std::int32_t* labels() const { return labels_.data(); }
    double watched(std::size_t t) const { return watched_[t]; }  // the transition to position t > 0

private:
    std::vector<double> rows_, watched_;
    LargeArray<std::uint16_t> from_;
    std::vector<std::int32_t> labels_;
    double score_ = 0.0;
};

}  // namespace tw::chain
