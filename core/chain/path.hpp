// A way to compute what the oracle of chains answers. That of any structure takes every combination of attributes,
// labels and weights in double precision; the fast one the common case, laid out for speed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "../oracle.hpp"
#include "training_set.hpp"

namespace tw::chain {

class Path : public Sums {
public:
    explicit Path(const TrainingSet& set);
    std::span<const double> l1_factors() const final { return l1_factors_; }
    virtual void read_ahead(std::span<const std::uint32_t> /*sequences*/) const {}
    virtual void rest() {}  // gives back what the next pass makes anew
    virtual std::size_t memory_bytes() const { return l1_factors_.capacity() * sizeof(double); }

private:
    std::vector<double> l1_factors_;
};

std::unique_ptr<Path> linear_path(const TrainingSet& set);

// Only where every token has one label and no weight of its own, and no attribute meets a pair of labels.
bool has_fast_path(const TrainingSet& set);
std::unique_ptr<Path> fast_path(const TrainingSet& set, std::size_t n_jobs);

}  // namespace tw::chain
