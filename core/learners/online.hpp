// What learners that go from example to example have in common: the order of the examples, the weights and their
// average, and the count of what happened in a pass. A learner says what it does at one example, in visit().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ranked_examples.hpp"
#include "solver.hpp"

namespace tw::learners {

struct OnlineSettings {
    std::uint64_t seed = 0;
    bool shuffle = true;
    bool averaged = true;
    bool until_settled = true;  // a pass that changes nothing is the end; if not, later passes still enter the average
};

// A rival of gold: an output, its cost, and f(x, gold) - f(x, y).
struct Rival {
    double cost = 0.0;
    SparseVector difference;
};

class Online : public Solver {
public:
    // `rounded`: the best by weights of single precision are good enough.
    Online(Oracle& oracle, const OnlineSettings& settings, std::span<const double> start, bool rounded = false);

    void step(std::size_t n_jobs) override;            // one pass over all examples
    std::span<const double> weights() const override;  // the average, if wanted
    double objective() const override { return objective_; }
    double gradient_norm() const override;
    double gap() const override;
    double passes() const override { return static_cast<double>(epochs_); }
    std::size_t iterations() const override { return epochs_; }
    Outcome outcome() const override { return outcome_; }
    Facts facts() const override;
    State state() const override;
    void restore(const State& state) override;

protected:
    virtual void visit(std::size_t example) = 0;
    // What enters the average when an example has been visited, unless its weight is zero: the weights as they are.
    virtual void count() { w_.count(); }
    virtual void before_pass(std::size_t n_jobs);
    // Where gold is known in part, it is looked for before each visit, unless it drops out of the loss.
    void look_for_gold(std::size_t example);
    virtual bool compares_with_gold() const { return true; }
    // Called when another output stands for gold than before: differences to the earlier one must be forgotten.
    virtual void gold_changed(std::size_t) {}
    // What is known when all examples have been visited: sets objective_ and outcome_. As it stands: the losses met are
    // the objective, and a pass without a change is the end.
    virtual void after_pass(std::size_t n_jobs);
    virtual void save(State&) const {}
    virtual void load(const State&) {}

    // The k rivals that maximise  score + nu * cost  at the current weights; gold itself is left out, and so are
    // structures with the features and the cost of gold.
    const std::vector<Rival>& rivals(std::size_t example, std::size_t k, double nu);
    // f(x, gold) - f(x, y) of one structure, in a place that the next call overwrites.
    const SparseVector& difference(std::size_t example, const Output& found);
    // The hinge of one rival: cost - w . difference (eq. 3.2 before it is clipped).
    double violation(const Rival& rival) const { return rival.cost - w_.dot(rival.difference); }
    // Projects the weights that must not be negative back to zero: those that `touched` may have changed, or all. They
    // form a cone, and no point of it gets farther away. Returns by how much the squared norm has fallen.
    double keep_nonnegative(const SparseVector& touched);
    double keep_nonnegative();
    void met(double loss) { loss_ += loss; }
    void changed() { ++updates_; }

    Oracle& oracle_;
    RankedExamples examples_;
    const OnlineSettings settings_;
    AveragedWeights w_;
    bool settled_ = false;  // whether the last pass changed nothing, so that none will
    double objective_, loss_ = 0.0;
    std::size_t epochs_ = 0, updates_ = 0;  // updates_: of this pass
    Outcome outcome_ = Outcome::kRunning;

private:
    std::vector<std::uint32_t> order() const;

    std::vector<std::uint8_t> bounded_;  // by weight: whether it must not be negative; empty: none
    std::vector<Rival> rivals_;
    SparseVector difference_;
    mutable std::vector<double> result_;
    mutable bool fresh_ = false;
};

}  // namespace tw::learners
