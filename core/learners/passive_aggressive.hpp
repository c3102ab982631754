// Passive-aggressive updates (Crammer et al. 2006) for the k best structures, and the restricted form whose loss is
// bounded (Theorem 1): Mančev 2015, algorithm 5, eq. 3.14 - 3.21.
#pragma once

#include <algorithm>

#include "online.hpp"

namespace tw::learners {

class PassiveAggressive final : public Online {
public:
    PassiveAggressive(Oracle& oracle, const OnlineSettings& settings, double C, std::size_t k, bool augmented,
                      bool restricted, std::span<const double> start)
        : Online(oracle, settings, start, true), C_(C), k_(k), nu_(augmented ? 1.0 : 0.0), restricted_(restricted) {}
    std::string_view phase() const override { return "pa"; }

protected:
    void visit(std::size_t example) override {
        const double weight = oracle_.example_weight(example);
        if (weight == 0.0) return;
        bool moved = false;  // until then the margins found with the structures hold
        bool stale = true;   // whether the weights have moved since the prediction was last looked for
        double of_prediction = 0.0;
        for (const Output& found : examples_.kbest(w_, example, k_, nu_)) {
            const double margin = moved ? examples_.margin(w_, example, found) : found.margin;
            if (margin >= found.cost) continue;
            if (restricted_ && stale) of_prediction = loss_of_prediction(example);
            stale = false;
            const SparseVector& towards = difference(example, found);
            const double loss = found.cost - w_.dot(towards), norm = towards.squared_norm();
            if (!(loss > 0.0) || norm == 0.0 || (restricted_ && !loses_no_less(loss, of_prediction))) continue;
            met(weight * loss);
            w_.add(towards, std::min(loss / norm, C_ * weight));
            keep_nonnegative(towards);
            changed();
            moved = stale = true;
        }
    }

private:
    double loss_of_prediction(std::size_t example) {
        const Output best = examples_.kbest(w_, example, 1, 0.0).front();
        return std::max(0.0, best.cost - w_.dot(difference(example, best)));
    }

    const double C_;
    const std::size_t k_;
    const double nu_;  // times the cost, and the score: what the best are best in
    const bool restricted_;
};

}  // namespace tw::learners
