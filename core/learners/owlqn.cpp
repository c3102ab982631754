#include "owlqn.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "vectors.hpp"

namespace tw::learners {
namespace {

constexpr double kSufficient = 1e-4;
constexpr int kMostTrials = 40;

}  // namespace

Owlqn::Owlqn(Oracle& oracle, const Objective& terms, const QuasiNewtonSettings& settings,
             std::span<const double> weights)
    : QuasiNewton(oracle, terms, settings, weights) {
    if (oracle.nonnegative().empty()) return;
    bounded_.resize(weights_.size(), 0);
    for (const std::uint32_t j : oracle.nonnegative()) {
        bounded_[j] = 1;
        weights_[j] = std::max(weights_[j], 0.0);
    }
}

// The pseudo-gradient (their eq. 4): the one-sided derivative where a weight is zero, and zero if neither side falls.
void Owlqn::steepest(const std::vector<double>& weights, const std::vector<double>& gradient, std::size_t begin,
                     std::size_t end, double* out) const {
    const auto factors = sums_.l1_factors();
    for (std::size_t j = begin; j < end; ++j) {
        const double w = weights[j], g = gradient[j], c = terms_.l1 * factors[j];
        if (w != 0.0)
            out[j - begin] = w > 0.0 ? g + c : g - c;
        else if (!bounded_.empty() && bounded_[j])
            out[j - begin] = std::min(g + c, 0.0);
        else
            out[j - begin] = g < -c ? g + c : g > c ? g - c : 0.0;
    }
}

// Their eq. 6: the second-order direction may not point uphill in any coordinate.
void Owlqn::restrict_direction(const double* steepest, std::size_t size, double* direction) const {
    for (std::size_t j = 0; j < size; ++j)
        if (!(direction[j] * steepest[j] < 0.0)) direction[j] = 0.0;
}

// Their projection: what would change its sign stops at zero. A weight at zero may go where its direction points.
void Owlqn::move(double step, std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j) {
        const double w = weights_[j], there = w + step * direction_[j];
        trial_weights_[j] = w * there < 0.0 || (w != 0.0 && there == 0.0) ? 0.0 : there;
    }
}

double Owlqn::absolutes(std::size_t begin, std::size_t end) const {
    const auto factors = sums_.l1_factors();
    double sum = 0.0;
    for (std::size_t j = begin; j < end; ++j) sum += factors[j] * std::abs(trial_weights_[j]);
    return terms_.l1 * sum;
}

double Owlqn::promised(std::size_t begin, std::size_t end) const {
    std::array<double, kBlock> uphill, moved;
    const std::size_t size = end - begin;
    steepest(weights_, gradient_, begin, end, uphill.data());
    for (std::size_t j = 0; j < size; ++j) moved[j] = trial_weights_[begin + j] - weights_[begin + j];
    return dot(uphill.data(), moved.data(), size);
}

// Backtracking along the projected line.
bool Owlqn::search(double slope, std::size_t n_jobs, Trial& found) {
    double step = first_step(slope);
    for (int trial = 0; trial < kMostTrials; ++trial) {
        found = try_step(step, n_jobs);
        if (found.predicted < 0.0 && found.value <= objective_ + kSufficient * found.predicted) return true;
        if (-found.predicted < value_rounding()) break;  // a lower value could not be told from this one
        // The parabola through the value and slope at the start and the value here; halving when it cannot be had.
        const double excess = found.value - objective_ - found.predicted;
        const double shorter = -0.5 * found.predicted / excess;
        step *= std::isfinite(shorter) && excess > 0.0 ? std::clamp(shorter, 0.1, 0.6) : 0.1;
    }
    return false;
}

}  // namespace tw::learners
