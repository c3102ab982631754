// Weights in rows that stochastic steps change in place, in single precision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../oracle.hpp"
#include "group_runner.hpp"
#include "row_layout.hpp"

namespace tw::chain {

class RowWeights : public WorkingWeights {
public:
    RowWeights(const TrainingSet& set, const RowLayout& layout);

    void load(std::span<const double> weights) override;
    void store(std::span<double> weights) const override;
    double scale() const override { return scale_; }
    void multiply(double factor) override;
    double squared_norm() const override;

    // The summed loss of the sequences, and a step against its gradient.
    double descend(std::span<const std::uint32_t> sequences, double step, double cost_scale);

private:
    // The lists of a few sequences with their composites taken apart, as if they were all there is.
    struct Flat {
        Lists rows, entries, valued_rows, valued_entries;
        std::vector<std::uint32_t> entry_places;
        std::vector<std::uint16_t> valued_entry_labels, gold;
        std::vector<float> row_values, entry_values, once;
        std::size_t n_tokens = 0;
        std::uint32_t n_rows = 0, n_entries = 0;  // in use; their lists are longer, so that writing needs no check
        void clear();
        void make_room(std::size_t more_rows, std::size_t more_entries);
        void add_rows(const std::uint32_t* from, std::uint32_t n);
        void add_entry(std::uint32_t entry, std::uint32_t entry_place);
        TokenLists view() const;
    };
    struct Part {  // up to four sequences of a step
        std::vector<std::uint32_t> sequences;
        Flat flat;
        std::vector<float> probabilities;
    };

    template <class Visit>
    void each_weight(Visit visit) const;
    void prepare(double cost_scale);
    void flatten(Part& part) const;
    void add_valued(std::size_t token, Flat& flat) const;
    double evaluate(Part& part);
    double gold_score(const Part& part, const float* scores) const;
    void update(Part& part, float factor);
    void update_transitions(std::span<const std::uint32_t> sequences, double factor);

    const TrainingSet& set_;
    const RowLayout& layout_;
    RowStrides strides_;
    std::size_t stride_;  // of rows of scores
    double scale_ = 1.0;
    // What is stored is the score that a unit adds, sqrt(g) z / scale; a step on z moves it by g times its gradient.
    Buffer<float> data_;
    RowArrays<float> stored_{};
    std::vector<float> row_members_, entry_members_, once_members_;
    std::vector<std::uint16_t> cells_;  // of rows, those that are weights
    Members members_{};
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
