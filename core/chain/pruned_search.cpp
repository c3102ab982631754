#include "pruned_search.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "../base/interrupt.hpp"
#include "../base/semiring.hpp"
#include "../kernels/pruned_chain.hpp"

namespace tw::chain {
namespace {

constexpr double kLargest = 1e290;                       // sums of larger ones may overflow
constexpr std::size_t kTried = 3;                        // positions that show whether it pays
constexpr std::size_t kMostLeft = std::size_t{1} << 22;  // labels, of all positions

}  // namespace

bool leaves_labels_out(std::size_t n_labels) {
    static const bool dense = [] {
        const char* search = std::getenv("TRELLISWORK_SEARCH");
        return search && std::string_view(search) == "dense";
    }();
    return many_labels(n_labels) && !dense;
}

void BoundedTransitions::set(std::size_t n_labels, const double* moves) {
    n_labels_ = n_labels;
    const std::size_t w = std::max<std::size_t>(kernels().width, 4);
    padded_ = (n_labels + w - 1) / w * w;
    moves_.assign(n_labels * padded_, kLogZero);
    most_in_.assign(padded_, kLogZero);
    most_out_.assign(padded_, kLogZero);
    least_out_.assign(padded_, kLogZero);
    largest_ = pruned_chain_loops().largest_finite(moves, n_labels * n_labels);
    InterruptCheck check;
    for (std::size_t a = 0; a < n_labels; ++a) {
        check();
        double* row = &moves_[a * padded_];
        std::copy_n(moves + a * n_labels, n_labels, row);
        for (std::size_t b = 0; b < n_labels; ++b) most_in_[b] = std::max(most_in_[b], row[b]);
        bound_row(a);
    }
}

void BoundedTransitions::bound_row(std::size_t from) {
    const double* row = &moves_[from * padded_];
    const auto [least, most] = std::minmax_element(row, row + n_labels_);
    least_out_[from] = *least;
    most_out_[from] = *most;
}

void BoundedTransitions::bound_column(std::size_t to) {
    double most = kLogZero;
    for (std::size_t a = 0; a < n_labels_; ++a) most = std::max(most, moves_[a * padded_ + to]);
    most_in_[to] = most;
}

void BoundedTransitions::change(std::size_t from, std::size_t to, double score) {
    double& here = moves_[from * padded_ + to];
    const double was = here;
    if (score == was) return;
    here = score;
    if (std::isfinite(score)) largest_ = std::max(largest_, std::abs(score));
    // A bound that this score was is looked for again if it has become too wide.
    if (score > was ? was == least_out_[from] : was == most_out_[from]) bound_row(from);
    most_out_[from] = std::max(most_out_[from], score);
    least_out_[from] = std::min(least_out_[from], score);
    if (score < was && was == most_in_[to])
        bound_column(to);
    else
        most_in_[to] = std::max(most_in_[to], score);
}

// The Viterbi scores of a few labels, none of which is left out unless it is forbidden.
std::size_t PrunedSearch::take(const PrunedStep& step, const BoundedTransitions& moves,
                               std::span<const std::uint16_t> few, std::size_t used) {
    const std::size_t begin = used;
    for (const std::uint16_t y : few) {
        double best = step.n_before == 0 ? step.start[y] : kLogZero;
        for (std::size_t i = 0; i < step.n_before; ++i)
            best = std::max(best, step.before_scores[i] + moves(step.before[i], y));
        labels_[used] = y;
        scores_[used] = best + step.local[y];
        used += scores_[used] > kLogZero;
    }
    return used - begin;
}

bool PrunedSearch::search(const BoundedTransitions& moves, const double* start, const double* end,
                          const Sequence& sequence, const Candidates* candidates, std::size_t first, double most_left) {
    const std::size_t K = moves.n_labels_, padded = moves.padded_, length = sequence.length;
    const auto few = [&](std::size_t t) {
        return candidates && !candidates->all(first + t) ? candidates->of(first + t) : std::span<const std::uint16_t>();
    };
    double largest = 0.0;
    for (std::size_t t = 0; t < length && candidates; ++t)
        for (const std::uint16_t y : few(t))
            if (const double size = std::abs(sequence.unary[t * K + y]); !(size <= largest)) largest = size;
    for (std::size_t t = 0; t < length; t = candidates ? t + 1 : length)
        if (few(t).empty())
            largest = std::max(
                largest, pruned_chain_loops().largest_finite(sequence.unary + t * K, candidates ? K : length * K));
    largest += 2.0 * moves.largest_ + pruned_chain_loops().largest_finite(end, K);
    if (!(largest * static_cast<double>(length) < kLargest)) return false;
    rows_.resize(2 * padded);
    end_.assign(padded, kLogZero);
    std::copy_n(end, K, end_.begin());
    starts_.assign(1, 0);
    PrunedStep step{.n_labels = K,
                    .padded = padded,
                    .moves = moves.moves_.data(),
                    .most_in = moves.most_in_.data(),
                    .most_out = moves.most_out_.data(),
                    .least_out = moves.least_out_.data(),
                    .start = start,
                    .local = sequence.unary,
                    .before = nullptr,
                    .before_scores = nullptr,
                    .n_before = 0,
                    .doubt = largest * kPrunedRounding};
    std::size_t used = 0;
    InterruptCheck check;
    for (std::size_t t = 0; t < length; ++t) {
        check();
        if (used > kMostLeft) return false;
        if (labels_.size() < used + padded) {
            labels_.resize(2 * used + padded);
            scores_.resize(2 * used + padded);
        }
        step.local = sequence.unary + t * K;
        if (t + 1 == length) step.most_out = step.least_out = end_.data();  // what comes next is known
        if (t > 0) {
            step.before = labels_.data() + starts_[t - 1];
            step.before_scores = scores_.data() + starts_[t - 1];
            step.n_before = used - starts_[t - 1];
        }
        const std::size_t left = few(t).empty() ? pruned_chain_loops().prune(step, rows_.data(), labels_.data() + used,
                                                                             scores_.data() + used)
                                                : take(step, moves, few(t), used);
        used += left;
        share_left_ = static_cast<double>(used) / static_cast<double>((t + 1) * K);
        if (left == 0 || (t + 1 == kTried && share_left_ > most_left)) return false;
        starts_.push_back(used);
    }
    best_.resize(length);
    score_ = kLogZero;
    std::size_t y = 0;
    for (std::size_t i = starts_[length - 1]; i < used; ++i) {
        const double score = scores_[i] + end[labels_[i]];
        if (score > score_) {  // the lowest of equals
            score_ = score;
            y = i;
        }
    }
    if (score_ == kLogZero) return false;
    best_[length - 1] = static_cast<std::int32_t>(labels_[y]);
    // As kernels().max_trace does: the first label from which the score was reached.
    for (std::size_t t = length - 1; t > 0; --t) {
        const double wanted = scores_[y], local = sequence.unary[t * K + labels_[y]];
        std::size_t i = starts_[t - 1];
        while (i + 1 < starts_[t] && (scores_[i] + moves(labels_[i], labels_[y])) + local != wanted) ++i;
        y = i;
        best_[t - 1] = static_cast<std::int32_t>(labels_[y]);
    }
    return true;
}

}  // namespace tw::chain
