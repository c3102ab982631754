// What learners see of a training set: examples with gold structures, and questions about them at given weights.
//
// A learner never learns what the structure is. Weights are one vector of doubles; what they mean, and how they lie in
// memory while examples are visited, is the oracle's own affair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace tw {

// Working weights: a copy of a weight vector, in the layout the oracle computes with, that a learner changes example by
// example. The true weights are scale * stored, so that shrinking all of them costs nothing.
class WorkingWeights {
public:
    virtual ~WorkingWeights() = default;
    virtual void load(std::span<const double> weights) = 0;  // sets scale to 1
    virtual void store(std::span<double> weights) const = 0;
    virtual double scale() const = 0;
    virtual void multiply(double factor) = 0;  // all weights at once
    virtual double squared_norm() const = 0;   // of the true weights
};

class Oracle {
public:
    virtual ~Oracle() = default;
    virtual std::size_t n_examples() const = 0;
    virtual std::size_t n_weights() const = 0;

    // The factor nu of the cost that is added to the score of a wrong structure (softmax-margin, Table 2.1); 0 for
    // none.
    virtual void set_cost_scale(double nu) = 0;

    // How much a weight counts in |w|_1 (all ones unless one variable stands for several equal weights); |w|^2 is
    // plain.
    virtual std::span<const double> l1_factors() const = 0;

    // The loss summed over all examples, and its gradient, which is overwritten. The same to the last bit for any
    // n_jobs. `precise`: double precision throughout; otherwise single where it is faster.
    virtual double loss(std::span<const double> weights, std::span<double> gradient, std::size_t n_jobs,
                        bool precise) = 0;

    // A diagonal estimate of the second derivative of the same sum: the variance of each feature's parts, p (1 - p).
    virtual void curvature(std::span<const double> weights, std::span<double> diagonal, std::size_t n_jobs) = 0;

    // The examples in an order in which neighbours are alike (in length, say), so that a small batch of neighbours
    // costs least; empty when any order will do.
    virtual std::span<const std::uint32_t> alike() const { return {}; }

    // One stochastic step: the loss of the given examples at the working weights, whose true value then becomes
    // w - step * (gradient of that loss). Touches only what the examples touch; several threads may each use their own
    // WorkingWeights.
    virtual std::unique_ptr<WorkingWeights> working_weights() const = 0;
    virtual double descend(WorkingWeights& weights, std::span<const std::uint32_t> examples, double step) const = 0;
};

}  // namespace tw
