// The perceptron whose search is a beam. What it finds need not be the best, and gold may have left the beam before the
// end, so an update from the whole output could be wrong; one from the beginning that is most violated is always right
// (max-violation, Huang et al. 2012, section 4.2).
#pragma once

#include "online.hpp"

namespace tw::learners {

class BeamPerceptron final : public Online {
public:
    BeamPerceptron(Oracle& oracle, const OnlineSettings& settings, std::size_t width, std::span<const double> start)
        : Online(oracle, settings, start, true), beam_(required(oracle.beam(), "beam")), width_(width) {}
    std::string_view phase() const override { return "perceptron"; }

protected:
    void visit(std::size_t example) override {
        const double weight = oracle_.example_weight(example);
        if (weight == 0.0) return;
        const Output found = beam_.max_violation(w_.view(), example, width_);
        if (found.margin > 0.0) return;
        beam_.difference_of_beginnings(example, found, away_);
        w_.grow(oracle_.n_weights());
        const double margin = w_.dot(away_);
        if (margin > 0.0 || away_.empty()) return;
        met(-weight * margin);
        w_.add(away_, weight);
        keep_nonnegative(away_);
        changed();
    }

private:
    BeamOutputs& beam_;
    const std::size_t width_;
    SparseVector away_;
};

}  // namespace tw::learners
