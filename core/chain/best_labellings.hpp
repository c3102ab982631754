// The chains of a training set as learners see them that ask for the best labellings: k best with cost, the difference
// of their features to gold, and the parts of a chain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "../base/huge_pages.hpp"
#include "../base/pool.hpp"
#include "../base/sparse_sum.hpp"
#include "../linear/listed_units.hpp"
#include "../linear/unit_rows.hpp"
#include "../oracle.hpp"
#include "batch.hpp"
#include "candidates.hpp"
#include "training_set.hpp"

namespace tw::chain {

class BestLabellings final : public BestOutputs, public BeamOutputs, public PartMarginals, public PartialGold {
public:
    // `in_rows`: rounded weights are wanted in rows, where there are few. The set must keep the occurrences of units.
    BestLabellings(const TrainingSet& set, std::shared_ptr<WeightIndex> index, bool in_rows = false);
    ~BestLabellings();

    // Only these labels of each token are looked at from now on, gold among them. Tokens are in the order of the
    // examples.
    void limit(const Candidates& candidates);

    RoundedLayout rounded_layout() const {
        return rows_ ? RoundedLayout{rows_->places(), rows_->size()} : RoundedLayout{};
    }
    void see_all_added() { units_.see_all_added(); }  // when somebody else changed what has grown

    // Bring near what kbest() will read, while something else is done.
    void fetch_lists(std::size_t sequence) const;
    void fetch_weights(const ScaledWeights& weights, std::size_t sequence) const;
    void read_ahead(std::span<const std::uint32_t> sequences) const {
        for (const std::uint32_t s : sequences) units_.read_ahead(s);
    }

    void prefetch_update(const PrefetchTarget& touched) { sum_.prefetch_update(touched); }  // by the next difference()

    std::vector<Output> kbest(const ScaledWeights& weights, std::size_t example, std::size_t k,
                              double nu) const override;
    void difference(std::size_t example, const Output& output, SparseVector& out) override;
    double margin(const ScaledWeights& weights, std::size_t example, const Output& output) const override;
    // Exact where the cost counts wrong labels and the chain is not too long: the best labelling for every number of
    // them. False elsewhere.
    bool slack_argmax(const ScaledWeights& weights, std::size_t example, Output& best) const override;

    Output max_violation(const ScaledWeights& weights, std::size_t example, std::size_t width) const override;
    void difference_of_beginnings(std::size_t example, const Output& output, SparseVector& out) override;

    Output best_allowed(const ScaledWeights& weights, std::size_t example) const override;
    void difference_to(std::size_t example, const Output& gold, const Output& output, SparseVector& out) override;

    // Parts: [length][K] labels, then [K][K] transitions, or [length - 1] of those where pairs of labels have
    // attributes. A marginal is the expected number of times that a part is used.
    void part_scores(const ScaledWeights& weights, std::size_t example, std::vector<double>& out) const override;
    void part_costs(std::size_t example, std::vector<double>& out) const override;
    double marginals(std::size_t example, std::span<const double> scores, std::vector<double>& out) const override;
    void difference_of_marginals(std::size_t example, std::span<const double> marginals, SparseVector& out) override;

private:
    struct StepMoves;
    struct Scratch;
    using Sites = linear::ListedUnits::Sites;

    // Where rounded weights are in rows, the lists are made when other weights first ask for them.
    const linear::ListedUnits& listed() const {
        if (rows_) std::call_once(once_listed_, [&] { list_units(); });
        return units_;
    }
    Sites sites(std::size_t sequence) const { return listed().sites(sequence, set_.starts[sequence]); }
    std::span<const std::uint32_t> units_of(std::size_t token) const {
        const Occurrences& o = set_.occurrences;
        return {o.numbers.data() + o.starts[token], o.numbers.data() + o.starts[token + 1]};
    }
    bool in_rows(const ScaledWeights& weights) const { return rows_ && !weights.rounded.empty(); }
    void require_size(const ScaledWeights& weights) const;
    template <class Visit>
    auto with_transitions(const ScaledWeights& weights, Visit visit) const;
    std::uint32_t sequence(std::size_t example) const;  // kNoAttribute when it is empty
    void require_length(std::uint32_t sequence, const Output& output) const;
    template <class Label>
    void put_difference(std::size_t sequence, const Label* gold, std::span<const std::uint32_t> labels,
                        SparseVector& out);
    void list_units() const;
    void require_memory();  // for weights that were added
    // Overwrites [length][K], and may write into a vector's room behind it.
    void put_unit_scores(const ScaledWeights& weights, std::size_t sequence, double* unary) const;
    template <class Visit>
    void each_pair_unit(std::size_t token, Visit visit) const;
    template <class Visit>
    void each_pair(std::uint32_t unit, Visit visit) const;
    const double* moves_to(StepMoves& step, const ScaledWeights& weights, std::size_t token) const;
    void put_steps(const ScaledWeights& weights, std::size_t sequence, double* moves) const;
    void put_transitions(const ScaledWeights& weights, double* moves) const;
    void forbid(double* moves, std::size_t n_steps) const;
    void add_costs(std::size_t sequence, double nu, double* unary) const;
    void forbid_others(std::size_t sequence, double* unary) const;  // but the candidates
    void put_rows(const ScaledWeights& weights, std::size_t sequence, float* unary) const;
    // add(weight, x, count) for the units of a token with the right label, add(weight, -x, count) with the wrong one.
    template <class Add>
    void each_difference(const Sites& sites, std::size_t token, std::uint32_t right, std::uint32_t wrong, Add add);
    std::uint32_t transition(std::size_t pair) const { return transitions_[pair]; }
    double token_cost(std::size_t token, std::size_t label) const;
    std::size_t n_steps(std::size_t sequence) const;  // matrices of transitions
    std::size_t part_count(std::size_t sequence) const;
    void put_label_scores(Scratch& space, const ScaledWeights& weights, std::size_t sequence, double nu) const;
    void put_moves(Scratch& space, const ScaledWeights& weights, std::size_t sequence) const;
    void put_scores(Scratch& space, const ScaledWeights& weights, std::size_t sequence, double nu) const;
    void bound_moves(Scratch& space, const ScaledWeights& weights) const;
    double gold_score(const Scratch& space, std::size_t sequence) const;
    template <class Real>
    double margin_of(const Real* weights, std::size_t sequence, std::span<const std::uint32_t> labels) const;
    void search(Scratch& space, const ScaledWeights& weights, std::size_t sequence, std::size_t k,
                std::span<const std::uint16_t> guess) const;
    bool rounds(const ScaledWeights& weights, std::size_t sequence, std::size_t k) const;
    bool best_rounded(Scratch& space, const ScaledWeights& weights, std::size_t sequence, double nu, Output& out) const;
    double margin_in_rows(std::span<const float> rounded, std::size_t sequence,
                          std::span<const std::uint32_t> labels) const;
    Output found(std::size_t sequence, const std::int32_t* labels, double total, double nu) const;

    const TrainingSet& set_;
    std::shared_ptr<WeightIndex> index_;
    std::size_t K_;
    std::vector<std::uint32_t> transitions_;  // the weight of each pair of labels, or kNoWeight
    std::vector<double> start_, end_;         // 0, or -inf where forbidden
    std::optional<linear::UnitRows> rows_;    // of rounded weights, where there are few
    mutable linear::ListedUnits units_;       // of tokens
    mutable std::once_flag once_listed_;
    SparseSum sum_;
    Candidates candidates_;  // or empty: all labels of all tokens
    std::size_t foreseen_;   // weights for which there is room
    std::unique_ptr<Pool<Scratch>> spaces_;
};

}  // namespace tw::chain
