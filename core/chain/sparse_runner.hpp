// One group of sequences through the recursions of training with many labels, in the cheapest way that suffices: sums
// over listed pairs in the given precision, or what group_runner.hpp does where a precision does not suffice.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "group_runner.hpp"
#include "sparse_factors.hpp"

namespace tw::chain {

// As GroupRunner, with rows in the order of the layout; edges are the pairs that have a weight.
template <class Real>
class SparseRunner {
public:
    SparseRunner(const TrainingSet& set, const BlockLayout& layout, const SparseFactors<Real>& factors,
                 WholeFactors& whole)
        : set_(set), layout_(layout), factors_(factors), careful_(set, whole) {}

    std::size_t stride() const { return factors_.stride(); }
    bool takes_pairs() const { return false; }
    Real* local(std::size_t tokens) { return local_.get(tokens * factors_.stride()); }

    bool run(std::span<const std::uint32_t> sequences, Real* local, GroupSums& sums) {
        if (!factors_.usable()) return false;
        const std::size_t stride = factors_.stride(), n_edges = factors_.n_edges();
        GroupMembers members(set_, factors_, sequences, local);
        Real* const edges = edges_.get(n_edges);
        Real* const squares = sums.want_squares ? squares_.get(n_edges) : nullptr;
        std::fill_n(edges, n_edges, Real{0});
        if (squares) std::fill_n(squares, n_edges, Real{0});
        const SparseGroup<Real> group{members.count,
                                      set_.n_labels(),
                                      stride,
                                      set_.constrained(),
                                      members.lengths,
                                      members.weights,
                                      local,
                                      alpha_.get(members.tokens * stride),
                                      rows_.get(kSparseRows * stride),
                                      members.log_partition,
                                      edges,
                                      squares};
        const ManyLabelLoops<Real>& loops = many_label_loops<Real>();
        if (!loops.forward_backward(factors_.moves(), group)) return false;
        if (!(factors_.raised(edges) <= loops.raised_limit * members.weight)) return false;
        factors_.add(edges, sums.edges);
        if (squares) factors_.add_squares(squares, sums.squares);
        members.add_loss(sums.loss);
        return true;
    }

    void run_carefully(std::span<const std::uint32_t> sequences, Real* local, GroupSums& sums) {
        const std::size_t K = set_.n_labels(), stride = factors_.stride();
        GroupSums found;
        found.begin(K * K, sums.want_squares);
        std::size_t tokens = 0;
        for (const std::uint32_t s : sequences) tokens += set_.length(s);
        std::vector<Real> scores(tokens * K);
        for (std::size_t t = 0; t < tokens; ++t)
            for (std::size_t y = 0; y < K; ++y) scores[t * K + y] = local[t * stride + layout_.position[y]];
        careful_.run(sequences, scores.data(), K, found);
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
    Buffer<Real> local_, alpha_, rows_, edges_, squares_;
    CarefulRunner careful_;
};

}  // namespace tw::chain
