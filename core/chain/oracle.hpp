// The oracle of first-order chains: a training set whose loss, gradient and curvature learners ask for, and its way out
// into a model.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "../oracle.hpp"
#include "dev_set.hpp"
#include "model_tensors.hpp"
#include "path.hpp"
#include "training_set.hpp"

namespace tw::chain {

class ChainOracle : public Oracle {
public:
    // `n_jobs` threads lay the examples out; how does not depend on their number. `general`: the general path even
    // where the fast one would do; for tests that compare them.
    ChainOracle(Examples&& examples, Settings settings, std::size_t n_jobs, bool general);

    std::size_t n_examples() const override { return set_->n_examples; }
    std::size_t n_weights() const override { return set_->n_weights(); }
    std::size_t n_labels() const { return set_->n_labels(); }
    void set_cost_scale(double nu) override;
    std::span<const double> l1_factors() const override { return l1_factors_; }
    double loss(std::span<const double> weights, std::span<double> gradient, std::size_t n_jobs, bool precise) override;
    void curvature(std::span<const double> weights, std::span<double> diagonal, std::size_t n_jobs) override;
    std::unique_ptr<WorkingWeights> working_weights() const override { return path_->working_weights(); }
    std::span<const std::uint32_t> alike() const override { return set_->example; }
    double descend(WorkingWeights& weights, std::span<const std::uint32_t> examples, double step) const override;

    std::size_t n_parameters() const;  // weights as users count them: one per attribute and label
    std::size_t memory_bytes() const;
    bool fast() const { return fast_; }
    ModelTensors export_tensors(std::span<const double> weights) const { return tensors(*set_, weights); }
    std::vector<double> weights_from(const ModelView& model) const { return tw::chain::weights_from(*set_, model); }
    DevSet dev(const Source& source, std::size_t n_jobs) const { return DevSet(set_, source, n_jobs); }

private:
    std::shared_ptr<const TrainingSet> set_;
    bool fast_;
    std::unique_ptr<Path> path_;
    std::vector<double> l1_factors_;
    double cost_scale_ = 0.0;
};

}  // namespace tw::chain
