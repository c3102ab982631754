// What the constructors of learners have in common.
#pragma once

#include <nanobind/stl/map.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "../learners/online.hpp"
#include "arrays.hpp"

namespace tw::bind {

// Checks the weights that a learner starts from, and that it understands what they are. `bounded`: it keeps weights
// from being negative that must not be.
inline std::span<const double> start_of(const Oracle& oracle, const Vector& weights,
                                        std::initializer_list<Variables> understood = {Variables::kScaled},
                                        bool bounded = false) {
    const Variables variables = oracle.variables();
    require(variables == Variables::kPlain || std::ranges::find(understood, variables) != understood.end(),
            variables == Variables::kScaled ? "this learner needs an oracle made with by_member=True"
                                            : "this learner needs an oracle made with by_member=False");
    require(bounded || oracle.nonnegative().empty(),
            "some weights of these examples must not become negative, and this learner does not keep them so: choose "
            "Perceptron, PassiveAggressive, Pegasos, Subgradient or CRF");
    require(weights.size() == oracle.n_weights(), "weights has the wrong size for this training set");
    for (std::size_t j = 0; j < weights.size(); ++j)
        require(std::isfinite(weights.data()[j]), "weights must be finite numbers");
    return {weights.data(), weights.size()};
}

inline void require_positive(double value, const char* message) {
    require(std::isfinite(value) && value > 0.0, message);
}

// k-best learners need an oracle that lists outputs; one output is enough for k = 1.
inline void require_kbest(Oracle& oracle, std::size_t k) {
    require(k >= 1, "k must be at least 1");
    BestOutputs& best = required(oracle.best(), "argmax");
    required(k == 1 || best.lists() ? &best : nullptr, "kbest");
}

}  // namespace tw::bind
