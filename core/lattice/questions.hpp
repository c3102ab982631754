// The questions of chain/batch.hpp for the other sequence structures: order M, and segments.
// Instantiated in questions.cpp; all answers come from the generic recursions. Graphs taken by value are centred first.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "graphs.hpp"
#include "kbest.hpp"

namespace tw::lattice {

template <class Graph>
double log_partition(Graph graph);
template <class Graph>
double path_entropy(Graph graph);
// `uniforms` is [n][per_path]: as many numbers as a path can have edges.
template <class Graph>
std::vector<std::vector<std::size_t>> sample_paths(Graph graph, std::size_t n, std::span<const double> uniforms);
template <class Graph>
std::vector<ScoredPath> kbest_paths(const Graph& graph, std::size_t k, bool astar);
template <class Graph>
std::size_t first_dead_end(const Graph& graph);  // position; n_positions() when some path exists

// Marginals of order M; any output may be null. unary [T][K], edges [T - 1][K][K], ngrams [T - M][K^(M + 1)].
void marginals(NGramGraph graph, double* unary, double* edges, double* ngrams);
void max_marginals(const NGramGraph& graph, double* out);  // [T][K]

// Marginals of segments; any output may be null. unary [T][K], boundaries [T - 1][K][K], segments [T][L][K].
void marginals(const SegmentGraph& graph, double* unary, double* boundaries, double* segments);
void max_marginals(const SegmentGraph& graph, double* out);  // [T][K]

}  // namespace tw::lattice
