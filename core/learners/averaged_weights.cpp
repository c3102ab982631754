#include "averaged_weights.hpp"

#include <stdexcept>

namespace tw::learners {

std::vector<double> AveragedWeights::current() const {
    std::vector<double> out(stored_.begin(), stored_.end());
    for (double& w : out) w *= scale_;
    return out;
}

std::vector<double> AveragedWeights::average() const {
    if (total_ == 0.0) return current();
    std::vector<double> out(stored_.size());
    for (std::size_t j = 0; j < out.size(); ++j)
        out[j] = (counted_ * stored_[j] - (passed_.empty() ? 0.0 : passed_[j])) / total_;
    return out;
}

// A scale far from one would lose digits of the average; at zero itself, v is gone but the average must not be.
void AveragedWeights::multiply_out() {
    if (counted_ != 0.0) {
        if (passed_.empty()) passed_.resize(stored_.size(), 0.0);
        for (std::size_t j = 0; j < stored_.size(); ++j) passed_[j] -= counted_ * stored_[j];
        counted_ = 0.0;
    }
    for (double& v : stored_) v *= scale_;
    scale_ = 1.0;
}

std::vector<double> AveragedWeights::state() const {
    std::vector<double> out{scale_, counted_, total_, passed_.empty() ? 0.0 : 1.0};
    out.insert(out.end(), stored_.begin(), stored_.end());
    out.insert(out.end(), passed_.begin(), passed_.end());
    return out;
}

void AveragedWeights::restore(std::span<const double> state) {
    const std::size_t parts = state.size() >= 4 && state[3] != 0.0 ? 2 : 1;
    if (state.size() < 4 || (state.size() - 4) % parts != 0)
        throw std::invalid_argument("state['weights'] has the wrong size: it is of another training set or settings");
    const std::size_t n = (state.size() - 4) / parts;
    scale_ = state[0];
    counted_ = state[1];
    total_ = state[2];
    const auto values = state.begin() + 4;
    stored_.assign(values, values + static_cast<std::ptrdiff_t>(n));
    passed_.assign(values + static_cast<std::ptrdiff_t>(n), state.end());
}

}  // namespace tw::learners
