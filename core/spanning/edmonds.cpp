#include "edmonds.hpp"

#include <algorithm>
#include <limits>

#include "../base/semiring.hpp"
#include "../kernels/elimination.hpp"

namespace tw::spanning {
namespace {

constexpr std::uint32_t kNew = ~std::uint32_t{0}, kDone = kNew - 1;  // in place of a place on the path

}  // namespace

void Edmonds::start(const double* rows, std::size_t n, bool single_root) {
    rows_ = rows;
    n_ = n;
    single_root_ = single_root;
    nodes_.reserve(2 * n + 1);
    nodes_.resize(n + 1);
    heads_.resize(n + 1);
    chosen_by_.resize(n + 1);
    parts_.clear();
    of_root_ = 0.0;
    if (single_root) {
        of_root_ = kLogZero;
        for (std::uint32_t m = 1; m <= n; ++m) of_root_ = std::max(of_root_, row(m)[0]);
        if (of_root_ == kLogZero) of_root_ = 0.0;
    }
    for (std::uint32_t m = 1; m <= n; ++m) {
        nodes_[m] = {0, 0, 0, m, 0.0};
        choose(m);
    }
}

void Edmonds::choose(std::uint32_t v) {
    const double* scores = row(v);
    const std::size_t begin = single_root_ ? 1 : 0;
    std::size_t h = begin + elimination_loops().first_highest(scores + begin, n_ + 1 - begin);
    if (single_root_ && scores[h] == kLogZero) h = 0;
    nodes_[v].head = static_cast<std::uint32_t>(h);
    nodes_[v].score = score(v, h);
}

// Whether the arcs that words chose are one. With a single root, the word that loses least takes the root's.
bool Edmonds::is_tree() {
    for (std::uint32_t m = 1; m <= n_; ++m) {
        if (nodes_[m].score == kLogZero) return false;
        heads_[m] = nodes_[m].head;
    }
    if (single_root_) {
        std::uint32_t lowest = 1;
        const auto gain = [&](std::uint32_t m) { return score(m, 0) - nodes_[m].score; };
        for (std::uint32_t m = 2; m <= n_; ++m)
            if (gain(m) > gain(lowest)) lowest = m;
        if (gain(lowest) == kLogZero) return false;
        heads_[lowest] = 0;
        if (std::count(heads_.begin() + 1, heads_.end(), 0u) > 1) return false;
    }
    place_.assign(n_ + 1, 0);  // the word from which it was met
    for (std::uint32_t m = 1; m <= n_; ++m) {
        std::uint32_t v = m;
        for (; v != 0 && place_[v] == 0; v = heads_[v]) place_[v] = m;
        if (v != 0 && place_[v] == m) return false;
    }
    return true;
}

bool Edmonds::best(const double* rows, std::size_t n, bool single_root) {
    start(rows, n, single_root);
    return n == 0 || is_tree() || grow();
}

bool Edmonds::best_to_change(const double* rows, std::size_t n, bool single_root) {
    start(rows, n, single_root);
    return n == 0 || grow();
}

bool Edmonds::grow() {
    contracted_.clear();
    contracted_.reserve(n_ * (n_ + 1));
    within_.resize(n_ + 1);
    next_.assign(n_ + 1, 0);
    above_.assign(2 * n_ + 1, 0);
    place_.assign(2 * n_ + 1, kNew);
    for (std::uint32_t v = 0; v <= n_; ++v) within_[v] = v;
    place_[0] = kDone;
    std::size_t n_roots = 0;
    for (std::uint32_t m = 1; m <= n_; ++m) {
        path_.clear();
        for (std::uint32_t v = within_[m]; place_[v] != kDone;) {
            check_();
            if (place_[v] != kNew) {
                contract(place_[v]);
                v = path_.back();
            } else {
                place_[v] = static_cast<std::uint32_t>(path_.size());
                path_.push_back(v);
            }
            if (nodes_[v].score == kLogZero) return false;
            n_roots += nodes_[v].head == 0;
            v = within_[nodes_[v].head];
        }
        for (const std::uint32_t v : path_) place_[v] = kDone;
    }
    if (single_root_ && n_roots > 1) return false;
    for (std::uint32_t m = 1; m <= n_; ++m)
        if (within_[m] <= n_ || nodes_[within_[m]].lowest == m) open(within_[m]);
    return true;
}

// Makes a node of those on the path from there on, which lead back to it.
void Edmonds::contract(std::size_t begin) {
    const auto c = static_cast<std::uint32_t>(nodes_.size());
    const auto by_word = [&](std::uint32_t a, std::uint32_t b) { return nodes_[a].lowest < nodes_[b].lowest; };
    std::sort(path_.begin() + static_cast<std::ptrdiff_t>(begin), path_.end(), by_word);
    Node node{0, static_cast<std::uint32_t>(parts_.size()), static_cast<std::uint32_t>(path_.size() - begin),
              nodes_[path_[begin]].lowest, 0.0};
    contracted_.resize(contracted_.size() + n_ + 1, kLogZero);
    double* out = contracted_.data() + contracted_.size() - (n_ + 1);
    for (std::size_t i = begin; i < path_.size(); ++i) {
        const std::uint32_t v = path_[i];
        out[0] = std::max(out[0], score(v, 0) - nodes_[v].score);
        elimination_loops().raise(out + 1, row(v) + 1, nodes_[v].score, n_);
        parts_.push_back(v);
        above_[v] = c;
    }
    std::uint32_t last = 0;
    for (std::size_t i = begin; i < path_.size(); ++i) {
        if (last != 0) next_[last] = nodes_[path_[i]].lowest;
        for (std::uint32_t m = nodes_[path_[i]].lowest; m != 0; m = next_[m]) {
            within_[m] = c;
            out[m] = kLogZero;
            last = m;
        }
    }
    path_.resize(begin);
    path_.push_back(c);
    place_[c] = static_cast<std::uint32_t>(begin);
    nodes_.push_back(node);
    choose(c);
}

// Where the arc of a node enters, the part there has no other; all other parts keep theirs.
void Edmonds::open(std::uint32_t outermost) {
    stack_.assign(1, outermost);
    while (!stack_.empty()) {
        const std::uint32_t top = stack_.back(), h = nodes_[top].head;
        stack_.pop_back();
        std::uint32_t v = top;
        while (v > n_) {
            const std::span parts(parts_.data() + nodes_[v].first, nodes_[v].n_inside);
            std::uint32_t entered = parts[0];
            for (const std::uint32_t part : parts.subspan(1))
                if (score(part, h) - nodes_[part].score > score(entered, h) - nodes_[entered].score) entered = part;
            for (const std::uint32_t part : parts)
                if (part != entered) stack_.push_back(part);
            v = entered;
        }
        heads_[v] = h;
        chosen_by_[v] = top;
    }
}

// The best arc into a node from where its own comes from, other than that one, which ends at the modifier.
double Edmonds::second(std::uint32_t v, std::uint32_t modifier, double other_label) const {
    const std::uint32_t h = heads_[modifier];
    double best = score(modifier, h) - other_label;
    for (std::uint32_t part = modifier; part != v; part = above_[part]) {
        best -= nodes_[part].score;
        const Node& node = nodes_[above_[part]];
        for (std::uint32_t i = node.first; i < node.first + node.n_inside; ++i)
            if (parts_[i] != part) best = std::max(best, score(parts_[i], h) - nodes_[parts_[i]].score);
    }
    return best;
}

// Another arc may replace that of a node if it does not come from below it: from the subtree of the word entered.
Edmonds::Change Edmonds::change(std::span<const double> other_label) {
    std::vector<std::uint32_t> first(n_ + 2, 0), below(n_);
    for (std::uint32_t m = 1; m <= n_; ++m) ++first[heads_[m] + 1];
    for (std::size_t h = 0; h <= n_; ++h) first[h + 1] += first[h];
    std::vector<std::uint32_t> at(first.begin(), first.end() - 1);
    for (std::uint32_t m = 1; m <= n_; ++m) below[at[heads_[m]]++] = m;
    enter_.assign(n_ + 1, 0);
    leave_.assign(n_ + 1, 0);
    std::uint32_t time = 0;
    stack_.assign(1, 0);
    at.assign(first.begin(), first.end() - 1);
    enter_[0] = time++;
    while (!stack_.empty()) {
        const std::uint32_t v = stack_.back();
        if (at[v] < first[v + 1]) {
            stack_.push_back(below[at[v]++]);
            enter_[stack_.back()] = time++;
        } else {
            leave_[v] = time;
            stack_.pop_back();
        }
    }

    Change best{0, std::numeric_limits<double>::infinity()};
    for (std::uint32_t m = 1; m <= n_; ++m) {
        check_();
        const std::uint32_t v = chosen_by_[m];
        const double* scores = row(v);
        double other = second(v, m, other_label.empty() ? std::numeric_limits<double>::infinity() : other_label[m]);
        for (std::size_t h = single_root_ ? 1 : 0; h <= n_; ++h)
            if (h != heads_[m] && (enter_[h] < enter_[m] || enter_[h] >= leave_[m])) other = std::max(other, scores[h]);
        if (const double loss = nodes_[v].score - other; loss < best.loss) best = {m, loss};
    }
    return best;
}

}  // namespace tw::spanning
