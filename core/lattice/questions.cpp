#include "questions.hpp"

#include <algorithm>

#include "recursions.hpp"

namespace tw::lattice {

template <class Graph>
double log_partition(Graph graph) {
    const double centre = graph.centre();
    return forward(LogSum{}, graph).back() + centre;
}

template <class Graph>
double path_entropy(Graph graph) {
    graph.centre();
    return entropy(graph, forward(LogSum{}, graph));
}

template <class Graph>
std::vector<std::vector<std::size_t>> sample_paths(Graph graph, std::size_t n, std::span<const double> uniforms) {
    graph.centre();
    const auto alpha = forward(LogSum{}, graph);
    const std::size_t per_path = n == 0 ? 0 : uniforms.size() / n;
    std::vector<std::vector<std::size_t>> paths(n);
    for (std::size_t i = 0; i < n; ++i) {
        std::size_t drawn = 0;
        const auto draw = [&] { return drawn < per_path ? uniforms[i * per_path + drawn++] : 0.0; };
        sample(graph, alpha, draw, paths[i]);
    }
    return paths;
}

template <class Graph>
std::vector<ScoredPath> kbest_paths(const Graph& graph, std::size_t k, bool astar) {
    return astar ? kbest_astar(graph, k) : kbest_viterbi(graph, k);
}

namespace {

// How many positions lie behind a path that ends in a node.
std::size_t covered(const NGramGraph& graph, std::size_t v) { return graph.position(v) + 1; }
std::size_t covered(const SegmentGraph& graph, std::size_t v) { return graph.boundary(v); }

}  // namespace

template <class Graph>
std::size_t first_dead_end(const Graph& graph) {
    const auto alpha = forward(MaxPlus{}, graph);
    if (alpha.back() != kLogZero) return graph.n_positions();
    std::size_t furthest = 0;
    for (std::size_t v = 1; v + 1 < graph.n_nodes(); ++v)
        if (alpha[v] != kLogZero) furthest = std::max(furthest, covered(graph, v));
    return std::min(furthest, graph.n_positions() - 1);
}

void marginals(NGramGraph graph, double* unary, double* edges, double* ngrams) {
    graph.centre();
    const std::size_t K = graph.n_labels(), M = graph.order(), sink = graph.n_nodes() - 1;
    const auto alpha = forward(LogSum{}, graph);
    const auto nodes = posteriors(graph, alpha, [&](std::size_t u, std::size_t v, double p) {
        if (u == 0 || v == sink) return;
        const std::size_t t = graph.position(v);
        if (edges) edges[((t - 1) * K + graph.label(t - 1, u)) * K + graph.label(t, v)] += p;
        if (ngrams && t >= M) {
            const std::size_t histories = graph.n_states(t - 1);
            ngrams[((t - M) * histories + (u - graph.first(t - 1))) * K + graph.label(t, v)] += p;
        }
    });
    if (!unary) return;
    for (std::size_t t = 0; t < graph.n_positions(); ++t)
        for (std::size_t s = 0; s < graph.n_states(t); ++s) unary[t * K + s % K] += nodes[graph.first(t) + s];
}

void max_marginals(const NGramGraph& graph, double* out) {
    const std::size_t K = graph.n_labels();
    const auto best = max_marginals(graph);
    std::fill_n(out, graph.n_positions() * K, kLogZero);
    for (std::size_t t = 0; t < graph.n_positions(); ++t)
        for (std::size_t s = 0; s < graph.n_states(t); ++s)
            out[t * K + s % K] = std::max(out[t * K + s % K], best[graph.first(t) + s]);
}

void marginals(const SegmentGraph& graph, double* unary, double* boundaries, double* segments) {
    const std::size_t K = graph.n_labels(), sink = graph.n_nodes() - 1;
    const auto alpha = forward(LogSum{}, graph);
    posteriors(graph, alpha, [&](std::size_t u, std::size_t v, double p) {
        if (u == 0 || v == sink) return;
        const std::size_t t = graph.boundary(v), k = graph.label(v);
        if (graph.is_closed(v)) {
            const std::size_t begin = graph.boundary(u);
            if (segments) segments[(begin * graph.longest() + (t - begin - 1)) * K + k] = p;
            if (unary)
                for (std::size_t i = begin; i < t; ++i) unary[i * K + k] += p;
        } else if (boundaries) {
            boundaries[((t - 1) * K + graph.label(u)) * K + k] = p;
        }
    });
}

void max_marginals(const SegmentGraph& graph, double* out) {
    const std::size_t K = graph.n_labels();
    const auto alpha = forward(MaxPlus{}, graph);
    const auto beta = backward(MaxPlus{}, graph);
    std::fill_n(out, graph.n_positions() * K, kLogZero);
    for (std::size_t t = 1; t <= graph.n_positions(); ++t)
        for (std::size_t k = 0; k < K; ++k)
            graph.incoming(graph.closed(t, k), [&](std::size_t u, double score) {
                const double total = alpha[u] + score + beta[graph.closed(t, k)];
                for (std::size_t i = graph.boundary(u); i < t; ++i) out[i * K + k] = std::max(out[i * K + k], total);
            });
}

#define TW_INSTANTIATE(Graph)                                                                                 \
    template double log_partition(Graph);                                                                     \
    template double path_entropy(Graph);                                                                      \
    template std::vector<std::vector<std::size_t>> sample_paths(Graph, std::size_t, std::span<const double>); \
    template std::vector<ScoredPath> kbest_paths(const Graph&, std::size_t, bool);                            \
    template std::size_t first_dead_end(const Graph&);
TW_INSTANTIATE(NGramGraph)
TW_INSTANTIATE(SegmentGraph)

}  // namespace tw::lattice
