// Recursions over acyclic hypergraphs of scored parts, for any semiring: everything that a dynamic program can be
// asked.
//
// A program numbers its nodes so that the tails of an edge come before its head; the last node is the goal.
//     program.n_nodes()
//     program.node_part(node)            the part that every derivation of the node has, or kNoPart
//     program.incoming(node, visit)      calls visit(part, tails...) for every edge into a node: its part or kNoPart,
//     and
//                                        no, one or two nodes that it leads from
// Edges are visited, never stored. Among equal scores the edge that is visited first wins. An output has one
// derivation.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../base/interrupt.hpp"
#include "../base/semiring.hpp"
#include "../structures/structure.hpp"

namespace tw::hypergraph {

using Node = std::uint32_t;

struct Edge {
    Part part = kNoPart;
    std::uint32_t n_tails = 0;
    std::array<Node, 2> tails{};

    std::span<const Node> each() const { return {tails.data(), n_tails}; }
};

template <class Program, class Visit>
void each_edge(const Program& program, std::size_t node, Visit visit) {
    program.incoming(node, [&](Part part, auto... tails) {
        static_assert(sizeof...(tails) <= 2);
        visit(Edge{part, sizeof...(tails), {static_cast<Node>(tails)...}});
    });
}

// inside[v] sums the derivations of v, the part of v among them (Goodman 1999).
template <class S, class Program>
std::vector<typename S::Value> inside(const S& semiring, const Program& program, const PartScores& scores) {
    using Value = typename S::Value;
    std::vector<Value> out(program.n_nodes(), semiring.zero());
    std::vector<Value> terms;
    InterruptCheck check;
    for (std::size_t v = 0; v < program.n_nodes(); ++v) {
        check();
        terms.clear();
        each_edge(program, v, [&](const Edge& edge) {
            Value term = semiring.lift(scores[edge.part], 0, v);
            for (const Node u : edge.each()) term = semiring.times(term, out[u]);
            terms.push_back(term);
        });
        const Value sum = semiring.sum(std::span<const Value>(terms));
        out[v] = semiring.times(sum, semiring.lift(scores[program.node_part(v)], 0, v));
    }
    return out;
}

// p(edge | v) for every edge into v, by the log-semiring's inside scores: a softmax, so the probabilities sum to one
// whatever the magnitudes. Buffers are reused from node to node.
struct Arrivals {
    std::vector<Edge> edges;
    std::vector<double> probability;

    template <class Program>
    void read(const Program& program, const PartScores& scores, const std::vector<double>& in, std::size_t v) {
        edges.clear();
        probability.clear();
        each_edge(program, v, [&](const Edge& edge) {
            double score = scores[edge.part];
            for (const Node u : edge.each()) score += in[u];
            edges.push_back(edge);
            probability.push_back(score);
        });
        kernels().softmax(probability.data(), probability.size());
    }
};

// Calls on_part(part, p) for every node and edge that has a part, with its probability. P(v) flows from the goal to
// tails over p(edge | v). Nothing is subtracted, so nothing cancels.
template <class Program, class OnPart>
void posteriors(const Program& program, const PartScores& scores, const std::vector<double>& in, OnPart on_part) {
    std::vector<double> probability(program.n_nodes(), 0.0);
    probability.back() = 1.0;
    Arrivals arrivals;
    InterruptCheck check;
    for (std::size_t v = program.n_nodes(); v-- > 0;) {
        check();
        const double here = probability[v];
        if (here == 0.0) continue;
        if (const Part part = program.node_part(v); part != kNoPart) on_part(part, here);
        arrivals.read(program, scores, in, v);
        for (std::size_t i = 0; i < arrivals.edges.size(); ++i) {
            const double p = here * arrivals.probability[i];
            if (p == 0.0) continue;
            const Edge& edge = arrivals.edges[i];
            for (const Node u : edge.each()) probability[u] += p;
            if (edge.part != kNoPart) on_part(edge.part, p);
        }
    }
}

// Entropy of the derivations in nats: H(v) = sum of p(e | v) (sum of H(tails) - log p(e | v)) (Hernando et al. 2005).
template <class Program>
double entropy(const Program& program, const PartScores& scores, const std::vector<double>& in) {
    std::vector<double> h(program.n_nodes(), 0.0);
    Arrivals arrivals;
    InterruptCheck check;
    for (std::size_t v = 0; v < program.n_nodes(); ++v) {
        check();
        if (in[v] == kLogZero) continue;
        arrivals.read(program, scores, in, v);
        for (std::size_t i = 0; i < arrivals.edges.size(); ++i) {
            const double p = arrivals.probability[i];
            if (p == 0.0) continue;
            double below = -std::log(p);
            for (const Node u : arrivals.edges[i].each()) below += h[u];
            h[v] += p * below;
        }
    }
    return h.back();
}

// The parts of one derivation: choose(arrivals) picks an edge of every node that is met, from the goal down.
template <class Program, class Read, class Choose>
Parts descend(const Program& program, Read read, Choose choose) {
    Parts parts;
    std::vector<Node> open{static_cast<Node>(program.n_nodes() - 1)};
    InterruptCheck check;
    while (!open.empty()) {
        check();
        const Node v = open.back();
        open.pop_back();
        if (const Part part = program.node_part(v); part != kNoPart) parts.push_back(part);
        read(v);
        const Edge edge = choose(v);
        if (edge.part != kNoPart) parts.push_back(edge.part);
        for (const Node u : edge.each()) open.push_back(u);
    }
    std::ranges::sort(parts);
    return parts;
}

// One output drawn from the distribution, by the log-semiring's inside scores. draw() is uniform on [0, 1).
template <class Program, class Draw>
Parts sample(const Program& program, const PartScores& scores, const std::vector<double>& in, Draw draw) {
    Arrivals arrivals;
    return descend(
        program, [&](Node v) { arrivals.read(program, scores, in, v); },
        [&](Node) {
            double left = draw();
            std::size_t choice = 0;
            for (std::size_t i = 0; i < arrivals.edges.size(); ++i) {
                if (arrivals.probability[i] == 0.0) continue;
                choice = i;  // the last possible one, should rounding leave a remainder
                left -= arrivals.probability[i];
                if (left < 0.0) break;
            }
            return arrivals.edges[choice];
        });
}

// The best output, by the max-plus semiring's inside scores: its edges are found again, not kept.
template <class Program>
Parts trace(const Program& program, const PartScores& scores, const std::vector<double>& in) {
    Edge best;
    return descend(
        program,
        [&](Node v) {
            double highest = kLogZero;
            each_edge(program, v, [&](const Edge& edge) {
                double score = scores[edge.part];
                for (const Node u : edge.each()) score += in[u];
                if (score > highest) {
                    highest = score;
                    best = edge;
                }
            });
        },
        [&](Node) { return best; });
}

// The best total score of an output that has the part, for every part; `out` is overwritten.
template <class Program>
void max_marginals(const Program& program, const PartScores& scores, std::span<double> out) {
    const std::vector<double> in = inside(MaxPlus{}, program, scores);
    std::vector<double> around(program.n_nodes(), kLogZero);  // the best of what is not below a node
    around.back() = 0.0;
    std::ranges::fill(out, kLogZero);
    const auto raise = [](double& to, double value) { to = to < value ? value : to; };
    InterruptCheck check;
    for (std::size_t v = program.n_nodes(); v-- > 0;) {
        check();
        if (around[v] == kLogZero || in[v] == kLogZero) continue;
        const Part own = program.node_part(v);
        if (own != kNoPart) raise(out[own], around[v] + in[v]);
        const double above = around[v] + scores[own];
        each_edge(program, v, [&](const Edge& edge) {
            double total = above + scores[edge.part];
            for (const Node u : edge.each()) total += in[u];
            if (total == kLogZero) return;
            if (edge.part != kNoPart) raise(out[edge.part], total);
            for (std::size_t i = 0; i < edge.n_tails; ++i) {
                double rest = above + scores[edge.part];
                if (edge.n_tails == 2) rest += in[edge.tails[1 - i]];
                raise(around[edge.tails[i]], rest);
            }
        });
    }
}

}  // namespace tw::hypergraph
