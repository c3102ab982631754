// One label of K for each example: the smallest structure, and the second that learners run on.
//
// The score of label k is w . phi(x, k), its loss  log sum_k exp(score_k + nu cost(gold, k)) - score_gold  times the
// weight of the example: multinomial logistic regression, and softmax-margin for nu > 0 (Table 2.1; Gimpel & Smith
// 2010).
//
// phi(x, k) has a copy of x for every group that label k belongs to, times its share in it. As a rule every label is
// alone in a group of its own (000, eq. 17.2); labels that share a group learn from each other's examples (eq. 17.9 to
// 17.11).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "../base/sparse_rows.hpp"
#include "../oracle.hpp"

namespace tw::label {

// The examples by row: either all values, or the sparse rows.
struct Rows {
    std::size_t n_rows = 0, n_columns = 0;
    std::vector<double> values;
    SparseRows sparse;
    bool is_sparse = false;

    template <class Visit>
    void each(std::size_t row, Visit visit) const {  // visit(column, value)
        if (is_sparse) return sparse.each(row, visit);
        const double* of_row = values.data() + row * n_columns;
        for (std::size_t column = 0; column < n_columns; ++column) visit(column, of_row[column]);
    }
};

// Which labels share weights: for each label its groups and its share in them. No rows: a group for each label.
struct Groups {
    std::size_t n_groups = 0;
    SparseRows of_label;
};

class LabelOracle final : public Oracle, public BestOutputs, public Sums, public PartMarginals {
public:
    // `gold` is below n_labels; `sample_weights` is empty or one number >= 0 per row; `cost` is empty (0/1) or [K][K],
    // first the gold label, >= 0 and 0 for gold itself. Throws std::invalid_argument when they do not fit each other.
    LabelOracle(Rows rows, std::vector<std::uint32_t> gold, std::size_t n_labels, std::vector<double> sample_weights,
                std::vector<double> cost, Groups groups = {});

    std::size_t n_labels() const { return n_labels_; }
    std::size_t n_groups() const { return n_groups_; }
    std::size_t n_examples() const override { return rows_->n_rows; }
    std::size_t n_weights() const override { return rows_->n_columns * n_groups_; }  // [column][group]
    BestOutputs* best() override { return this; }
    Sums* sums() override { return this; }
    PartMarginals* parts() override { return this; }
    double example_weight(std::size_t example) const override { return sample_weights_[example]; }
    std::vector<Output> kbest(const ScaledWeights& weights, std::size_t example, std::size_t k,
                              double nu) const override;
    void difference(std::size_t example, const Output& found, SparseVector& out) override;
    bool slack_argmax(const ScaledWeights& weights, std::size_t example, Output& best) const override;
    void part_scores(const ScaledWeights& weights, std::size_t example, std::vector<double>& out) const override;
    void part_costs(std::size_t example, std::vector<double>& out) const override;
    double marginals(std::size_t example, std::span<const double> scores, std::vector<double>& out) const override;
    void difference_of_marginals(std::size_t example, std::span<const double> marginals, SparseVector& out) override;
    std::unique_ptr<Oracle> local() const override { return std::make_unique<LabelOracle>(*this); }
    std::span<const double> l1_factors() const override { return l1_factors_; }
    double loss(std::span<const double> weights, std::span<double> gradient, double nu, std::size_t n_jobs,
                bool precise) override;
    void curvature(std::span<const double> weights, std::span<double> diagonal, double nu, std::size_t n_jobs) override;
    std::unique_ptr<WorkingWeights> working_weights() const override;
    double descend(WorkingWeights& weights, std::span<const std::uint32_t> examples, double step,
                   double nu) const override;

private:
    double cost(std::size_t example, std::size_t label) const { return cost_[gold_[example] * n_labels_ + label]; }
    void require_example(std::size_t example) const;
    // The sums over labels of  number * share in the group,  of each group; `power` of the share.
    template <int power>
    void to_groups(const double* of_labels, double* of_groups) const;
    void score(const ScaledWeights& weights, std::size_t row, std::span<double> out) const;
    // Writes the probabilities of the labels (under the cost) and returns the loss.
    double infer(const ScaledWeights& weights, std::size_t row, double nu, std::span<double> probabilities) const;

    std::shared_ptr<const Rows> rows_;
    std::vector<std::uint32_t> gold_;
    std::size_t n_labels_, n_groups_;
    SparseRows groups_;  // empty: label k is group k
    std::vector<double> sample_weights_, cost_, l1_factors_;
};

}  // namespace tw::label
