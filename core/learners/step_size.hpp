// The steps of subgradient descent on  lam/2 |w|^2 + loss:  Mančev 2015, 6.1 and 6.6.3.
#pragma once

#include <cmath>
#include <cstdint>

namespace tw::learners {

enum class StepRule {
    kPegasos,   // 1 / (lam t)
    kPower,     // 1 / (lam t)^alpha
    kAsgd,      // gamma / (lam gamma t)^alpha, as in Bottou's averaged descent
    kConstant,  // gamma
    kRoot,      // gamma / sqrt(t)
};

struct Step {
    double size;    // eta
    double shrink;  // eta * lam, exactly 1/t for Pegasos, so that the first step forgets where it started
};

struct StepSize {
    StepRule rule = StepRule::kPegasos;
    double lam = 1.0, gamma = 1.0, alpha = 0.75;

    Step at(std::uint64_t step) const {  // counting from 1
        const double t = static_cast<double>(step);
        if (rule == StepRule::kPegasos) return {1.0 / (lam * t), 1.0 / t};
        double eta = gamma;
        if (rule == StepRule::kPower) eta = 1.0 / std::pow(lam * t, alpha);
        if (rule == StepRule::kAsgd) eta = gamma / std::pow(lam * gamma * t, alpha);
        if (rule == StepRule::kRoot) eta = gamma / std::sqrt(t);
        return {eta, eta * lam};
    }
};

}  // namespace tw::learners
