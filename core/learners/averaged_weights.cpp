#include "averaged_weights.hpp"

#include <stdexcept>

namespace tw::learners {

AveragedWeights::AveragedWeights(std::span<const double> start, bool rounded, const RoundedLayout& layout)
    : stride_(rounded ? 2 : 1), layout_(layout) {
    if (rounded) rounded_.resize(layout.size, 0.0f);
    grow(start.size());
    for (std::size_t j = 0; j < start.size(); ++j) stored_[j * stride_] = start[j];
    round();
}

std::vector<double> AveragedWeights::current() const {
    std::vector<double> out(size());
    for (std::size_t j = 0; j < out.size(); ++j) out[j] = scale_ * stored_[j * stride_];
    return out;
}

std::vector<double> AveragedWeights::average() const {
    if (total_ == 0.0) return current();
    std::vector<double> out(size());
    for (std::size_t j = 0; j < out.size(); ++j) out[j] = (counted_ * stored_[j * stride_] - passed(j)) / total_;
    return out;
}

void AveragedWeights::round() {
    for (std::uint32_t j = 0; rounds() && j < size(); ++j) round(j, stored_[j * stride_]);
}

// A scale far from one would lose digits of the average; at zero itself, v is gone but the average must not be.
void AveragedWeights::multiply_out() {
    if (counted_ != 0.0) {
        if (!rounds()) passed_.resize(stored_.size(), 0.0);
        double* late = rounds() ? stored_.data() + 1 : passed_.data();
        for (std::size_t j = 0; j < stored_.size(); j += stride_) late[j] -= counted_ * stored_[j];
        counted_ = 0.0;
    }
    for (std::size_t j = 0; j < stored_.size(); j += stride_) stored_[j] *= scale_;
    scale_ = 1.0;
    round();
    changes_.restart();
}

std::vector<double> AveragedWeights::state() const {
    const bool averaged = rounds() || !passed_.empty();
    std::vector<double> out{scale_, counted_, total_, averaged ? 1.0 : 0.0};
    out.reserve(out.size() + 2 * size());
    for (std::size_t j = 0; j < size(); ++j) out.push_back(stored_[j * stride_]);
    for (std::size_t j = 0; j < size() && averaged; ++j) out.push_back(passed(j));
    return out;
}

void AveragedWeights::restore(std::span<const double> state) {
    const std::size_t parts = state.size() >= 4 && state[3] != 0.0 ? 2 : 1;
    if (state.size() < 4 || (state.size() - 4) % parts != 0)
        throw std::invalid_argument("state['weights'] has the wrong size: it is of another training set or settings");
    const std::size_t n = (state.size() - 4) / parts;
    const std::span<const double> values = state.subspan(4, n), late = state.subspan(4 + n);
    *this = AveragedWeights(values, rounds(), layout_);
    scale_ = state[0];
    counted_ = state[1];
    total_ = state[2];
    if (!rounds())
        passed_.assign(late.begin(), late.end());
    else
        for (std::size_t j = 0; j < late.size(); ++j) stored_[j * 2 + 1] = late[j];
}

}  // namespace tw::learners
