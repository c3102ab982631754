// Examples whose outputs are all written down, one vector of features each: every question is answered by going through
// them. This is what becomes of a structure written in Python that can list its outputs; no Python is left in it, so
// that learning runs at full speed and in threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "../base/sparse_rows.hpp"
#include "../oracle.hpp"

namespace tw::user {

// Outputs starts[i] .. starts[i + 1] are those of example i.
struct Outputs {
    std::size_t n_features = 0;
    std::vector<std::size_t> starts{0}, gold;  // gold: the number of the right one among those of its example
    SparseRows features;                       // of each output
    std::vector<double> costs;                 // of each output
    std::vector<double> sample_weights;        // of each example
};

class EnumeratedOracle final : public Oracle, public BestOutputs, public Sums, public PartMarginals {
public:
    // Throws std::invalid_argument when the sizes do not fit each other, or an example has no outputs.
    explicit EnumeratedOracle(Outputs outputs);

    std::size_t n_examples() const override { return all_->gold.size(); }
    std::size_t n_weights() const override { return all_->n_features; }
    BestOutputs* best() override { return this; }
    Sums* sums() override { return this; }
    PartMarginals* parts() override { return this; }
    double example_weight(std::size_t example) const override { return all_->sample_weights[example]; }
    std::vector<Output> kbest(const ScaledWeights& weights, std::size_t example, std::size_t k,
                              double nu) const override;
    void difference(std::size_t example, const Output& found, SparseVector& out) override;
    bool slack_argmax(const ScaledWeights& weights, std::size_t example, Output& best) const override;
    // An output is a part.
    void part_scores(const ScaledWeights& weights, std::size_t example, std::vector<double>& out) const override;
    void part_costs(std::size_t example, std::vector<double>& out) const override;
    double marginals(std::size_t example, std::span<const double> scores, std::vector<double>& out) const override;
    void difference_of_marginals(std::size_t example, std::span<const double> marginals, SparseVector& out) override;
    // The whole output is one decision.
    std::unique_ptr<Oracle> local() const override { return std::make_unique<EnumeratedOracle>(*this); }
    std::span<const double> l1_factors() const override { return l1_factors_; }
    double loss(std::span<const double> weights, std::span<double> gradient, double nu, std::size_t n_jobs,
                bool precise) override;
    void curvature(std::span<const double> weights, std::span<double> diagonal, double nu, std::size_t n_jobs) override;
    std::unique_ptr<WorkingWeights> working_weights() const override;
    double descend(WorkingWeights& weights, std::span<const std::uint32_t> examples, double step,
                   double nu) const override;

private:
    std::size_t first(std::size_t example) const { return all_->starts[example]; }
    std::size_t count(std::size_t example) const { return all_->starts[example + 1] - all_->starts[example]; }
    std::size_t gold(std::size_t example) const { return first(example) + all_->gold[example]; }
    void require_example(std::size_t example) const;
    // Writes the probabilities of the outputs (under the cost) and returns the loss.
    double infer(const ScaledWeights& weights, std::size_t example, double nu,
                 std::vector<double>& probabilities) const;

    std::shared_ptr<const Outputs> all_;
    std::vector<double> l1_factors_;
};

}  // namespace tw::user
