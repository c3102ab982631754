// The chains of a training set as learners see them that ask for the best labellings: k best with cost, the difference
// of their features to gold, and the parts of a chain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "../base/huge_pages.hpp"
#include "../base/pool.hpp"
#include "../oracle.hpp"
#include "batch.hpp"
#include "training_set.hpp"

namespace tw::chain {

class BestLabellings final : public BestOutputs, public PartMarginals, public PartialGold {
public:
    BestLabellings(const TrainingSet& set, std::shared_ptr<WeightIndex> index);
    ~BestLabellings();

    void see_all_added();  // to be called when somebody else changed what has grown

    // Bring near what kbest() will read, while something else is done.
    void fetch_lists(std::size_t sequence) const;
    void fetch_weights(const ScaledWeights& weights, std::size_t sequence) const;

    void prefetch_update(const PrefetchTarget& touched);  // by the next difference()

    std::vector<Output> kbest(const ScaledWeights& weights, std::size_t example, std::size_t k,
                              double nu) const override;
    void difference(std::size_t example, const Output& output, SparseVector& out) override;
    double margin(const ScaledWeights& weights, std::size_t example, const Output& output) const override;
    // Exact where the cost counts wrong labels and the chain is not too long: the best labelling for every number of
    // them. False elsewhere.
    bool slack_argmax(const ScaledWeights& weights, std::size_t example, Output& best) const override;

    Output best_allowed(const ScaledWeights& weights, std::size_t example) const override;
    void difference_to(std::size_t example, const Output& gold, const Output& output, SparseVector& out) override;

    // Parts: [length][K] labels, then [K][K] transitions, or [length - 1] of those where pairs of labels have
    // attributes. A marginal is the expected number of times that a part is used.
    void part_scores(const ScaledWeights& weights, std::size_t example, std::vector<double>& out) const override;
    void part_costs(std::size_t example, std::vector<double>& out) const override;
    double marginals(std::size_t example, std::span<const double> scores, std::vector<double>& out) const override;
    void difference_of_marginals(std::size_t example, std::span<const double> marginals, SparseVector& out) override;

private:
    struct Scratch;
    class Sum;      // collects a sparse vector
    struct Place {  // of the weights of a unit
        std::uint32_t begin;
        std::uint16_t size, factor;  // the latter in factors_
    };

    std::uint32_t sequence(std::size_t example) const;  // kNoAttribute when it is empty
    void require_length(std::uint32_t sequence, const Output& output) const;
    template <class Label>
    void put_difference(std::size_t sequence, const Label* gold, std::span<const std::uint32_t> labels,
                        SparseVector& out);
    void place_units();
    void list_units();
    void see_added();
    // Overwrites [length][K], and may write into a vector's room behind it.
    void put_unit_scores(const ScaledWeights& weights, std::size_t sequence, double* unary) const;
    void add_pair_scores(const ScaledWeights& weights, std::size_t sequence, double* moves) const;
    void put_transitions(const ScaledWeights& weights, double* moves) const;
    void forbid(double* moves, std::size_t n_steps) const;
    void add_costs(std::size_t sequence, double nu, double* unary) const;
    // Call visit for the units of a token, with the value of the attribute, from the lists that gathering scores has
    // just brought into the cache. Rows are of one attribute each.
    template <class Visit>
    void each_row(std::size_t token, Visit visit) const;  // visit(begin, x)
    template <class Visit>
    void each_part(std::size_t token, Visit visit) const;  // visit(part, x)
    template <class Visit>
    void each_rare(std::size_t token, Visit visit) const;  // visit(rare, x)
    // add(weight, x, count) for the units of a token with the right label, add(weight, -x, count) with the wrong one.
    template <class Add>
    void each_difference(std::size_t token, std::uint32_t right, std::uint32_t wrong, Add add);
    std::size_t n_units(std::size_t token) const;
    static std::uint32_t weight_of(const PartRow& part, std::uint32_t label);
    std::uint32_t weight_of(const RareUnit& rare, std::uint32_t label);  // made if need be and the set may grow
    std::uint32_t transition(std::size_t pair) const { return transitions_[pair]; }
    double factor(std::uint32_t unit) const { return factors_[places_[unit].factor]; }
    double token_cost(std::size_t token, std::size_t label) const;
    std::size_t n_steps(std::size_t sequence) const;  // matrices of transitions
    std::size_t part_count(std::size_t sequence) const;
    void put_scores(Scratch& space, const ScaledWeights& weights, std::size_t sequence, double nu) const;
    double gold_score(const Scratch& space, std::size_t sequence) const;
    template <class Real>
    double margin_of(const Real* weights, std::size_t sequence, std::span<const std::uint32_t> labels) const;
    Output found(std::size_t sequence, const std::int32_t* labels, double total, double nu) const;

    const TrainingSet& set_;
    std::shared_ptr<WeightIndex> index_;
    std::size_t K_;
    std::vector<std::uint32_t> transitions_;  // the weight of each pair of labels, or kNoWeight
    std::vector<double> start_, end_;         // 0, or -inf where forbidden
    LargeArray<Place> places_;                // of units
    // Of units with so many members: what multiplies a variable in a score, what multiplies a value in a difference,
    // and how many weights a variable of a difference stands for.
    std::vector<double> factors_, steps_, counts_;
    LargeArray<std::uint16_t> labels_;
    std::vector<std::uint64_t> has_added_;
    // What TokenUnits says.
    std::vector<std::uint32_t> row_starts_{0}, far_starts_{0}, part_starts_{0}, rare_starts_{0}, far_;
    LargeArray<std::uint32_t> rows_;
    std::uint32_t last_row_ = 0;
    std::vector<double> row_factors_;
    LargeArray<PartRow> parts_;
    std::vector<float> part_values_;
    LargeArray<RareUnit> rare_;
    std::vector<float> rare_values_;
    std::size_t seen_added_ = 0;
    std::unique_ptr<Sum> sum_;
    std::unique_ptr<Pool<Scratch>> spaces_;
};

}  // namespace tw::chain
