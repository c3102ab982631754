// A pass over all groups of a training set with many labels: weights laid out in rows with gaps, probabilities added up
// in such rows. See group_pass.hpp for its steps and kernels/many_labels.hpp for the rows.
//
//     weights_     rows of units | composites      blocks of eight numbers
//     worker.sums  likewise: of the rows that the shard it is at has met
//     total_       likewise
//     once_        a number for each token, and once_sums_
//
// Every thread has one array of sums. The shards' sums are added to the total in the order of the shards, so that the
// result does not depend on the number of threads, and memory not on the number of shards.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "../base/huge_pages.hpp"
#include "../base/parallel.hpp"
#include "block_layout.hpp"
#include "group_pass.hpp"
#include "sparse_runner.hpp"

namespace tw::chain {

// Lets the holders of numbered tickets in one after the other.
class Turns {
public:
    // Waits for ticket `number`; false when somebody before it failed.
    bool wait(std::size_t number) {
        constexpr std::chrono::milliseconds kLook{20};
        for (;;) {
            {
                std::unique_lock guard(lock_);
                if (changed_.wait_for(guard, kLook, [&] { return next_ == number || broken_; })) return !broken_;
            }
            check_interrupt();
        }
    }
    void done() {
        const std::lock_guard guard(lock_);
        ++next_;
        changed_.notify_all();
    }
    void fail() {
        const std::lock_guard guard(lock_);
        broken_ = true;
        changed_.notify_all();
    }

private:
    std::mutex lock_;
    std::condition_variable changed_;
    std::size_t next_ = 0;
    bool broken_ = false;
};

template <class Real>
class BlockPass {
public:
    BlockPass(const TrainingSet& set, const BlockLayout& layout)
        : set_(set),
          layout_(layout),
          factors_(set, layout),
          chunks_(equal_chunks(set.units.size(),
                               [&](std::size_t u) {  // weights, and composites that are added up for them
                                   const std::size_t n = set.unit_weights.starts[u + 1] - set.unit_weights.starts[u];
                                   if (layout.rows.place[u] != Place::kRow) return 1 + n;
                                   const Lists& composites = layout.rows.row_composites;
                                   const std::uint32_t* of_row = composites.starts.data() + layout.rows.index[u];
                                   return 8 + n + 8 * (of_row[1] - of_row[0]);
                               })),
          once_(set.storage),
          once_sums_(set.storage) {}

    // As RowPass::run; the sums of the shards are already added up.
    std::vector<GroupSums> run(std::span<const double> weights, WholeFactors& whole, double nu, std::size_t n_jobs,
                               Wanted wanted, std::span<const double> observed, std::span<double> out) {
        factors_.set_transitions(weights.subspan(set_.first_transition()));
        factors_.set_cost_scale(nu);
        lay_out(weights, n_jobs);
        const std::size_t n_shards = set_.shards.size() - 1, n_workers = std::clamp<std::size_t>(n_jobs, 1, n_shards);
        while (workers_.size() < n_workers)
            workers_.push_back(std::make_unique<Worker>(set_, layout_, factors_, whole));
        fill_zeros(total_.get(layout_.n_values()), layout_.n_values());
        std::vector<GroupSums> all(1);
        all[0].begin(layout_.n_edges(), wanted == Wanted::kCurvature);
        Turns turns;
        parallel_for(n_shards, n_workers, [&](std::size_t shard, std::size_t worker) {
            try {
                GroupSums found;
                found.begin(layout_.n_edges(), wanted == Wanted::kCurvature);
                go_over(shard, *workers_[worker], found);
                if (!turns.wait(shard)) return;
                take(*workers_[worker]);
                all[0].add(found);
                turns.done();
            } catch (...) {
                turns.fail();
                throw;
            }
        });
        collect(out, observed, n_jobs, wanted);
        return all;
    }

    // What a pass of so many threads has in memory.
    std::size_t bytes(std::size_t n_jobs) const {
        return (n_jobs + 2) * layout_.n_values() * sizeof(Real) + n_jobs * layout_.rows.n_rows() * 5;
    }
    // Gives back what the next pass makes anew.
    void forget() {
        weights_ = Buffer<Real>();
        total_ = Buffer<Real>();
        once_ = Stored<Real>(set_.storage);
        once_sums_ = Stored<Real>(set_.storage);
        workers_.clear();
        cleared_ = false;
    }
    std::size_t memory_bytes() const {
        std::size_t total =
            weights_.memory_bytes() + total_.memory_bytes() + once_.memory_bytes() + once_sums_.memory_bytes();
        for (const auto& worker : workers_) total += worker->sums.memory_bytes();
        return total;
    }

private:
    struct Worker {
        Worker(const TrainingSet& set, const BlockLayout& layout, const SparseFactors<Real>& factors,
               WholeFactors& whole)
            : runner(set, layout, factors, whole), met(layout.rows.n_rows(), 0), list(met.size()) {}
        SparseRunner<Real> runner;
        Buffer<Real> sums;
        std::vector<std::uint8_t> met;
        std::vector<std::uint32_t> list;
        std::size_t n_met = 0;
    };

    void lay_out(std::span<const double> weights, std::size_t n_jobs) {
        Real* const values = weights_.get(layout_.n_values());
        if (!cleared_) {  // labels without a weight stay zero for good
            fill_zeros(values, layout_.n_values());
            once_.assign(set_.starts.back(), Real{0});
            once_sums_.assign(set_.starts.back(), Real{0});
            cleared_ = true;
        }
        const WeightTable& table = set_.unit_weights;
        parallel_for(kChunks, n_jobs, [&](std::size_t chunk, std::size_t) {
            Touches touched(set_.storage);
            for (std::size_t u = chunks_[chunk]; u < chunks_[chunk + 1]; ++u) {
                const bool once = layout_.rows.place[u] == Place::kOnce;
                if (once) touched(sizeof(Real));
                Real* const to = once ? once_.data() : values;
                const double factor = set_.factor(u);
                for (std::uint32_t w = table.starts[u]; w < table.starts[u + 1]; ++w)
                    to[layout_.slots[w]] = static_cast<Real>(factor * weights[w]);
            }
        });
        const Lists& parts = layout_.rows.composite_rows;
        const std::size_t n = layout_.rows.n_composites();
        parallel_for(kChunks, n_jobs, [&](std::size_t chunk, std::size_t) {
            for (std::size_t c = chunk * n / kChunks; c < (chunk + 1) * n / kChunks; ++c) {
                const std::size_t row = layout_.rows.n_unit_rows + c;
                std::fill(values + std::size_t{layout_.starts[row]} * kBlockLabels,
                          values + std::size_t{layout_.starts[row + 1]} * kBlockLabels, Real{0});
                for (std::uint32_t i = parts.starts[c]; i < parts.starts[c + 1]; ++i)
                    layout_.each_block(parts.items[i], c, [&](std::size_t part, std::size_t whole) {
                        for (std::size_t k = 0; k < kBlockLabels; ++k) values[whole + k] += values[part + k];
                    });
            }
        });
    }

    void go_over(std::size_t shard, Worker& worker, GroupSums& out) {
        // What an interrupted pass has left behind is forgotten.
        for (std::size_t i = 0; i < worker.n_met; ++i) worker.met[worker.list[i]] = 0;
        BlockSums<Real> sums{worker.sums.get(layout_.n_values()), once_sums_.data(), worker.met.data(),
                             worker.list.data(), 0};
        const TokenLists lists = layout_.token_lists();
        const BlockRows rows = layout_.block_rows();
        const ManyLabelLoops<Real>& loops = many_label_loops<Real>();
        const std::size_t stride = factors_.stride();
        run_shard(
            set_, layout_, shard, worker.runner, out,
            [&](std::size_t begin, std::size_t tokens, Real* scores) {
                loops.gather(lists, rows, weights_.data(), once_.data(), factors_.base(), stride, begin, tokens,
                             scores);
            },
            [&](std::size_t begin, std::size_t tokens, const Real* probabilities) {
                loops.scatter(lists, rows, sums, stride, begin, tokens, probabilities, out.want_squares);
                worker.n_met = sums.size;
            });
    }

    void take(Worker& worker) {
        const Real* from = worker.sums.data();
        Real* const to = total_.data();
        InterruptCheck check;
        for (std::size_t i = 0; i < worker.n_met; ++i) {
            check();
            const std::uint32_t row = worker.list[i];
            const std::size_t end = std::size_t{layout_.starts[row + 1]} * kBlockLabels;
            for (std::size_t k = std::size_t{layout_.starts[row]} * kBlockLabels; k < end; ++k) to[k] += from[k];
        }
    }

    void collect(std::span<double> out, std::span<const double> observed, std::size_t n_jobs, Wanted wanted) {
        const WeightTable& table = set_.unit_weights;
        const Lists& composites = layout_.rows.row_composites;
        const Real* total = total_.data();
        parallel_for(kChunks, n_jobs, [&](std::size_t chunk, std::size_t) {
            std::vector<double> sums;
            Touches touched(set_.storage);
            for (std::size_t u = chunks_[chunk]; u < chunks_[chunk + 1]; ++u) {
                const double scale = scale_of_sums(set_, u, wanted);
                const auto set = [&](std::uint32_t w, double sum) {
                    out[w] = collected(scale * sum, observed[w], wanted);
                };
                const std::uint32_t begin = table.starts[u], end = table.starts[u + 1], row = layout_.rows.index[u];
                if (layout_.rows.place[u] == Place::kOnce) {
                    touched(sizeof(Real));
                    set(begin, static_cast<double>(once_sums_[row]));
                    continue;
                }
                if (begin == end) continue;
                const std::size_t first = std::size_t{layout_.starts[row]} * kBlockLabels;
                sums.assign(total + first, total + std::size_t{layout_.starts[row + 1]} * kBlockLabels);
                for (std::uint32_t i = composites.starts[row]; i < composites.starts[row + 1]; ++i)
                    layout_.each_block(row, composites.items[i], [&](std::size_t part, std::size_t whole) {
                        for (std::size_t k = 0; k < kBlockLabels; ++k)
                            sums[part - first + k] += static_cast<double>(total[whole + k]);
                    });
                for (std::uint32_t w = begin; w < end; ++w) set(w, sums[layout_.slots[w] - first]);
            }
        });
    }

    const TrainingSet& set_;
    const BlockLayout& layout_;
    SparseFactors<Real> factors_;
    std::vector<std::size_t> chunks_;  // of units
    Buffer<Real> weights_, total_;
    Stored<Real> once_, once_sums_;
    bool cleared_ = false;                          // these have their sizes
    std::vector<std::unique_ptr<Worker>> workers_;  // of each thread
};

}  // namespace tw::chain
