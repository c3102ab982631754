// Weights in rows that stochastic steps change in place, in single precision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "../oracle.hpp"
#include "flat_layout.hpp"
#include "group_runner.hpp"
#include "row_layout.hpp"

namespace tw::chain {

class RowWeights : public WorkingWeights {
public:
    RowWeights(const TrainingSet& set, const RowLayout& layout, std::shared_ptr<const FlatLayout> flat);

    void load(std::span<const double> weights) override;
    void store(std::span<double> weights) const override;
    double scale() const override { return scale_; }
    void multiply(double factor) override;
    double squared_norm() const override;

    // The summed loss of the sequences, and a step against its gradient.
    double descend(std::span<const std::uint32_t> sequences, double step, double cost_scale);

private:
    struct Part {  // up to four sequences of a step
        std::vector<std::uint32_t> sequences;
        std::vector<float> probabilities;
    };

    template <class Visit>
    void each_weight(Visit visit) const;
    void prepare(double cost_scale);
    double evaluate(Part& part);
    void gather(Part& part) const;
    double gold_score(const Part& part, const float* scores) const;
    void update(Part& part, float factor);
    void update_transitions(std::span<const std::uint32_t> sequences, double factor);

    const TrainingSet& set_;
    const RowLayout& layout_;
    const std::shared_ptr<const FlatLayout> flat_;
    std::size_t stride_;  // of rows
    double scale_ = 1.0;
    // What is stored is the score that a unit adds, sqrt(g) z / scale; a step on z moves it by g times its gradient.
    Buffer<float> data_;
    Stored<float> once_;
    RowArrays<float> stored_{};
    std::vector<double> transitions_;    // stored; [n_labels][n_labels], weights only
    std::vector<std::uint8_t> trained_;  // which of them are weights
    std::vector<double> scores_;         // of transitions, -inf where forbidden
    double cost_scale_ = -1.0;
    Factors<float> single_;
    Factors<double> twice_;
    GroupRunner runner_;
    GroupRows<float> group_rows_;
    GroupSums sums_;
    std::vector<Part> parts_;
};

}  // namespace tw::chain
