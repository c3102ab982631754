// Passive-aggressive updates (Crammer et al. 2006) for the k best structures, and the restricted form whose loss is
// bounded (Theorem 1): Mančev 2015, algorithm 5, eq. 3.14 - 3.21.
#pragma once

#include <algorithm>
#include <cmath>

#include "online.hpp"

namespace tw::learners {

// How long a step may be (Crammer et al. 2006): as long as it takes; no longer than C (PA-I); shortened by C (PA-II).
enum class Aggressiveness { kAny, kAtMost, kShortened };

// What a rival has to be beaten by: its cost, the root of it, or 1.
enum class MarginOf { kCost, kRoot, kOne };

struct PassiveAggressiveSettings {
    double C = 1.0;
    std::size_t k = 1;
    bool augmented = true, restricted = false;
    Aggressiveness aggressiveness = Aggressiveness::kAtMost;
    MarginOf margin = MarginOf::kCost;
};

class PassiveAggressive final : public Online {
public:
    PassiveAggressive(Oracle& oracle, const OnlineSettings& settings, const PassiveAggressiveSettings& own,
                      std::span<const double> start)
        : Online(oracle, settings, start, true), own_(own), nu_(own.augmented ? 1.0 : 0.0) {}
    std::string_view phase() const override { return "pa"; }

protected:
    void visit(std::size_t example) override {
        const double weight = oracle_.example_weight(example);
        if (weight == 0.0) return;
        bool moved = false;  // until then the margins found with the structures hold
        bool stale = true;   // whether the weights have moved since the prediction was last looked for
        double of_prediction = 0.0;
        for (const Output& found : examples_.kbest(w_, example, own_.k, nu_)) {
            const double margin = moved ? examples_.margin(w_, example, found) : found.margin;
            const double wanted = margin_of(found.cost);
            if (margin >= wanted) continue;
            if (own_.restricted && stale) of_prediction = loss_of_prediction(example);
            stale = false;
            const SparseVector& towards = difference(example, found);
            const double loss = wanted - w_.dot(towards), norm = towards.squared_norm();
            if (!(loss > 0.0) || norm == 0.0 || (own_.restricted && !loses_no_less(loss, of_prediction))) continue;
            met(weight * loss);
            w_.add(towards, step(loss, norm, weight));
            keep_nonnegative(towards);
            changed();
            moved = stale = true;
        }
    }

private:
    double loss_of_prediction(std::size_t example) {
        const Output best = examples_.kbest(w_, example, 1, 0.0).front();
        return std::max(0.0, margin_of(best.cost) - w_.dot(difference(example, best)));
    }

    double margin_of(double cost) const {
        if (own_.margin == MarginOf::kCost || cost == 0.0) return cost;
        return own_.margin == MarginOf::kRoot ? std::sqrt(cost) : 1.0;
    }
    // Eq. 5 of Crammer et al. 2006; a weight on the loss multiplies C.
    double step(double loss, double norm, double weight) const {
        switch (own_.aggressiveness) {
            case Aggressiveness::kAny:
                return loss / norm;
            case Aggressiveness::kShortened:
                return loss / (norm + 0.5 / (own_.C * weight));
            default:
                return std::min(loss / norm, own_.C * weight);
        }
    }

    const PassiveAggressiveSettings own_;
    const double nu_;  // times the cost, and the score: what the best are best in
};

}  // namespace tw::learners
