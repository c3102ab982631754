// One group of sequences through the recursions of training with many labels, in the cheapest way that suffices: sums
// over listed pairs in the given precision, or the whole matrix in double precision and, at last, in log space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "group_runner.hpp"
#include "sparse_factors.hpp"

namespace tw::chain {

// Transition scores as a whole matrix, made when somebody needs it. Several threads may ask.
class WholeFactors {
public:
    explicit WholeFactors(const TrainingSet& set) : set_(set), factors_(set) {}

    void set_transitions(std::span<const double> scores) {  // of each pair that has a weight
        pairs_.assign(scores.begin(), scores.end());
        ready_ = false;
    }
    void set_cost_scale(double scale) {
        cost_scale_ = scale;
        ready_ = false;
    }
    const Factors<double>& get() {
        const std::lock_guard guard(lock_);
        if (!ready_) {
            const std::size_t K = set_.n_labels();
            scores_.assign(K * K, 0.0);
            for (std::size_t i = 0; i < pairs_.size(); ++i) scores_[set_.transition_pairs[i]] = pairs_[i];
            for (std::size_t i = 0; i < K * K && set_.constrained(); ++i)
                if (!set_.settings.constraints.transitions[i]) scores_[i] = kLogZero;
            factors_.set_transitions(scores_);
            factors_.set_cost_scale(cost_scale_);
            ready_ = true;
        }
        return factors_;
    }
    std::span<const double> scores() const { return scores_; }  // after get()

private:
    const TrainingSet& set_;
    std::mutex lock_;
    bool ready_ = false;
    double cost_scale_ = 0.0;
    std::vector<double> pairs_, scores_;
    Factors<double> factors_;
};

// What comes out of a group besides the probabilities of its tokens.
struct PairSums {
    double loss = 0.0;                   // log partitions times weights
    std::vector<double> edges, squares;  // of each pair that has a weight
    bool want_squares = false;
};

// Keeps the rows of one group after the other.
template <class Real>
class SparseRunner {
public:
    SparseRunner(const TrainingSet& set, const BlockLayout& layout, const SparseFactors<Real>& factors,
                 WholeFactors& whole)
        : set_(set), layout_(layout), factors_(factors), whole_(whole) {}

    // Room for the scores of so many tokens, in rows of the factors' stride.
    Real* local(std::size_t tokens) { return local_.get(tokens * factors_.stride()); }

    // `local` has the scores, and the probabilities afterwards. False: the precision did not suffice.
    bool run(std::span<const std::uint32_t> sequences, Real* local, PairSums& sums) {
        if (!factors_.usable()) return false;
        const std::size_t stride = factors_.stride(), n_edges = factors_.n_edges();
        std::uint32_t lengths[kSideBySide];
        double weights[kSideBySide], log_partition[kSideBySide], weight = 0.0;
        std::size_t tokens = 0;
        for (std::size_t n = 0; n < sequences.size(); ++n) {
            factors_.adjust(local + tokens * stride, sequences[n]);
            lengths[n] = static_cast<std::uint32_t>(set_.length(sequences[n]));
            weights[n] = set_.weight(sequences[n]);
            weight += weights[n];
            tokens += lengths[n];
        }
        Real* const edges = edges_.get(n_edges);
        Real* const squares = sums.want_squares ? squares_.get(n_edges) : nullptr;
        std::fill_n(edges, n_edges, Real{0});
        if (squares) std::fill_n(squares, n_edges, Real{0});
        const SparseGroup<Real> group{sequences.size(),
                                      set_.n_labels(),
                                      stride,
                                      set_.constrained(),
                                      lengths,
                                      weights,
                                      local,
                                      alpha_.get(tokens * stride),
                                      rows_.get(kSparseRows * stride),
                                      log_partition,
                                      edges,
                                      squares};
        const ManyLabelLoops<Real>& loops = many_label_loops<Real>();
        if (!loops.forward_backward(factors_.moves(), group)) return false;
        if (!(factors_.raised(edges) <= loops.raised_limit * weight)) return false;
        factors_.add(edges, sums.edges);
        if (squares) factors_.add_squares(squares, sums.squares);
        for (std::size_t n = 0; n < sequences.size(); ++n) sums.loss += weights[n] * log_partition[n];
        return true;
    }

    // The same where the precision did not suffice; costs and constraints are not yet in the scores.
    void run_carefully(std::span<const std::uint32_t> sequences, Real* local, PairSums& sums) {
        const std::size_t K = set_.n_labels(), stride = factors_.stride();
        const Factors<double>& factors = whole_.get();
        GroupRunner runner(set_, whole_.scores(), factors);
        GroupSums found;
        found.edges.assign(K * K, 0.0);
        found.want_squares = sums.want_squares;
        if (found.want_squares) found.squares.assign(K * K, 0.0);
        std::size_t tokens = 0;
        for (const std::uint32_t s : sequences) tokens += set_.length(s);
        std::vector<Real> scores(tokens * K);
        for (std::size_t t = 0; t < tokens; ++t)
            for (std::size_t y = 0; y < K; ++y) scores[t * K + y] = local[t * stride + layout_.position[y]];
        runner.run_carefully(sequences, scores.data(), K, found);
        for (std::size_t t = 0; t < tokens; ++t) {
            std::fill_n(local + t * stride, stride, Real{0});
            for (std::size_t y = 0; y < K; ++y) local[t * stride + layout_.position[y]] = scores[t * K + y];
        }
        for (std::size_t i = 0; i < sums.edges.size(); ++i) {
            sums.edges[i] += found.edges[set_.transition_pairs[i]];
            if (sums.want_squares) sums.squares[i] += found.squares[set_.transition_pairs[i]];
        }
        sums.loss += found.loss;
    }

private:
    const TrainingSet& set_;
    const BlockLayout& layout_;
    const SparseFactors<Real>& factors_;
    WholeFactors& whole_;
    Buffer<Real> local_, alpha_, rows_, edges_, squares_;
};

}  // namespace tw::chain
