// A way to compute what the oracle of chains answers. That of any structure takes every combination of attributes,
// labels and weights in double precision; the fast one the common case, laid out for speed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "../oracle.hpp"
#include "training_set.hpp"

namespace tw::chain {

class Path {
public:
    virtual ~Path() = default;
    virtual double loss(std::span<const double> weights, std::span<double> gradient, double cost_scale,
                        std::size_t n_jobs, bool precise) = 0;
    virtual void curvature(std::span<const double> weights, std::span<double> diagonal, double cost_scale,
                           std::size_t n_jobs) = 0;
    virtual std::unique_ptr<WorkingWeights> working_weights() const = 0;
    virtual double descend(WorkingWeights& weights, std::span<const std::uint32_t> sequences, double step,
                           double cost_scale) const = 0;
    virtual std::size_t memory_bytes() const = 0;
};

std::unique_ptr<Path> linear_path(const TrainingSet& set);

// Only where every token has one label and no weight of its own, and no attribute meets a pair of labels.
bool has_fast_path(const TrainingSet& set);
std::unique_ptr<Path> fast_path(const TrainingSet& set, std::size_t n_jobs);

}  // namespace tw::chain
