// Examples whose outputs an oracle ranks, as learners of best outputs ask for them: the best outputs, and how each
// differs from gold.
//
// Where gold is known only in part, the best allowed output at some weights stands for it until it is looked for again
// (the latent structural SVM of Yu & Joachims 2009, whose concave-convex procedure does so once a round). Learners that
// keep differences must forget those to an earlier gold.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "averaged_weights.hpp"
#include "solver.hpp"

namespace tw::learners {

class RankedExamples {
public:
    // Throws std::invalid_argument where the oracle cannot find best outputs.
    explicit RankedExamples(Oracle& oracle)
        : oracle_(oracle),
          best_(required(oracle.best(), "argmax")),
          hints_(oracle.hints()),
          partial_(oracle.partial()),
          gold_(partial_ ? oracle.n_examples() : 0) {}

    std::size_t n_examples() const { return oracle_.n_examples(); }
    std::size_t n_weights() const { return oracle_.n_weights(); }
    double example_weight(std::size_t example) const { return oracle_.example_weight(example); }

    // As BestOutputs has them.
    bool lists() const { return best_.lists(); }
    std::vector<Output> kbest(const AveragedWeights& w, std::size_t example, std::size_t k, double nu) const {
        return best_.kbest(w.view(), example, k, nu);
    }
    double margin(const AveragedWeights& w, std::size_t example, const Output& output) const {
        return partial_ ? std::numeric_limits<double>::quiet_NaN() : best_.margin(w.view(), example, output);
    }
    bool slack_argmax(const AveragedWeights& w, std::size_t example, Output& output) const {
        return !partial_ && best_.slack_argmax(w.view(), example, output);
    }

    // f(x, gold) - f(x, y); `w` grows as the oracle does. Gold that was never looked for is looked for at `w`.
    void difference(AveragedWeights& w, std::size_t example, const Output& output, SparseVector& out) {
        if (partial_) {
            if (!gold_[example]) complete(w, example);
            partial_->difference_to(example, *gold_[example], output, out);
        } else {
            best_.difference(example, output, out);
        }
        w.grow(oracle_.n_weights());
    }

    bool partly_known() const { return partial_ != nullptr; }
    // Takes the best allowed output at `w` for gold. Whether an earlier one was another.
    bool complete(const AveragedWeights& w, std::size_t example);
    // The examples that complete() would give another gold.
    std::vector<std::uint32_t> stale(const AveragedWeights& w, std::size_t n_jobs) const;

    // What stands for gold, as an entry of a state.
    void save(State& state) const;
    void load(const State& state);

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
    PartialGold* partial_;
    std::vector<std::optional<Output>> gold_;  // of each example, where gold is known in part
};

}  // namespace tw::learners
