// Any structure as learners see it: from weights to scores of parts and back, written once.
//
//     attributes of sites --features--> scores of parts --structure--> best outputs, expected parts --features-->
//     weights
//
// The structure sees no weight, learners see no part.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "../base/lists.hpp"
#include "../base/pool.hpp"
#include "../base/sparse_sum.hpp"
#include "../oracle.hpp"
#include "../structures/structure.hpp"
#include "features.hpp"
#include "shard_sums.hpp"

namespace tw::linear {

// Examples of a structure, with their gold outputs. What follows the channels may be left empty.
struct Examples {
    std::vector<std::vector<std::uint32_t>> shapes, outputs;
    std::vector<double> weights;  // of examples
    std::vector<Channel> channels;

    // Costs other than the structure's: of all parts, one example after the other; or of codes of the first block,
    // [gold][code], where outputs have one part at each of its sites.
    std::vector<double> part_costs, cost;
    // Of the sites of the first block, all examples one after the other, where outputs have one part at each. They
    // weigh costs. A loss is the weighted sum of  -log p(part at a site | parts at the sites before it).
    std::vector<double> site_weights;
    // What the weights are: those of single attributes, or of several that always occur together.
    Variables variables = Variables::kPlain;
    // Partly known outputs, in place of `outputs`: the codes that each site of the first block may have, any where
    // there are none.
    Lists allowed;
    // Likewise, where outputs do not have one part at each of these sites: by example, the parts of the first block
    // that an output may have.
    Lists allowed_parts;
};

class LinearOracle final : public Oracle,
                           public BestOutputs,
                           public Sums,
                           public PartMarginals,
                           public PartialGold,
                           public Hints,
                           public GrowingWeights {
public:
    // Throws std::invalid_argument when channels, outputs and structure do not fit each other. `tables`: which weights
    // there are, in place of the combinations, one for each channel.
    LinearOracle(std::shared_ptr<const Structure> structure, Examples examples, Combinations combinations,
                 std::optional<std::vector<WeightTable>> tables = {});

    std::size_t n_examples() const override { return set_->shapes.size(); }
    std::size_t n_weights() const override { return features().index().n_weights(); }
    BestOutputs* best() override { return local_ ? nullptr : this; }
    bool lists() const override { return set_->lists; }
    Sums* sums() override { return local_ || set_->sums ? this : nullptr; }
    PartMarginals* parts() override { return local_ || partly_known() || !set_->sums ? nullptr : this; }
    PartialGold* partial() override { return partly_known() ? this : nullptr; }
    Hints* hints() override { return this; }
    GrowingWeights* growth() override { return this; }
    Variables variables() const override { return set_->variables; }
    std::span<const std::uint32_t> nonnegative() const override { return set_->nonnegative; }
    bool decides() const override { return !local_ && !partly_known() && structure().decides(); }
    std::vector<double> grown() const override { return features().index().list(); }
    void grow_again(std::span<const double> list) override { set_->features.grow_again(list); }
    double example_weight(std::size_t example) const override { return set_->weights[example]; }

    // Single labels are few enough to be read as they are.
    bool reads_rounded() const override { return !structure().has_one_part(); }
    void prefetch(const ScaledWeights& weights, std::size_t next, std::size_t after) const override {
        features().fetch_lists(after);
        features().fetch_weights(weights, next);
    }
    void prefetch_update(const PrefetchTarget& touched) override { difference_.prefetch_update(touched); }

    std::vector<Output> kbest(const ScaledWeights& weights, std::size_t example, std::size_t k,
                              double nu) const override;
    void difference(std::size_t example, const Output& output, SparseVector& out) override;
    bool slack_argmax(const ScaledWeights& weights, std::size_t example, Output& best) const override;
    Output best_allowed(const ScaledWeights& weights, std::size_t example) const override;
    void difference_to(std::size_t example, const Output& gold, const Output& output, SparseVector& out) override;
    void part_scores(const ScaledWeights& weights, std::size_t example, std::vector<double>& out) const override;
    void part_costs(std::size_t example, std::vector<double>& out) const override;
    double marginals(std::size_t example, std::span<const double> scores, std::vector<double>& out) const override;
    void difference_of_marginals(std::size_t example, std::span<const double> marginals, SparseVector& out) override;
    std::unique_ptr<Oracle> local() const override;
    std::span<const double> l1_factors() const override;
    double loss(std::span<const double> weights, std::span<double> gradient, double nu, std::size_t n_jobs,
                bool precise) override;
    void curvature(std::span<const double> weights, std::span<double> diagonal, double nu, std::size_t n_jobs) override;
    std::unique_ptr<WorkingWeights> working_weights() const override;
    double descend(WorkingWeights& weights, std::span<const std::uint32_t> examples, double step,
                   double nu) const override;

    std::size_t memory_bytes() const;
    std::size_t n_parameters() const;  // weights, with every unit taken apart

    const Structure& structure() const { return *set_->structure; }
    const Features& features() const { return set_->features; }

private:
    struct Set {
        explicit Set(Features made) : features(std::move(made)) {}
        std::shared_ptr<const Structure> structure;
        Lists shapes, gold;            // gold: parts; of partly known outputs, those that some allowed output has
        Lists allowed, allowed_parts;  // as given
        Variables variables = Variables::kPlain;
        std::vector<double> weights, part_costs, cost, site_weights;
        std::vector<std::size_t> first_part, first_site;  // of examples, in part_costs and in site_weights
        bool lists = true, sums = true;                   // whether the structure answers for every example
        std::vector<std::uint32_t> nonnegative;           // weights of channels that say so
        Features features;
    };
    // What an example is computed in, kept from one to the next.
    struct Space {
        std::vector<double> scores, costs, expected, more, variance, terms, kept, means;
        std::vector<std::uint8_t> allowed;
        Features::Scratch scratch;
        std::unique_ptr<Workspace> structure;
    };

    LinearOracle(std::shared_ptr<Set> set, bool local)
        : set_(std::move(set)), local_(local), difference_(set_->variables == Variables::kByMember) {}
    static std::shared_ptr<Set> made(std::shared_ptr<const Structure> structure, Examples examples);
    static void take_outputs(Set& set, const Examples& examples);
    bool partly_known() const { return !set_->allowed.empty() || !set_->allowed_parts.empty(); }
    void find_gold();
    void collect_difference(std::size_t example, std::span<const Part> gold, const Output& other, SparseVector& out);
    void require_example(std::size_t example) const;
    Workspace& workspace(Space& space) const;
    void put_scores(const ScaledWeights& weights, std::size_t example, Space& space) const;
    void put_costs(std::size_t example, bool weighed, std::vector<double>& out) const;
    // The loss of an example, without its weight; space.expected gets expected less gold parts, and space.variance the
    // variances of parts if they are wanted.
    double infer(const ScaledWeights& weights, std::size_t example, double nu, bool variance, Space& space) const;
    double infer_whole(std::size_t example, double* variance, Space& space) const;
    double infer_site_by_site(std::size_t example, double* variance, Space& space) const;
    double infer_decisions(std::size_t example, double* variance, Space& space) const;
    void keep_gold(std::size_t example, std::size_t site, Space& space) const;
    bool weights_meet_parts_once() const;
    void subtract_squares(std::size_t example, double weight, std::vector<double>& means, ShardSums::Shard& shard,
                          Features::Scratch& scratch) const;
    ShardSums& shards();
    void allow_gold(std::size_t example, Space& space) const;
    struct Codes {
        std::span<const std::uint32_t> numbers;
        std::uint32_t first;  // to be taken from each
    };
    Codes right_codes(std::size_t example, std::size_t site) const;

    std::shared_ptr<Set> set_;
    bool local_ = false;  // one decision after the other
    SparseSum difference_;
    std::vector<Features::Count> counts_;
    mutable std::vector<double> l1_factors_;
    mutable Pool<Space> spaces_;
    std::unique_ptr<ShardSums> shards_;  // made when they are first needed
};

}  // namespace tw::linear
