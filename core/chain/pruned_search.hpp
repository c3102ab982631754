// The best labelling of a chain with many labels, without looking at all pairs of them. The answer is that of Viterbi's
// recursion over all labels, to the last bit and with the same choice between equals.
//
// Let v[b] be the score of the best labelling of the positions so far that ends with label b. Whatever label c comes
// next, b cannot lead to it better than b* does if
//     v[b] + max over c of moves[b][c]  <  v[b*] + min over c of moves[b*][c],
// so it is left out: it would be the origin of no label of the next position. (This is the criterion of dead-end
// elimination (Desmet et al. 1992) with bounds as in CarpeDiem (Esposito & Radicioni 2009).) And before v[b] is
// computed there is a bound for it, max over a of v[a] + max over a of moves[a][b] + local[b]. The difference must be
// larger than what rounding could do, so that the recursion over all labels, which rounds as this one does, has no tie
// there either.
//
//     moves       [K][padded]   transitions, -inf beyond the last label
//     most_in     [padded]      of each label, the largest transition into it; never too small
//     most_out    [padded]      the largest out of it; least_out: the smallest
//     position t: labels, scores [n_t]    what is left, lists of all positions one after the other
// A position costs K bounds, and n_t times the labels within reach of the next one. Where nothing can be left out that
// is the recursion over all pairs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../base/huge_pages.hpp"
#include "../kernels/kernels.hpp"
#include "../kernels/pruned_chain.hpp"
#include "candidates.hpp"

namespace tw::chain {

// Whether there are so many labels that it may pay to look for some to leave out. Scores are then added from the first
// position to the last, whether it is done or not, so that they are rounded alike.
inline bool many_labels(std::size_t n_labels) { return n_labels >= 48; }
// Whether it is done. Never where the environment variable
// TRELLISWORK_SEARCH is "dense", for tests and measurements.
bool leaves_labels_out(std::size_t n_labels);

// Transitions that are the same at all positions, with their bounds.
class BoundedTransitions {
public:
    void set(std::size_t n_labels, const double* moves);  // [K][K]
    void change(std::size_t from, std::size_t to, double score);
    bool empty() const { return moves_.empty(); }
    double operator()(std::size_t from, std::size_t to) const { return moves_[from * padded_ + to]; }

private:
    friend class PrunedSearch;
    void bound_row(std::size_t from);
    void bound_column(std::size_t to);

    std::size_t n_labels_ = 0, padded_ = 0;
    LargeArray<double> moves_;
    std::vector<double> most_in_, most_out_, least_out_;
    double largest_ = 0.0;  // by magnitude, of all that there ever were
};

class PrunedSearch {
public:
    // False where the recursion over all labels must say: every labelling is forbidden, scores are too large, or too
    // many labels are left of a long chain. `candidates` of tokens from `first` on, or null: only their scores are
    // read.
    // Or at the beginning, where more than a share of the labels is left.
    bool search(const BoundedTransitions& moves, const double* start, const double* end, const Sequence& sequence,
                const Candidates* candidates = nullptr, std::size_t first = 0, double most_left = 1.0);
    double score() const { return score_; }
    const std::int32_t* labels() const { return best_.data(); }
    // Of all labels of all positions of the last search.
    double share_left() const { return share_left_; }

private:
    std::size_t take(const PrunedStep& step, const BoundedTransitions& moves, std::span<const std::uint16_t> few,
                     std::size_t used);
    std::vector<double> rows_, end_, scores_;
    std::vector<std::uint32_t> labels_;
    std::vector<std::size_t> starts_;
    std::vector<std::int32_t> best_;
    double score_ = 0.0, share_left_ = 0.0;
};

}  // namespace tw::chain
