// What the fast ways through a training set have in common: the gold labels' side of the gradient, and checked
// arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "training_set.hpp"

namespace tw::chain {

// How often each weight's feature occurs in gold, times the factor of its unit; it does not depend on the weights.
std::vector<double> observed_counts(const TrainingSet& set, std::size_t n_jobs);

// Whether every token has one label and no weight of its own, and no attribute meets a pair of labels.
bool is_plain(const TrainingSet& set);

void require_scale(double nu);
std::vector<std::uint32_t> sequences_of(const TrainingSet& set, std::span<const std::uint32_t> examples);

}  // namespace tw::chain
