#include "padded_losses.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "../base/parallel.hpp"
#include "../kernels/training.hpp"
#include "batch.hpp"
#include "group_runner.hpp"

namespace tw::chain {
namespace {

// Scores beyond this are not for the recursions of training, which take them for forbidden.
constexpr double kLargest = 1e25;
constexpr double kTooLarge = 1e300;
// Below this many multiply-adds a second thread costs more than it brings.
constexpr double kWorthAThread = 3e6;
constexpr std::size_t kMostShards = 16, kMostTables = std::size_t{1} << 22;

bool is_invalid(double score) { return !(score < kTooLarge) || (score < -kTooLarge && score != kLogZero); }

template <class Real>
class PaddedLosses {
public:
    PaddedLosses(const PaddedScores<Real>& scores, double* losses, const LossGradient<Real>& gradient)
        : s_(scores), K_(scores.n_labels), losses_(losses), gradient_(gradient) {}

    FoundProblem run() {
        if (const FoundProblem found = read_moves(); found.what != Problem::kNone) return found;
        read_positions();
        if (const FoundProblem found = read_rows(); found.what != Problem::kNone) return found;
        clear_gradient();
        if (s_.best)
            take_best();
        else if (gradient_.weights)
            take_sums();
        else
            take_log_partitions();
        return finish();
    }

private:
    // ---- what comes in
    // -----------------------------------------------------------------------------------------------

    FoundProblem read_moves() {
        transitions_.assign(s_.transitions, s_.transitions + K_ * K_);
        start_.assign(s_.start, s_.start + K_);
        end_.assign(s_.end, s_.end + K_);
        for (std::size_t i = 0; i < K_ * K_; ++i) {
            if (is_invalid(transitions_[i])) return {Problem::kTransition, 0, i / K_, i % K_};
            see_move(transitions_[i]);
        }
        for (std::size_t k = 0; k < K_; ++k) {
            if (is_invalid(start_[k])) return {Problem::kStart, 0, 0, k};
            if (is_invalid(end_[k])) return {Problem::kEnd, 0, 0, k};
            see_move(start_[k]);
            see_move(end_[k]);
        }
        return {};
    }

    void see_move(double score) {
        forbidden_moves_ |= score == kLogZero;
        huge_moves_ |= score != kLogZero && std::abs(score) > kLargest;
    }

    void read_positions() {
        starts_.assign(1, 0);
        for (std::size_t i = 0; i < s_.n_sequences; ++i) {
            for (std::size_t t = 0; t < s_.n_positions; ++t)
                if (!s_.mask || s_.mask[i * s_.n_positions + t]) positions_.push_back(static_cast<std::uint32_t>(t));
            starts_.push_back(positions_.size());
        }
    }

    // Looks at all scores and labels; adds up what gold scores.
    FoundProblem read_rows() {
        found_.assign(s_.n_sequences, {});
        flags_.assign(s_.n_sequences, 0);
        gold_scores_.assign(s_.n_sequences, 0.0);
        parallel_for(s_.n_sequences, workers(), [&](std::size_t i, std::size_t) { found_[i] = read_sequence(i); });
        return first_found();
    }

    FoundProblem read_sequence(std::size_t i) {
        Real least = 0, most = 0;
        bool odd = false, forbidden = false;
        for (std::size_t n = starts_[i]; n < starts_[i + 1]; ++n) {
            const Real* row = unary(i, n);
            for (std::size_t k = 0; k < K_; ++k) {
                least = std::min(least, row[k]);
                most = std::max(most, row[k]);
                odd |= row[k] != row[k];
            }
            if (!odd && most < static_cast<Real>(kLargest) && least > static_cast<Real>(-kLargest)) continue;
            for (std::size_t k = 0; k < K_; ++k) {
                const double score = row[k];
                if (is_invalid(score)) return {Problem::kUnary, i, positions_[n], k};
                forbidden |= score == kLogZero;
                if (score != kLogZero && std::abs(score) > kLargest) flags_[i] |= kHuge;
            }
            least = most = 0;
        }
        if (forbidden) flags_[i] |= kForbidden;
        return s_.gold ? read_gold(i) : FoundProblem{};
    }

    FoundProblem read_gold(std::size_t i) {
        const std::size_t begin = starts_[i], end = starts_[i + 1];
        for (std::size_t n = begin; n < end; ++n)
            if (gold(i, n) < 0 || static_cast<std::size_t>(gold(i, n)) >= K_)
                return {Problem::kLabel, i, positions_[n], 0};
        double total = 0.0;
        std::size_t before = 0;
        for (std::size_t n = begin; n < end; ++n) {
            const auto label = static_cast<std::size_t>(gold(i, n));
            total += static_cast<double>(unary(i, n)[label]);
            total += n == begin ? start_[label] : transitions_[before * K_ + label];
            if (n + 1 == end) total += end_[label];
            if (total == kLogZero) return {Problem::kForbiddenGold, i, positions_[n], label};
            before = label;
        }
        gold_scores_[i] = total;
        return {};
    }

    FoundProblem first_found() const {
        for (const FoundProblem& found : found_)
            if (found.what != Problem::kNone) return found;
        return {};
    }

    const Real* unary(std::size_t i, std::size_t n) const {
        return s_.unary + (i * s_.n_positions + positions_[n]) * K_;
    }
    std::int64_t gold(std::size_t i, std::size_t n) const { return s_.gold[i * s_.n_positions + positions_[n]]; }
    std::size_t length(std::size_t i) const { return starts_[i + 1] - starts_[i]; }

    std::size_t workers() const {
        const double k = static_cast<double>(K_), work = static_cast<double>(positions_.size()) * (k * k + 20.0 * k);
        const double useful = std::min(work / kWorthAThread, 1e6);
        return std::max<std::size_t>(1, std::min(s_.n_jobs, static_cast<std::size_t>(useful)));
    }

    // The scores of a sequence and the cost of labels that are not gold's, in rows of `stride`.
    template <class To>
    void copy_rows(std::size_t i, To* out, std::size_t stride) const {
        const auto cost = static_cast<To>(s_.cost);
        for (std::size_t n = starts_[i]; n < starts_[i + 1]; ++n, out += stride) {
            const Real* row = unary(i, n);
            for (std::size_t k = 0; k < K_; ++k) out[k] = static_cast<To>(row[k]) + cost;
            if (s_.cost != 0.0) out[gold(i, n)] = static_cast<To>(row[gold(i, n)]);
            for (std::size_t k = K_; k < stride; ++k) out[k] = -std::numeric_limits<To>::infinity();
        }
    }

    // ---- without a gradient, or of the best labelling: the questions of a batch
    // -----------------------------------------

    Batch batch() {
        rows_.resize(positions_.size() * K_);
        Batch out{{K_, transitions_.data(), false, start_.data(), end_.data()}, {}, s_.n_jobs};
        for (std::size_t i = 0; i < s_.n_sequences; ++i) {
            copy_rows(i, rows_.data() + starts_[i] * K_, K_);
            out.sequences.push_back({rows_.data() + starts_[i] * K_, length(i)});
        }
        return out;
    }

    void take_log_partitions() { log_partition(batch(), losses_); }

    void take_best() {
        const Batch all = batch();
        std::vector<std::int32_t> labels(positions_.size());
        std::vector<std::int32_t*> places;
        for (std::size_t i = 0; i < s_.n_sequences; ++i) places.push_back(labels.data() + starts_[i]);
        argmax(all, places, losses_);
        if (!gradient_.weights) return;
        shards_.assign(1, Shard(K_));
        for (std::size_t i = 0; i < s_.n_sequences; ++i)
            if (losses_[i] != kLogZero)
                add_path(shards_[0], i, gradient_.weights[i],
                         [&](std::size_t n) { return static_cast<std::size_t>(labels[n]); });
    }

    // ---- sums with their gradient
    // ----------------------------------------------------------------------------------------

    struct Shard {  // what one part of the groups adds to the gradient of shared scores
        explicit Shard(std::size_t K) : transitions(K * K, 0.0), start(K, 0.0), end(K, 0.0) {}
        std::vector<double> transitions, start, end;
    };
    struct Scratch {
        GroupRows<Real> rows;
        std::vector<double> unary, nodes, edges;
    };

    void take_sums() {
        const std::size_t stride = Factors<Real>::padded(K_);
        Buffer<Real> buffer;
        Moves<Real> moves{};
        moves.forward = buffer.get(2 * stride * stride);
        moves.backward = moves.forward + stride * stride;
        training_loops<Real>().pack(transitions_.data(), K_, stride, moves);
        const auto all = groups();
        scale_ = scale_of_weights();
        const std::size_t tables = std::max<std::size_t>(1, kMostTables / (K_ * K_));
        const std::size_t n_shards = std::min({all.size(), kMostShards, tables});
        shards_.assign(n_shards, Shard(K_));
        const std::size_t n_workers = std::min(workers(), std::max<std::size_t>(n_shards, 1));
        std::vector<Scratch> scratch(n_workers);
        parallel_for(n_shards, n_workers, [&](std::size_t shard, std::size_t worker) {
            for (std::size_t g = shard; g < all.size(); g += n_shards) {
                check_interrupt();
                if (!take_group(moves, stride, all[g], scratch[worker], shards_[shard]))
                    for (const std::size_t i : all[g]) take_carefully(i, scratch[worker], shards_[shard]);
            }
        });
    }

    // Sequences of like sign and similar length, four at a time; what is left over goes one by one.
    std::vector<std::vector<std::size_t>> groups() const {
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < s_.n_sequences; ++i)
            if (length(i) > 0) order.push_back(i);
        const auto negative = [&](std::size_t i) { return gradient_.weights[i] < 0.0; };
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return negative(a) != negative(b) ? negative(b) : length(a) > length(b);
        });
        std::vector<std::vector<std::size_t>> out;
        for (std::size_t n = 0; n < order.size();) {
            const bool four =
                n + kSideBySide <= order.size() && negative(order[n]) == negative(order[n + kSideBySide - 1]);
            const std::size_t count = four ? kSideBySide : 1;
            out.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(n),
                             order.begin() + static_cast<std::ptrdiff_t>(n + count));
            n += count;
        }
        return out;
    }

    // Weights enter the recursions divided by the largest of them, so that small ones cost no digits.
    double scale_of_weights() const {
        double largest = 0.0;
        for (std::size_t i = 0; i < s_.n_sequences; ++i) {
            if (!std::isfinite(gradient_.weights[i])) return 1.0;
            largest = std::max(largest, std::abs(gradient_.weights[i]));
        }
        return largest > 0.0 ? largest : 1.0;
    }

    bool take_group(const Moves<Real>& moves, std::size_t stride, const std::vector<std::size_t>& group,
                    Scratch& scratch, Shard& shard) {
        std::size_t tokens = 0;
        bool forbidden = forbidden_moves_;
        std::uint32_t lengths[kSideBySide];
        double weights[kSideBySide], totals[kSideBySide];
        for (std::size_t n = 0; n < group.size(); ++n) {
            if (huge_moves_ || (flags_[group[n]] & kHuge) || !std::isfinite(gradient_.weights[group[n]])) return false;
            forbidden |= (flags_[group[n]] & kForbidden) != 0;
            lengths[n] = static_cast<std::uint32_t>(length(group[n]));
            weights[n] = std::abs(gradient_.weights[group[n]]) / scale_;
            tokens += lengths[n];
        }
        Real* local = scratch.rows.local.get(tokens * stride);
        Real* row = local;
        for (const std::size_t i : group) {
            copy_rows(i, row, stride);
            for (std::size_t k = 0; k < K_; ++k) row[k] += s_.start[k];
            row += length(i) * stride;
            for (std::size_t k = 0; k < K_; ++k) (row - stride)[k] += s_.end[k];
        }
        const TrainingGroup<Real> all{group.size(),
                                      K_,
                                      stride,
                                      forbidden,
                                      lengths,
                                      weights,
                                      local,
                                      scratch.rows.alpha.get(tokens * stride),
                                      scratch.rows.gamma.get((tokens + kSideBySide) * stride),
                                      totals,
                                      scratch.rows.edges.get(K_ * stride),
                                      nullptr};
        if (!training_loops<Real>().forward_backward(moves, all)) return false;
        const double scale = gradient_.weights[group[0]] < 0.0 ? -scale_ : scale_;
        for (std::size_t a = 0; a < K_; ++a)
            for (std::size_t b = 0; b < K_; ++b)
                shard.transitions[a * K_ + b] += scale * static_cast<double>(all.edges[a * stride + b]) *
                                                 static_cast<double>(moves.forward[a * stride + b]);
        for (std::size_t n = 0; n < group.size(); ++n) {
            losses_[group[n]] = totals[n];
            add_rows(shard, group[n], local, stride, scale);
            local += lengths[n] * stride;
        }
        return true;
    }

    void take_carefully(std::size_t i, Scratch& scratch, Shard& shard) {
        const double weight = gradient_.weights[i];
        scratch.unary.resize(length(i) * K_);
        scratch.nodes.resize(length(i) * K_);
        scratch.edges.resize(K_ * K_);
        copy_rows(i, scratch.unary.data(), K_);
        losses_[i] = all_sums({K_, transitions_.data(), false, start_.data(), end_.data()},
                              {scratch.unary.data(), length(i)}, scratch.nodes.data(), scratch.edges.data());
        if (losses_[i] == kLogZero) return;
        if (length(i) > 1)
            for (std::size_t j = 0; j < K_ * K_; ++j) shard.transitions[j] += weight * scratch.edges[j];
        add_rows(shard, i, scratch.nodes.data(), K_, weight);
    }

    // ---- the gradient
    // ----------------------------------------------------------------------------------------------------

    void clear_gradient() {
        if (!gradient_.weights || (!s_.mask && !s_.best)) return;  // every row is written
        std::fill_n(gradient_.unary, s_.n_sequences * s_.n_positions * K_, Real{0});
    }

    // Probabilities of a sequence's labels, times `scale`.
    template <class From>
    void add_rows(Shard& shard, std::size_t i, const From* rows, std::size_t stride, double scale) {
        const std::size_t begin = starts_[i], end = starts_[i + 1];
        const From factor = static_cast<From>(scale);
        for (std::size_t n = begin; n < end; ++n) {
            const From* row = rows + (n - begin) * stride;
            Real* out = gradient_.unary + (i * s_.n_positions + positions_[n]) * K_;
            for (std::size_t k = 0; k < K_; ++k) out[k] = static_cast<Real>(row[k] * factor);
        }
        for (std::size_t k = 0; k < K_; ++k) {
            shard.start[k] += scale * static_cast<double>(rows[k]);
            shard.end[k] += scale * static_cast<double>(rows[(end - 1 - begin) * stride + k]);
        }
        if (s_.gold)
            add_path_only(shard, i, -gradient_.weights[i],
                          [&](std::size_t n) { return static_cast<std::size_t>(gold(i, n)); });
    }

    // One labelling, and gold with the opposite sign.
    template <class LabelOf>
    void add_path(Shard& shard, std::size_t i, double weight, LabelOf label) {
        add_path_only(shard, i, weight, label);
        if (s_.gold)
            add_path_only(shard, i, -weight, [&](std::size_t n) { return static_cast<std::size_t>(gold(i, n)); });
    }

    template <class LabelOf>
    void add_path_only(Shard& shard, std::size_t i, double weight, LabelOf label) {
        const std::size_t begin = starts_[i], end = starts_[i + 1];
        if (begin == end) return;
        for (std::size_t n = begin; n < end; ++n) {
            gradient_.unary[(i * s_.n_positions + positions_[n]) * K_ + label(n)] += static_cast<Real>(weight);
            if (n > begin) shard.transitions[label(n - 1) * K_ + label(n)] += weight;
        }
        shard.start[label(begin)] += weight;
        shard.end[label(end - 1)] += weight;
    }

    // Sums of shards, in their order; losses from totals.
    FoundProblem finish() {
        for (std::size_t i = 0; i < s_.n_sequences; ++i) {
            if (length(i) == 0) {
                losses_[i] = 0.0;
                continue;
            }
            if (losses_[i] == kLogZero) return {Problem::kImpossible, i, 0, 0};
            if (s_.gold) losses_[i] = std::max(losses_[i] - gold_scores_[i], 0.0);  // rounding may take it below
        }
        if (!gradient_.weights) return {};
        const auto collect = [&](std::vector<double> Shard::* of, std::size_t size, Real* out) {
            std::vector<double> total(size, 0.0);
            for (const Shard& shard : shards_)
                for (std::size_t j = 0; j < size; ++j) total[j] += (shard.*of)[j];
            for (std::size_t j = 0; j < size; ++j) out[j] = static_cast<Real>(total[j]);
        };
        collect(&Shard::transitions, K_ * K_, gradient_.transitions);
        collect(&Shard::start, K_, gradient_.start);
        collect(&Shard::end, K_, gradient_.end);
        return {};
    }

    static constexpr std::uint8_t kForbidden = 1, kHuge = 2;
    const PaddedScores<Real>& s_;
    std::size_t K_;
    double* losses_;
    const LossGradient<Real>& gradient_;
    std::vector<double> transitions_, start_, end_;
    bool forbidden_moves_ = false, huge_moves_ = false;
    std::vector<std::uint32_t> positions_;  // that count, of one sequence after the other
    std::vector<std::size_t> starts_;       // of each sequence in positions_
    std::vector<FoundProblem> found_;
    std::vector<std::uint8_t> flags_;  // of each sequence
    std::vector<double> gold_scores_, rows_;
    double scale_ = 1.0;
    std::vector<Shard> shards_;
};

}  // namespace

template <class Real>
FoundProblem padded_losses(const PaddedScores<Real>& scores, double* losses, const LossGradient<Real>& gradient) {
    return PaddedLosses<Real>(scores, losses, gradient).run();
}

template FoundProblem padded_losses(const PaddedScores<float>&, double*, const LossGradient<float>&);
template FoundProblem padded_losses(const PaddedScores<double>&, double*, const LossGradient<double>&);

}  // namespace tw::chain
