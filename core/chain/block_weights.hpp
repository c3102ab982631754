// Weights in rows with gaps that stochastic steps change in place, in single precision: training with many labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "../oracle.hpp"
#include "block_layout.hpp"
#include "flat_layout.hpp"
#include "sparse_runner.hpp"

namespace tw::chain {

// What all working weights share: the rows of each token, and which cells of the blocks are weights.
struct FlatBlocks {
    FlatBlocks(const TrainingSet& set, const BlockLayout& layout, std::size_t n_jobs);
    FlatLayout flat;
    std::vector<std::uint8_t> cells;  // of each block
};

class BlockWeights : public WorkingWeights {
public:
    BlockWeights(const TrainingSet& set, const BlockLayout& layout, std::shared_ptr<const FlatBlocks> flat);

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
    double gold_score(const Part& part) const;
    void update(Part& part, float factor);
    void update_transitions(std::span<const std::uint32_t> sequences, double factor);
    TokenLists token_lists() const;

    const TrainingSet& set_;
    const BlockLayout& layout_;
    const std::shared_ptr<const FlatBlocks> flat_;
    double scale_ = 1.0;
    // What is stored is the score that a unit adds, sqrt(g) z / scale; a step on z moves it by g times its gradient.
    Buffer<float> values_;
    Stored<float> once_;
    std::vector<double> transitions_, scores_;  // of each pair that has a weight: stored, and true
    double cost_scale_ = -1.0;
    SparseFactors<float> factors_;
    WholeFactors whole_;
    SparseRunner<float> runner_;
    PairSums sums_;
    std::vector<Part> parts_;
};

}  // namespace tw::chain
