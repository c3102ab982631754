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

// A matching, the best of a set, and prices that prove it. The set: rows before `first` have the columns that they have
// here; row `first` has none of `not_these` (kNone: it is matched); all others are free. The rest of a set, without its
// best, falls into sets that begin with the same rows and differ in the next (Murty 1968).
struct Solution {
    std::vector<std::uint32_t> column_of;
    std::vector<double> worth, price;
    double loss;  // against the best of all
    std::uint32_t first = 0;
    std::vector<std::uint32_t> not_these = {};
};

// The best matching that differs from a solution in this row, and not in rows before it.
struct Candidate {
    double loss;
    std::size_t from;
    std::uint32_t row;

    bool operator<(const Candidate& other) const {  // for a heap with the least loss on top
        if (loss != other.loss) return loss > other.loss;
        return from != other.from ? from > other.from : row > other.row;
    }
};

class Search {
public:
    Search(const Problem& problem, const NearPairs& near, std::size_t k)
        : problem_(problem), near_(near), k_(k), open_(static_cast<std::uint32_t>(problem.n_rows)) {
        distance_.assign(problem.n_rows + 1, kFar);
        before_.resize(problem.n_rows + 1);
        owner_.resize(problem.n_columns);
    }

    // True: there are k, or all that exist. Else more are among those that lose more than the pairs looked at.
    bool run(std::vector<Solution>& found) {
        found.push_back({problem_.column_of, problem_.worth, problem_.price, 0.0});
        note(0.0);
        while (found.size() < k_) {
            look_around(found.size() - 1, found.back());
            if (heap_.empty()) return near_.most == kFar;
            std::pop_heap(heap_.begin(), heap_.end());
            const Candidate next = heap_.back();
            heap_.pop_back();
            found.push_back(exchange(found[next.from], next));
        }
        return true;
    }

private:
    // Finds the best of each set that the rest of a solution's set falls into, as far as it may be needed.
    void look_around(std::size_t number, const Solution& solution) {
        own_columns(solution);
        list_arcs(solution, limit(solution));
        for (std::uint32_t t = solution.first; t < open_; ++t) {
            check_();
            const double most = limit(solution);
            if (listed_[t].into + listed_[t].out < most)
                if (const double length = shortest_listed(t, most); length < most) {
                    heap_.push_back({solution.loss + length, number, t});
                    std::push_heap(heap_.begin(), heap_.end());
                    note(solution.loss + length);
                }
            listed_[t].done = true;
        }
    }

    // Cycles that are longer are not needed, or not among the pairs that are looked at. Rounding may leave a little
    // above what is meant: such are not lost.
    double limit(const Solution& solution) const {
        const bool enough = known_.size() == k_;
        if (near_.most == kFar && !enough) return kFar;
        const double least = (enough ? std::min(near_.most, known_.front()) : near_.most) - solution.loss;
        return least + 1e-12 * std::abs(least);
    }

    // The least losses that are known, k of them at most, the largest in front.
    void note(double loss) {
        known_.push_back(loss);
        std::push_heap(known_.begin(), known_.end());
        if (known_.size() <= k_) return;
        std::pop_heap(known_.begin(), known_.end());
        known_.pop_back();
    }

    void own_columns(const Solution& solution) {
        std::ranges::fill(owner_, kNone);
        for (std::uint32_t i = 0; i < open_; ++i)
            if (solution.column_of[i] != kNone) owner_[solution.column_of[i]] = i;
    }

    // visit(to, loss, column) for what a row may take instead of what it has, or for what may leave the open.
    template <class Visit>
    void each_arc(const Solution& now, std::uint32_t from, std::uint32_t first, const Visit& visit) const {
        if (from == open_) {
            for (std::uint32_t i = first; i < open_; ++i) {
                const std::uint32_t j = now.column_of[i];
                visit(i, j == kNone ? 0.0 : positive(now.price[j] - problem_.right[j]), kNone);
            }
            return;
        }
        const bool limited = from == now.first && !now.not_these.empty();
        const auto may = [&](std::uint32_t j) {
            return !limited || std::ranges::find(now.not_these, j) == now.not_these.end();
        };
        const double worth = now.worth[from];
        for (std::size_t e = near_.first[from]; e < near_.first[from + 1]; ++e) {
            const std::uint32_t j = near_.columns[e], to = owner_[j];
            if (to == from || (to != kNone && to < first) || !may(j)) continue;
            visit(to == kNone ? open_ : to, positive(worth + now.price[j] - near_.scores[e]), j);
        }
        if (now.column_of[from] != kNone && problem_.left[from] != kLogZero && may(kNone))
            visit(open_, positive(worth - problem_.left[from]), kNone);
    }
    static double positive(double x) { return x > 0.0 ? x : 0.0; }

    // The arcs that are shorter than the limit, and the shortest into and out of each node.
    void list_arcs(const Solution& solution, double limit) {
        arcs_.clear();
        listed_.assign(open_ + 1, {});
        for (std::uint32_t v = solution.first; v <= open_; ++v) {
            listed_[v].first = static_cast<std::uint32_t>(arcs_.size());
            each_arc(solution, v, solution.first, [&](std::uint32_t to, double loss, std::uint32_t) {
                if (loss >= limit) return;
                arcs_.push_back({loss, to});
                listed_[v].out = std::min(listed_[v].out, loss);
                listed_[to].into = std::min(listed_[to].into, loss);
            });
            listed_[v].last = static_cast<std::uint32_t>(arcs_.size());
        }
    }

    // The length of the shortest cycle through a row that is below the limit, or the limit, along the arcs that are
    // listed: without rows that are done, and those from which the way back is too far.
    double shortest_listed(std::uint32_t source, double limit) {
        const double back = listed_[source].into;
        return search(
            source, limit,
            [&](std::uint32_t v, double distance, const auto& reach) {
                for (std::uint32_t a = listed_[v].first; a < listed_[v].last; ++a)
                    if (!listed_[arcs_[a].to].done) reach(arcs_[a].to, distance + arcs_[a].loss, v);
            },
            [&](std::uint32_t v) { return std::max(back, listed_[v].out); });
    }

    // Dijkstra 1959. Distances of nodes that are nearer than the cycle is long are right.
    template <class Each, class AtLeast>
    double search(std::uint32_t source, double limit, const Each& each, const AtLeast& at_least) {
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
            if (distance >= distance_[v] || distance + at_least(v) >= limit) return;
            if (distance_[v] == kFar) met_.push_back(v);
            distance_[v] = distance;
            before_[v] = from;
            queue_.push_back({distance, v});
            std::push_heap(queue_.begin(), queue_.end(), later);
        };
        each(source, 0.0, reach);
        while (!queue_.empty()) {
            std::pop_heap(queue_.begin(), queue_.end(), later);
            const auto [distance, v] = queue_.back();
            queue_.pop_back();
            if (distance >= limit) break;
            if (distance > distance_[v]) continue;
            each(v, distance, reach);
        }
        return limit;
    }
    struct Waiting {
        double distance;
        std::uint32_t node;
    };
    static bool later(const Waiting& a, const Waiting& b) { return a.distance > b.distance; }

    // The matching of a candidate, with its prices: the cycle is found again.
    Solution exchange(const Solution& from, const Candidate& next) {
        own_columns(from);
        const std::uint32_t t = next.row;
        const double length = search(
            t, kFar,
            [&](std::uint32_t v, double distance, const auto& reach) {
                each_arc(from, v, t,
                         [&](std::uint32_t to, double loss, std::uint32_t) { reach(to, distance + loss, v); });
            },
            [](std::uint32_t) { return 0.0; });
        Solution out{from.column_of, from.worth, from.price, next.loss, t};
        if (t == from.first) out.not_these = from.not_these;
        out.not_these.push_back(from.column_of[t]);
        // Distances up to the length of the cycle, seen from the open, go into the prices (Edmonds & Karp 1972).
        const double at_open = std::min(distance_[open_], length);
        for (std::uint32_t i = t; i < open_; ++i) {
            const double change = i == t ? 0.0 : std::min(distance_[i], length);
            out.worth[i] += change - at_open;
            if (const std::uint32_t j = from.column_of[i]; j != kNone)
                out.price[j] -= (i == t ? length : change) - at_open;
        }
        std::uint32_t to = t;  // along the cycle, from its last arc on
        for (std::uint32_t v = last_;; v = before_[v]) {
            if (v != open_) out.column_of[v] = to == open_ ? unmatched(from, v, t) : from.column_of[to];
            if (v == t) break;
            to = v;
        }
        return out;
    }

    // What a row takes that leads into the open: the column that loses least, or none.
    std::uint32_t unmatched(const Solution& from, std::uint32_t row, std::uint32_t first) const {
        std::uint32_t best = kNone;
        double least = kFar;
        each_arc(from, row, first, [&](std::uint32_t to, double loss, std::uint32_t column) {
            if (to != open_ || loss >= least) return;
            least = loss;
            best = column;
        });
        return best;
    }

    struct Arc {
        double loss;
        std::uint32_t to;
    };
    struct Node {
        double into = kFar, out = kFar;  // the shortest arcs
        std::uint32_t first = 0, last = 0;
        bool done = false;
    };

    const Problem& problem_;
    const NearPairs& near_;
    const std::size_t k_;
    const std::uint32_t open_;
    InterruptCheck check_;
    std::vector<Candidate> heap_;
    std::vector<double> known_;

    // Of the solution that is looked at:
    std::vector<std::uint32_t> owner_;  // of columns
    std::vector<Arc> arcs_;
    std::vector<Node> listed_;

    // Of the shortest path from a row:
    std::vector<double> distance_;
    std::vector<std::uint32_t> before_, met_;
    std::uint32_t last_ = kNone;
    std::vector<Waiting> queue_;
};

// The loss that about so many pairs stay below, from a sample of them.
double loss_of_rank(const Problem& problem, std::size_t rank) {
    const std::size_t n_pairs = problem.n_rows * problem.n_columns;
    if (rank >= n_pairs) return kFar;
    const std::size_t step = 1 + n_pairs / 4096;
    std::vector<double> losses;
    for (std::size_t at = 0; at < n_pairs; at += step)
        losses.push_back(problem.loss(at / problem.n_columns, at % problem.n_columns));
    const std::size_t place = std::min(rank / step, losses.size() - 1);
    std::nth_element(losses.begin(), losses.begin() + static_cast<std::ptrdiff_t>(place), losses.end());
    return losses[place];
}

}  // namespace

std::vector<std::vector<std::uint32_t>> k_best(const Problem& problem, std::size_t k) {
    std::vector<std::vector<std::uint32_t>> out;
    if (k == 0) return out;
    std::vector<Solution> found;
    // Only few pairs are in good matchings: these first, more where they turn out to be too few.
    auto rank = static_cast<std::size_t>(static_cast<double>(problem.n_rows) * (1.5 + 0.5 * std::log2(k)));
    while (true) {
        found.clear();
        const NearPairs near(problem, loss_of_rank(problem, rank));
        if (Search(problem, near, k).run(found)) break;
        rank = 2 * rank + 1;
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
