// Chains as one decision after the other: the label of a token given its attributes and the gold label before it.
//
// This is the maximum-entropy Markov model (McCallum, Freitag & Pereira 2000; the pitfall of 002): its weights are
// those of the chain, but
//     p(y | x) = prod_t p(y_t | y_{t-1}, x),     p(b | a, x) = exp(s_t(a, b)) / sum_b' exp(s_t(a, b')),
// each step normalised by itself. What constraints forbid has probability zero in its step.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "../oracle.hpp"
#include "training_set.hpp"

namespace tw::chain {

class LocalOracle final : public Oracle, public Sums, public Hints {
public:
    // Every token must have one label, and `set` its occurrences.
    explicit LocalOracle(std::shared_ptr<const TrainingSet> set);

    std::size_t n_examples() const override { return set_->n_examples; }
    std::size_t n_weights() const override { return set_->n_weights(); }
    Sums* sums() override { return this; }
    Hints* hints() override { return this; }
    double example_weight(std::size_t example) const override;
    std::span<const double> l1_factors() const override { return l1_factors_; }
    double loss(std::span<const double> weights, std::span<double> gradient, double nu, std::size_t n_jobs,
                bool precise) override;
    void curvature(std::span<const double> weights, std::span<double> diagonal, double nu, std::size_t n_jobs) override;
    std::unique_ptr<WorkingWeights> working_weights() const override;
    std::span<const std::uint32_t> similar_order() const override { return set_->example; }
    double descend(WorkingWeights& weights, std::span<const std::uint32_t> examples, double step,
                   double nu) const override;

private:
    struct Token {  // where a decision is made
        std::size_t number;
        bool first, last;
    };
    struct Space {
        std::vector<double> row, kept;
    };
    // The probabilities of the labels of a token; returns minus the log of gold's.
    double decide(const double* weights, double scale, double nu, const Token& token, double* row) const;
    void add_scores(const double* weights, double scale, const Token& token, double* row) const;
    void forbid(const Token& token, double* row) const;
    // sums[w] += factor * value^power * row[label of w], over the weights that the decision at the token has
    void add(const Token& token, const double* row, double factor, int power, double* sums) const;
    // Calls visit(token, weight of its decision) for the tokens of a sequence.
    template <class Visit>
    void each_token(std::size_t sequence, Visit visit) const;

    std::shared_ptr<const TrainingSet> set_;
    std::size_t K_;
    std::vector<std::uint32_t> transition_;  // the weight of each pair of labels, or kNone
    std::vector<double> l1_factors_;
};

}  // namespace tw::chain
