// One group of sequences through the recursions of training with the whole matrix of transitions, in the cheapest
// precision that suffices: the given one, double, or log space, which always does.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../base/huge_pages.hpp"
#include "../kernels/kernels.hpp"
#include "../kernels/training.hpp"
#include "batch.hpp"
#include "factors.hpp"
#include "training_set.hpp"

namespace tw::chain {

// Where a worker keeps the rows of a group.
template <class Real>
struct GroupRows {
    Buffer<Real> local, alpha, gamma, edges, squares;
};

// What comes out of groups besides the probabilities of their tokens. Edges are transitions: all pairs of labels, or
// those that have a weight, as the layout says.
struct GroupSums {
    double loss = 0.0;                   // log partitions times weights
    std::vector<double> edges, squares;  // expected transitions; sums of their squares
    bool want_squares = false;

    void begin(std::size_t n_edges, bool with_squares) {
        loss = 0.0;
        edges.assign(n_edges, 0.0);
        squares.assign(with_squares ? n_edges : 0, 0.0);
        want_squares = with_squares;
    }
    void add(const GroupSums& more) {
        loss += more.loss;
        for (std::size_t i = 0; i < edges.size(); ++i) edges[i] += more.edges[i];
        for (std::size_t i = 0; i < squares.size(); ++i) squares[i] += more.squares[i];
    }
};

// The sequences of a group as the loops see them; costs and constraints are added to their scores.
struct GroupMembers {
    template <class Real>
    GroupMembers(const TrainingSet& set, const FixedScores<Real>& fixed, std::span<const std::uint32_t> sequences,
                 Real* local)
        : count(sequences.size()) {
        for (std::size_t n = 0; n < count; ++n) {
            fixed.adjust(local + tokens * fixed.stride(), sequences[n]);
            lengths[n] = static_cast<std::uint32_t>(set.length(sequences[n]));
            weights[n] = set.weight(sequences[n]);
            weight += weights[n];
            tokens += lengths[n];
        }
    }
    void add_loss(double& loss) const {
        for (std::size_t n = 0; n < count; ++n) loss += weights[n] * log_partition[n];
    }

    std::size_t count, tokens = 0;
    std::uint32_t lengths[kMostTogether];
    double weights[kMostTogether], weight = 0.0;  // of each, and of all
    double log_partition[kMostTogether];          // from the loops
};

// `local` has the scores in rows of `factors.stride()`, and the probabilities afterwards. False: the precision did not
// suffice.
template <class Real>
bool run_group(const TrainingSet& set, const Factors<Real>& factors, std::span<const std::uint32_t> sequences,
               GroupRows<Real>& rows, Real* local, GroupSums& sums) {
    const std::size_t K = set.n_labels(), stride = factors.stride();
    GroupMembers members(set, factors, sequences, local);
    const TrainingGroup<Real> group{members.count,
                                    K,
                                    stride,
                                    set.constrained(),
                                    members.lengths,
                                    members.weights,
                                    local,
                                    rows.alpha.get(members.tokens * stride),
                                    rows.gamma.get((members.tokens + kMostTogether) * stride),
                                    members.log_partition,
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
    members.add_loss(sums.loss);
    return true;
}

// Sequence by sequence in double precision, and where that fails in log space.
class CarefulRunner {
public:
    CarefulRunner(const TrainingSet& set, WholeFactors& whole) : set_(set), whole_(whole) {}

    // `local` has the scores without costs and constraints in rows of `stride`, in the order of the labels' numbers;
    // edges are those of all pairs.
    template <class Real>
    void run(std::span<const std::uint32_t> sequences, Real* local, std::size_t stride, GroupSums& sums) {
        const Factors<double>& factors = whole_.factors();
        const std::size_t K = set_.n_labels(), wide = factors.stride();
        for (const std::uint32_t sequence : sequences) {
            const std::size_t length = set_.length(sequence);
            const auto copy_scores = [&](double* to) {
                for (std::size_t t = 0; t < length; ++t)
                    for (std::size_t y = 0; y < wide; ++y)
                        to[t * wide + y] = y < K ? static_cast<double>(local[t * stride + y]) : kLogZero;
            };
            double* scores = rows_.local.get(length * wide);
            copy_scores(scores);
            if (!run_group<double>(set_, factors, {&sequence, 1}, rows_, scores, sums)) {
                copy_scores(scores);
                factors.adjust(scores, sequence);
                run_in_log_space(sequence, scores, wide, sums);
            }
            for (std::size_t t = 0; t < length; ++t)
                for (std::size_t y = 0; y < K; ++y) local[t * stride + y] = static_cast<Real>(scores[t * wide + y]);
            local += length * stride;
        }
    }

private:
    void run_in_log_space(std::uint32_t sequence, double* scores, std::size_t stride, GroupSums& sums) {
        const std::size_t K = set_.n_labels(), length = set_.length(sequence);
        const double weight = set_.weight(sequence);
        for (std::size_t t = 0; t < length; ++t) std::copy_n(scores + t * stride, K, scores + t * K);
        zeros_.assign(K, 0.0);
        nodes_.resize(length * K);
        edges_.resize(K * K);
        const Potentials potentials{K, whole_.scores().data(), false, zeros_.data(), zeros_.data()};
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
    WholeFactors& whole_;
    GroupRows<double> rows_;
    std::vector<double> nodes_, edges_, zeros_;
};

// Keeps the rows of one group after the other.
template <class Real>
class GroupRunner {
public:
    GroupRunner(const TrainingSet& set, const Factors<Real>& factors, WholeFactors& whole)
        : set_(set), factors_(factors), careful_(set, whole) {}

    std::size_t stride() const { return factors_.stride(); }
    // Whether two groups of four advance faster together: eight rows that stay near the processor.
    bool takes_pairs() const { return factors_.stride() * sizeof(Real) <= kRowOfPairs; }
    // Room for the scores of so many tokens, in rows of that stride.
    Real* local(std::size_t tokens) { return rows_.local.get(tokens * factors_.stride()); }

    // `local` has the scores, and the probabilities afterwards. False: the precision did not suffice.
    bool run(std::span<const std::uint32_t> sequences, Real* local, GroupSums& sums) {
        return run_group(set_, factors_, sequences, rows_, local, sums);
    }
    // The same where it did not; costs and constraints are not yet in the scores.
    void run_carefully(std::span<const std::uint32_t> sequences, Real* local, GroupSums& sums) {
        careful_.run(sequences, local, factors_.stride(), sums);
    }

private:
    static constexpr std::size_t kRowOfPairs = 128;  // bytes
    const TrainingSet& set_;
    const Factors<Real>& factors_;
    GroupRows<Real> rows_;
    CarefulRunner careful_;
};

}  // namespace tw::chain
