// Examples whose outputs an oracle ranks, as learners of best outputs ask for them.
#pragma once

#include <cstddef>
#include <vector>

#include "averaged_weights.hpp"

namespace tw::learners {

class RankedExamples {
public:
    // Throws std::invalid_argument where the oracle cannot find best outputs.
    explicit RankedExamples(Oracle& oracle)
        : oracle_(oracle), best_(required(oracle.best(), "argmax")), hints_(oracle.hints()) {}

    std::size_t n_examples() const { return oracle_.n_examples(); }
    std::size_t n_weights() const { return oracle_.n_weights(); }
    double example_weight(std::size_t example) const { return oracle_.example_weight(example); }

    // As BestOutputs has them.
    bool lists() const { return best_.lists(); }
    std::vector<Output> kbest(const AveragedWeights& w, std::size_t example, std::size_t k, double nu) const {
        return best_.kbest(w.view(), example, k, nu);
    }
    double margin(const AveragedWeights& w, std::size_t example, const Output& output) const {
        return best_.margin(w.view(), example, output);
    }
    bool slack_argmax(const AveragedWeights& w, std::size_t example, Output& output) const {
        return best_.slack_argmax(w.view(), example, output);
    }

    // f(x, gold) - f(x, y); `w` grows as the oracle does.
    void difference(AveragedWeights& w, std::size_t example, const Output& output, SparseVector& out) {
        best_.difference(example, output, out);
        w.grow(oracle_.n_weights());
    }

    void prefetch(const AveragedWeights& w, std::size_t next, std::size_t after) const {
        if (hints_) hints_->prefetch(w.view(), next, after);
    }
    void prefetch_update(const AveragedWeights& w) const {
        if (hints_) hints_->prefetch_update(w.touched());
    }

private:
    Oracle& oracle_;
    BestOutputs& best_;
    Hints* hints_;
};

}  // namespace tw::learners
