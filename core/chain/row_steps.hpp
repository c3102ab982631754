// Stochastic steps on weights in whole rows, as row_layout.hpp lays them out, with the whole matrix of transitions.
// What step_weights.hpp asks of a layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "../base/huge_pages.hpp"
#include "../base/interrupt.hpp"
#include "flat_layout.hpp"
#include "group_runner.hpp"
#include "row_layout.hpp"

namespace tw::chain {

class RowSteps {
public:
    using Layout = RowLayout;
    using Flat = FlatLayout;

    RowSteps(const TrainingSet& set, const RowLayout& layout, const FlatLayout& flat, WholeFactors& whole)
        : set_(set), layout_(layout), flat_(flat), whole_(whole), factors_(set), runner_(set, factors_, whole) {
        const std::size_t size = n_in_rows() + layout.n_entries;
        fill_zeros(values_.get(size), size);
    }

    std::size_t stride() const { return factors_.stride(); }
    GroupRunner<float>& runner() { return runner_; }

    // Calls visit(weight, unit's factor, the number stored for it).
    template <class Once, class Visit>
    void each_weight(Once* once, Visit visit) const {
        const WeightTable& table = set_.unit_weights;
        InterruptCheck check;
        Touches touched(set_.storage);
        for (std::size_t r = 0; r < layout_.n_unit_rows; ++r) {
            check();
            const std::uint32_t u = layout_.row_units[r];
            for (std::uint32_t w = table.starts[u]; w < table.starts[u + 1]; ++w)
                visit(w, set_.factor(u), values_.data()[r * stride() + table.labels[w]]);
        }
        for (std::size_t e = 0; e < layout_.n_entries; ++e) {
            check();
            visit(layout_.entry_weights[e].weight, set_.factor(layout_.entry_weights[e].unit),
                  values_.data()[n_in_rows() + e]);
        }
        for (const std::uint32_t u : layout_.once_units) {
            check();
            touched(sizeof *once);
            visit(table.starts[u], set_.factor(u), once[layout_.index[u]]);
        }
    }

    // From the scores of the pairs that have a weight; returns those of the layout's edges.
    std::span<const double> set_transitions(std::span<const double> /*scores*/) {
        const std::span<const double> scores = whole_.scores();
        factors_.set_transitions(scores);
        return scores;
    }
    void set_cost_scale(double scale) { factors_.set_cost_scale(scale); }

    // The scores of tokens begin .. begin + n - 1.
    void gather(const float* once, std::size_t begin, std::size_t n, float* scores) const {
        training_loops<float>().gather(flat_.token_lists(), arrays(once), stride(), factors_.base(), begin, n, scores);
    }
    // A step against the gradient in p, in all but `once`.
    void step(std::size_t begin, std::size_t n, float factor, const float* p) {
        training_loops<float>().step(flat_.token_lists(), arrays(nullptr), flat_.members(), stride(), begin, n, factor,
                                     p);
    }

private:
    std::size_t n_in_rows() const { return layout_.n_unit_rows * stride(); }
    RowArrays<float> arrays(const float* once) const {
        return {values_.data(), values_.data() + n_in_rows(), const_cast<float*>(once)};  // which is only read
    }

    const TrainingSet& set_;
    const RowLayout& layout_;
    const FlatLayout& flat_;
    WholeFactors& whole_;
    Buffer<float> values_;  // rows of units | entries
    Factors<float> factors_;
    GroupRunner<float> runner_;
};

}  // namespace tw::chain
