#include "rounded_best.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tw::chain {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr std::size_t kTogether = 16;  // transitions that are compared at once with what they were

LargeArray<float> rounded(std::span<const double> scores, std::size_t padded) {
    LargeArray<float> out(padded, kNever);
    std::ranges::transform(scores, out.begin(), [](double x) { return static_cast<float>(x); });
    return out;
}

}  // namespace

RoundedBest::RoundedBest(std::span<const double> start, std::span<const double> end,
                         std::span<const std::uint32_t> pairs, std::span<const std::uint8_t> allowed)
    : n_labels_(start.size()),
      padded_(padded(n_labels_)),
      weights_(pairs.size(), 0.0f),
      forward_(padded_ * padded_ + 1, kNever),
      backward_(padded_ * padded_ + 1, kNever),
      start_(rounded(start, padded_)),
      end_(rounded(end, padded_)) {
    for (std::size_t a = 0; a < n_labels_; ++a)
        for (std::size_t b = 0; b < n_labels_; ++b)
            if (allowed.empty() || allowed[a * n_labels_ + b])
                forward_[a * padded_ + b] = backward_[b * padded_ + a] = 0.0f;
    const auto nowhere = static_cast<std::uint32_t>(padded_ * padded_);
    for (const std::uint32_t pair : pairs) {
        const std::size_t from = pair / n_labels_, to = pair % n_labels_;
        if (!allowed.empty() && !allowed[pair])
            places_.push_back({nowhere, nowhere});
        else
            places_.push_back(
                {static_cast<std::uint32_t>(from * padded_ + to), static_cast<std::uint32_t>(to * padded_ + from)});
    }
}

float* RoundedBest::unary(std::size_t length) {
    if (unary_.size() < length * padded_) unary_.resize(length * padded_);
    return unary_.data();
}

void RoundedBest::set_transitions(std::span<const float> weights) {
    for (std::size_t begin = 0; begin < weights.size(); begin += kTogether) {
        const std::size_t end = std::min(begin + kTogether, weights.size());
        if (std::memcmp(&weights[begin], &weights_[begin], (end - begin) * sizeof(float)) == 0) continue;
        for (std::size_t i = begin; i < end; ++i) {
            weights_[i] = weights[i];
            forward_[places_[i].forward] = backward_[places_[i].backward] = weights[i];
        }
    }
}

bool RoundedBest::search(std::size_t length, std::span<const std::uint16_t> guess, double& total) {
    if (scores_.size() < (length + 1) * padded_) scores_.resize((length + 1) * padded_);
    labels_.assign(guess.begin(), guess.end());
    total = rounded_loops().best(
        {n_labels_, padded_, length, unary_.data(), forward_.data(), backward_.data(), start_.data(), end_.data()},
        scores_.data(), labels_.data());
    return labels_[0] != kTied;
}

}  // namespace tw::chain
