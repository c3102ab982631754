// One group of sequences through the recursions of training, in the cheapest precision that suffices.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "../base/huge_pages.hpp"
#include "../base/semiring.hpp"
#include "../kernels/kernels.hpp"
#include "../kernels/training.hpp"
#include "batch.hpp"
#include "training_set.hpp"

namespace tw::chain {

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
        return up(n, std::max<std::size_t>(training_loops<Real>().row_width, 4));  // the recursions go by fours
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
    static std::size_t up(std::size_t n, std::size_t multiple) { return (n + multiple - 1) / multiple * multiple; }
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
                                        set_.constrained(),
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
    void run_in_log_space(std::uint32_t sequence, double* scores, GroupSums& sums) {
        const std::size_t K = set_.n_labels(), stride = twice_.stride(), length = set_.length(sequence);
        const double weight = set_.weight(sequence);
        for (std::size_t t = 0; t < length; ++t) std::copy_n(scores + t * stride, K, scores + t * K);
        zeros_.assign(K, 0.0);
        nodes_.resize(length * K);
        edges_.resize(K * K);
        const Potentials potentials{K, transitions_.data(), false, zeros_.data(), zeros_.data()};
        sums.loss += weight * all_sums(potentials, {scores, length}, nodes_.data(), edges_.data());
        for (std::size_t i = 0; i < K * K; ++i) sums.edges[i] += weight * edges_[i];
        if (sums.want_squares && length > 1) {
            edges_.resize((length - 1) * K * K);
            double* steps = edges_.data();
            edge_marginals({potentials, {{scores, length}}, 1}, {&steps, 1});
            for (std::size_t i = 0; i < edges_.size(); ++i) sums.squares[i % (K * K)] += weight * steps[i] * steps[i];
        }
        for (std::size_t t = 0; t < length; ++t)
            for (std::size_t y = 0; y < K; ++y) scores[t * stride + y] = weight * nodes_[t * K + y];
    }

    const TrainingSet& set_;
    std::span<const double> transitions_;  // [n_labels][n_labels], -inf where forbidden
    const Factors<double>& twice_;
    GroupRows<double> rows_;
    std::vector<double> nodes_, edges_, zeros_;
};

}  // namespace tw::chain
