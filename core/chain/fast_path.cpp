// Loss and gradient in the common case: gold labels, label attributes and plain transitions. See row_layout.hpp for how
// the weights lie, and kernels/training.hpp for the loops.
//
// A pass lays the weights out, adds up composites, goes over the groups of every shard (gather scores, forward and
// backward, scatter probabilities), and collects the sums of the shards in their order. A group for which a precision
// does not suffice is done again in the next one: single, double, log space.
#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "../kernels/training.hpp"
#include "../parallel.hpp"
#include "../semiring.hpp"
#include "path.hpp"
#include "row_layout.hpp"
#include "sequence_loss.hpp"

namespace tw::chain {
namespace {

constexpr std::size_t kChunks = 16;  // pieces of the work between passes over the data; fixed, so sums are too

// Uninitialised numbers on a cache line boundary.
template <class Real>
class Buffer {
public:
    Real* get(std::size_t size) {
        if (size > size_) {
            data_.reset();
            data_.reset(static_cast<Real*>(::operator new[](size * sizeof(Real), std::align_val_t{64})));
            size_ = size;
            ask_for_huge_pages();
        }
        return data_.get();
    }
    Real* data() const { return data_.get(); }
    std::size_t memory_bytes() const { return size_ * sizeof(Real); }

private:
    // Rows are visited in no order: with small pages, half of the time went to finding out where they are.
    void ask_for_huge_pages() {
#ifdef MADV_HUGEPAGE
        constexpr std::uintptr_t kPage = 4096, kHuge = std::uintptr_t{1} << 21;
        const auto begin = (reinterpret_cast<std::uintptr_t>(data_.get()) + kPage - 1) / kPage * kPage;
        const auto end = reinterpret_cast<std::uintptr_t>(data_.get() + size_) / kPage * kPage;
        if (end >= begin + kHuge) (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
    }

    struct Free {
        void operator()(Real* p) const { ::operator delete[](p, std::align_val_t{64}); }
    };
    std::unique_ptr<Real[], Free> data_;
    std::size_t size_ = 0;
};

// Scores that do not depend on weights, and transition scores as the recursions want them. One per precision.
template <class Real>
class Factors {
public:
    explicit Factors(const TrainingSet& set)
        : set_(set), K_(set.n_labels()), stride_(padded(K_)), base_(stride_, -infinity()) {
        std::fill_n(base_.begin(), K_, Real{0});
        if (!set.constrained()) return;
        for (const auto* allowed : {&set.settings.constraints.start, &set.settings.constraints.end})
            for (std::size_t y = 0; y < stride_; ++y) ends_.push_back(y < K_ && (*allowed)[y] ? Real{0} : -infinity());
    }
    static std::size_t padded(std::size_t n) {
        const std::size_t w = std::max<std::size_t>(training_loops<Real>().width, 4);
        return (n + w - 1) / w * w;
    }
    void set_transitions(std::span<const double> scores) {
        moves_.forward = buffer_.get(2 * stride_ * stride_);
        moves_.backward = moves_.forward + stride_ * stride_;
        training_loops<Real>().pack(scores.data(), K_, stride_, moves_);
    }
    void set_cost_scale(double scale) {
        costs_.clear();
        if (scale == 0.0) return;
        costs_.assign(K_ * stride_, Real{0});
        for (std::size_t gold = 0; gold < K_; ++gold)
            for (std::size_t y = 0; y < K_; ++y)
                costs_[gold * stride_ + y] = static_cast<Real>(scale * set_.cost(gold, y));
    }
    // Adds costs and constraints to the scores of a sequence.
    void adjust(Real* scores, std::size_t sequence) const {
        const std::size_t begin = set_.starts[sequence], length = set_.length(sequence);
        const auto add = [&](std::size_t t, const Real* row) {
            for (std::size_t y = 0; y < stride_; ++y) scores[t * stride_ + y] += row[y];
        };
        if (!costs_.empty())
            for (std::size_t t = 0; t < length; ++t) add(t, costs_.data() + set_.gold[begin + t] * stride_);
        if (ends_.empty()) return;
        add(0, ends_.data());
        add(length - 1, ends_.data() + stride_);
    }
    const Moves<Real>& moves() const { return moves_; }
    const Real* base() const { return base_.data(); }
    std::size_t stride() const { return stride_; }

private:
    static constexpr Real infinity() { return std::numeric_limits<Real>::infinity(); }
    const TrainingSet& set_;
    std::size_t K_, stride_;
    std::vector<Real> base_, ends_, costs_;
    Buffer<Real> buffer_;
    Moves<Real> moves_{};
};

// Where a worker keeps the rows of a group.
template <class Real>
struct GroupRows {
    Buffer<Real> local, alpha, gamma, edges, squares;
};

// What comes out of a group besides the probabilities of its tokens.
struct GroupSums {
    double loss = 0.0;                   // log partitions times weights
    std::vector<double> edges, squares;  // [n_labels][n_labels]: expected transitions; sums of their squares
    bool want_squares = false;
};

// Goes over one group in a given precision; a group for which that is not enough goes on to the next.
class GroupRunner {
public:
    GroupRunner(const TrainingSet& set, std::span<const double> transitions, const Factors<double>& twice)
        : set_(set), transitions_(transitions), twice_(twice) {}

    // `local` holds the scores in rows of `factors.stride()`, and the probabilities afterwards. False: the precision
    // did not suffice.
    template <class Real>
    bool run(const Factors<Real>& factors, std::span<const std::uint32_t> sequences, GroupRows<Real>& rows, Real* local,
             GroupSums& sums) {
        const std::size_t K = set_.n_labels(), stride = factors.stride();
        std::uint32_t lengths[kSideBySide];
        double weights[kSideBySide], log_partition[kSideBySide];
        std::size_t tokens = 0;
        for (std::size_t n = 0; n < sequences.size(); ++n) {
            factors.adjust(local + tokens * stride, sequences[n]);
            lengths[n] = static_cast<std::uint32_t>(set_.length(sequences[n]));
            weights[n] = set_.weight(sequences[n]);
            tokens += lengths[n];
        }
        const TrainingGroup<Real> group{sequences.size(),
                                        K,
                                        stride,
                                        lengths,
                                        weights,
                                        local,
                                        rows.alpha.get(tokens * stride),
                                        rows.gamma.get((tokens + kSideBySide) * stride),
                                        log_partition,
                                        rows.edges.get(K * stride),
                                        sums.want_squares ? rows.squares.get(K * stride) : nullptr};
        if (!training_loops<Real>().forward_backward(factors.moves(), group)) return false;
        const Real* moves = factors.moves().forward;
        for (std::size_t a = 0; a < K; ++a)
            for (std::size_t b = 0; b < K; ++b) {
                const double move = moves[a * stride + b];
                sums.edges[a * K + b] += static_cast<double>(group.edges[a * stride + b]) * move;
                if (group.squares)
                    sums.squares[a * K + b] += static_cast<double>(group.squares[a * stride + b]) * move * move;
            }
        for (std::size_t n = 0; n < sequences.size(); ++n) sums.loss += weights[n] * log_partition[n];
        return true;
    }

    // The same, sequence by sequence in double precision and where that fails in log space, which never does.
    template <class Real>
    void run_carefully(std::span<const std::uint32_t> sequences, Real* local, std::size_t stride, GroupSums& sums) {
        const std::size_t K = set_.n_labels(), wide = twice_.stride();
        for (const std::uint32_t sequence : sequences) {
            const std::size_t length = set_.length(sequence);
            const auto copy_scores = [&](double* to, std::size_t to_stride) {
                for (std::size_t t = 0; t < length; ++t)
                    for (std::size_t y = 0; y < to_stride; ++y)
                        to[t * to_stride + y] = y < K ? static_cast<double>(local[t * stride + y]) : kLogZero;
            };
            double* scores = rows_.local.get(length * wide);
            copy_scores(scores, wide);
            if (!run<double>(twice_, {&sequence, 1}, rows_, scores, sums)) {
                copy_scores(scores, wide);
                twice_.adjust(scores, sequence);
                run_in_log_space(sequence, scores, sums);
            }
            for (std::size_t t = 0; t < length; ++t)
                for (std::size_t y = 0; y < K; ++y) local[t * stride + y] = static_cast<Real>(scores[t * wide + y]);
            local += length * stride;
        }
    }

private:
    class AddEdges : public EdgeSink {
    public:
        AddEdges(GroupSums& sums, double weight) : sums_(sums), weight_(weight) {}
        void add(std::size_t, const double* edges) override {
            for (std::size_t i = 0; i < sums_.edges.size(); ++i) {
                sums_.edges[i] += weight_ * edges[i];
                if (sums_.want_squares) sums_.squares[i] += weight_ * edges[i] * edges[i];
            }
        }

    private:
        GroupSums& sums_;
        double weight_;
    };

    void run_in_log_space(std::uint32_t sequence, double* scores, GroupSums& sums) {
        const std::size_t K = set_.n_labels(), stride = twice_.stride(), length = set_.length(sequence);
        const double weight = set_.weight(sequence);
        for (std::size_t t = 0; t < length; ++t) std::copy_n(scores + t * stride, K, scores + t * K);
        allowed_.assign(length * K, 1);
        zeros_.assign(K, 0.0);
        coefficients_.assign(length + 1, 0.0);
        coefficients_[0] = 1.0;
        nodes_.resize(length * K);
        AddEdges edges(sums, weight);
        const SequenceScores s{K,     length,        scores,        transitions_.data(),
                               false, zeros_.data(), zeros_.data(), allowed_.data()};
        sums.loss += weight * log_space_(s, coefficients_, nodes_.data(), edges);
        for (std::size_t t = 0; t < length; ++t)
            for (std::size_t y = 0; y < K; ++y) scores[t * stride + y] = weight * nodes_[t * K + y];
    }

    const TrainingSet& set_;
    std::span<const double> transitions_;  // [n_labels][n_labels], -inf where forbidden
    const Factors<double>& twice_;
    GroupRows<double> rows_;
    SequenceLoss log_space_;
    std::vector<double> nodes_, zeros_, coefficients_;
    std::vector<std::uint8_t> allowed_;
};

enum class Wanted { kGradient, kCurvature };

// Rows of weights and of sums in one precision, and a pass over all groups.
template <class Real>
class RowPass {
public:
    RowPass(const TrainingSet& set, const RowLayout& layout)
        : set_(set),
          layout_(layout),
          stride_(Factors<Real>::padded(set.n_labels())),
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

    // out[w] = factor * (what the tokens of a weight's unit add up to), factor squared for the curvature.
    void collect(std::span<double> out, std::size_t n_jobs, Wanted wanted) {
        add_up_composites(n_jobs);
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
        const bool fresh = weights_.data() == nullptr;
        const RowArrays<Real> to = arrays(weights_.get(array_size()), once_.get(n_tokens()));
        once_sums_.get(n_tokens());
        if (fresh) {  // labels without a weight stay zero for good
            std::fill_n(to.rows, array_size(), Real{0});
            std::fill_n(to.once, n_tokens(), Real{0});
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

    // Into those of the first shard.
    void add_up_composites(std::size_t n_jobs) {
        const std::size_t first = layout_.n_unit_rows * stride_, size = layout_.n_composites() * stride_;
        parallel_for(sums_.size() > 1 ? kChunks : 0, n_jobs, [&](std::size_t chunk, std::size_t) {
            Real* to = sums_[0].data() + first;
            for (std::size_t i = chunk * size / kChunks; i < (chunk + 1) * size / kChunks; ++i)
                for (std::size_t shard = 1; shard < sums_.size(); ++shard) to[i] += sums_[shard].data()[first + i];
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
        std::fill_n(sums.rows, array_size(), Real{0});
        const TokenLists lists = layout_.token_lists();
        GroupRunner runner(set_, transitions, twice);
        GroupRows<Real>& rows = rows_[shard];
        std::uint32_t sequences[kSideBySide];
        for (std::size_t g = set_.shards[shard]; g < set_.shards[shard + 1]; ++g) {
            const Group group = set_.groups[g];
            for (std::uint32_t n = 0; n < group.size; ++n) sequences[n] = group.first + n;
            const std::span<const std::uint32_t> members(sequences, group.size);
            const std::size_t begin = set_.starts[group.first];
            const std::size_t tokens = set_.starts[group.first + group.size] - begin;
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
        double sum = 0.0;
        for (const auto& sums : sums_) sum += static_cast<double>(sums.data()[layout_.n_rows() * stride_ + entry]);
        const Lists& lists = layout_.entry_composites;
        for (std::uint32_t i = lists.starts[entry]; i < lists.starts[entry + 1]; ++i)
            sum += static_cast<double>(composites[std::size_t{lists.items[i]} * stride_ + label]);
        return sum;
    }

    const TrainingSet& set_;
    const RowLayout& layout_;
    std::size_t stride_;
    std::vector<std::size_t> chunks_;  // of units
    Buffer<Real> weights_, once_, once_sums_;
    std::vector<Buffer<Real>> sums_;     // of each shard
    std::vector<GroupRows<Real>> rows_;  // likewise
};

class FastPath : public Path {
public:
    explicit FastPath(const TrainingSet& set)
        : set_(set), layout_(set), single_(set), twice_(set), single_pass_(set, layout_), twice_pass_(set, layout_) {
        count_observed();
    }

    double loss(std::span<const double> weights, std::span<double> gradient, double cost_scale, std::size_t n_jobs,
                bool precise) override {
        const auto shards = run(weights, gradient, cost_scale, n_jobs, precise, Wanted::kGradient);
        double total = 0.0, score = 0.0;
        for (const GroupSums& shard : shards) total += shard.loss;
        for (std::size_t w = 0; w < weights.size(); ++w) {
            score += weights[w] * observed_[w];
            gradient[w] -= observed_[w];
        }
        return total - score;
    }

    void curvature(std::span<const double> weights, std::span<double> diagonal, double cost_scale,
                   std::size_t n_jobs) override {
        run(weights, diagonal, cost_scale, n_jobs, false, Wanted::kCurvature);
    }

    std::unique_ptr<WorkingWeights> working_weights() const override { return general_path(set_)->working_weights(); }
    double descend(WorkingWeights& weights, std::span<const std::uint32_t> sequences, double step,
                   double cost_scale) const override {
        return general_path(set_)->descend(weights, sequences, step, cost_scale);
    }
    std::size_t memory_bytes() const override {
        return layout_.memory_bytes() + observed_.capacity() * sizeof(double) + single_pass_.memory_bytes() +
               twice_pass_.memory_bytes();
    }

private:
    std::vector<GroupSums> run(std::span<const double> weights, std::span<double> out, double cost_scale,
                               std::size_t n_jobs, bool precise, Wanted wanted) {
        set_transitions(weights);
        single_.set_transitions(transitions_);
        twice_.set_transitions(transitions_);
        single_.set_cost_scale(cost_scale);
        twice_.set_cost_scale(cost_scale);
        std::vector<GroupSums> shards;
        if (precise) {
            shards = twice_pass_.run(weights, transitions_, twice_, twice_, n_jobs, wanted);
            twice_pass_.collect(out, n_jobs, wanted);
        } else {
            shards = single_pass_.run(weights, transitions_, single_, twice_, n_jobs, wanted);
            single_pass_.collect(out, n_jobs, wanted);
        }
        for (std::size_t i = 0; i < set_.transition_pairs.size(); ++i) {
            double& sum = out[set_.first_transition() + i] = 0.0;
            for (const GroupSums& shard : shards) {
                sum += shard.edges[set_.transition_pairs[i]];
                if (wanted == Wanted::kCurvature) sum -= shard.squares[set_.transition_pairs[i]];
            }
        }
        return shards;
    }

    void set_transitions(std::span<const double> weights) {
        const std::size_t K = set_.n_labels();
        transitions_.assign(K * K, 0.0);
        for (std::size_t i = 0; i < set_.transition_pairs.size(); ++i)
            transitions_[set_.transition_pairs[i]] = weights[set_.first_transition() + i];
        if (set_.constrained())
            for (std::size_t i = 0; i < K * K; ++i)
                if (!set_.settings.constraints.transitions[i]) transitions_[i] = kLogZero;
    }

    // The gold labels' side of the gradient does not depend on the weights.
    void count_observed() {
        observed_.assign(set_.n_weights(), 0.0);
        const Occurrences& o = set_.occurrences;
        const WeightTable& table = set_.unit_weights;
        std::vector<std::uint32_t> of_pair(set_.n_labels() * set_.n_labels(), kNoAttribute);
        for (std::uint32_t i = 0; i < set_.transition_pairs.size(); ++i) of_pair[set_.transition_pairs[i]] = i;
        for (std::size_t s = 0; s < set_.n_sequences(); ++s) {
            const double weight = set_.weight(s);
            for (std::size_t t = set_.starts[s]; t < set_.starts[s + 1]; ++t) {
                const std::uint32_t gold = set_.gold[t];
                for (std::size_t i = o.starts[t]; i < o.starts[t + 1]; ++i) {
                    std::uint32_t w = table.starts[o.numbers[i]];
                    while (table.labels[w] != gold) ++w;
                    observed_[w] += weight * static_cast<double>(o.value(i));
                }
                if (t == set_.starts[s]) continue;
                const std::uint32_t pair = of_pair[set_.gold[t - 1] * set_.n_labels() + gold];
                if (pair != kNoAttribute) observed_[set_.first_transition() + pair] += weight;
            }
        }
        for (std::size_t u = 0; u < set_.units.size(); ++u)
            for (std::size_t w = table.starts[u]; w < table.starts[u + 1]; ++w) observed_[w] *= set_.factor(u);
    }

    const TrainingSet& set_;
    RowLayout layout_;
    Factors<float> single_;
    Factors<double> twice_;
    RowPass<float> single_pass_;
    RowPass<double> twice_pass_;
    std::vector<double> observed_, transitions_;
};

}  // namespace

bool has_fast_path(const TrainingSet& set) {
    return !set.partly_labelled() && set.token_weights.empty() && set.pair_units.size() == 0 && set.n_labels() <= 1024;
}

std::unique_ptr<Path> fast_path(const TrainingSet& set) { return std::make_unique<FastPath>(set); }

}  // namespace tw::chain
