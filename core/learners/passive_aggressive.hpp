// Passive-aggressive updates (Crammer et al. 2006) for the k best structures, and the restricted form whose loss is
// bounded (Theorem 1): the thesis's algorithm 5, eq. 3.14 - 3.21.
#pragma once

#include <algorithm>

#include "online.hpp"

namespace tw::learners {

class PassiveAggressive final : public Online {
public:
    PassiveAggressive(Oracle& oracle, const OnlineSettings& settings, double C, std::size_t k, bool restricted,
                      std::span<const double> start)
        : Online(oracle, settings, start), C_(C), k_(k), restricted_(restricted) {}
    std::string_view phase() const override { return "pa"; }

protected:
    void visit(std::size_t example) override {
        const double weight = oracle_.example_weight(example);
        if (weight == 0.0) return;
        bool moved = true;  // since the prediction was last looked for
        double of_prediction = 0.0;
        for (const Rival& rival : rivals(example, k_, 1.0)) {
            const double loss = violation(rival);
            if (restricted_ && moved) of_prediction = loss_of_prediction(example);
            moved = false;
            if (!(loss > 0.0) || (restricted_ && loss < of_prediction)) continue;
            const double norm = rival.difference.squared_norm();
            if (norm == 0.0) continue;
            met(weight * loss);
            w_.add(rival.difference, std::min(loss / norm, C_ * weight));
            moved = true;
            changed();
        }
    }

private:
    double loss_of_prediction(std::size_t example) {
        const Found best = oracle_.kbest(w_.view(), example, 1, 0.0).front();
        oracle_.difference(example, best, difference_);
        w_.grow(oracle_.n_weights());
        return std::max(0.0, best.cost - w_.dot(difference_));
    }

    const double C_;
    const std::size_t k_;
    const bool restricted_;
    SparseVector difference_;
};

}  // namespace tw::learners
