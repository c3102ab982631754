// Maximum flow by incremental breadth-first search (Goldberg, Hed, Kaplan, Tarjan & Werneck 2011), over any network.
//
// Nodes have an excess in place of arcs from the source and to the sink: above zero, what the source can still send
// there, below zero, what the sink still takes. Two forests grow from such roots, level by level, and meet:
//
//     level  1     2     3                    -2    -1
//           root -> o -> o  -- bridge -->      o -> root       excess > 0 on the left, < 0 on the right; level 0: free
//
// A path over a bridge takes as much flow as it holds; nodes whose arc to the parent is then full look for another
// parent at the same level, from the current arc on, else at a higher one. Levels never fall, so the number of steps
// does not depend on the capacities, which are doubles: a push empties at least one arc or excess to exactly zero, and
// no residual is ever compared with anything else. Infinite capacities are allowed; a path of nothing else ends the
// search with `unbounded`.
//
// A network has, for a node v and a slot i < degree(v):  to(v, i), the neighbour;  back(v, i), the slot of the reverse
// arc there;  residual(v, i);  and for each node  excess(v), level(v), parent(v).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "../base/interrupt.hpp"

namespace tw::cuts {

using Node = std::uint32_t;

// A list that grows; pushing is a store and a comparison.
class Nodes {
public:
    void push_back(Node v) {
        if (size_ == held_.size()) held_.resize(std::max<std::size_t>(1024, size_ + size_ / 2));
        held_[size_++] = v;
    }
    void clear() { size_ = 0; }
    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    Node operator[](std::size_t i) const { return held_[i]; }
    Node* begin() { return held_.data(); }
    Node* end() { return held_.data() + size_; }
    void swap(Nodes& other) noexcept {
        held_.swap(other.held_);
        std::swap(size_, other.size_);
    }

private:
    std::vector<Node> held_;
    std::size_t size_ = 0;
};

template <class Network>
class MaxFlow {
    using Slot = typename Network::Slot;
    // parent: a slot, or kRoot; with kOrphan added while a new one is looked for, so that the current arc is kept.
    static constexpr Slot kOrphan = static_cast<Slot>(Slot{1} << (8 * sizeof(Slot) - 1));
    static constexpr Slot kRoot = kOrphan >> 1;

public:
    // From any residuals and excesses. Afterwards level(v) > 0 for the nodes that can still be reached from excesses,
    // and for no other: the smallest source side of a minimum cut. False: infinite flow.
    bool run(Network& network) {
        net_ = &network;
        pushed_ = 0.0;
        begin();
        while (!from_source_.frontier.empty() && !from_sink_.frontier.empty())
            if (from_source_.frontier.size() <= from_sink_.frontier.size()) {
                if (!grow<true>()) return false;
            } else {
                if (!grow<false>()) return false;
            }
        while (!from_source_.frontier.empty()) grow<true>();  // where the sink's side was closed first
        return true;
    }

    double pushed() const { return pushed_; }

private:
    struct Forest {
        Nodes frontier, next;  // nodes at the top level, some of which have left it; those above it
        std::int32_t top = 1;
        bool growing = false;
    };

    template <bool source>
    Forest& forest() {
        if constexpr (source)
            return from_source_;
        else
            return from_sink_;
    }

    // The level in the forest: 0 or less for nodes that are not in it.
    template <bool source>
    std::int32_t height(Node v) const {
        return source ? net_->level(v) : -net_->level(v);
    }
    template <bool source>
    void set_height(Node v, std::int32_t height) {
        net_->level(v) = source ? height : -height;
    }
    // What can still flow between v and its neighbour in slot i: from a parent to v in the source's forest.
    template <bool source>
    double residual_from(Node v, std::size_t i, Node parent) const {
        return source ? net_->residual(parent, net_->back(v, i)) : net_->residual(v, i);
    }

    void begin() {
        for (Forest* f : {&from_source_, &from_sink_}) {
            f->frontier.clear();
            f->next.clear();
            f->top = 1;
            f->growing = false;
        }
        net_->each_node([&](Node v) { push_to_neighbours(v); });
        net_->each_node([&](Node v) {
            const double excess = net_->excess(v);
            net_->level(v) = excess > 0.0 ? 1 : excess < 0.0 ? -1 : 0;
            net_->parent(v) = kRoot;
            if (excess > 0.0) from_source_.frontier.push_back(v);
            if (excess < 0.0) from_sink_.frontier.push_back(v);
        });
    }

    // Many paths are a single arc: these need no forest.
    void push_to_neighbours(Node v) {
        if (!(net_->excess(v) > 0.0)) return;
        const std::size_t degree = net_->degree(v);
        for (std::size_t i = 0; i < degree; ++i) {
            const Node u = net_->to(v, i);
            if (!(net_->excess(u) < 0.0)) continue;
            const double most = std::min({net_->residual(v, i), net_->excess(v), -net_->excess(u)});
            if (most == std::numeric_limits<double>::infinity()) return;  // found again by a path
            pushed_ += most;
            net_->residual(v, i) -= most;
            net_->residual(u, net_->back(v, i)) += most;
            net_->excess(u) += most;
            net_->excess(v) -= most;
            if (net_->excess(v) == 0.0) return;
        }
    }

    // One level more for one forest.
    template <bool source>
    bool grow() {
        Forest& f = forest<source>();
        f.growing = true;
        for (const Node v : f.frontier) {
            check_();
            const std::size_t degree = net_->degree(v);
            for (std::size_t i = 0; i < degree && height<source>(v) == f.top;) {
                const Node u = net_->to(v, i);
                const std::int32_t there = height<source>(u);
                if (there > 0) {
                    ++i;
                    continue;
                }
                const double room = source ? net_->residual(v, i) : net_->residual(u, net_->back(v, i));
                if (room <= 0.0) {
                    ++i;
                    continue;
                }
                if (there == 0) {
                    set_height<source>(u, f.top + 1);
                    net_->parent(u) = static_cast<Slot>(net_->back(v, i));
                    f.next.push_back(u);
                    ++i;
                } else if (!(source ? augment(v, i) : augment(u, net_->back(v, i)))) {
                    return false;
                }
            }
        }
        f.frontier.swap(f.next);
        f.next.clear();
        f.growing = false;
        ++f.top;
        return true;
    }

    // Pushes what a path over the arc (v, i) holds, v in the source's forest and its neighbour in the sink's.
    bool augment(Node v, std::size_t i) {
        const Node u = net_->to(v, i);
        const std::size_t back = net_->back(v, i);
        const double most =
            std::min(room_to_root<true>(v, net_->residual(v, i)), room_to_root<false>(u, net_->residual(v, i)));
        if (most == std::numeric_limits<double>::infinity()) return false;
        pushed_ += most;
        net_->residual(v, i) -= most;
        net_->residual(u, back) += most;
        push_to_root<true>(v, most);
        push_to_root<false>(u, most);
        return true;
    }

    template <bool source>
    double room_to_root(Node v, double most) const {
        for (Slot slot = net_->parent(v); slot != kRoot; slot = net_->parent(v)) {
            const Node parent = net_->to(v, slot);
            most = std::min(most, residual_from<source>(v, slot, parent));
            v = parent;
        }
        return std::min(most, source ? net_->excess(v) : -net_->excess(v));
    }

    template <bool source>
    void push_to_root(Node v, double flow) {
        orphans_.clear();
        for (Slot slot = net_->parent(v); slot != kRoot; slot = net_->parent(v)) {
            const Node parent = net_->to(v, slot);
            const std::size_t back = net_->back(v, slot);
            double& used = source ? net_->residual(parent, back) : net_->residual(v, slot);
            (source ? net_->residual(v, slot) : net_->residual(parent, back)) += flow;
            used -= flow;
            if (used == 0.0) orphans_.push_back(v);
            v = parent;
        }
        double& excess = net_->excess(v);
        excess += source ? -flow : flow;
        if (excess == 0.0) orphans_.push_back(v);
        for (const Node orphan : orphans_) net_->parent(orphan) |= kOrphan;
        std::reverse(orphans_.begin(), orphans_.end());  // the nearest to the root first
        for (std::size_t k = 0; k < orphans_.size(); ++k) adopt<source>(orphans_[k]);
    }

    template <bool source>
    void adopt(Node v) {
        const std::int32_t height_before = height<source>(v);
        const std::size_t degree = net_->degree(v);
        if (height_before > 1)
            for (std::size_t i = net_->parent(v) & static_cast<Slot>(~kOrphan); i < degree; ++i) {
                const Node u = net_->to(v, i);
                if (height<source>(u) == height_before - 1 && residual_from<source>(v, i, u) > 0.0) {
                    net_->parent(v) = static_cast<Slot>(i);
                    return;
                }
            }
        Forest& f = forest<source>();
        std::int32_t best = f.growing ? f.top + 1 : f.top;  // the parent must be below it
        std::size_t found = degree;
        for (std::size_t i = 0; i < degree; ++i) {
            const Node u = net_->to(v, i);
            const std::int32_t there = height<source>(u);
            if (there <= 0) continue;
            if (there == height_before + 1 && net_->parent(u) == net_->back(v, i)) {
                net_->parent(u) |= kOrphan;
                orphans_.push_back(u);
            }
            if (there < best && residual_from<source>(v, i, u) > 0.0) {
                best = there;
                found = i;
            }
        }
        if (found == degree) {
            net_->level(v) = 0;
            return;
        }
        set_height<source>(v, best + 1);
        net_->parent(v) = static_cast<Slot>(found);
        if (f.growing) {
            if (best == f.top) f.next.push_back(v);
        } else if (best + 1 == f.top) {
            f.frontier.push_back(v);
        }
    }

    Network* net_ = nullptr;
    Forest from_source_, from_sink_;
    Nodes orphans_;
    double pushed_ = 0.0;
    InterruptCheck check_;
};

}  // namespace tw::cuts
