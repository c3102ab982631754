// The memory of L-BFGS: the last steps s and changes of gradient y, and the direction they give (Nocedal & Wright 2006,
// Algorithm 7.4), with the inverse Hessian of the start being gamma * diag(h).
//
// The two loops of that algorithm need only inner products of vectors they already have, so they run on a small table
// of those (Chen, Wang & Zhou 2014): the history is read twice an iteration, not four times, and each time in one pass
// in which all threads share. It is kept in single precision, which halves the traffic; products are summed in double.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "solver.hpp"

namespace tw::learners {

class History {
public:
    History(std::size_t n, std::size_t memory);

    std::size_t size() const { return order_.size(); }
    void clear() { order_.clear(); }
    // The i-th of the remembered steps, oldest first, and its change of gradient.
    const float* s(std::size_t i) const { return s_[order_[i]].data(); }
    const float* y(std::size_t i) const { return y_[order_[i]].data(); }

    // What is known of a step from `point` to `new_point`, where the gradient went from `gradient` to `new_gradient`.
    struct Move {
        std::span<const double> point, new_point, gradient, new_gradient;
        std::span<const float> h;
        // Writes what directions are computed from at the new point: the gradient, or OWL-QN's pseudo-gradient.
        std::function<void(std::size_t begin, std::size_t end, double* out)> steepest;
    };
    // Remembers the step unless the curvature along it is not positive; returns |steepest|^2 at the new point.
    double take(const Move& move, std::size_t n_jobs);

    // direction = -(gamma h (steepest - sum a_i y_i) + sum b_i s_i) at the point last taken.
    struct Combination {
        double gamma = 1.0;
        std::vector<double> a, b;  // oldest first
    };
    Combination direction() const;
    void combine(const Combination& c, std::size_t begin, std::size_t end, const double* steepest,
                 std::span<const float> h, double* out) const;

    void save(State& state) const;
    void restore(const State& state, std::size_t size);

private:
    double& at(std::vector<double>& table, std::size_t i, std::size_t j) const { return table[i * n_slots_ + j]; }
    double at(const std::vector<double>& table, std::size_t i, std::size_t j) const { return table[i * n_slots_ + j]; }
    std::size_t free_slot() const;

    std::size_t n_, memory_, n_slots_;  // one slot more than is remembered, to write a step before judging it
    std::vector<std::vector<float>> s_, y_;
    std::vector<std::size_t> order_;  // slots in use, oldest first
    // Products by slot: s_i . y_j (only where j is newer), y_i . h y_j, s_i . steepest, y_i . h steepest.
    std::vector<double> sy_, yhy_, sg_, yhg_;
};

}  // namespace tw::learners
