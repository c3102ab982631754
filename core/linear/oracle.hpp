// Any structure as learners see it: from weights to scores of parts and back, written once.
//
//     attributes of sites --scores--> scores of parts --structure--> best outputs, expected parts --scatter--> weights
//
// The structure sees no weight, learners see no part.
#pragma once

#include <memory>
#include <vector>

#include "../base/sparse_sum.hpp"
#include "../oracle.hpp"
#include "../structures/structure.hpp"
#include "channel.hpp"
#include "weight_index.hpp"

namespace tw::linear {

// Examples of a structure, with their gold outputs; or, where those are known only in part, the parts that they may
// have.
struct Examples {
    std::vector<std::vector<std::uint32_t>> shapes, outputs;
    std::vector<double> weights;  // of examples
    std::vector<Channel> channels;
    std::vector<std::vector<std::uint8_t>> allowed;  // 0 or 1 for each part of each example, in place of outputs
};

// Which (unit, code) get weights: those that gold has, all, or those that gold has and what learners meet later.
enum class Combinations { kSeen, kAll, kGrown };

class LinearOracle final : public Oracle,
                           public BestOutputs,
                           public Sums,
                           public PartMarginals,
                           public PartialGold,
                           public GrowingWeights {
public:
    // Throws std::invalid_argument when channels, outputs and structure do not fit each other.
    LinearOracle(std::shared_ptr<const Structure> structure, Examples examples, Combinations combinations);

    std::size_t n_examples() const override { return all_.shapes.size(); }
    std::size_t n_weights() const override { return index_.n_weights(); }
    BestOutputs* best() override { return this; }
    Sums* sums() override { return this; }
    PartMarginals* parts() override { return partly_known() ? nullptr : this; }
    PartialGold* partial() override { return partly_known() ? this : nullptr; }
    GrowingWeights* growth() override { return this; }
    std::vector<double> grown() const override { return index_.list(); }
    void grow_again(std::span<const double> list) override { index_.set_to(list); }
    double example_weight(std::size_t example) const override { return all_.weights[example]; }

    std::vector<Output> kbest(const ScaledWeights& weights, std::size_t example, std::size_t k,
                              double nu) const override;
    void difference(std::size_t example, const Output& found, SparseVector& out) override;
    Output best_allowed(const ScaledWeights& weights, std::size_t example) const override;
    void difference_to(std::size_t example, const Output& gold, const Output& output, SparseVector& out) override;
    void part_scores(const ScaledWeights& weights, std::size_t example, std::vector<double>& out) const override;
    void part_costs(std::size_t example, std::vector<double>& out) const override;
    double marginals(std::size_t example, std::span<const double> scores, std::vector<double>& out) const override;
    void difference_of_marginals(std::size_t example, std::span<const double> marginals, SparseVector& out) override;
    std::span<const double> l1_factors() const override { return l1_factors_; }
    double loss(std::span<const double> weights, std::span<double> gradient, double nu, std::size_t n_jobs,
                bool precise) override;
    void curvature(std::span<const double> weights, std::span<double> diagonal, double nu, std::size_t n_jobs) override;
    std::unique_ptr<WorkingWeights> working_weights() const override;
    double descend(WorkingWeights& weights, std::span<const std::uint32_t> examples, double step,
                   double nu) const override;

    const Structure& structure() const { return *structure_; }
    const WeightIndex& index() const { return index_; }
    const Examples& examples() const { return all_; }

private:
    void require_example(std::size_t example) const;
    bool partly_known() const { return !all_.allowed.empty(); }
    void put_gold(std::size_t example);
    void find_weights(Combinations combinations);
    // Calls visit(channel, numbers of a site by code, row of the site) for the sites that some of the numbers of parts
    // concern.
    template <class Visit>
    void each_site(std::size_t example, std::span<const double> of_parts, Visit visit) const;
    // Calls add(weight, x) with the derivative of sum(numbers of parts * scores of parts), or with `power` 2 of values.
    template <int power = 1, class Add>
    void scatter(std::size_t example, std::span<const double> of_parts, Add add) const;
    // The same into a sparse vector, with weights that are made if need be.
    void collect(std::size_t example, std::span<const double> of_parts, SparseVector& out);
    // The loss of an example; `rest` gets expected less gold parts, times the weight of the example.
    double infer(const ScaledWeights& weights, std::size_t example, double nu, std::vector<double>& rest,
                 std::vector<double>* variance = nullptr) const;
    double sum(std::span<const double> numbers, std::span<const Part> parts) const;

    std::shared_ptr<const Structure> structure_;
    Examples all_;
    std::vector<std::vector<Block>> blocks_;  // of each example
    std::vector<Parts> gold_;                 // where it is known in part, those that some allowed output has
    WeightIndex index_;
    SparseSum difference_;
    std::vector<double> l1_factors_;
};

}  // namespace tw::linear
