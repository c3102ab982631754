// Recursions over acyclic hypergraphs of scored edges, for any semiring: everything that a dynamic program can be
// asked.
//
// A program numbers its nodes so that the tails of an edge come before its head; the last node is the goal.
//     program.n_nodes()
//     program.incoming(node, visit)   calls visit(weight, tails...) for every edge into a node: what it weighs, and no,
//                                     one or two nodes that it leads from
//     program.node_part(node)         optional: the part that every derivation of the node has, or kNoPart
// What an edge weighs is a part (or kNoPart), whose score PartScores has; or a score itself: then `Weight` is double,
// and OwnScores look it up. Edges are visited, never stored. Among equal scores the edge that is visited first wins. An
// output has one derivation.
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
inline constexpr Node kNoNode = ~Node{0};

struct OwnScores {
    double operator[](double score) const { return score; }
};

inline bool weighs(Part part) { return part != kNoPart; }
inline bool weighs(double) { return true; }

template <class Program>
struct WeightOf {
    using Type = Part;
};
template <class Program>
    requires requires { typename Program::Weight; }
struct WeightOf<Program> {
    using Type = typename Program::Weight;
};

template <class Program>
struct Edge {
    typename WeightOf<Program>::Type weight{};
    std::uint32_t n_tails = 0;
    std::array<Node, 2> tails{};

    std::span<const Node> each() const { return {tails.data(), n_tails}; }
};

template <class Program, class Visit>
void each_edge(const Program& program, std::size_t node, Visit visit) {
    program.incoming(node, [&](auto weight, auto... tails) {
        static_assert(sizeof...(tails) <= 2);
        visit(Edge<Program>{weight, sizeof...(tails), {static_cast<Node>(tails)...}});
    });
}

template <class Program>
Part part_of(const Program& program, std::size_t node) {
    if constexpr (requires { program.node_part(node); })
        return program.node_part(node);
    else
        return kNoPart;
}

// inside[v] sums the derivations of v, the part of v among them (Goodman 1999; on chains the forward vectors of
// eq. 2.31-2.32 of Mančev 2015). An edge is its tails times its own element.
template <class S, class Program, class Scores>
std::vector<typename S::Value> inside(const S& semiring, const Program& program, const Scores& scores) {
    using Value = typename S::Value;
    std::vector<Value> out(program.n_nodes(), semiring.zero());
    std::vector<Value> terms;
    InterruptCheck check;
    for (std::size_t v = 0; v < program.n_nodes(); ++v) {
        check();
        std::size_t n = 0;
        program.incoming(v, [&](auto...) { ++n; });
        if (n > terms.size()) terms.resize(n, semiring.zero());
        Value* next = terms.data();
        program.incoming(v, [&](auto weight, auto... tails) {
            static_assert(sizeof...(tails) <= 2);
            if constexpr (sizeof...(tails) == 0) {
                *next++ = weighs(weight) ? semiring.lift(scores[weight], kNoNode, v) : semiring.one();
            } else {
                const std::array<std::size_t, sizeof...(tails)> from{static_cast<std::size_t>(tails)...};
                Value term = out[from[0]];
                if constexpr (sizeof...(tails) == 2) term = semiring.times(term, out[from[1]]);
                if (weighs(weight)) term = semiring.times(term, semiring.lift(scores[weight], from[0], v));
                *next++ = std::move(term);
            }
        });
        out[v] = semiring.sum(std::span<const Value>(terms.data(), n));
        if (const Part part = part_of(program, v); part != kNoPart)
            out[v] = semiring.times(out[v], semiring.lift(scores[part], kNoNode, v));
    }
    return out;
}

// outside[v] sums what is around the derivations of v, its own part left out. `in` is looked at for two tails only.
template <class S, class Program, class Scores>
std::vector<typename S::Value> outside(const S& semiring, const Program& program, const Scores& scores,
                                       std::span<const typename S::Value> in = {}) {
    using Value = typename S::Value;
    std::vector<Value> out(program.n_nodes(), semiring.zero());
    out.back() = semiring.one();
    InterruptCheck check;
    for (std::size_t v = program.n_nodes(); v-- > 0;) {
        check();
        Value here = out[v];
        if (const Part part = part_of(program, v); part != kNoPart)
            here = semiring.times(semiring.lift(scores[part], kNoNode, v), here);
        each_edge(program, v, [&](const Edge<Program>& edge) {
            for (std::size_t i = 0; i < edge.n_tails; ++i) {
                Value around = here;
                if (weighs(edge.weight))
                    around = semiring.times(semiring.lift(scores[edge.weight], edge.tails[0], v), around);
                if (edge.n_tails == 2) around = semiring.times(in[edge.tails[1 - i]], around);
                out[edge.tails[i]] = semiring.plus(out[edge.tails[i]], around);
            }
        });
    }
    return out;
}

template <class Program, class Scores>
double edge_score(const Edge<Program>& edge, const Scores& scores, std::span<const double> in) {
    double total = weighs(edge.weight) ? scores[edge.weight] : 0.0;
    for (const Node u : edge.each()) total += in[u];
    return total;
}

// p(edge | v) for every edge into v, by the log-semiring's inside scores: a softmax, so the probabilities sum to one
// whatever the magnitudes. The buffer is reused from node to node.
struct Arrivals {
    std::vector<double> probability;

    template <class Program, class Scores>
    void read(const Program& program, const Scores& scores, std::span<const double> in, std::size_t v) {
        std::size_t n = 0;
        program.incoming(v, [&](auto...) { ++n; });
        probability.resize(n);
        double* next = probability.data();
        program.incoming(v, [&](auto weight, auto... tails) {
            *next++ = ((weighs(weight) ? scores[weight] : 0.0) + ... + in[tails]);
        });
        kernels().softmax(probability.data(), n);
    }

    // Calls visit(edge, p) for the edges into v that have some probability.
    template <class Program, class Visit>
    void each(const Program& program, std::size_t v, Visit visit) const {
        const double* next = probability.data();
        each_edge(program, v, [&](const Edge<Program>& edge) {
            if (const double p = *next++; p != 0.0) visit(edge, p);
        });
    }
};

// The probability of every node, and on_edge(v, edge, p) for edges that have some. P(v) flows from the goal to tails
// over p(edge | v). Nothing is subtracted, so nothing cancels. Nodes before `first` are not looked into; their
// probabilities are not complete.
template <class Program, class Scores, class OnEdge>
std::vector<double> posteriors(const Program& program, const Scores& scores, std::span<const double> in, OnEdge on_edge,
                               std::size_t first = 0) {
    std::vector<double> probability(program.n_nodes(), 0.0);
    probability.back() = 1.0;
    Arrivals arrivals;
    InterruptCheck check;
    for (std::size_t v = program.n_nodes(); v-- > first;) {
        check();
        const double here = probability[v];
        if (here == 0.0) continue;
        arrivals.read(program, scores, in, v);
        arrivals.each(program, v, [&](const Edge<Program>& edge, double share) {
            const double p = here * share;
            if (p == 0.0) return;
            for (const Node u : edge.each()) probability[u] += p;
            on_edge(v, edge, p);
        });
    }
    return probability;
}

// Entropy of the derivations in nats: H(v) = sum of p(e | v) (sum of H(tails) - log p(e | v)) (Hernando et al. 2005).
template <class Program, class Scores>
double entropy(const Program& program, const Scores& scores, std::span<const double> in) {
    std::vector<double> h(program.n_nodes(), 0.0);
    Arrivals arrivals;
    InterruptCheck check;
    for (std::size_t v = 0; v < program.n_nodes(); ++v) {
        check();
        if (in[v] == kLogZero) continue;
        arrivals.read(program, scores, in, v);
        double total = 0.0;
        arrivals.each(program, v, [&](const Edge<Program>& edge, double p) {
            double below = -std::log(p);
            for (const Node u : edge.each()) below += h[u];
            total += p * below;
        });
        h[v] = total;
    }
    return h.back();
}

// One derivation, from the goal down: choose(v) picks an edge of every node that is met, on_step(v, edge) sees it.
template <class Program, class Choose, class OnStep>
void descend(const Program& program, Choose choose, OnStep on_step) {
    std::vector<Node> open{static_cast<Node>(program.n_nodes() - 1)};
    InterruptCheck check;
    while (!open.empty()) {
        check();
        const Node v = open.back();
        open.pop_back();
        const Edge<Program> edge = choose(v);
        on_step(v, edge);
        for (const Node u : edge.each()) open.push_back(u);
    }
}

// The parts of a derivation, as on_step sees them.
template <class Program>
struct PartsMet {
    const Program& program;
    Parts& parts;
    void operator()(Node v, const Edge<Program>& edge) {
        if (const Part part = part_of(program, v); part != kNoPart) parts.push_back(part);
        if (edge.weight != kNoPart) parts.push_back(edge.weight);
    }
};

// One derivation drawn from the distribution, by the log-semiring's inside scores. draw() is uniform on [0, 1).
template <class Program, class Scores, class Draw, class OnStep>
void sample(const Program& program, const Scores& scores, std::span<const double> in, Draw draw, OnStep on_step) {
    Arrivals arrivals;
    const auto choose = [&](Node v) {
        arrivals.read(program, scores, in, v);
        std::size_t choice = 0;
        double left = draw();
        for (std::size_t i = 0; i < arrivals.probability.size(); ++i) {
            if (arrivals.probability[i] == 0.0) continue;
            choice = i;  // the last possible one, should rounding leave a remainder
            left -= arrivals.probability[i];
            if (left < 0.0) break;
        }
        Edge<Program> chosen;
        each_edge(program, v, [&](const Edge<Program>& edge) {
            if (choice-- == 0) chosen = edge;
        });
        return chosen;
    };
    descend(program, choose, on_step);
}

// The best derivation, by the max-plus semiring's inside scores: its edges are found again, not kept.
template <class Program, class Scores, class OnStep>
void trace(const Program& program, const Scores& scores, std::span<const double> in, OnStep on_step) {
    const auto choose = [&](Node v) {
        Edge<Program> best;
        double highest = kLogZero;
        each_edge(program, v, [&](const Edge<Program>& edge) {
            const double score = edge_score(edge, scores, in);
            if (!(score > highest)) return;
            highest = score;
            best = edge;
        });
        return best;
    };
    descend(program, choose, on_step);
}

// The best total score of an output that has the part, for every part; `out` is overwritten.
template <class Program>
void max_marginals(const Program& program, const PartScores& scores, std::span<double> out) {
    const std::vector<double> in = inside(MaxPlus{}, program, scores);
    const std::vector<double> around = outside(MaxPlus{}, program, scores, std::span<const double>(in));
    std::ranges::fill(out, kLogZero);
    const auto raise = [&](Part part, double value) {
        if (part != kNoPart && out[part] < value) out[part] = value;
    };
    InterruptCheck check;
    for (std::size_t v = 0; v < program.n_nodes(); ++v) {
        check();
        if (around[v] == kLogZero || in[v] == kLogZero) continue;
        const Part own = part_of(program, v);
        raise(own, around[v] + in[v]);
        const double above = around[v] + (own == kNoPart ? 0.0 : scores[own]);
        each_edge(program, v,
                  [&](const Edge<Program>& edge) { raise(edge.weight, above + edge_score(edge, scores, in)); });
    }
}

}  // namespace tw::hypergraph
