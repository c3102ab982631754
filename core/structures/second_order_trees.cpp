#include "second_order_trees.hpp"

#include <algorithm>
#include <cmath>

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

struct Largest {
    static constexpr double kZero = kLogZero, kOne = 0.0;
    static double plus(double a, double b) { return b > a ? b : a; }
    static double times(double a, double b) { return a + b; }
};
struct Sum {
    static constexpr double kZero = 0.0, kOne = 1.0;
    static double plus(double a, double b) { return a + b; }
    static double times(double a, double b) { return a * b; }
};

template <class S>
void add(double* __restrict to, const double* __restrict from, double more, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) to[i] = S::plus(to[i], S::times(from[i], more));
}
double dot(const double* a, const double* b, std::size_t n) {
    double total = 0.0;
    for (std::size_t i = 0; i < n; ++i) total += a[i] * b[i];
    return total;
}

constexpr double kGrowth = 6.75;  // as in eisner.cpp

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

std::size_t SecondOrderTrees::split_at(std::uint32_t arc, std::uint32_t sibling) const {
    if (grand_) return sites_.sibling_part(arc, sibling) - sites_.sibling_part(0, kNone);
    const std::size_t m = sites_.arcs()[arc].modifier, s = sites_.arcs()[sibling].modifier;
    return std::min(m, s) * (sites_.n_words() + 1) + std::max(m, s);
}

DependencySites::Range SecondOrderTrees::inside(std::uint32_t h, std::uint32_t e) const {
    auto [begin, end] = e > h ? sites_.right_of(h) : sites_.left_of(h);
    const auto modifier = [&](std::uint32_t i) { return sites_.arcs()[sites_.out()[i]].modifier; };
    while (e > h && begin < end && modifier(end - 1) > e) --end;
    while (e < h && begin < end && modifier(begin) < e) ++begin;
    return {begin, end};
}

template <class S>
void SecondOrderTrees::fill() {
    const std::size_t n = sites_.n_words();
    for (std::size_t h = 0; h <= n; ++h) std::fill_n(row(h, h), n_contexts(h), S::kOne);
    InterruptCheck check;
    for (std::size_t w = 1; w <= n; ++w) {
        check();
        if (siblings_) fill_splits<S>(w);
        fill_arcs<S>(w);
        fill_spans<S>(w);
    }
}

template <class S>
void SecondOrderTrees::fill_splits(std::size_t width) {
    const std::size_t n = sites_.n_words();
    if (!grand_) {
        for (std::size_t i = 1; i + width <= n; ++i) {
            const std::size_t j = i + width;
            double total = S::kZero;
            for (std::size_t k = i; k < j; ++k) total = S::plus(total, S::times(*row(i, k), *row(j, k + 1)));
            split_[i * (n + 1) + j] = total;
        }
        return;
    }
    for (std::uint32_t at = first_split_[width]; at < first_split_[width + 1]; ++at) {
        const auto [low, high] = in_order(splits_[at]);
        const std::uint32_t i = sites_.arcs()[low].modifier, j = sites_.arcs()[high].modifier;
        const std::size_t step_low = n_contexts(i), step_high = n_contexts(j);
        const double *x = row(i, i) + rank(low), *y = row(j, i + 1) + rank(high);
        double total = S::kZero;
        for (std::uint32_t k = i; k < j; ++k, x += step_low, y += step_high) total = S::plus(total, S::times(*x, *y));
        split_[split_at(splits_[at].arc, splits_[at].sibling)] = total;
    }
}

template <class S>
void SecondOrderTrees::fill_arcs(std::size_t width) {
    for (std::uint32_t at = first_of_width_[width]; at < first_of_width_[width + 1]; ++at) {
        const std::uint32_t b = by_width_[at];
        const auto [h, m, site] = sites_.arcs()[b];
        if (single_root_ && h == 0) continue;
        const std::size_t n = n_contexts(h);
        double* to = arc_.data() + first_arc_[b];
        if (siblings_) {
            std::fill_n(to, n, S::times(below(b, m > h ? h + 1 : h - 1), scores_[sites_.sibling_part(b, kNone)]));
            const auto [begin, end] = sites_.between(b);
            for (std::uint32_t i = begin; i < end; ++i) {
                const std::uint32_t s = sites_.out()[i];
                const double *from = arc_.data() + first_arc_[s], between = split_[split_at(b, s)];
                const double own = scores_[sites_.sibling_part(b, s)];
                for (std::size_t c = 0; c < n; ++c) to[c] = S::plus(to[c], S::times(S::times(from[c], between), own));
            }
        } else {
            std::fill_n(to, n, S::kZero);
            for (std::uint32_t k = std::min(h, m); k < std::max(h, m); ++k)
                add<S>(to, row(h, m > h ? k : k + 1), below(b, m > h ? k + 1 : k), n);
        }
        for (std::size_t c = 0; c < n; ++c) to[c] = S::times(to[c], labels_[b]);
        if (!grand_ || h == 0) continue;
        const auto [begin, end] = sites_.into(h);
        for (std::uint32_t c = begin; c < end; ++c) {
            const Part part = sites_.grandparent_part(b, c);
            to[c - begin] = part == kNoPart ? S::kZero : S::times(to[c - begin], scores_[part]);
        }
    }
}

template <class Visit>
void SecondOrderTrees::each_span(std::size_t width, Visit visit) const {
    const auto n = static_cast<std::uint32_t>(sites_.n_words()), w = static_cast<std::uint32_t>(width);
    for (std::uint32_t h = single_root_ ? 1 : 0; h <= n; ++h) {
        if (h + w <= n) visit(h, h + w);
        if (h > w) visit(h, h - w);
    }
}

template <class S>
void SecondOrderTrees::fill_spans(std::size_t width) {
    each_span(width, [&](std::uint32_t h, std::uint32_t e) {
        double* to = row(h, e);
        std::fill_n(to, n_contexts(h), S::kZero);
        const auto [begin, end] = inside(h, e);
        for (std::uint32_t i = begin; i < end; ++i) {
            const std::uint32_t b = sites_.out()[i];
            add<S>(to, arc_.data() + first_arc_[b], below(b, e), n_contexts(h));
        }
    });
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
    scores_ = scores.masked(masked_);
    labels_.resize(sites_.arcs().size());
    for (std::uint32_t b = 0; b < labels_.size(); ++b) {
        const double* own = scores_ + sites_.arc_part(b, 0);
        if (n_labels_ == 1)
            labels_[b] = *own;
        else
            span_loops().row_maxima(own, 1, n_labels_, &labels_[b]);
    }
    fill<Largest>();
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
            const double x = arc_[first_arc_[s] + i] + split_[split_at(b, s)] + scores_[sites_.sibling_part(b, s)];
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

double SecondOrderTrees::centre(const PartScores& scores) {
    const auto arcs = sites_.arcs();
    const double* given = scores.masked(masked_);
    weights_.assign(given, given + scores.scores.size());
    labels_.resize(arcs.size());
    CompensatedSum taken;
    const auto take = [&](Part part, double best) { weights_[part] -= best; };
    for (std::size_t m = 1; m <= sites_.n_words(); ++m) {
        const auto [begin, end] = sites_.into(m);
        double of_siblings = kLogZero, of_grandparents = kLogZero, of_arcs = kLogZero;
        for (std::uint32_t b = begin; b < end; ++b) {
            const auto [first, last] = siblings_ ? sites_.sibling_parts(b) : DependencySites::Range{0, 0};
            for (Part part = first; part < last; ++part) of_siblings = std::max(of_siblings, given[part]);
            const auto [first_g, last_g] = grand_ ? sites_.grandparent_parts(b) : DependencySites::Range{0, 0};
            for (Part part = first_g; part < last_g; ++part) of_grandparents = std::max(of_grandparents, given[part]);
        }
        if (siblings_ && of_siblings == kLogZero) return -kLogZero;
        if (!siblings_) of_siblings = 0.0;
        if (of_grandparents == kLogZero) of_grandparents = 0.0;
        for (std::uint32_t b = begin; b < end; ++b) {
            if (siblings_) {
                const auto [first, last] = sites_.sibling_parts(b);
                for (Part part = first; part < last; ++part) take(part, of_siblings);
            }
            if (grand_) {
                const auto [first, last] = sites_.grandparent_parts(b);
                for (Part part = first; part < last; ++part) take(part, of_grandparents);
            }
            const Part first = sites_.arc_part(b, 0);  // an arc of the root has no grandparent
            for (Part part = first; part < first + n_labels_; ++part) {
                if (arcs[b].head == 0) take(part, of_grandparents);
                of_arcs = std::max(of_arcs, weights_[part]);
            }
        }
        if (of_arcs == kLogZero) return -kLogZero;
        for (std::uint32_t b = begin; b < end; ++b)
            for (Part part = sites_.arc_part(b, 0); part < sites_.arc_part(b, 0) + n_labels_; ++part)
                take(part, of_arcs);
        for (const double x : {of_siblings, of_grandparents, of_arcs}) taken.add(x);
    }
    kernels().exponentials(weights_.data(), weights_.size(), weights_.data());
    for (std::size_t m = 1; m <= sites_.n_words(); ++m) {
        const auto [begin, end] = sites_.into(m);
        double sum = 0.0, most = 0.0;
        for (std::uint32_t b = begin; b < end; ++b) {
            span_loops().row_sums(weights_.data() + sites_.arc_part(b, 0), 1, n_labels_, &labels_[b]);
            sum += labels_[b];
            most = std::max(most, labels_[b]);
        }
        const double divisor = std::min(sum, kGrowth * most);
        for (std::uint32_t b = begin; b < end; ++b) labels_[b] /= divisor;
        taken.add(std::log(divisor));
    }
    return taken.value();
}

double SecondOrderTrees::total() const {
    const std::size_t n = sites_.n_words();
    if (!single_root_) return *row(0, n);
    double sum = 0.0;
    const auto [begin, end] = sites_.right_of(0);
    for (std::uint32_t i = begin; i < end; ++i) {
        const std::uint32_t b = sites_.out()[i];
        sum += below(b, 1) * below(b, n) * labels_[b] * (siblings_ ? scores_[sites_.sibling_part(b, kNone)] : 1.0);
    }
    return sum;
}

bool SecondOrderTrees::sums(Shape shape, const DependencyBlocks& blocks, bool single_root, const PartScores& scores,
                            double& log_z, double* expected) {
    lay_out(shape, blocks, single_root);
    const double taken = centre(scores);
    if (taken == -kLogZero) return false;
    scores_ = weights_.data();
    std::ranges::fill(span_, 0.0);  // where a word is not reached, nothing may stand that is not finite
    fill<Sum>();
    const double z = total();
    if (!(z > 1e-200 && z < 1e200)) return false;
    log_z = taken + std::log(z);
    if (!expected) return true;

    std::fill_n(expected, sites_.n_parts(), 0.0);
    around_span_.assign(span_.size(), 0.0);
    around_arc_.assign(arc_.size(), 0.0);
    around_split_.assign(split_.size(), 0.0);
    outside_goal(expected);
    InterruptCheck check;
    for (std::size_t w = sites_.n_words(); w > 0; --w) {
        check();
        outside_spans(w);
        outside_arcs(w, expected);
        if (siblings_) outside_splits(w);
    }
    const std::size_t n_arc_parts = sites_.blocks().front().size();
    for (std::size_t part = n_arc_parts; part < sites_.n_parts(); ++part) expected[part] /= z;
    for (std::uint32_t b = 0; b < sites_.arcs().size(); ++b) {  // so far the sum over its labels, at the first of them
        double* own = expected + sites_.arc_part(b, 0);
        const double* weights = weights_.data() + sites_.arc_part(b, 0);
        double all = 0.0;
        for (std::size_t label = 0; label < n_labels_; ++label) all += weights[label];
        const double share = all > 0.0 ? *own / z / all : 0.0;
        for (std::size_t label = 0; label < n_labels_; ++label) own[label] = share * weights[label];
    }
    return true;
}

void SecondOrderTrees::outside_goal(double* expected) {
    const std::size_t n = sites_.n_words();
    if (!single_root_) {
        around_span_[first_span_[0] + n] = 1.0;
        return;
    }
    const auto [begin, end] = sites_.right_of(0);
    for (std::uint32_t i = begin; i < end; ++i) {
        const std::uint32_t b = sites_.out()[i];
        const double own = labels_[b] * (siblings_ ? scores_[sites_.sibling_part(b, kNone)] : 1.0);
        const double left = below(b, 1), right = below(b, n);
        around_below(b, 1) += own * right;
        around_below(b, n) += own * left;
        expected[sites_.arc_part(b, 0)] = own * left * right;
        if (siblings_) expected[sites_.sibling_part(b, kNone)] = own * left * right;
    }
}

void SecondOrderTrees::outside_spans(std::size_t width) {
    each_span(width, [&](std::uint32_t h, std::uint32_t e) {
        const double* around = around_span_.data() + (row(h, e) - span_.data());
        const std::size_t n = n_contexts(h);
        const auto [begin, end] = inside(h, e);
        for (std::uint32_t i = begin; i < end; ++i) {
            const std::uint32_t b = sites_.out()[i];
            add<Sum>(around_arc_.data() + first_arc_[b], around, below(b, e), n);
            around_below(b, e) += dot(around, arc_.data() + first_arc_[b], n);
        }
    });
}

void SecondOrderTrees::outside_arcs(std::size_t width, double* expected) {
    for (std::uint32_t at = first_of_width_[width]; at < first_of_width_[width + 1]; ++at) {
        const std::uint32_t b = by_width_[at];
        const auto [h, m, site] = sites_.arcs()[b];
        if (single_root_ && h == 0) continue;
        const std::size_t n = n_contexts(h);
        const double *around = around_arc_.data() + first_arc_[b], *own = arc_.data() + first_arc_[b];
        expected[sites_.arc_part(b, 0)] = dot(around, own, n);
        chain_.assign(n, 0.0);  // around the arc without its own part, label and grandparent
        const std::uint32_t first = grand_ && h > 0 ? sites_.into(h).begin : 0;
        for (std::uint32_t c = 0; c < n; ++c) {
            chain_[c] = around[c] * labels_[b];
            if (!grand_ || h == 0) continue;
            const Part part = sites_.grandparent_part(b, first + c);
            chain_[c] *= part == kNoPart ? 0.0 : scores_[part];
            if (part != kNoPart) expected[part] = around[c] * own[c];
        }
        if (siblings_) {
            double all = 0.0;
            for (const double x : chain_) all += x;
            const Part nearest = sites_.sibling_part(b, kNone);
            const std::size_t e = m > h ? h + 1 : h - 1;
            around_below(b, e) += all * scores_[nearest];
            expected[nearest] = all * below(b, e) * scores_[nearest];
            const auto [begin, end] = sites_.between(b);
            for (std::uint32_t i = begin; i < end; ++i) {
                const std::uint32_t s = sites_.out()[i];
                const Part part = sites_.sibling_part(b, s);
                const std::size_t place = split_at(b, s);
                const double inner = dot(chain_.data(), arc_.data() + first_arc_[s], n) * scores_[part];
                add<Sum>(around_arc_.data() + first_arc_[s], chain_.data(), split_[place] * scores_[part], n);
                around_split_[place] += inner;
                expected[part] = inner * split_[place];
            }
        } else {
            for (std::uint32_t k = std::min(h, m); k < std::max(h, m); ++k) {
                const double* from = row(h, m > h ? k : k + 1);
                const std::size_t e = m > h ? k + 1 : k;
                add<Sum>(around_span_.data() + (from - span_.data()), chain_.data(), below(b, e), n);
                around_below(b, e) += dot(chain_.data(), from, n);
            }
        }
    }
}

void SecondOrderTrees::outside_splits(std::size_t width) {
    const auto push = [&](std::size_t place, std::uint32_t i, std::uint32_t j, std::size_t low, std::size_t high) {
        const double around = around_split_[place];
        if (around == 0.0) return;
        for (std::uint32_t k = i; k < j; ++k) {
            const std::size_t x = static_cast<std::size_t>(row(i, k) - span_.data()) + low;
            const std::size_t y = static_cast<std::size_t>(row(j, k + 1) - span_.data()) + high;
            around_span_[x] += around * span_[y];
            around_span_[y] += around * span_[x];
        }
    };
    const std::size_t n = sites_.n_words();
    for (std::uint32_t i = 1; !grand_ && i + width <= n; ++i)
        push(i * (n + 1) + i + width, i, static_cast<std::uint32_t>(i + width), 0, 0);
    for (std::uint32_t at = first_split_[width]; grand_ && at < first_split_[width + 1]; ++at) {
        const auto [low, high] = in_order(splits_[at]);
        push(split_at(splits_[at].arc, splits_[at].sibling), sites_.arcs()[low].modifier, sites_.arcs()[high].modifier,
             rank(low), rank(high));
    }
}

}  // namespace tw
