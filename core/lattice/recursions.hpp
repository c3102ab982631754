// Recursions over any acyclic graph of scored edges, for any semiring (thesis, 2.4.1).
//
// A graph numbers its nodes in topological order: 0 is the source, n_nodes() - 1 the sink, and
//     graph.incoming(node, visit)     calls visit(from, score) for every edge into a node, lowest label first.
// Chains, n-gram chains and segmentations are such graphs (graphs.hpp); each recursion below is written once for all.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "../base/interrupt.hpp"
#include "../base/semiring.hpp"

namespace tw::lattice {

// Forward vectors (eq. 2.31-2.32, with the index of eq. 2.28): alpha[v] sums the paths from the source to v.
template <class S, class Graph>
std::vector<typename S::Value> forward(const S& semiring, const Graph& graph) {
    std::vector<typename S::Value> alpha(graph.n_nodes(), semiring.zero());
    std::vector<typename S::Value> terms;
    alpha[0] = semiring.one();
    InterruptCheck check;
    for (std::size_t v = 1; v < graph.n_nodes(); ++v) {
        check();
        terms.clear();
        graph.incoming(v, [&](std::size_t u, double score) {
            terms.push_back(semiring.times(alpha[u], semiring.lift(score, u, v)));
        });
        alpha[v] = semiring.sum(std::span<const typename S::Value>(terms));
    }
    return alpha;
}

// Backward vectors (eq. 2.33-2.34): beta[v] sums the paths from v to the sink.
template <class S, class Graph>
std::vector<typename S::Value> backward(const S& semiring, const Graph& graph) {
    std::vector<typename S::Value> beta(graph.n_nodes(), semiring.zero());
    beta.back() = semiring.one();
    InterruptCheck check;
    for (std::size_t v = graph.n_nodes(); v-- > 1;) {
        check();
        graph.incoming(v, [&](std::size_t u, double score) {
            beta[u] = semiring.plus(beta[u], semiring.times(semiring.lift(score, u, v), beta[v]));
        });
    }
    return beta;
}

// p(u | v) for every edge into v, by the log-semiring's alpha: a softmax, so the probabilities sum to one whatever the
// magnitudes. Buffers are reused from node to node.
struct Arrivals {
    std::vector<std::size_t> from;
    std::vector<double> probability;

    template <class Graph>
    void read(const Graph& graph, const std::vector<double>& alpha, std::size_t v) {
        from.clear();
        probability.clear();
        graph.incoming(v, [&](std::size_t u, double score) {
            from.push_back(u);
            probability.push_back(alpha[u] + score);
        });
        kernels().softmax(probability.data(), probability.size());
    }
};

// Probability of every node, and on_edge(u, v, p) for every edge: P(v) flows back over p(u | v). Nothing is subtracted,
// so nothing cancels: the marginals are finite and consistent even when scores differ by 1e300. Nodes before `first`
// are not looked into; their probabilities are not complete.
template <class Graph, class OnEdge>
std::vector<double> posteriors(const Graph& graph, const std::vector<double>& alpha, OnEdge on_edge,
                               std::size_t first = 1) {
    std::vector<double> probability(graph.n_nodes(), 0.0);
    probability.back() = 1.0;
    Arrivals arrivals;
    InterruptCheck check;
    for (std::size_t v = graph.n_nodes(); v-- > first;) {
        check();
        if (probability[v] == 0.0) continue;
        arrivals.read(graph, alpha, v);
        for (std::size_t i = 0; i < arrivals.from.size(); ++i) {
            const double p = probability[v] * arrivals.probability[i];
            probability[arrivals.from[i]] += p;
            on_edge(arrivals.from[i], v, p);
        }
    }
    return probability;
}

// Entropy of the paths in nats: H(v) = sum of p(u | v) (H(u) - log p(u | v)) (Hernando et al. 2005).
template <class Graph>
double entropy(const Graph& graph, const std::vector<double>& alpha) {
    std::vector<double> h(graph.n_nodes(), 0.0);
    Arrivals arrivals;
    InterruptCheck check;
    for (std::size_t v = 1; v < graph.n_nodes(); ++v) {
        check();
        arrivals.read(graph, alpha, v);
        for (std::size_t i = 0; i < arrivals.from.size(); ++i) {
            const double p = arrivals.probability[i];
            if (p > 0.0) h[v] += p * (h[arrivals.from[i]] - std::log(p));
        }
    }
    return h.back();
}

// One path drawn from the distribution, sink first: backward sampling after a forward pass. draw() is uniform on [0,
// 1).
template <class Graph, class Draw>
void sample(const Graph& graph, const std::vector<double>& alpha, Draw draw, std::vector<std::size_t>& path) {
    Arrivals arrivals;
    InterruptCheck check;
    path.clear();
    for (std::size_t v = graph.n_nodes() - 1; v != 0;) {
        check();
        path.push_back(v);
        arrivals.read(graph, alpha, v);
        double left = draw();
        std::size_t choice = arrivals.from.size();
        for (std::size_t i = 0; i < arrivals.from.size(); ++i) {
            if (arrivals.probability[i] == 0.0) continue;
            choice = i;  // the last possible one, should rounding leave a remainder
            left -= arrivals.probability[i];
            if (left < 0.0) break;
        }
        v = arrivals.from[choice];
    }
}

// Best total score of a path through each node: alpha + beta over the max-plus semiring.
template <class Graph>
std::vector<double> max_marginals(const Graph& graph) {
    std::vector<double> alpha = forward(MaxPlus{}, graph);
    const std::vector<double> beta = backward(MaxPlus{}, graph);
    for (std::size_t v = 0; v < alpha.size(); ++v) alpha[v] += beta[v];
    return alpha;
}

}  // namespace tw::lattice
