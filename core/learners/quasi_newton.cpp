#include "quasi_newton.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "../base/interrupt.hpp"
#include "vectors.hpp"

namespace tw::learners {
namespace {

// Single precision tells objectives apart to about this part; a finer tolerance ends in double precision.
constexpr double kSingleLimit = 1e-5;
constexpr double kSingleRounding = 1e-6, kDoubleRounding = 1e-14;  // of an objective, as a part of it
constexpr double kCautionWithL1 = 3.0;  // orthants change late, and the objective falls on more slowly than without
constexpr double kLeastScaling = 1e-3;  // no diagonal entry counts as less than this part of their mean

}  // namespace

QuasiNewton::QuasiNewton(Oracle& oracle, const Objective& terms, const QuasiNewtonSettings& settings,
                         std::span<const double> weights)
    : sums_(required(oracle.sums(), "expectations")),
      terms_(terms),
      settings_(settings),
      weights_(weights.begin(), weights.end()),
      gradient_(weights.size()),
      trial_weights_(weights.size()),
      trial_gradient_(weights.size()),
      direction_(weights.size()),
      h_(weights.size(), 1.0F),
      history_(weights.size(), settings.memory),
      gradient_norm_(std::numeric_limits<double>::quiet_NaN()),
      precise_(settings.tol < kSingleLimit && weights.size() < kWorthThreads) {}  // small: nothing to be saved

void QuasiNewton::step(std::size_t n_jobs) {
    if (!started_ && outcome_ == Outcome::kRunning) start(n_jobs);
    for (const std::size_t before = iterations_; outcome_ == Outcome::kRunning && iterations_ == before;) {
        double slope = find_direction(n_jobs);
        if (!(slope < 0.0) && history_.size() > 0) {  // rounding, or everything was restricted: begin afresh
            history_.clear();
            slope = find_direction(n_jobs);
        }
        Trial trial;
        if (slope < 0.0 && search(slope, n_jobs, trial))
            accept(trial, n_jobs);
        else
            give_up(slope, n_jobs);
    }
}

double QuasiNewton::gap() const {
    // Strong convexity: the minimum is no lower than objective - |g|^2 / (2 l2), which is also the duality gap of the
    // model's own marginals. It is certain (if the loss is convex) but far too careful when l2 is small.
    const double certain = terms_.l2 > 0.0 && std::isfinite(gradient_norm_)
                               ? 0.5 * gradient_norm_ * gradient_norm_ / terms_.l2
                               : std::numeric_limits<double>::infinity();
    return std::min(certain, (smooth() ? 1.0 : kCautionWithL1) * guess_.gap());
}

void QuasiNewton::start(std::size_t n_jobs) {
    const Trial here = try_step(0.0, n_jobs);
    std::swap(gradient_, trial_gradient_);
    objective_ = here.value;
    if (settings_.scaled && std::isfinite(objective_)) take_scaling(n_jobs);
    started_ = true;
    guess_.add(objective_);
    if (!std::isfinite(objective_)) {
        outcome_ = Outcome::kNotFinite;
        return;
    }
    // A step from a point to itself: it is not remembered, but gives the norm of the gradient.
    const History::Move stay{weights_,
                             weights_,
                             gradient_,
                             gradient_,
                             h_,
                             [this](std::size_t begin, std::size_t end, double* out) {
                                 steepest(weights_, gradient_, begin, end, out); }};
    gradient_norm_ = std::sqrt(history_.take(stay, n_jobs));
    judge(n_jobs);
}

void QuasiNewton::take_scaling(std::size_t n_jobs) {
    sums_.curvature(weights_, trial_gradient_, terms_.nu, n_jobs);
    passes_ += 1.0;
    const std::vector<double> ones(kBlock, 1.0);
    const double sum = over_blocks(h_.size(), 1, n_jobs, [&](std::size_t begin, std::size_t end, double* out) {
        out[0] += dot(trial_gradient_.data() + begin, ones.data(), end - begin);
    })[0];
    const double floor = kLeastScaling * sum / static_cast<double>(std::max<std::size_t>(1, h_.size()));
    if (!(sum > 0.0)) return;
    over_blocks(h_.size(), 0, n_jobs, [&](std::size_t begin, std::size_t end, double*) {
        for (std::size_t j = begin; j < end; ++j)
            h_[j] = static_cast<float>(1.0 / std::max(terms_.l2 + trial_gradient_[j], floor));
    });
}

double QuasiNewton::find_direction(std::size_t n_jobs) {
    const History::Combination combination = history_.direction();
    const auto sums = over_blocks(weights_.size(), 1, n_jobs, [&](std::size_t begin, std::size_t end, double* out) {
        std::array<double, kBlock> uphill, along;
        const std::size_t size = end - begin;
        steepest(weights_, gradient_, begin, end, uphill.data());
        history_.combine(combination, begin, end, uphill.data(), h_, along.data());
        restrict_direction(uphill.data(), size, along.data());
        for (std::size_t j = 0; j < size; ++j) direction_[begin + j] = static_cast<float>(along[j]);
        out[0] += dot(uphill.data(), along.data(), size);
    });
    return sums[0];
}

double QuasiNewton::first_step(double slope) const {
    if (history_.size() > 0) return 1.0;
    if (settings_.scaled) return kFirstScaledStep;
    return 1.0 / std::sqrt(-slope);  // moves by one, since the direction is the gradient
}

double QuasiNewton::value_rounding() const {
    return (precise_ ? kDoubleRounding : kSingleRounding) * std::abs(objective_);
}

QuasiNewton::Trial QuasiNewton::try_step(double step, std::size_t n_jobs) {
    enum : std::size_t { kSquares, kAbsolutes, kSlope, kPredicted, kSums };
    over_blocks(weights_.size(), 0, n_jobs,
                [&](std::size_t begin, std::size_t end, double*) { move(step, begin, end); });
    const double loss = sums_.loss(trial_weights_, trial_gradient_, terms_.nu, n_jobs, precise_);
    passes_ += 1.0;
    const auto sums = over_blocks(weights_.size(), kSums, n_jobs, [&](std::size_t begin, std::size_t end, double* out) {
        std::array<double, kBlock> along;
        const std::size_t size = end - begin;
        double* g = trial_gradient_.data() + begin;
        const double* w = trial_weights_.data() + begin;
        for (std::size_t j = 0; j < size; ++j) {
            g[j] += terms_.l2 * w[j];
            along[j] = direction_[begin + j];
        }
        out[kSquares] += dot(w, w, size);
        out[kSlope] += dot(g, along.data(), size);
        if (smooth()) return;
        out[kAbsolutes] += absolutes(begin, end);
        out[kPredicted] += promised(begin, end);
    });
    return {step, loss + 0.5 * terms_.l2 * sums[kSquares] + sums[kAbsolutes], sums[kSlope], sums[kPredicted]};
}

void QuasiNewton::accept(const Trial& trial, std::size_t n_jobs) {
    const History::Move move{weights_,
                             trial_weights_,
                             gradient_,
                             trial_gradient_,
                             h_,
                             [this](std::size_t begin, std::size_t end, double* out) {
                                 steepest(trial_weights_, trial_gradient_, begin, end, out);
                             }};
    {
        const Uninterrupted whole;
        gradient_norm_ = std::sqrt(history_.take(move, n_jobs));
    }
    std::swap(weights_, trial_weights_);
    std::swap(gradient_, trial_gradient_);
    objective_ = trial.value;
    ++iterations_;
    guess_.add(objective_);
    judge(n_jobs);
}

void QuasiNewton::judge(std::size_t n_jobs) {
    if (gap() <= settings_.tol * std::abs(objective_) || gradient_norm_ == 0.0)
        outcome_ = Outcome::kConverged;
    else if (guess_.fall(settings_.period) < settings_.delta * std::abs(objective_))
        outcome_ = Outcome::kSlow;
    else if (!precise_ && gap() <= kSingleLimit * std::abs(objective_))
        become_precise(n_jobs);
}

// No step was found. In single precision the reason may be rounding: look again in double.
void QuasiNewton::give_up(double slope, std::size_t n_jobs) {
    if (!precise_) {
        become_precise(n_jobs);
        return;
    }
    const bool nothing_to_gain = -slope <= 1e-9 * std::abs(objective_);
    if (!nothing_to_gain && history_.size() > 0) {
        history_.clear();  // the remembered steps may be what misleads: steepest descent has the last word
        return;
    }
    outcome_ = nothing_to_gain ? Outcome::kRounding : Outcome::kNoLowerPoint;
}

void QuasiNewton::become_precise(std::size_t n_jobs) {
    precise_ = true;
    const Trial here = try_step(0.0, n_jobs);
    std::swap(gradient_, trial_gradient_);
    objective_ = here.value;
}

State QuasiNewton::state() const {
    State state;
    state["weights"] = weights_;
    state["gradient"] = gradient_;
    state["scaling"] = h_;
    state["counters"] = std::vector<double>{objective_,
                                            gradient_norm_,
                                            passes_,
                                            static_cast<double>(iterations_),
                                            static_cast<double>(outcome_),
                                            static_cast<double>(started_),
                                            static_cast<double>(precise_),
                                            static_cast<double>(history_.size())};
    state["values"] = guess_.values();
    history_.save(state);
    return state;
}

void QuasiNewton::restore(const State& state) {
    const auto& counters = numbers(state, "counters", 8);
    const auto within = [](double x, double limit) { return x >= 0.0 && x <= limit && x == std::floor(x); };
    if (!within(counters[3], 1e15) || !within(counters[4], 5) || !within(counters[5], 1) || !within(counters[6], 1) ||
        !within(counters[7], static_cast<double>(settings_.memory)))
        throw std::invalid_argument("state['counters'] makes no sense for these settings");
    const std::size_t n = weights_.size();
    const std::size_t n_values = counters[5] != 0.0 ? static_cast<std::size_t>(counters[3]) + 1 : 0;
    const auto& values = numbers(state, "values", n_values);
    const auto& weights = numbers(state, "weights", n);
    const auto& gradient = numbers(state, "gradient", n);
    const auto& scaling = singles(state, "scaling", n);
    history_.restore(state, static_cast<std::size_t>(counters[7]));
    weights_ = weights;
    gradient_ = gradient;
    h_ = scaling;
    objective_ = counters[0];
    gradient_norm_ = counters[1];
    passes_ = counters[2];
    iterations_ = static_cast<std::size_t>(counters[3]);
    outcome_ = static_cast<Outcome>(static_cast<int>(counters[4]));
    started_ = counters[5] != 0.0;
    precise_ = counters[6] != 0.0;
    guess_.assign(values);
}

}  // namespace tw::learners
