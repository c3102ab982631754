#include "second_order_trees.hpp"

#include <algorithm>

#include "../base/interrupt.hpp"
#include "../base/semiring.hpp"
#include "../kernels/spans.hpp"

namespace tw {

namespace {

constexpr std::uint32_t kNone = DependencySites::kNone;

std::uint32_t distance(std::uint32_t a, std::uint32_t b) { return a < b ? b - a : a - b; }

// The first k of the largest value(k).
template <class Value>
std::uint32_t first_best(std::uint32_t begin, std::uint32_t end, Value value) {
    std::uint32_t best = begin;
    double highest = kLogZero;
    for (std::uint32_t k = begin; k < end; ++k)
        if (const double x = value(k); x > highest) {
            highest = x;
            best = k;
        }
    return best;
}

void raise(double* __restrict to, const double* __restrict from, double more, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        const double x = from[i] + more;
        to[i] = x > to[i] ? x : to[i];
    }
}

}  // namespace

void SecondOrderTrees::lay_out(Shape shape, const DependencyBlocks& blocks, bool single_root) {
    sites_.read(shape, blocks);
    siblings_ = blocks.siblings;
    grand_ = blocks.grandparents;
    single_root_ = single_root;
    n_labels_ = blocks.n_labels;
    const std::size_t n = sites_.n_words();
    const auto arcs = sites_.arcs();

    first_span_.resize(n + 1);
    std::size_t size = 0;
    for (std::size_t h = 0; h <= n; ++h) {
        first_span_[h] = size;
        size += (n + 1) * n_contexts(h);
    }
    span_.resize(size);
    first_arc_.resize(arcs.size());
    size = 0;
    first_of_width_.assign(n + 2, 0);
    for (std::uint32_t b = 0; b < arcs.size(); ++b) {
        first_arc_[b] = size;
        size += n_contexts(arcs[b].head);
        ++first_of_width_[distance(arcs[b].head, arcs[b].modifier) + 1];
    }
    arc_.resize(size);
    for (std::size_t w = 1; w < n + 2; ++w) first_of_width_[w] += first_of_width_[w - 1];
    by_width_.resize(arcs.size());
    std::vector<std::uint32_t>& next = first_split_;  // for the moment
    next.assign(first_of_width_.begin(), first_of_width_.end());
    for (std::uint32_t b = 0; b < arcs.size(); ++b) by_width_[next[distance(arcs[b].head, arcs[b].modifier)]++] = b;

    first_split_.assign(n + 2, 0);
    splits_.clear();
    if (!siblings_) return;
    split_.resize(grand_ ? sites_.n_siblings() : (n + 1) * (n + 1));
    if (!grand_) return;
    const auto each_split = [&](auto visit) {
        for (std::uint32_t b = 0; b < arcs.size(); ++b) {
            if (single_root_ && arcs[b].head == 0) continue;
            const auto [begin, end] = sites_.between(b);
            for (std::uint32_t i = begin; i < end; ++i) {
                const std::uint32_t s = sites_.out()[i];
                visit(distance(arcs[b].modifier, arcs[s].modifier), Split{b, s});
            }
        }
    };
    each_split([&](std::uint32_t width, const Split&) { ++first_split_[width + 1]; });
    for (std::size_t w = 1; w < n + 2; ++w) first_split_[w] += first_split_[w - 1];
    splits_.resize(first_split_.back());
    each_split([&](std::uint32_t width, const Split& split) { splits_[first_split_[width]++] = split; });
    std::copy_backward(first_split_.begin(), first_split_.end() - 1, first_split_.end());
    first_split_[0] = 0;
}

double& SecondOrderTrees::split(std::uint32_t arc, std::uint32_t sibling) {
    if (grand_) return split_[sites_.sibling_part(arc, sibling) - sites_.sibling_part(0, kNone)];
    const std::size_t m = sites_.arcs()[arc].modifier, s = sites_.arcs()[sibling].modifier;
    return split_[std::min(m, s) * (sites_.n_words() + 1) + std::max(m, s)];
}

DependencySites::Range SecondOrderTrees::inside(std::uint32_t h, std::uint32_t e) const {
    auto [begin, end] = e > h ? sites_.right_of(h) : sites_.left_of(h);
    const auto modifier = [&](std::uint32_t i) { return sites_.arcs()[sites_.out()[i]].modifier; };
    while (e > h && begin < end && modifier(end - 1) > e) --end;
    while (e < h && begin < end && modifier(begin) < e) ++begin;
    return {begin, end};
}

void SecondOrderTrees::fill_splits(std::size_t width) {
    const std::size_t n = sites_.n_words();
    if (!grand_) {
        for (std::size_t i = 1; i + width <= n; ++i) {
            const std::size_t j = i + width;
            double best = kLogZero;
            for (std::size_t k = i; k < j; ++k) best = std::max(best, *row(i, k) + *row(j, k + 1));
            split_[i * (n + 1) + j] = best;
        }
        return;
    }
    for (std::uint32_t at = first_split_[width]; at < first_split_[width + 1]; ++at) {
        const auto [b, s] = splits_[at];
        const std::uint32_t m = sites_.arcs()[b].modifier, other = sites_.arcs()[s].modifier;
        const std::uint32_t low = m < other ? b : s, high = m < other ? s : b;
        const std::uint32_t i = std::min(m, other), j = std::max(m, other);
        const std::size_t step_low = n_contexts(i), step_high = n_contexts(j);
        const double *x = row(i, i) + rank(low), *y = row(j, i + 1) + rank(high);
        double best = kLogZero;
        for (std::uint32_t k = i; k < j; ++k, x += step_low, y += step_high) best = std::max(best, *x + *y);
        split(b, s) = best;
    }
}

void SecondOrderTrees::fill_arcs(std::size_t width) {
    for (std::uint32_t at = first_of_width_[width]; at < first_of_width_[width + 1]; ++at) {
        const std::uint32_t b = by_width_[at];
        const auto [h, m, site] = sites_.arcs()[b];
        if (single_root_ && h == 0) continue;
        const std::size_t n = n_contexts(h);
        double* to = arc_.data() + first_arc_[b];
        if (siblings_) {
            std::fill_n(to, n, below(b, m > h ? h + 1 : h - 1) + scores_[sites_.sibling_part(b, kNone)]);
            const auto [begin, end] = sites_.between(b);
            for (std::uint32_t i = begin; i < end; ++i) {
                const std::uint32_t s = sites_.out()[i];
                const double *from = arc_.data() + first_arc_[s], between = split(b, s);
                const double own = scores_[sites_.sibling_part(b, s)];
                for (std::size_t c = 0; c < n; ++c) {
                    const double x = from[c] + between + own;
                    to[c] = x > to[c] ? x : to[c];
                }
            }
        } else {
            std::fill_n(to, n, kLogZero);
            for (std::uint32_t k = std::min(h, m); k < std::max(h, m); ++k)
                raise(to, row(h, m > h ? k : k + 1), below(b, m > h ? k + 1 : k), n);
        }
        for (std::size_t c = 0; c < n; ++c) to[c] += labels_[b];
        if (!grand_ || h == 0) continue;
        const auto [begin, end] = sites_.into(h);
        for (std::uint32_t c = begin; c < end; ++c) {
            const Part part = sites_.grandparent_part(b, c);
            to[c - begin] = part == kNoPart ? kLogZero : to[c - begin] + scores_[part];
        }
    }
}

void SecondOrderTrees::fill_spans(std::size_t width) {
    const auto n = static_cast<std::uint32_t>(sites_.n_words()), w = static_cast<std::uint32_t>(width);
    const auto fill = [&](std::uint32_t h, std::uint32_t e) {
        double* to = row(h, e);
        const std::size_t count = n_contexts(h);
        std::fill_n(to, count, kLogZero);
        const auto [begin, end] = inside(h, e);
        for (std::uint32_t i = begin; i < end; ++i) {
            const std::uint32_t b = sites_.out()[i];
            raise(to, arc_.data() + first_arc_[b], below(b, e), count);
        }
    };
    for (std::uint32_t h = single_root_ ? 1 : 0; h <= n; ++h) {
        if (h + w <= n) fill(h, h + w);
        if (h > w) fill(h, h - w);
    }
}

double SecondOrderTrees::goal(std::uint32_t& root) const {
    const std::size_t n = sites_.n_words();
    root = kNone;
    if (!single_root_) return *row(0, n);
    double best = kLogZero;
    const auto [begin, end] = sites_.right_of(0);
    for (std::uint32_t i = begin; i < end; ++i) {
        const std::uint32_t b = sites_.out()[i];
        double score = below(b, 1) + below(b, n) + labels_[b];
        if (siblings_) score += scores_[sites_.sibling_part(b, kNone)];
        if (!(score > best)) continue;
        best = score;
        root = b;
    }
    return best;
}

void SecondOrderTrees::best(Shape shape, const DependencyBlocks& blocks, bool single_root, const PartScores& scores,
                            Answer& answer) {
    lay_out(shape, blocks, single_root);
    const std::size_t n = sites_.n_words();
    scores_ = scores.masked(masked_);
    labels_.resize(sites_.arcs().size());
    for (std::uint32_t b = 0; b < labels_.size(); ++b) {
        const double* own = scores_ + sites_.arc_part(b, 0);
        if (n_labels_ == 1)
            labels_[b] = *own;
        else
            span_loops().row_maxima(own, 1, n_labels_, &labels_[b]);
    }
    for (std::size_t h = 0; h <= n; ++h) std::fill_n(row(h, h), n_contexts(h), 0.0);
    InterruptCheck check;
    for (std::size_t w = 1; w <= n; ++w) {
        check();
        if (siblings_) fill_splits(w);
        fill_arcs(w);
        fill_spans(w);
    }
    std::uint32_t root = 0;
    answer.score = goal(root);
    answer.parts.clear();
    if (answer.score != kLogZero) trace(root, answer.parts);
}

void SecondOrderTrees::trace(std::uint32_t root, Parts& parts) {
    const auto n = static_cast<std::uint32_t>(sites_.n_words());
    const auto add_label = [&](std::uint32_t b) {
        const double* labels = scores_ + sites_.arc_part(b, 0);
        parts.push_back(
            sites_.arc_part(b, static_cast<std::size_t>(std::max_element(labels, labels + n_labels_) - labels)));
    };
    open_.clear();
    if (single_root_) {
        const std::uint32_t r = sites_.arcs()[root].modifier;
        add_label(root);
        if (siblings_) parts.push_back(sites_.sibling_part(root, kNone));
        open_.push_back({r, 1, rank(root), false});
        open_.push_back({r, n, rank(root), false});
    } else {
        open_.push_back({0, n, 0, false});
    }
    while (!open_.empty()) {
        const auto [number, end, context, is_arc] = open_.back();
        open_.pop_back();
        if (is_arc) {
            add_label(number);
            trace_arc(number, context, parts);
        } else if (number != end) {
            trace_span(number, end, context);
        }
    }
    std::ranges::sort(parts);
}

void SecondOrderTrees::trace_span(std::uint32_t h, std::uint32_t e, std::uint32_t i) {
    const auto [begin, end] = inside(h, e);
    const std::uint32_t b = sites_.out()[first_best(begin, end, [&](std::uint32_t at) {
        const std::uint32_t arc = sites_.out()[at];
        return arc_[first_arc_[arc] + i] + below(arc, e);
    })];
    open_.push_back({b, 0, i, true});
    open_.push_back({sites_.arcs()[b].modifier, e, rank(b), false});
}

void SecondOrderTrees::trace_arc(std::uint32_t b, std::uint32_t i, Parts& parts) {
    const auto [h, m, site] = sites_.arcs()[b];
    if (grand_ && h > 0) parts.push_back(sites_.grandparent_part(b, sites_.into(h).begin + i));
    std::uint32_t low_word = std::min(h, m), high_word = std::max(h, m);
    std::uint32_t low_context = m > h ? i : rank(b), high_context = m > h ? rank(b) : i;
    if (siblings_) {
        const double first = below(b, m > h ? h + 1 : h - 1) + scores_[sites_.sibling_part(b, kNone)];
        double highest = first;
        std::uint32_t sibling = kNone;
        const auto [begin, end] = sites_.between(b);
        for (std::uint32_t at = begin; at < end; ++at) {
            const std::uint32_t s = sites_.out()[at];
            const double x = arc_[first_arc_[s] + i] + split(b, s) + scores_[sites_.sibling_part(b, s)];
            if (!(x > highest)) continue;
            highest = x;
            sibling = s;
        }
        parts.push_back(sites_.sibling_part(b, sibling));
        if (sibling == kNone) {
            open_.push_back({m, m > h ? h + 1 : h - 1, rank(b), false});
            return;
        }
        open_.push_back({sibling, 0, i, true});
        const std::uint32_t s = sites_.arcs()[sibling].modifier;
        low_word = std::min(s, m), high_word = std::max(s, m);
        low_context = rank(m < s ? b : sibling), high_context = rank(m < s ? sibling : b);
    }
    const std::uint32_t k = first_best(low_word, high_word, [&](std::uint32_t at) {
        return row(low_word, at)[low_context] + row(high_word, at + 1)[high_context];
    });
    open_.push_back({low_word, k, low_context, false});
    open_.push_back({high_word, k + 1, high_context, false});
}

}  // namespace tw
