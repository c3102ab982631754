// Stochastic steps on weights in rows with gaps, drawn in kernels/many_labels.hpp, with sparse transitions. What
// step_weights.hpp asks of a layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../base/huge_pages.hpp"
#include "../base/interrupt.hpp"
#include "block_layout.hpp"
#include "flat_layout.hpp"
#include "sparse_runner.hpp"

namespace tw::chain {

class BlockSteps {
public:
    using Layout = BlockLayout;
    struct Flat : FlatLayout {
        Flat(const TrainingSet& set, const BlockLayout& layout, std::size_t n_jobs)
            : FlatLayout(set, layout.rows, n_jobs, false), cells(layout.n_unit_values() / kBlockLabels, 0) {
            for (std::size_t u = 0; u < set.units.size(); ++u) {
                if (layout.rows.place[u] != Place::kRow) continue;
                for (std::uint32_t w = set.unit_weights.starts[u]; w < set.unit_weights.starts[u + 1]; ++w)
                    cells[layout.slots[w] / kBlockLabels] |=
                        static_cast<std::uint8_t>(1u << layout.slots[w] % kBlockLabels);
            }
        }
        std::vector<std::uint8_t> cells;  // of each block, those that are weights
    };

    BlockSteps(const TrainingSet& set, const BlockLayout& layout, const Flat& flat, WholeFactors& whole)
        : set_(set), layout_(layout), flat_(flat), factors_(set, layout), runner_(set, layout, factors_, whole) {
        fill_zeros(values_.get(layout.n_unit_values()), layout.n_unit_values());
    }

    std::size_t stride() const { return factors_.stride(); }
    SparseRunner<float>& runner() { return runner_; }

    // Calls visit(weight, unit's factor, the number stored for it).
    template <class Once, class Visit>
    void each_weight(Once* once, Visit visit) const {
        const WeightTable& table = set_.unit_weights;
        InterruptCheck check;
        Touches touched(set_.storage);
        for (std::size_t u = 0; u < set_.units.size(); ++u) {
            check();
            const double factor = set_.factor(u);
            if (layout_.rows.place[u] == Place::kOnce) {
                touched(sizeof *once);
                visit(table.starts[u], factor, once[layout_.rows.index[u]]);
                continue;
            }
            for (std::uint32_t w = table.starts[u]; w < table.starts[u + 1]; ++w)
                visit(w, factor, values_.data()[layout_.slots[w]]);
        }
    }

    // From the scores of the pairs that have a weight; returns those of the layout's edges.
    std::span<const double> set_transitions(std::span<const double> scores) {
        factors_.set_transitions(scores);
        return scores;
    }
    void set_cost_scale(double scale) { factors_.set_cost_scale(scale); }

    // The scores of tokens begin .. begin + n - 1.
    void gather(const float* once, std::size_t begin, std::size_t n, float* scores) const {
        many_label_loops<float>().gather(token_lists(), layout_.block_rows(), values_.data(), once, factors_.base(),
                                         stride(), begin, n, scores);
    }
    // A step against the gradient in p, in all but `once`.
    void step(std::size_t begin, std::size_t n, float factor, const float* p) {
        many_label_loops<float>().step(token_lists(), layout_.block_rows(), values_.data(), flat_.members().rows,
                                       flat_.cells.data(), stride(), begin, n, factor, p);
    }

private:
    TokenLists token_lists() const {
        TokenLists lists = flat_.token_lists();
        lists.gold = layout_.gold.data();
        return lists;
    }

    const TrainingSet& set_;
    const BlockLayout& layout_;
    const Flat& flat_;
    Buffer<float> values_;  // rows of units, as blocks
    SparseFactors<float> factors_;
    SparseRunner<float> runner_;
};

}  // namespace tw::chain
