// The structured perceptron (Collins 2002) and its k-best form: Mančev 2015, algorithm 5, eq. 3.31.
#pragma once

#include "online.hpp"

namespace tw::learners {

class Perceptron final : public Online {
public:
    Perceptron(Oracle& oracle, const OnlineSettings& settings, std::size_t k, std::span<const double> start)
        : Online(oracle, settings, start, true), k_(k) {}
    std::string_view phase() const override { return "perceptron"; }

    Facts facts() const override {
        Facts facts = Online::facts();
        facts["cost"] = cost_;
        return facts;
    }

protected:
    void before_pass(std::size_t n_jobs) override {
        Online::before_pass(n_jobs);
        cost_ = 0.0;
    }
    // One after the other, the k best structures that score no less than gold push the weights away from themselves.
    void visit(std::size_t example) override {
        const double weight = oracle_.example_weight(example);
        if (weight == 0.0) return;
        bool moved = false;  // until then the margins found with the structures hold
        for (const Output& found : examples_.kbest(w_, example, k_, 0.0)) {
            if ((moved ? examples_.margin(w_, example, found) : found.margin) > 0.0) continue;
            const SparseVector& away = difference(example, found);
            const double margin = w_.dot(away);
            if (margin > 0.0 || away.empty()) continue;
            met(-weight * margin);
            cost_ += weight * found.cost;
            w_.add(away, weight);
            keep_nonnegative(away);
            changed();
            moved = true;
        }
    }

private:
    const std::size_t k_;
    double cost_ = 0.0;  // of the outputs that pushed in this pass
};

}  // namespace tw::learners
