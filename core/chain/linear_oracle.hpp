// A training set of chains for the oracle of any structure: the definition that the fast code of chains is held to.
#pragma once

#include <memory>

#include "../linear/oracle.hpp"
#include "training_set.hpp"

namespace tw::chain {

// Examples and weights are numbered as in the set.
std::unique_ptr<linear::LinearOracle> linear_oracle(const TrainingSet& set);

}  // namespace tw::chain
