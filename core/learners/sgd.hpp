// Stochastic gradient descent (Bottou 2010) on a few examples at a time, in fixed shards.
//
// Per example the objective is  loss_i + l2/(2 n) |w|^2.  A step of length eta on b examples shrinks the weights by
// 1 - eta b l2/n and moves them against the gradient of the b losses; the shrinking is one multiplication, because
// working weights are kept as scale * stored. eta falls as eta_0 / (1 + eta_0 l2/n t) with the t examples seen; eta_0
// is the best of several tried on a sample. An L1 penalty is taken from all weights some times a pass (truncated
// gradient, Langford, Li & Zhang 2009). The order of the examples depends on the seed and the epoch alone.
//
// Where the number of passes is known, the last one ends at the mean of some points on its way (Polyak & Juditsky
// 1992): what the last few examples did to the weights is gone, and steps need not become short for it.
//
// The shards run side by side and are brought together after each epoch (iterative parameter mixing, McDonald, Hall &
// Mann 2010): their number is fixed, so the result does not depend on the number of threads. A weight that only one of
// them has seen moves only a share of the way, so that one shard makes the better start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "gap.hpp"
#include "solver.hpp"

namespace tw::learners {

struct SgdSettings {
    std::size_t batch = 4;
    std::size_t shards = 1;
    double decay = 1.0;  // of eta from one pass to the next; 1: as 1 / t instead
    double step = 0.0;   // eta_0; 0: found on a sample
    double tol = 1e-3;   // stop when the losses met fall by less than this part of the objective in some passes
    std::uint64_t seed = 0;
    std::size_t passes = 0;  // how many are to be made: the last one ends at the mean of points on its way. 0: unknown
};

class Sgd final : public Solver {
public:
    Sgd(Oracle& oracle, const Objective& terms, const SgdSettings& settings, std::span<const double> weights);

    void step(std::size_t n_jobs) override;  // one pass over all examples
    std::string_view phase() const override { return "sgd"; }
    std::span<const double> weights() const override { return weights_; }
    double objective() const override { return objective_; }
    double gradient_norm() const override;
    double gap() const override { return std::numeric_limits<double>::infinity(); }  // too noisy to guess
    double passes() const override { return passes_; }
    std::size_t iterations() const override { return epochs_; }
    Outcome outcome() const override { return outcome_; }
    State state() const override;
    void restore(const State& state) override;

    double first_step_size() const { return step_; }

private:
    using Order = std::vector<std::uint32_t>;
    class PointsMean;
    Order shuffled(std::uint64_t epoch) const;
    // One pass over `order` in batches; returns the sum of the losses met on the way.
    double descend(WorkingWeights& weights, std::span<const std::uint32_t> order, double step, double n_seen,
                   double n_examples, PointsMean* mean = nullptr) const;
    void calibrate(std::size_t n_jobs);
    std::vector<double> try_steps(std::span<const double> steps, std::span<const std::uint32_t> sample,
                                  std::size_t n_jobs);
    bool epoch(std::size_t n_jobs);
    void mix(std::size_t n_jobs);
    WorkingWeights& working(std::size_t i);

    Oracle& oracle_;
    Sums& sums_;
    const Objective terms_;  // of the objective
    const SgdSettings settings_;
    std::vector<double> weights_;
    std::vector<std::vector<double>> of_shard_;
    std::vector<std::unique_ptr<WorkingWeights>> working_;
    GapGuess guess_;
    double objective_, step_, n_seen_ = 0.0, passes_ = 0.0;
    std::size_t epochs_ = 0;
    Outcome outcome_ = Outcome::kRunning;
};

}  // namespace tw::learners
