// A pass over all groups of a training set: weights laid out in rows, probabilities added up in rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../base/parallel.hpp"
#include "group_runner.hpp"
#include "row_layout.hpp"

namespace tw::chain {

inline constexpr std::size_t kChunks = 16;  // pieces of the work before and after a pass; fixed, so sums are too

enum class Wanted { kGradient, kCurvature };

// Rows of weights and of sums in one precision, and a pass over all groups.
template <class Real>
class RowPass {
public:
    RowPass(const TrainingSet& set, const RowLayout& layout)
        : set_(set),
          layout_(layout),
          strides_(Factors<Real>::strides(set.n_labels())),
          stride_(strides_.weights),
          sums_(set.shards.size() - 1),
          rows_(sums_.size()) {
        // Chunks of equal work: weights, and rows of composites that are added up for them.
        const auto work = [&](std::size_t u) {
            const std::size_t n = set.unit_weights.starts[u + 1] - set.unit_weights.starts[u];
            if (layout.place[u] != Place::kRow) return 1 + n;
            return 8 + n + layout.row_composites.starts[layout.index[u] + 1] -
                   layout.row_composites.starts[layout.index[u]];
        };
        std::size_t total = 0, done = 0;
        for (std::size_t u = 0; u < set.units.size(); ++u) total += work(u);
        for (std::size_t u = 0; u < set.units.size(); ++u) {
            while (chunks_.size() * total <= done * kChunks) chunks_.push_back(u);
            done += work(u);
        }
        chunks_.resize(kChunks, set.units.size());
        chunks_.push_back(set.units.size());
    }

    // Shard by shard; returns their sums.
    std::vector<GroupSums> run(std::span<const double> weights, std::span<const double> transitions,
                               const Factors<Real>& factors, const Factors<double>& twice, std::size_t n_jobs,
                               Wanted wanted) {
        lay_out(weights, n_jobs);
        std::vector<GroupSums> shards(sums_.size());
        parallel_for(shards.size(), n_jobs, [&](std::size_t shard, std::size_t) {
            run_shard(shard, transitions, factors, twice, wanted, shards[shard]);
        });
        return shards;
    }

    // out[w] = factor * (what the tokens of a weight's unit add up to) - less[w]; factor squared for the curvature, and
    // nothing taken away.
    void collect(std::span<double> out, std::span<const double> less, std::size_t n_jobs, Wanted wanted) {
        add_up(n_jobs);
        const Real* composites = sums_[0].data() + layout_.n_unit_rows * stride_;
        const WeightTable& table = set_.unit_weights;
        parallel_for(kChunks, n_jobs, [&](std::size_t chunk, std::size_t) {
            std::vector<double> row(stride_);
            for (std::size_t u = chunks_[chunk]; u < chunks_[chunk + 1]; ++u) {
                const double factor =
                    wanted == Wanted::kGradient ? set_.factor(u) : static_cast<double>(set_.units.n_members[u]);
                const std::uint32_t begin = table.starts[u], end = table.starts[u + 1], index = layout_.index[u];
                if (layout_.place[u] == Place::kOnce) {
                    out[begin] = factor * static_cast<double>(once_sums_.data()[index]);
                } else if (layout_.place[u] == Place::kEntries) {
                    for (std::uint32_t w = begin; w < end; ++w)
                        out[w] = factor * entry_sum(index + (w - begin), table.labels[w], composites);
                } else {
                    collect_row(index, composites, row);
                    for (std::uint32_t w = begin; w < end; ++w) out[w] = factor * row[table.labels[w]];
                }
                if (wanted == Wanted::kGradient)
                    for (std::uint32_t w = begin; w < end; ++w) out[w] -= less[w];
            }
        });
    }

    std::size_t memory_bytes() const {
        std::size_t total = weights_.memory_bytes() + once_.memory_bytes() + once_sums_.memory_bytes();
        for (const auto& sums : sums_) total += sums.memory_bytes();
        return total;
    }

private:
    std::size_t n_tokens() const { return set_.starts.back(); }
    std::size_t array_size() const { return layout_.n_rows() * stride_ + layout_.n_entries; }
    RowArrays<Real> arrays(Real* data, Real* once) const { return {data, data + layout_.n_rows() * stride_, once}; }

    void lay_out(std::span<const double> weights, std::size_t n_jobs) {
        const RowArrays<Real> to = arrays(weights_.get(array_size()), once_.get(n_tokens()));
        once_sums_.get(n_tokens());
        if (!cleared_) {  // labels without a weight stay zero for good
            fill_zeros(to.rows, array_size());
            fill_zeros(to.once, n_tokens());
            cleared_ = true;
        }
        const WeightTable& table = set_.unit_weights;
        parallel_for(kChunks, n_jobs, [&](std::size_t chunk, std::size_t) {
            for (std::size_t u = chunks_[chunk]; u < chunks_[chunk + 1]; ++u) {
                const double factor = set_.factor(u);
                const std::uint32_t begin = table.starts[u], end = table.starts[u + 1], index = layout_.index[u];
                if (layout_.place[u] == Place::kOnce) {
                    to.once[index] = static_cast<Real>(factor * weights[begin]);
                } else if (layout_.place[u] == Place::kEntries) {
                    for (std::uint32_t w = begin; w < end; ++w)
                        to.entries[index + (w - begin)] = static_cast<Real>(factor * weights[w]);
                } else {
                    Real* row = to.rows + std::size_t{index} * stride_;
                    for (std::uint32_t w = begin; w < end; ++w)
                        row[table.labels[w]] = static_cast<Real>(factor * weights[w]);
                }
            }
        });
        const CompositeLists composites = layout_.composite_lists();
        parallel_for(kChunks, n_jobs, [&](std::size_t chunk, std::size_t) {
            training_loops<Real>().compose(composites, to, stride_, chunk * composites.size / kChunks,
                                           (chunk + 1) * composites.size / kChunks);
        });
    }

    // Composites and entries, which lie one after the other, into those of the first shard.
    void add_up(std::size_t n_jobs) {
        const std::size_t first = layout_.n_unit_rows * stride_, size = array_size() - first;
        parallel_for(sums_.size() > 1 ? kChunks : 0, n_jobs, [&](std::size_t chunk, std::size_t) {
            const std::size_t begin = first + chunk * size / kChunks, end = first + (chunk + 1) * size / kChunks;
            Real* to = sums_[0].data();
            for (std::size_t shard = 1; shard < sums_.size(); ++shard) {
                const Real* from = sums_[shard].data();
                for (std::size_t i = begin; i < end; ++i) to[i] += from[i];
            }
        });
    }

    void run_shard(std::size_t shard, std::span<const double> transitions, const Factors<Real>& factors,
                   const Factors<double>& twice, Wanted wanted, GroupSums& out) {
        const std::size_t K = set_.n_labels();
        out.edges.assign(K * K, 0.0);
        out.want_squares = wanted == Wanted::kCurvature;
        if (out.want_squares) out.squares.assign(K * K, 0.0);
        const RowArrays<Real> weights = arrays(weights_.data(), once_.data());
        const RowArrays<Real> sums = arrays(sums_[shard].get(array_size()), once_sums_.data());
        fill_zeros(sums.rows, array_size());
        const TokenLists lists = layout_.token_lists();
        GroupRunner runner(set_, transitions, twice);
        GroupRows<Real>& rows = rows_[shard];
        std::uint32_t sequences[kSideBySide];
        InterruptCheck check;
        for (std::size_t g = set_.shards[shard]; g < set_.shards[shard + 1]; ++g) {
            check();
            const Group group = set_.groups[g];
            for (std::uint32_t n = 0; n < group.size; ++n) sequences[n] = group.first + n;
            const std::span<const std::uint32_t> members(sequences, group.size);
            const std::size_t begin = set_.starts[group.first];
            const std::size_t tokens = set_.starts[group.first + group.size] - begin;
            Real* local = rows.local.get(tokens * strides_.scores);
            training_loops<Real>().gather(lists, weights, strides_, factors.base(), begin, tokens, local);
            if (!runner.run(factors, members, rows, local, out)) {
                training_loops<Real>().gather(lists, weights, strides_, factors.base(), begin, tokens, local);
                runner.run_carefully(members, local, strides_.scores, out);
            }
            if (wanted == Wanted::kCurvature)
                for (std::uint32_t n = 0; n < group.size; ++n)
                    training_loops<Real>().variances(local + (set_.starts[group.first + n] - begin) * strides_.scores,
                                                     set_.length(group.first + n) * strides_.scores,
                                                     set_.weight(group.first + n));
            training_loops<Real>().scatter(lists, sums, strides_, begin, tokens, local, wanted == Wanted::kCurvature);
        }
    }

    void collect_row(std::size_t row_number, const Real* composites, std::vector<double>& row) const {
        const Real* shards[kMostShards];
        for (std::size_t i = 0; i < sums_.size(); ++i) shards[i] = sums_[i].data() + row_number * stride_;
        const Lists& lists = layout_.row_composites;
        const std::uint32_t begin = lists.starts[row_number];
        training_loops<Real>().collect(shards, sums_.size(), composites, lists.items.data() + begin,
                                       lists.starts[row_number + 1] - begin, stride_, row.data());
    }

    double entry_sum(std::size_t entry, std::uint32_t label, const Real* composites) const {
        double sum = sums_[0].data()[layout_.n_rows() * stride_ + entry];
        const Lists& lists = layout_.entry_composites;
        for (std::uint32_t i = lists.starts[entry]; i < lists.starts[entry + 1]; ++i)
            sum += static_cast<double>(composites[std::size_t{lists.items[i]} * stride_ + label]);
        return sum;
    }

    const TrainingSet& set_;
    const RowLayout& layout_;
    RowStrides strides_;
    std::size_t stride_;               // of rows of weights and sums
    std::vector<std::size_t> chunks_;  // of units
    Buffer<Real> weights_, once_, once_sums_;
    bool cleared_ = false;               // the first two
    std::vector<Buffer<Real>> sums_;     // of each shard
    std::vector<GroupRows<Real>> rows_;  // likewise
};

}  // namespace tw::chain
