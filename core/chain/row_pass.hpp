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

inline constexpr std::size_t kTokensAhead = 4096;            // whose lists are read from a file before they are needed
inline constexpr std::size_t kPiece = std::size_t{1} << 14;  // numbers that are copied at a time
inline constexpr std::size_t kChunks = 16;  // pieces of the work before and after a pass; fixed, so sums are too

enum class Wanted { kGradient, kCurvature };

// Rows of weights and of sums in one precision, and a pass over all groups.
template <class Real>
class RowPass {
public:
    RowPass(const TrainingSet& set, const RowLayout& layout)
        : set_(set),
          layout_(layout),
          stride_(Factors<Real>::padded(set.n_labels())),
          once_(set.storage),
          once_sums_(set.storage),
          rows_(set.shards.size() - 1) {
        for (std::size_t shard = 0; shard + 1 < set.shards.size(); ++shard) sums_.emplace_back(set.storage);
        // Chunks of equal work: weights, and rows of composites that are added up for them.
        const auto work = [&](std::size_t row) {
            return 8 + layout.row_composites.starts[row + 1] - layout.row_composites.starts[row];
        };
        std::size_t total = 0, done = 0;
        for (std::size_t row = 0; row < layout.n_unit_rows; ++row) total += work(row);
        for (std::size_t row = 0; row < layout.n_unit_rows; ++row) {
            while (chunks_.size() * total <= done * kChunks) chunks_.push_back(row);
            done += work(row);
        }
        chunks_.resize(kChunks, layout.n_unit_rows);
        chunks_.push_back(layout.n_unit_rows);
    }

    // Shard by shard; returns their sums.
    std::vector<GroupSums> run(std::span<const double> weights, std::span<const double> transitions,
                               const Factors<Real>& factors, const Factors<double>& twice, std::size_t n_jobs,
                               Wanted wanted) {
        lay_out(weights, n_jobs);
        std::vector<GroupSums> shards(sums_.size());
        spare_.resize(std::max(n_jobs, spare_.size()));
        parallel_for(shards.size(), n_jobs, [&](std::size_t shard, std::size_t worker) {
            run_shard(shard, worker, transitions, factors, twice, wanted, shards[shard]);
        });
        return shards;
    }

    // out[w] = factor * (what the tokens of a weight's unit add up to) - less[w]; factor squared for the curvature, and
    // nothing taken away.
    void collect(std::span<double> out, std::span<const double> less, std::size_t n_jobs, Wanted wanted) {
        add_up(n_jobs);
        const WeightTable& table = set_.unit_weights;
        const auto set = [&](std::uint32_t u, std::uint32_t w, double sum) {
            out[w] = wanted == Wanted::kGradient ? set_.factor(u) * sum - less[w]
                                                 : static_cast<double>(set_.units.n_members[u]) * sum;
        };
        parallel_for(kChunks, n_jobs, [&](std::size_t chunk, std::size_t) {
            std::vector<double> sums(stride_);
            Touches touched(set_.storage);
            for (std::size_t row = chunks_[chunk]; row < chunks_[chunk + 1]; ++row) {
                touched(sums_.size() * stride_ * sizeof(Real));
                collect_row(row, sums.data());
                const std::uint32_t u = layout_.row_units[row];
                for (std::uint32_t w = table.starts[u]; w < table.starts[u + 1]; ++w) set(u, w, sums[table.labels[w]]);
            }
            each_in(layout_.entry_weights, chunk, [&](std::size_t entry, const RowLayout::Entry& at) {
                set(at.unit, at.weight, entry_sum(entry, at.weight));
            });
            each_in(layout_.once_units, chunk, [&](std::size_t, std::uint32_t u) {
                touched(sizeof(Real));
                set(u, table.starts[u], static_cast<double>(once_sums_[layout_.index[u]]));
            });
        });
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
        spare_.clear();
        cleared_ = false;
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
        Real* const rows = weights_.get(array_size());
        if (!cleared_) {  // labels without a weight stay zero for good
            fill_zeros(rows, array_size());
            once_.assign(n_tokens(), Real{0});
            once_sums_.resize_anyhow(n_tokens());
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
                for (std::uint32_t w = table.starts[u]; w < table.starts[u + 1]; ++w)
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

    void run_shard(std::size_t shard, std::size_t worker, std::span<const double> transitions,
                   const Factors<Real>& factors, const Factors<double>& twice, Wanted wanted, GroupSums& out) {
        const std::size_t K = set_.n_labels();
        out.edges.assign(K * K, 0.0);
        out.want_squares = wanted == Wanted::kCurvature;
        if (out.want_squares) out.squares.assign(K * K, 0.0);
        const RowArrays<Real> weights = arrays(weights_.data(), once_.data());
        Stored<Real>& own = sums_[shard];  // rows are visited in no order: those in a file only when they are done
        const RowArrays<Real> sums =
            arrays(own.mapped() ? spare_[worker].get(array_size()) : own.data(), once_sums_.data());
        fill_zeros(sums.rows, array_size());
        const TokenLists lists = layout_.token_lists();
        GroupRunner runner(set_, transitions, twice);
        GroupRows<Real>& rows = rows_[shard];
        std::uint32_t sequences[kSideBySide];
        InterruptCheck check;
        Touches touched(set_.storage);
        std::size_t ahead = set_.first_token(set_.shards[shard]);
        const std::size_t last = set_.first_token(set_.shards[shard + 1]);
        for (std::size_t g = set_.shards[shard]; g < set_.shards[shard + 1]; ++g) {
            check();
            if (set_.storage && set_.first_token(g) + kTokensAhead > ahead && ahead < last) {
                const std::size_t end = std::min(ahead + kTokensAhead, last);
                layout_.read_ahead(ahead, end);
                ahead = end;
            }
            const Group group = set_.groups[g];
            for (std::uint32_t n = 0; n < group.size; ++n) sequences[n] = group.first + n;
            const std::span<const std::uint32_t> members(sequences, group.size);
            const std::size_t begin = set_.starts[group.first];
            const std::size_t tokens = set_.starts[group.first + group.size] - begin;
            if (set_.storage) touched(layout_.bytes(begin, begin + tokens) + 2 * tokens * sizeof(Real));
            Real* local = rows.local.get(tokens * stride_);
            training_loops<Real>().gather(lists, weights, stride_, factors.base(), begin, tokens, local);
            if (!runner.run(factors, members, rows, local, out)) {
                training_loops<Real>().gather(lists, weights, stride_, factors.base(), begin, tokens, local);
                runner.run_carefully(members, local, stride_, out);
            }
            if (wanted == Wanted::kCurvature)
                for (std::uint32_t n = 0; n < group.size; ++n)
                    training_loops<Real>().variances(local + (set_.starts[group.first + n] - begin) * stride_,
                                                     set_.length(group.first + n) * stride_,
                                                     set_.weight(group.first + n));
            training_loops<Real>().scatter(lists, sums, stride_, begin, tokens, local, wanted == Wanted::kCurvature);
        }
        if (!own.mapped()) return;
        for (std::size_t i = 0; i < array_size(); i += kPiece) {
            touched(kPiece * sizeof(Real));
            std::copy_n(sums.rows + i, std::min(kPiece, array_size() - i), own.data() + i);
        }
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
    std::size_t stride_;               // of rows
    std::vector<std::size_t> chunks_;  // of rows of units
    Buffer<Real> weights_;
    Stored<Real> once_, once_sums_;
    bool cleared_ = false;               // these have their sizes
    std::vector<Stored<Real>> sums_;     // of each shard
    std::vector<Buffer<Real>> spare_;    // of each thread, where those are in files
    Buffer<Real> tail_;                  // likewise: composites and entries, added up
    Real* total_ = nullptr;              // where these are
    std::vector<GroupRows<Real>> rows_;  // of each shard
};

}  // namespace tw::chain
