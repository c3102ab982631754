#include "exchanges.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "../base/interrupt.hpp"
#include "../base/semiring.hpp"

namespace tw::matching {
namespace {

constexpr double kFar = -kLogZero;

// The pairs that lose at most `most` against the best matching: no matching that loses as little has others.
struct NearPairs {
    double most;
    std::vector<std::size_t> first;  // of rows
    std::vector<std::uint32_t> columns;
    std::vector<double> scores;

    NearPairs(const Problem& problem, double limit) : most(limit) {
        first.push_back(0);
        for (std::size_t i = 0; i < problem.n_rows; ++i) {
            for (std::uint32_t j = 0; j < problem.n_columns; ++j)
                if (problem.score(i, j) != kLogZero && problem.loss(i, j) <= most) {
                    columns.push_back(j);
                    scores.push_back(problem.score(i, j));
                }
            first.push_back(columns.size());
        }
    }
};

// A matching, and prices that prove that it is the best of its set.
struct Solution {
    std::vector<std::uint32_t> column_of;
    std::vector<double> worth, price;
    double loss;  // against the best of all
};

// Sets of matchings: those of the set around, which have what row `row` has in the best of it, or which have it not.
struct Set {
    std::size_t within;
    std::uint32_t row, column;
    bool has_it;
    std::size_t best;  // the number of its best matching
};

// The second best of a set: the shortest cycle, found from `row`, which changes.
struct Candidate {
    double loss;
    std::size_t set;
    std::uint32_t row;

    bool operator<(const Candidate& other) const {  // for a heap with the least loss on top
        return loss != other.loss ? loss > other.loss : set > other.set;
    }
};

class Search {
public:
    Search(const Problem& problem, const NearPairs& near, std::size_t k)
        : problem_(problem), near_(near), k_(k), open_(static_cast<std::uint32_t>(problem.n_rows)) {
        distance_.assign(problem.n_rows + 1, kFar);
        before_.resize(problem.n_rows + 1);
        state_.assign(problem.n_rows, kFree);
        forbidden_.assign(near.columns.size(), 0);
        never_free_.assign(problem.n_rows, 0);
        owner_.resize(problem.n_columns);
    }

    // True: there are k, or all that exist. Else more are among those that lose more than the pairs looked at.
    bool run(std::vector<Solution>& found) {
        found.push_back({problem_.column_of, problem_.worth, problem_.price, 0.0});
        note(0.0);
        sets_.push_back({0, kNone, kNone, true, 0});
        if (k_ > 1) look_into(0, found);
        while (found.size() < k_ && !heap_.empty()) {
            std::pop_heap(heap_.begin(), heap_.end());
            const Candidate next = heap_.back();
            heap_.pop_back();
            const Solution& from = found[sets_[next.set].best];
            const std::uint32_t had = from.column_of[next.row];
            Solution changed = exchange(from, next);
            found.push_back(std::move(changed));
            if (found.size() == k_) return true;
            sets_.push_back({next.set, next.row, had, true, sets_[next.set].best});
            sets_.push_back({next.set, next.row, had, false, found.size() - 1});
            look_into(sets_.size() - 2, found);
            look_into(sets_.size() - 1, found);
        }
        return found.size() == k_ || near_.most == kFar;
    }

private:
    enum State : std::uint8_t { kFree, kFixed, kDone };

    // What rows of a set may do: marks those that stay, and what is forbidden; `undo` takes the marks away.
    void enter(std::size_t set, const Solution& best) {
        now_ = &best;
        for (std::size_t s = set; s != 0; s = sets_[s].within) {
            const Set& here = sets_[s];
            if (here.has_it) {
                state_[here.row] = kFixed;
            } else if (here.column == kNone) {
                never_free_[here.row] = 1;
            } else {
                const auto begin = near_.columns.begin() + static_cast<std::ptrdiff_t>(near_.first[here.row]),
                           end = near_.columns.begin() + static_cast<std::ptrdiff_t>(near_.first[here.row + 1]);
                if (const auto at = std::lower_bound(begin, end, here.column); at != end && *at == here.column)
                    forbidden_[static_cast<std::size_t>(at - near_.columns.begin())] = 1;
            }
        }
        std::ranges::fill(owner_, kNone);
        for (std::uint32_t i = 0; i < open_; ++i)
            if (best.column_of[i] != kNone) owner_[best.column_of[i]] = i;
    }
    void undo(std::size_t set) {
        for (std::size_t s = set; s != 0; s = sets_[s].within) {
            const Set& here = sets_[s];
            never_free_[here.row] = 0;
            if (here.has_it || here.column == kNone) continue;
            const auto begin = near_.columns.begin() + static_cast<std::ptrdiff_t>(near_.first[here.row]),
                       end = near_.columns.begin() + static_cast<std::ptrdiff_t>(near_.first[here.row + 1]);
            if (const auto at = std::lower_bound(begin, end, here.column); at != end && *at == here.column)
                forbidden_[static_cast<std::size_t>(at - near_.columns.begin())] = 0;
        }
        std::ranges::fill(state_, kFree);
    }

    void look_into(std::size_t set, const std::vector<Solution>& found) {
        const Solution& best = found[sets_[set].best];
        enter(set, best);
        double limit = near_.most - best.loss;
        if (known_.size() == k_) limit = std::min(limit, known_.front() - best.loss);
        // Rounding may leave a little above what is meant: such are not lost.
        limit = near_.most == kFar && known_.size() < k_ ? kFar : limit + 1e-12 * std::abs(limit);
        std::uint32_t row = kNone;
        open_done_ = false;
        if (const double length = shortest(open_, limit); length < limit) {
            limit = length;
            row = first_on_cycle(open_);
        }
        open_done_ = true;
        for (std::uint32_t t = 0; t < open_ && limit > 0.0; ++t) {
            if (state_[t] != kFree) continue;
            check_();
            if (const double length = shortest(t, limit); length < limit) {
                limit = length;
                row = t;
            }
            state_[t] = kDone;
        }
        undo(set);
        if (row == kNone) return;
        heap_.push_back({best.loss + limit, set, row});
        std::push_heap(heap_.begin(), heap_.end());
        note(best.loss + limit);
    }

    // The least losses that are known, k of them at most, the largest in front: no more is needed than that.
    void note(double loss) {
        known_.push_back(loss);
        std::push_heap(known_.begin(), known_.end());
        if (known_.size() <= k_) return;
        std::pop_heap(known_.begin(), known_.end());
        known_.pop_back();
    }

    // The length of the shortest cycle through a node that is below the limit, or the limit (Dijkstra 1959). Distances
    // of nodes that are nearer than that are right.
    double shortest(std::uint32_t source, double limit) {
        for (const std::uint32_t v : met_) distance_[v] = kFar;
        met_.clear();
        queue_.clear();
        last_ = kNone;
        const auto reach = [&](std::uint32_t v, double distance, std::uint32_t from) {
            if (distance >= limit) return;
            if (v == source) {  // the way back
                limit = distance;
                last_ = from;
                return;
            }
            if (distance >= distance_[v]) return;
            if (distance_[v] == kFar) met_.push_back(v);
            distance_[v] = distance;
            before_[v] = from;
            queue_.push_back({distance, v});
            std::push_heap(queue_.begin(), queue_.end(), later);
        };
        relax(source, 0.0, reach);
        while (!queue_.empty()) {
            std::pop_heap(queue_.begin(), queue_.end(), later);
            const auto [distance, v] = queue_.back();
            queue_.pop_back();
            if (distance >= limit) break;
            if (distance > distance_[v]) continue;
            relax(v, distance, reach);
        }
        return limit;
    }
    struct Waiting {
        double distance;
        std::uint32_t node;
    };
    static bool later(const Waiting& a, const Waiting& b) { return a.distance > b.distance; }

    template <class Reach>
    void relax(std::uint32_t from, double distance, const Reach& reach) {
        const Solution& now = *now_;
        if (from == open_) {
            for (std::uint32_t i = 0; i < open_; ++i) {
                if (state_[i] != kFree) continue;
                const std::uint32_t j = now.column_of[i];
                const double loss = j == kNone ? 0.0 : positive(now.price[j] - problem_.right[j]);
                reach(i, distance + loss, from);
            }
            return;
        }
        const double worth = now.worth[from];
        for (std::size_t e = near_.first[from]; e < near_.first[from + 1]; ++e) {
            if (forbidden_[e]) continue;
            const std::uint32_t j = near_.columns[e], to = owner_[j];
            if (to == from) continue;
            if (to == kNone ? open_done_ : state_[to] != kFree) continue;
            reach(to == kNone ? open_ : to, distance + positive(worth + now.price[j] - near_.scores[e]), from);
        }
        const bool may_leave = now.column_of[from] != kNone && !never_free_[from] && problem_.left[from] != kLogZero;
        if (may_leave && !open_done_) reach(open_, distance + positive(worth - problem_.left[from]), from);
    }
    static double positive(double x) { return x > 0.0 ? x : 0.0; }

    // The first row after a node on the cycle that was found through it.
    std::uint32_t first_on_cycle(std::uint32_t source) const {
        std::uint32_t v = last_;
        while (before_[v] != source) v = before_[v];
        return v;
    }

    // The matching of a candidate, with its prices: the cycle is found again, from the row that changes.
    Solution exchange(const Solution& from, const Candidate& next) {
        enter(next.set, from);
        open_done_ = false;
        const double length = shortest(next.row, kFar);
        Solution out = from;
        out.loss = next.loss;
        // Distances up to the length of the cycle, seen from the open, go into the prices (Edmonds & Karp 1972).
        const double at_open = std::min(distance_[open_], length);
        const auto change = [&](std::uint32_t i) { return std::min(i == next.row ? 0.0 : distance_[i], length); };
        for (std::uint32_t i = 0; i < open_; ++i) {
            if (state_[i] != kFree) continue;
            out.worth[i] += change(i) - at_open;
            if (const std::uint32_t j = from.column_of[i]; j != kNone)
                out.price[j] -= (i == next.row ? length : change(i)) - at_open;
        }
        std::uint32_t to = next.row;  // of the cycle, from its last arc on
        for (std::uint32_t v = last_;; v = before_[v]) {
            if (v != open_) out.column_of[v] = to == open_ ? unmatched(from, v) : from.column_of[to];
            if (v == next.row) break;
            to = v;
        }
        undo(next.set);
        return out;
    }

    // What a row takes that leads into the open: the column or the freedom that loses least.
    std::uint32_t unmatched(const Solution& from, std::uint32_t row) const {
        std::uint32_t best = kNone;
        double least = kFar;
        for (std::size_t e = near_.first[row]; e < near_.first[row + 1]; ++e) {
            const std::uint32_t j = near_.columns[e];
            if (forbidden_[e] || owner_[j] != kNone) continue;
            const double loss = positive(from.worth[row] + from.price[j] - near_.scores[e]);
            if (loss >= least) continue;
            least = loss;
            best = j;
        }
        const bool may_leave = from.column_of[row] != kNone && !never_free_[row] && problem_.left[row] != kLogZero;
        if (may_leave && positive(from.worth[row] - problem_.left[row]) < least) best = kNone;
        return best;
    }

    const Problem& problem_;
    const NearPairs& near_;
    const std::size_t k_;
    const std::uint32_t open_;
    InterruptCheck check_;
    std::vector<Set> sets_;
    std::vector<Candidate> heap_;
    std::vector<double> known_;

    // Of the set that is looked into:
    const Solution* now_ = nullptr;
    std::vector<std::uint8_t> state_, forbidden_, never_free_;  // of rows, pairs, rows
    std::vector<std::uint32_t> owner_;                          // of columns
    bool open_done_ = false;

    // Of the shortest path from a node:
    std::vector<double> distance_;
    std::vector<std::uint32_t> before_, met_;
    std::uint32_t last_ = kNone;
    std::vector<Waiting> queue_;
};

// The loss that so many pairs, but no others, stay below.
double loss_of_rank(const Problem& problem, std::size_t rank) {
    if (rank >= problem.n_rows * problem.n_columns) return kFar;
    std::vector<double> losses(problem.n_rows * problem.n_columns);
    for (std::size_t i = 0, at = 0; i < problem.n_rows; ++i)
        for (std::size_t j = 0; j < problem.n_columns; ++j, ++at) losses[at] = problem.loss(i, j);
    std::nth_element(losses.begin(), losses.begin() + static_cast<std::ptrdiff_t>(rank), losses.end());
    return losses[rank];
}

}  // namespace

std::vector<std::vector<std::uint32_t>> k_best(const Problem& problem, std::size_t k) {
    std::vector<std::vector<std::uint32_t>> out;
    if (k == 0) return out;
    std::vector<Solution> found;
    // Only few pairs are in good matchings: these first, more where they turn out to be too few.
    auto rank = static_cast<std::size_t>(static_cast<double>(problem.n_rows) * (2.0 + 0.6 * std::log2(k)));
    while (true) {
        found.clear();
        const NearPairs near(problem, loss_of_rank(problem, rank));
        if (Search(problem, near, k).run(found)) break;
        rank *= 4;
    }
    for (Solution& solution : found) out.push_back(std::move(solution.column_of));
    return out;
}

void least_losses(const Problem& problem, std::span<double> out) {
    const std::size_t n = problem.n_rows, open = n;
    std::vector<double> arcs((n + 1) * (n + 1), kFar), distance(n + 1);
    std::vector<std::uint8_t> done(n + 1);
    for (std::size_t a = 0; a < n; ++a) {
        double to_open = problem.column_of[a] == kNone ? 0.0 : problem.left_loss(a);
        for (std::size_t j = 0; j < problem.n_columns; ++j) {
            if (problem.score(a, j) == kLogZero) continue;
            const std::uint32_t b = problem.row_of[j];
            const double loss = problem.loss(a, j);
            if (b == kNone)
                to_open = std::min(to_open, loss);
            else
                arcs[a * (n + 1) + b] = loss;
        }
        arcs[a * (n + 1) + open] = to_open;
        arcs[open * (n + 1) + a] = problem.column_of[a] == kNone ? 0.0 : problem.right_loss(problem.column_of[a]);
    }
    std::ranges::fill(out, kFar);
    const auto put = [&](Part part, double loss) {
        if (part != kNoPart) out[part] = loss;
    };
    InterruptCheck check;
    for (std::size_t source = 0; source <= n; ++source) {
        std::ranges::fill(distance, kFar);
        std::ranges::fill(done, 0);
        distance[source] = 0.0;
        for (std::size_t step = 0; step <= n; ++step) {  // dense, so without a heap
            check();
            std::size_t nearest = n + 1;
            for (std::size_t v = 0; v <= n; ++v)
                if (!done[v] && (nearest > n || distance[v] < distance[nearest])) nearest = v;
            if (distance[nearest] == kFar) break;
            done[nearest] = 1;
            const double* from = arcs.data() + nearest * (n + 1);
            for (std::size_t v = 0; v <= n; ++v) distance[v] = std::min(distance[v], distance[nearest] + from[v]);
        }
        if (source < n) {  // other rows take its column
            const std::uint32_t j = problem.column_of[source];
            if (j == kNone) {
                put(problem.left_part(source), 0.0);
                continue;
            }
            for (std::size_t i = 0; i < n; ++i)
                if (problem.score(i, j) != kLogZero)
                    put(problem.pair_part(i, j), i == source ? 0.0 : problem.loss(i, j) + distance[i]);
            put(problem.right_part(j), problem.right[j] == kLogZero ? kFar : problem.right_loss(j) + distance[open]);
        } else {
            for (std::size_t i = 0; i < n; ++i) {
                for (std::size_t j = 0; j < problem.n_columns; ++j)
                    if (problem.row_of[j] == kNone && problem.score(i, j) != kLogZero)
                        put(problem.pair_part(i, j), problem.loss(i, j) + distance[i]);
                if (problem.column_of[i] != kNone && problem.left[i] != kLogZero)
                    put(problem.left_part(i), problem.left_loss(i) + distance[i]);
            }
            for (std::size_t j = 0; j < problem.n_columns; ++j)
                if (problem.row_of[j] == kNone) put(problem.right_part(j), 0.0);
        }
    }
}

}  // namespace tw::matching
