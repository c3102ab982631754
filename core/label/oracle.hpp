// One label of K for each example: the smallest structure, and the second that learners run on.
//
// The score of label k is w_k . x, its loss  log sum_k exp(w_k . x + nu cost(gold, k)) - w_gold . x  times the weight
// of the example: multinomial logistic regression, and softmax-margin for nu > 0 (Table 2.1; Gimpel & Smith 2010).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "../oracle.hpp"

namespace tw::label {

// The examples by row. Dense rows have no starts and no columns; sparse ones are compressed (CSR).
struct Rows {
    std::size_t n_rows = 0, n_columns = 0;
    std::vector<double> values;
    std::vector<std::size_t> starts;     // [n_rows + 1], or empty
    std::vector<std::uint32_t> columns;  // of each value, or empty
};

class LabelOracle final : public Oracle {
public:
    // `gold` is below n_labels; `sample_weights` is empty or one number >= 0 per row; `cost` is empty (0/1) or [K][K],
    // first the gold label. Throws std::invalid_argument when they do not fit each other.
    LabelOracle(Rows rows, std::vector<std::uint32_t> gold, std::size_t n_labels, std::vector<double> sample_weights,
                std::vector<double> cost);

    std::size_t n_labels() const { return n_labels_; }
    std::size_t n_examples() const override { return rows_.n_rows; }
    std::size_t n_weights() const override { return rows_.n_columns * n_labels_; }  // [column][label]
    bool answers(Question) const override { return true; }
    double example_weight(std::size_t example) const override { return sample_weights_[example]; }
    std::vector<Found> kbest(const ScaledWeights& weights, std::size_t example, std::size_t k,
                             double nu) const override;
    void difference(std::size_t example, const Found& found, SparseVector& out) override;
    bool slack_argmax(const ScaledWeights& weights, std::size_t example, Found& best) const override;
    void part_scores(const ScaledWeights& weights, std::size_t example, std::vector<double>& out) const override;
    void part_costs(std::size_t example, std::vector<double>& out) const override;
    double marginals(std::size_t example, std::span<const double> scores, std::vector<double>& out) const override;
    void difference_of_marginals(std::size_t example, std::span<const double> marginals, SparseVector& out) override;
    std::unique_ptr<Oracle> local() const override { return std::make_unique<LabelOracle>(*this); }
    void set_cost_scale(double nu) override { cost_scale_ = nu; }
    std::span<const double> l1_factors() const override { return l1_factors_; }
    double loss(std::span<const double> weights, std::span<double> gradient, std::size_t n_jobs, bool precise) override;
    void curvature(std::span<const double> weights, std::span<double> diagonal, std::size_t n_jobs) override;
    std::unique_ptr<WorkingWeights> working_weights() const override;
    double descend(WorkingWeights& weights, std::span<const std::uint32_t> examples, double step) const override;

private:
    double cost(std::size_t example, std::size_t label) const { return cost_[gold_[example] * n_labels_ + label]; }
    void require_example(std::size_t example) const;
    template <class Visit>
    void each_value(std::size_t row, Visit visit) const;  // visit(column, value)
    // Turns the scores of a row into probabilities (under the cost) and returns the loss; `scale` multiplies weights.
    double infer(std::size_t row, const double* weights, double scale, double* probabilities) const;
    // Runs add(row, probabilities, sums) over fixed shards of the rows; adds the shards up in order into `sums`.
    template <class Add>
    double over_shards(std::span<const double> weights, std::span<double> sums, std::size_t n_jobs, Add add) const;

    Rows rows_;
    std::vector<std::uint32_t> gold_;
    std::size_t n_labels_;
    std::vector<double> sample_weights_, cost_, l1_factors_;
    double cost_scale_ = 0.0;
};

}  // namespace tw::label
