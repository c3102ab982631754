// A pass over all groups of a training set: weights laid out in whole rows, probabilities added up in such rows. See
// group_pass.hpp for its steps and row_layout.hpp for the rows.
//
//     weights_     rows of units | composites | entries      stride_ numbers a row, one an entry
//     sums_[s]     likewise, of shard s; what follows the rows of units is added up first, to total_
//     once_        a number for each token, and once_sums_
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "../base/huge_pages.hpp"
#include "../base/parallel.hpp"
#include "group_pass.hpp"
#include "row_layout.hpp"

namespace tw::chain {

// Rows of weights and of sums in one precision.
template <class Real>
class RowPass {
public:
    RowPass(const TrainingSet& set, const RowLayout& layout)
        : set_(set),
          layout_(layout),
          factors_(set),
          stride_(factors_.stride()),
          chunks_(equal_chunks(layout.n_unit_rows,
                               [&](std::size_t row) {  // weights, and rows of composites that are added up for them
                                   return 8 + layout.row_composites.starts[row + 1] - layout.row_composites.starts[row];
                               })),
          once_(set.storage),
          once_sums_(set.storage) {
        for (std::size_t shard = 0; shard + 1 < set.shards.size(); ++shard) sums_.emplace_back(set.storage);
    }

    // The gradient of weights of units less `observed`, or the curvature; returns what else the shards found.
    std::vector<GroupSums> run(std::span<const double> weights, WholeFactors& whole, double nu, std::size_t n_jobs,
                               Wanted wanted, std::span<const double> observed, std::span<double> out) {
        factors_.set_transitions(whole.scores());
        factors_.set_cost_scale(nu);
        lay_out(weights, n_jobs);
        std::vector<GroupSums> shards(sums_.size());
        const std::size_t n_workers = std::clamp<std::size_t>(n_jobs, 1, shards.size());
        while (workers_.size() < n_workers) workers_.push_back(std::make_unique<Worker>(set_, factors_, whole));
        parallel_for(shards.size(), n_workers, [&](std::size_t shard, std::size_t worker) {
            shards[shard].begin(layout_.n_edges(), wanted == Wanted::kCurvature);
            go_over(shard, *workers_[worker], shards[shard]);
        });
        collect(out, observed, n_jobs, wanted);
        return shards;
    }

    // What a pass of so many threads has in memory, with sums of shards in files.
    std::size_t bytes(std::size_t n_jobs) const {
        return ((n_jobs + 2) * array_size() - layout_.n_unit_rows * stride_) * sizeof(Real);
    }
    // Gives back what the next pass makes anew.
    void forget() {
        weights_ = Buffer<Real>();
        tail_ = Buffer<Real>();
        once_ = Stored<Real>(set_.storage);
        once_sums_ = Stored<Real>(set_.storage);
        for (Stored<Real>& sums : sums_) sums = Stored<Real>(set_.storage);
        workers_.clear();
        cleared_ = false;
    }

    std::size_t memory_bytes() const {
        std::size_t total = weights_.memory_bytes() + once_.memory_bytes() + once_sums_.memory_bytes();
        for (const auto& sums : sums_) total += sums.memory_bytes();
        return total;
    }

private:
    static constexpr std::size_t kPiece = std::size_t{1} << 14;  // numbers that are copied at a time

    struct Worker {
        Worker(const TrainingSet& set, const Factors<Real>& factors, WholeFactors& whole)
            : runner(set, factors, whole) {}
        GroupRunner<Real> runner;
        Buffer<Real> sums;  // of a shard, where those are in files
    };

    std::size_t array_size() const { return layout_.n_rows() * stride_ + layout_.n_entries; }
    RowArrays<Real> arrays(Real* data, Real* once) const { return {data, data + layout_.n_rows() * stride_, once}; }

    void lay_out(std::span<const double> weights, std::size_t n_jobs) {
        Real* const rows = weights_.get(array_size());
        if (!cleared_) {  // labels without a weight stay zero for good
            fill_zeros(rows, array_size());
            once_.assign(set_.starts.back(), Real{0});
            once_sums_.resize_anyhow(set_.starts.back());
            for (Stored<Real>& sums : sums_) sums.resize_anyhow(array_size());
            cleared_ = true;
        }
        const RowArrays<Real> to = arrays(rows, once_.data());
        const WeightTable& table = set_.unit_weights;
        parallel_for(kChunks, n_jobs, [&](std::size_t chunk, std::size_t) {
            Touches touched(set_.storage);
            for (std::size_t r = chunks_[chunk]; r < chunks_[chunk + 1]; ++r) {
                const std::uint32_t u = layout_.row_units[r];
                const double factor = set_.factor(u);
                const std::uint32_t end = table.starts[u + 1];
                for (std::uint32_t w = table.starts[u]; w < end; ++w)
                    to.rows[r * stride_ + table.labels[w]] = static_cast<Real>(factor * weights[w]);
            }
            each_in(layout_.entry_weights, chunk, [&](std::size_t entry, const RowLayout::Entry& at) {
                to.entries[entry] = static_cast<Real>(set_.factor(at.unit) * weights[at.weight]);
            });
            each_in(layout_.once_units, chunk, [&](std::size_t, std::uint32_t u) {
                touched(sizeof(Real));
                to.once[layout_.index[u]] = static_cast<Real>(set_.factor(u) * weights[table.starts[u]]);
            });
        });
        const CompositeLists composites = layout_.composite_lists();
        parallel_for(kChunks, n_jobs, [&](std::size_t chunk, std::size_t) {
            training_loops<Real>().compose(composites, to, stride_, chunk * composites.size / kChunks,
                                           (chunk + 1) * composites.size / kChunks);
        });
    }

    void go_over(std::size_t shard, Worker& worker, GroupSums& out) {
        const RowArrays<Real> weights = arrays(weights_.data(), once_.data());
        Stored<Real>& own = sums_[shard];  // rows are visited in no order: those in a file only when they are done
        const RowArrays<Real> sums =
            arrays(own.mapped() ? worker.sums.get(array_size()) : own.data(), once_sums_.data());
        fill_zeros(sums.rows, array_size());
        const TokenLists lists = layout_.token_lists();
        run_shard(
            set_, layout_, shard, worker.runner, out,
            [&](std::size_t begin, std::size_t tokens, Real* scores) {
                training_loops<Real>().gather(lists, weights, stride_, factors_.base(), begin, tokens, scores);
            },
            [&](std::size_t begin, std::size_t tokens, const Real* probabilities) {
                training_loops<Real>().scatter(lists, sums, stride_, begin, tokens, probabilities, out.want_squares);
            });
        if (!own.mapped()) return;
        Touches touched(set_.storage);
        for (std::size_t i = 0; i < array_size(); i += kPiece) {
            touched(kPiece * sizeof(Real));
            std::copy_n(sums.rows + i, std::min(kPiece, array_size() - i), own.data() + i);
        }
    }

    // Composites and entries, which lie one after the other, into those of the first shard.
    void add_up(std::size_t n_jobs) {
        const std::size_t first = layout_.n_unit_rows * stride_, size = array_size() - first;
        total_ = sums_[0].mapped() ? tail_.get(size) : sums_[0].data() + first;
        parallel_for(kChunks, n_jobs, [&](std::size_t chunk, std::size_t) {
            const std::size_t begin = chunk * size / kChunks, end = (chunk + 1) * size / kChunks;
            Touches touched(set_.storage);
            const auto each_piece = [&](auto work) {
                for (std::size_t i = begin; i < end; i += kPiece) {
                    touched(kPiece * sizeof(Real));
                    work(i, std::min(i + kPiece, end));
                }
            };
            if (sums_[0].mapped())
                each_piece([&](std::size_t i, std::size_t last) {
                    std::copy(sums_[0].data() + first + i, sums_[0].data() + first + last, total_ + i);
                });
            for (std::size_t shard = 1; shard < sums_.size(); ++shard) {
                const Real* from = sums_[shard].data() + first;
                each_piece([&](std::size_t i, std::size_t last) {
                    for (; i < last; ++i) total_[i] += from[i];
                });
            }
        });
    }

    void collect(std::span<double> out, std::span<const double> observed, std::size_t n_jobs, Wanted wanted) {
        add_up(n_jobs);
        const WeightTable& table = set_.unit_weights;
        const auto scale_of = [&](std::uint32_t u) { return scale_of_sums(set_, u, wanted); };
        const auto set = [&](std::uint32_t w, double sum) { out[w] = collected(sum, observed[w], wanted); };
        parallel_for(kChunks, n_jobs, [&](std::size_t chunk, std::size_t) {
            std::vector<double> sums(stride_);
            Touches touched(set_.storage);
            for (std::size_t row = chunks_[chunk]; row < chunks_[chunk + 1]; ++row) {
                touched(sums_.size() * stride_ * sizeof(Real));
                collect_row(row, sums.data());
                const std::uint32_t u = layout_.row_units[row];
                const double scale = scale_of(u);
                const std::uint32_t end = table.starts[u + 1];
                for (std::uint32_t w = table.starts[u]; w < end; ++w) set(w, scale * sums[table.labels[w]]);
            }
            each_in(layout_.entry_weights, chunk, [&](std::size_t entry, const RowLayout::Entry& at) {
                set(at.weight, scale_of(at.unit) * entry_sum(entry, at.weight));
            });
            each_in(layout_.once_units, chunk, [&](std::size_t, std::uint32_t u) {
                touched(sizeof(Real));
                set(table.starts[u], scale_of(u) * static_cast<double>(once_sums_[layout_.index[u]]));
            });
        });
    }

    // Calls visit(i, items[i]) for the items of a chunk.
    template <class Items, class Visit>
    static void each_in(const Items& items, std::size_t chunk, Visit visit) {
        const std::size_t end = (chunk + 1) * items.size() / kChunks;
        for (std::size_t i = chunk * items.size() / kChunks; i < end; ++i) visit(i, items[i]);
    }

    void collect_row(std::size_t row, double* out) const {
        const Real* shards[kMostShards];
        for (std::size_t i = 0; i < sums_.size(); ++i) shards[i] = sums_[i].data() + row * stride_;
        const Lists& lists = layout_.row_composites;
        const std::uint32_t begin = lists.starts[row];
        training_loops<Real>().collect(shards, sums_.size(), total_, lists.items.data() + begin,
                                       lists.starts[row + 1] - begin, stride_, out);
    }

    double entry_sum(std::size_t entry, std::uint32_t weight) const {
        double sum = total_[layout_.n_composites() * stride_ + entry];
        const Lists& lists = layout_.entry_composites;
        for (std::uint32_t i = lists.starts[entry]; i < lists.starts[entry + 1]; ++i)
            sum +=
                static_cast<double>(total_[std::size_t{lists.items[i]} * stride_ + set_.unit_weights.labels[weight]]);
        return sum;
    }

    const TrainingSet& set_;
    const RowLayout& layout_;
    Factors<Real> factors_;
    std::size_t stride_;               // of rows
    std::vector<std::size_t> chunks_;  // of rows of units
    Buffer<Real> weights_;
    Stored<Real> once_, once_sums_;
    bool cleared_ = false;                          // these have their sizes
    std::vector<Stored<Real>> sums_;                // of each shard
    Buffer<Real> tail_;                             // composites and entries, added up, where those are in files
    Real* total_ = nullptr;                         // where these are
    std::vector<std::unique_ptr<Worker>> workers_;  // of each thread
};

}  // namespace tw::chain
