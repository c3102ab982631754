#include "rounded_viterbi.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "../base/semiring.hpp"
#include "../kernels/rounded.hpp"

namespace tw::chain {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr double kMore = 1.01;    // for what is rounded in double precision, and for products of errors
constexpr double kLeast = 1e-36;  // errors of numbers that are too small to be rounded in proportion

}  // namespace

RoundedViterbi::RoundedViterbi(const Potentials& shared) : n_labels_(shared.n_labels) {
    const std::size_t K = n_labels_, width = rounded_loops().width;
    padded_ = (K + width - 1) / width * width;
    const auto rounded = [&](double score) {
        if (score != kLogZero) largest_ = std::max(largest_, std::abs(score));
        return static_cast<float>(score);
    };
    forward_.assign(padded_ * padded_, kNever);
    backward_.assign(padded_ * padded_, kNever);
    start_.assign(padded_, kNever);
    end_.assign(padded_, kNever);
    for (std::size_t a = 0; a < K; ++a) {
        start_[a] = rounded(shared.start ? shared.start[a] : 0.0);
        end_[a] = rounded(shared.end ? shared.end[a] : 0.0);
        for (std::size_t b = 0; b < K; ++b)
            forward_[a * padded_ + b] = backward_[b * padded_ + a] = rounded(shared.transitions[a * K + b]);
    }
}

void RoundedViterbi::search(std::span<const std::size_t> lengths, const float* unary, double error, double largest,
                            std::int32_t* labels, std::vector<std::size_t>& unsure) {
    unsure.clear();
    begins_.resize(lengths.size());
    std::exclusive_scan(lengths.begin(), lengths.end(), begins_.begin(), std::size_t{0});
    order_.resize(lengths.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_, [&](std::size_t a, std::size_t b) { return lengths[a] > lengths[b]; });
    const double step = largest + largest_;
    const double near[2] = {2.0 * kMore * (error + kSingleRounding * largest_ + kLeast),
                            2.0 * kMore * kSingleRounding * step};
    // Sums that overflow, and bounds that are no numbers, decide nothing.
    const bool fits = step * static_cast<double>(kLongest + 2) < 1e38 && near[0] < 1e38;
    for (std::size_t i = 0; i < order_.size(); i += kSideBySide) {
        const std::size_t count = std::min(kSideBySide, order_.size() - i), longest = lengths[order_[i]];
        RoundedChain chains[kSideBySide];
        float* scores[kSideBySide];
        std::int32_t* own_labels[kSideBySide];
        bool sure[kSideBySide];
        float* free = scores_.get(kSideBySide * kLongest * padded_);
        for (std::size_t n = 0; n < count; ++n, free += longest * padded_) {
            const std::size_t chain = order_[i + n];
            chains[n] = {n_labels_,       padded_,          lengths[chain], unary + begins_[chain] * padded_,
                         forward_.data(), backward_.data(), start_.data(),  end_.data()};
            scores[n] = free;
            own_labels[n] = labels + begins_[chain];
        }
        if (fits) rounded_loops().best_of_several(chains, count, scores, near, own_labels, sure);
        for (std::size_t n = 0; n < count; ++n)
            if (!fits || !sure[n]) unsure.push_back(order_[i + n]);
    }
    std::ranges::sort(unsure);
}

}  // namespace tw::chain
