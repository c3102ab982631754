// The k best labellings of a chain by A* (2.4.4).
//
// Paths are node lists from the sink to the source: the program's nodes from 1 on, its goal the sink, and 0 the source.
// Equal scores are ordered by the first difference seen from the sink: the edge that the graph lists first (the lowest
// label) comes first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "../base/interrupt.hpp"
#include "../base/semiring.hpp"

namespace tw::chain {

// A*: Viterbi scores are the exact heuristic of a search from the sink, so a partial path is worth exactly its best
// completion and the search never expands a node in vain. Organised by detours: a path leaves an earlier path by one
// edge that is not the best one, then follows best edges until it meets the best path again. The detours of the best
// path are sorted once and shared by all (as in Eppstein 1998), so each further path costs what is new in it.
//
// `value(v)` is the Viterbi score of node v, `best_path` the best path (sink first).
template <class Program, class Value>
class BestFirst {
public:
    using Node = std::uint32_t;

    struct Path {  // parent[0 .. keep) + fresh + best_path[join .. end)
        double loss;
        std::size_t parent, keep, join;
        std::size_t first_fresh, n_fresh;  // in a pool: see fresh()
    };

    BestFirst(const Program& program, Value value, std::vector<Node> best_path, std::size_t k)
        : program_(program),
          value_(value),
          best_(std::move(best_path)),
          k_(k),
          bound_(kUnbounded),
          slots_(1024, kNowhere) {
        paths_.push_back({0.0, 0, 0, 0, 0, 0});
        collect_shared_detours();
        offer_shared(0, 0);
        InterruptCheck check;
        while (paths_.size() < k_ && !heap_.empty()) {
            check();
            follow_best_detour();
        }
    }

    const std::vector<Path>& paths() const { return paths_; }
    std::span<const Node> fresh(const Path& path) const { return {fresh_.data() + path.first_fresh, path.n_fresh}; }

    // Nodes of path i, sink first.
    std::vector<Node> nodes(std::size_t i) const {
        std::vector<Node> out;
        append_prefix(i, best_length(i), out);
        return out;
    }

private:
    static constexpr Node kNowhere = ~Node{0};
    static constexpr std::size_t kOffPath = ~std::size_t{0};
    static constexpr std::size_t kShared = ~std::size_t{0};
    static constexpr double kUnbounded = std::numeric_limits<double>::max();  // an infinite loss is a forbidden edge

    struct Detour {
        double loss;
        std::size_t at;  // index on the best path of the node that is entered differently
        Node from;       // the other predecessor
    };

    struct Offer {  // the next detour of a list: the best path's, or that of one fresh node
        double loss;
        std::size_t path;
        std::size_t at;  // index into fresh; kShared for the best path's list
        std::size_t index;
    };

    // A node off the best path: where best edges lead from it, and the other ways to enter it, least loss first. Many
    // paths go through the same few, so they are looked at once.
    struct Known {
        Node node, next;
        std::size_t next_place;  // of next on the best path, or kOffPath
        std::size_t begin, end;  // into exits_
    };
    struct Exit {
        double loss;
        Node from;
    };

    // Calls visit(u, score) for every edge into a node.
    template <class Visit>
    void arriving(Node v, Visit visit) const {
        program_.incoming(v - 1, [&](double score, auto... tails) {
            if constexpr (sizeof...(tails) == 0)
                visit(std::size_t{0}, score);
            else
                visit((tails + 1)..., score);
        });
    }

    const Known& known(Node v) {
        std::size_t slot = find_slot(v);
        if (slots_[slot] == kNowhere) {
            if (2 * (known_.size() + 1) > slots_.size()) {
                grow_slots();
                slot = find_slot(v);
            }
            slots_[slot] = static_cast<Node>(known_.size());
            known_.push_back(look_at(v));
        }
        return known_[slots_[slot]];
    }

    std::size_t find_slot(Node v) const {
        std::size_t slot = (v * std::size_t{0x9E3779B1u}) & (slots_.size() - 1);
        while (slots_[slot] != kNowhere && known_[slots_[slot]].node != v) slot = (slot + 1) & (slots_.size() - 1);
        return slot;
    }

    void grow_slots() {
        slots_.assign(2 * slots_.size(), kNowhere);
        for (std::size_t i = 0; i < known_.size(); ++i) slots_[find_slot(known_[i].node)] = static_cast<Node>(i);
    }

    Known look_at(Node v) {
        Known info{v, 0, kOffPath, exits_.size(), 0};
        double best = kLogZero;  // the predecessor listed first among the best
        arriving(v, [&](std::size_t u, double score) {
            const double total = value_(u) + score;
            if (total > best) {
                best = total;
                info.next = static_cast<Node>(u);
            }
        });
        info.next_place = place(info.next);
        const double top = value_(v);
        arriving(v, [&](std::size_t u, double score) {
            const double loss = top - (value_(u) + score);
            if (loss <= bound_ && u != info.next) exits_.push_back({std::max(0.0, loss), static_cast<Node>(u)});
        });
        info.end = exits_.size();
        std::stable_sort(exits_.begin() + static_cast<std::ptrdiff_t>(info.begin), exits_.end(),
                         [](const Exit& x, const Exit& y) { return x.loss < y.loss; });
        return info;
    }

    void collect_shared_detours() {
        const auto earlier = [this](const Detour& a, const Detour& b) { return earlier_on_best_path(a, b); };
        const std::size_t limit = k_ < (std::size_t{1} << 40) ? 4 * k_ + 64 : k_;
        InterruptCheck check;
        for (std::size_t i = 0; i + 1 < best_.size(); ++i) {
            check();
            const double top = value_(best_[i]);
            const std::size_t usual = best_[i + 1];
            // Most nodes offer nothing once the bound is low. Counting first has no branch, so it vectorises.
            std::size_t n_good = 0;
            arriving(best_[i], [&](std::size_t u, double score) {
                n_good += static_cast<std::size_t>(top - (value_(u) + score) <= bound_) &
                          static_cast<std::size_t>(u != usual);
            });
            if (n_good == 0) continue;
            arriving(best_[i], [&](std::size_t u, double score) {
                const double loss = top - (value_(u) + score);
                if (loss <= bound_ && u != usual) shared_.push_back({std::max(0.0, loss), i, static_cast<Node>(u)});
            });
            if (shared_.size() >= limit) {
                std::nth_element(shared_.begin(), shared_.begin() + static_cast<std::ptrdiff_t>(k_), shared_.end(),
                                 earlier);
                shared_.resize(k_);
                bound_ = std::max_element(shared_.begin(), shared_.end(), earlier)->loss;
            }
        }
        std::sort(shared_.begin(), shared_.end(), earlier);
        if (shared_.size() >= k_) {  // one detour from the best path each: already enough paths
            shared_.resize(k_);
            bound_ = shared_.back().loss;
        }
    }

    // Index of a node on the best path. Node numbers fall along a path, so bisection finds it.
    std::size_t place(Node v) const {
        const auto found = std::lower_bound(best_.begin(), best_.end(), v, std::greater<>{});
        return found != best_.end() && *found == v ? static_cast<std::size_t>(found - best_.begin()) : kOffPath;
    }

    // Which of two detours of the best path leads to the earlier labelling.
    bool earlier_on_best_path(const Detour& a, const Detour& b) const {
        if (a.loss != b.loss) return a.loss < b.loss;
        if (a.at == b.at) return a.from != b.from && listed_first(best_[a.at], a.from, b.from);
        if (a.at < b.at) return listed_first(best_[a.at], a.from, best_[a.at + 1]);
        return listed_first(best_[b.at], best_[b.at + 1], b.from);
    }

    bool listed_first(Node v, Node a, Node b) const {
        Node found = kNowhere;
        arriving(v, [&](std::size_t u, double) {
            if (found == kNowhere && (u == a || u == b)) found = static_cast<Node>(u);
        });
        return found == a;
    }

    // Puts the next detour of a list that the path may take on the heap, unless it is worse than k known paths.
    void offer_shared(std::size_t path, std::size_t index) {
        while (index < shared_.size() && shared_[index].at < paths_[path].join) ++index;
        if (index < shared_.size()) push({paths_[path].loss + shared_[index].loss, path, kShared, index});
    }
    void offer_exit(std::size_t path, std::size_t at, std::size_t index) {
        const Known& info = known(fresh_[paths_[path].first_fresh + at]);
        if (info.begin + index < info.end) push({paths_[path].loss + exits_[info.begin + index].loss, path, at, index});
    }
    void push(const Offer& offer) {
        if (offer.loss > bound_) return;
        heap_.push_back(offer);
        std::push_heap(heap_.begin(), heap_.end(), [this](const Offer& a, const Offer& b) { return later(a, b); });
    }

    void follow_best_detour() {
        std::pop_heap(heap_.begin(), heap_.end(), [this](const Offer& a, const Offer& b) { return later(a, b); });
        const Offer taken = heap_.back();
        heap_.pop_back();
        const std::size_t made = paths_.size();
        Path path{taken.loss, taken.path, keep(taken), 0, fresh_.size(), 0};
        path.join = walk(entered_from(taken), fresh_);
        path.n_fresh = fresh_.size() - path.first_fresh;
        paths_.push_back(path);
        if (taken.at == kShared)
            offer_shared(taken.path, taken.index + 1);
        else
            offer_exit(taken.path, taken.at, taken.index + 1);
        offer_shared(made, 0);
        for (std::size_t i = 0; i < path.n_fresh; ++i) offer_exit(made, i, 0);
    }

    Node entered_from(const Offer& o) {
        if (o.at == kShared) return shared_[o.index].from;
        return exits_[known(fresh_[paths_[o.path].first_fresh + o.at]).begin + o.index].from;
    }

    std::size_t keep(const Offer& o) const {
        const Path& base = paths_[o.path];
        if (o.at == kShared) return base.keep + base.n_fresh + shared_[o.index].at - base.join + 1;
        return base.keep + o.at + 1;
    }

    // Best edges from v until the best path: appends the nodes off it, returns the index of the node on it.
    std::size_t walk(Node v, std::vector<Node>& out) {
        std::size_t where = place(v);
        while (where == kOffPath) {
            out.push_back(v);
            const Known& info = known(v);
            v = info.next;
            where = info.next_place;
        }
        return where;
    }

    bool later(const Offer& a, const Offer& b) {
        if (a.loss != b.loss) return a.loss > b.loss;
        const std::vector<Node> first = offered_nodes(a), second = offered_nodes(b);
        for (std::size_t i = 1; i < std::min(first.size(), second.size()); ++i)
            if (first[i] != second[i]) return !listed_first(first[i - 1], first[i], second[i]);
        return false;
    }

    std::vector<Node> offered_nodes(const Offer& o) {  // only needed to break exact ties
        std::vector<Node> out;
        append_prefix(o.path, keep(o), out);
        const std::size_t join = walk(entered_from(o), out);
        out.insert(out.end(), best_.begin() + static_cast<std::ptrdiff_t>(join), best_.end());
        return out;
    }

    std::size_t best_length(std::size_t i) const {
        return paths_[i].keep + paths_[i].n_fresh + best_.size() - paths_[i].join;
    }

    // The first `count` nodes of path i.
    void append_prefix(std::size_t i, std::size_t count, std::vector<Node>& out) const {
        std::vector<std::size_t> chain{i};  // ancestors, so that no recursion can run deep
        while (chain.back() != 0) chain.push_back(paths_[chain.back()].parent);
        for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
            const Path& path = paths_[*it];
            out.resize(path.keep);
            const auto own = fresh(path);
            out.insert(out.end(), own.begin(), own.end());
            out.insert(out.end(), best_.begin() + static_cast<std::ptrdiff_t>(path.join), best_.end());
        }
        out.resize(count);
    }

    const Program& program_;
    Value value_;
    std::vector<Node> best_;
    std::size_t k_;
    double bound_;  // no path of a greater loss is among the k best
    std::vector<Path> paths_;
    std::vector<Detour> shared_;  // of the best path, the k least, in order
    std::vector<Node> fresh_;     // of all paths, one after the other
    std::vector<Known> known_;
    std::vector<Exit> exits_;
    std::vector<Node> slots_;  // a hash table into known_
    std::vector<Offer> heap_;
};

}  // namespace tw::chain
