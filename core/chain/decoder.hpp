// The chains of a training set as learners see them that ask for the best labellings: k best with cost, the difference
// of their features to gold, and the parts of a chain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "../oracle.hpp"
#include "batch.hpp"
#include "growth.hpp"
#include "training_set.hpp"

namespace tw::chain {

class Decoder {
public:
    explicit Decoder(const TrainingSet& set, std::shared_ptr<Growth> growth);
    ~Decoder();

    std::vector<Found> kbest(const ScaledWeights& weights, std::size_t sequence, std::size_t k, double nu) const;
    void difference(std::size_t sequence, std::span<const std::uint32_t> labels, SparseVector& out);

    // Parts: [length][K] labels, then [K][K] transitions, or [length - 1] of those where pairs of labels have
    // attributes. A marginal is the expected number of times that a part is used.
    void part_scores(const ScaledWeights& weights, std::size_t sequence, std::vector<double>& out) const;
    void part_costs(std::size_t sequence, std::vector<double>& out) const;
    double marginals(std::size_t sequence, std::span<const double> scores, std::vector<double>& out) const;
    void difference_of_marginals(std::size_t sequence, std::span<const double> marginals, SparseVector& out);

private:
    struct Scratch;
    class Borrowed;  // a scratch space of one call
    class Sum;       // collects a sparse vector

    void add_unit_scores(const ScaledWeights& weights, std::size_t sequence, double* unary) const;
    void add_pair_scores(const ScaledWeights& weights, std::size_t sequence, double* moves) const;
    void put_transitions(const ScaledWeights& weights, double* moves) const;
    void forbid(double* moves, std::size_t n_steps) const;
    void add_costs(std::size_t sequence, double nu, double* unary) const;
    double token_cost(std::size_t token, std::size_t label) const;
    std::size_t n_steps(std::size_t sequence) const;  // matrices of transitions
    std::size_t part_count(std::size_t sequence) const;
    Found best(Scratch& space, std::size_t sequence, double nu) const;
    Found found(std::size_t sequence, const std::int32_t* labels, double total, double nu) const;

    const TrainingSet& set_;
    std::shared_ptr<Growth> growth_;
    std::size_t K_, padded_;
    std::vector<double> start_, end_;  // 0, or -inf where forbidden
    std::vector<double> factors_;      // of units
    std::unique_ptr<Sum> sum_;
    mutable std::mutex lock_;
    mutable std::vector<std::unique_ptr<Scratch>> free_;
};

}  // namespace tw::chain
