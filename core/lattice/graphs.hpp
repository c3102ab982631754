// The structures of sequences as graphs (see recursions.hpp): a first-order chain, order M, and segments.
// Every graph has at least one position; the empty sequence is answered before a graph is made.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "../kernels/kernels.hpp"

namespace tw::lattice {

// Node 1 + t stride + k is label k at position t; start scores are on the source's edges, end scores on the sink's. The
// stride is K, or more to number nodes as padded rows do: then some nodes have no edges and only searches may be run.
class ChainGraph {
public:
    ChainGraph(const Potentials& potentials, const Sequence& sequence, std::size_t stride = 0)
        : p_(potentials), s_(sequence), k_(potentials.n_labels), stride_(stride ? stride : k_) {
        if (p_.per_step) return;
        arriving_.resize(k_ * k_);
        for (std::size_t a = 0; a < k_; ++a)
            for (std::size_t b = 0; b < k_; ++b) arriving_[b * k_ + a] = p_.transitions[a * k_ + b];
    }

    std::size_t n_nodes() const { return s_.length * stride_ + 2; }
    std::size_t n_labels() const { return k_; }
    std::size_t n_positions() const { return s_.length; }
    std::size_t position(std::size_t v) const { return (v - 1) / stride_; }
    std::size_t label(std::size_t v) const { return (v - 1) % stride_; }
    std::size_t node(std::size_t t, std::size_t k) const { return 1 + t * stride_ + k; }

    double local(std::size_t t, std::size_t k) const {
        const double score = s_.unary[t * k_ + k];
        return (t == 0 ? p_.start[k] + score : score) - (centres_.empty() ? 0.0 : centres_[t]);
    }

    // Takes the best local score out of every position and returns their sum. Probabilities stay as they are, and sums
    // of scores keep their digits however large a constant the caller's scores contain.
    double centre() {
        centres_.assign(s_.length, 0.0);
        CompensatedSum total;
        std::vector<double> best(s_.length, -std::numeric_limits<double>::infinity());
        for (std::size_t t = 0; t < s_.length; ++t)
            for (std::size_t k = 0; k < k_; ++k) best[t] = std::max(best[t], local(t, k));
        for (std::size_t t = 0; t < s_.length; ++t)
            if (std::isfinite(best[t])) total.add(centres_[t] = best[t]);
        return total.value();
    }

    template <class Visit>
    void incoming(std::size_t v, Visit visit) const {
        if (v == n_nodes() - 1) {
            for (std::size_t a = 0; a < k_; ++a) visit(node(s_.length - 1, a), p_.end[a]);
            return;
        }
        const std::size_t t = position(v), b = label(v);
        const double here = local(t, b);
        if (t == 0) {
            visit(std::size_t{0}, here);
            return;
        }
        const std::size_t before = v - b - stride_;
        if (p_.per_step) {
            const double* scores = p_.transitions + (t - 1) * k_ * k_ + b;
            for (std::size_t a = 0; a < k_; ++a) visit(before + a, scores[a * k_] + here);
        } else {
            const double* scores = arriving_.data() + b * k_;
            for (std::size_t a = 0; a < k_; ++a) visit(before + a, scores[a] + here);
        }
    }

private:
    Potentials p_;
    Sequence s_;
    std::size_t k_, stride_;
    std::vector<double> arriving_;  // transitions, [to][from]
    std::vector<double> centres_;   // by position; empty unless centred
};

// Order M: a node is the last M labels (fewer at the beginning), the newest varying fastest (003, "Beyond Bigrams").
class NGramGraph {
public:
    NGramGraph(std::span<const double> unary, std::size_t n_labels, std::span<const double> ngram, std::size_t order)
        : unary_(unary), ngram_(ngram), k_(n_labels), length_(unary.size() / n_labels), order_(order) {
        std::size_t states = 1, first = 1;
        for (std::size_t t = 0; t < length_; ++t) {
            if (t < order_) states *= k_;
            first_.push_back(first);
            first += states;
        }
        history_ = states;  // of the last layer; K^M once t >= M - 1
        first_.push_back(first);
        centres_.assign(length_, 0.0);
    }

    double centre() {  // as ChainGraph's
        CompensatedSum total;
        for (std::size_t t = 0; t < length_; ++t) {
            const auto row = unary_.subspan(t * k_, k_);
            const double best = *std::max_element(row.begin(), row.end());
            if (std::isfinite(best)) total.add(centres_[t] = best);
        }
        return total.value();
    }

    std::size_t n_nodes() const { return first_.back() + 1; }
    std::size_t n_labels() const { return k_; }
    std::size_t n_positions() const { return length_; }
    std::size_t order() const { return order_; }
    std::size_t first(std::size_t t) const { return first_[t]; }
    std::size_t n_states(std::size_t t) const { return first_[t + 1] - first_[t]; }
    std::size_t label(std::size_t t, std::size_t v) const { return (v - first_[t]) % k_; }

    std::size_t position(std::size_t v) const {  // layers have equal size once histories are full
        const std::size_t full = order_ - 1;
        if (length_ > full && v >= first_[full]) return full + (v - first_[full]) / history_;
        std::size_t t = 0;
        while (v >= first_[t + 1]) ++t;
        return t;
    }

    template <class Visit>
    void incoming(std::size_t v, Visit visit) const {
        if (v == n_nodes() - 1) {
            for (std::size_t i = 0; i < n_states(length_ - 1); ++i) visit(first_[length_ - 1] + newest_first(i), 0.0);
            return;
        }
        const std::size_t t = position(v), state = v - first_[t];
        const double here = unary_[t * k_ + state % k_] - centres_[t];
        if (t == 0) {
            visit(std::size_t{0}, here);
        } else if (t < order_) {
            visit(first_[t - 1] + state / k_, here);
        } else {
            const std::size_t shared = state / k_, block = history_ / k_;
            for (std::size_t a = 0; a < k_; ++a) {  // the label that leaves the history
                const std::size_t before = a * block + shared;
                visit(first_[t - 1] + before, ngram_[before * k_ + state % k_] + here);
            }
        }
    }

private:
    // The i-th history in the order that looks at the newest label first: the base-K digits of i, reversed.
    std::size_t newest_first(std::size_t i) const {
        std::size_t state = 0;
        for (std::size_t size = 1; size < history_; size *= k_, i /= k_) state = state * k_ + i % k_;
        return k_ == 1 ? 0 : state;
    }

    std::span<const double> unary_, ngram_;
    std::size_t k_, length_, order_, history_;
    std::vector<std::size_t> first_;
    std::vector<double> centres_;  // by position
};

// Segments: node open(t, k) begins a segment of label k at t, closed(t, k) ends one before t. Splitting the two keeps
// the cost at T K (K + L) instead of T L K^2.
class SegmentGraph {
public:
    SegmentGraph(std::span<const double> segments, std::size_t length, std::size_t longest,
                 std::span<const double> transitions, std::span<const double> start, std::span<const double> end)
        : segments_(segments),
          transitions_(transitions),
          start_(start),
          end_(end),
          k_(start.size()),
          length_(length),
          longest_(longest) {}

    std::size_t n_nodes() const { return 2 * length_ * k_ + 2; }
    std::size_t n_labels() const { return k_; }
    std::size_t n_positions() const { return length_; }
    std::size_t longest() const { return longest_; }
    double centre() { return 0.0; }  // a position has no score of its own to take out
    // Order: open(0), closed(1), open(1), closed(2), ..., open(T - 1), closed(T).
    std::size_t open(std::size_t t, std::size_t k) const { return 1 + 2 * t * k_ + k; }
    std::size_t closed(std::size_t t, std::size_t k) const { return 1 + (2 * t - 1) * k_ + k; }
    bool is_closed(std::size_t v) const { return ((v - 1) / k_) % 2 == 1; }
    std::size_t label(std::size_t v) const { return (v - 1) % k_; }
    std::size_t boundary(std::size_t v) const { return ((v - 1) / k_ + 1) / 2; }

    template <class Visit>
    void incoming(std::size_t v, Visit visit) const {
        if (v == n_nodes() - 1) {
            for (std::size_t a = 0; a < k_; ++a) visit(closed(length_, a), end_[a]);
            return;
        }
        const std::size_t t = boundary(v), k = label(v);
        if (is_closed(v)) {
            for (std::size_t n = 1; n <= longest_ && n <= t; ++n)
                visit(open(t - n, k), segments_[((t - n) * longest_ + n - 1) * k_ + k]);
        } else if (t == 0) {
            visit(std::size_t{0}, start_[k]);
        } else {
            for (std::size_t a = 0; a < k_; ++a) visit(closed(t, a), transitions_[a * k_ + k]);
        }
    }

private:
    std::span<const double> segments_, transitions_, start_, end_;
    std::size_t k_, length_, longest_;
};

}  // namespace tw::lattice
