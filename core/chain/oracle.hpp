// The oracle of first-order chains: a training set whose loss, gradient and curvature learners ask for, and its way out
// into a model.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "../oracle.hpp"
#include "best_labellings.hpp"
#include "dev_set.hpp"
#include "linear_oracle.hpp"
#include "model_tensors.hpp"
#include "path.hpp"
#include "training_set.hpp"

namespace tw::chain {

class ChainOracle : public Oracle, public Hints, public GrowingWeights {
public:
    // `n_jobs` threads lay the examples out; how does not depend on their number. `use`, what learners will ask for:
    // sums over all labellings (loss, curvature, descend; fast where it can be), or the best labellings and parts.
    // Either answers the other's questions too, but for kFast, whose layout has no room for them. For tests that
    // compare ways: kRows and kBlocks are kFast as for few and for many labels, kGeneral sums in the general way.
    // kRounded is kBest for learners that hand their weights over rounded, whose scores are then added in another order
    // where there are few units.
    enum class Use { kFast, kRows, kBlocks, kGeneral, kBest, kRounded };
    ChainOracle(Examples&& examples, Settings settings, std::size_t n_jobs, Use use);

    std::size_t n_examples() const override { return set_->n_examples; }
    std::size_t n_weights() const override { return index_->n_weights(); }
    std::size_t n_labels() const { return set_->n_labels(); }
    BestOutputs* best() override { return best_.get(); }
    BeamOutputs* beam() override { return set_->partly_labelled() ? nullptr : best_.get(); }
    Sums* sums() override { return dictionary_ ? nullptr : path_.get(); }
    PartMarginals* parts() override { return set_->partly_labelled() || dictionary_ ? nullptr : best_.get(); }
    PartialGold* partial() override { return set_->partly_labelled() ? best_.get() : nullptr; }
    Hints* hints() override { return this; }
    GrowingWeights* growth() override { return this; }
    bool reads_rounded() const override { return true; }
    RoundedLayout rounded_layout() const override { return best_ ? best_->rounded_layout() : RoundedLayout{}; }
    Variables variables() const override { return variables_; }
    double example_weight(std::size_t example) const override;
    std::vector<double> grown() const override { return index_->list(); }
    void grow_again(std::span<const double> list) override;
    void prefetch(const ScaledWeights& weights, std::size_t next, std::size_t after) const override;
    void prefetch_update(const PrefetchTarget& touched) override;
    void read_ahead(std::span<const std::uint32_t> examples) const override;
    bool decides() const override {
        return best_ && !dictionary_ && !set_->partly_labelled() && variables_ != Variables::kByMember &&
               !set_->storage;
    }
    std::unique_ptr<Oracle> local() const override;  // null where gold or attributes are not at hand
    std::span<const std::uint32_t> similar_order() const override { return set_->example; }

    // From now on words take the labels that a dictionary made of these examples has for them, here and in development
    // sets. Sums are then no longer answered.
    void limit(std::shared_ptr<const MadeDictionary> dictionary);

    // The same examples for the oracle of any structure.
    std::unique_ptr<linear::LinearOracle> linear() const;
    std::size_t n_parameters() const;  // weights as users count them: one per attribute and label
    std::size_t memory_bytes() const;
    bool fast() const { return fast_; }
    ModelTensors export_tensors(std::span<const double> weights) const;
    std::string crfsuite_bytes(std::span<const double> weights, std::vector<std::string> labels,
                               linear::CrfsuiteCounts& counts) const {
        return tw::chain::crfsuite_bytes(*set_, *index_, weights, std::move(labels), counts);
    }
    // Of weights, one per attribute and label: how many are not 0, and their Euclidean norm.
    struct Extent {
        std::size_t n_active;
        double norm;
    };
    Extent extent(std::span<const double> weights) const;
    std::vector<double> weights_from(const ModelView& model);
    DevSet dev(const Source& source, std::size_t n_jobs) const {
        return DevSet(set_, index_, dictionary_, source, n_jobs);
    }

private:
    std::shared_ptr<const TrainingSet> set_;
    std::shared_ptr<WeightIndex> index_;
    bool fast_;
    std::unique_ptr<Path> path_;
    std::unique_ptr<BestLabellings> best_;  // or null
    Variables variables_;
    std::shared_ptr<const MadeDictionary> dictionary_;  // or null
};

}  // namespace tw::chain
