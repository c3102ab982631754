// Problems of two labels and tables of two variables over any graph: exact cuts, roof duality, and what improves on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "max_flow.hpp"
#include "networks.hpp"

namespace tw::cuts {

struct BinaryProblem {
    struct Edge {
        Node from, to;
        double p00, p01, p10, p11;
    };
    std::vector<double> unary;  // [variable][2]
    std::vector<Edge> edges;    // from != to

    std::size_t size() const { return unary.size() / 2; }
    double score(std::span<const std::uint32_t> labels) const;
};

struct BinaryAnswer {
    std::vector<std::uint32_t> labels;  // kUndecided where roof duality leaves it open
    double bound = 0.0;
    std::size_t n_undecided = 0;
    bool impossible = false;
};

class BinarySolver {
public:
    // Every edge submodular; others are truncated. The labels are the lowest of all best ones.
    BinaryAnswer cut(const BinaryProblem& problem);
    // Roof duality on a network of two nodes a variable, "it is 1" and "it is 0" (Boros & Hammer 2002, Kolmogorov &
    // Rother 2007): what is decided is so in every best labelling. `fixed`: labels to be kept, kUndecided elsewhere.
    BinaryAnswer roof_dual(const BinaryProblem& problem, std::span<const std::uint32_t> fixed = {});
    // Makes `labels` better, never worse, by roof duality with some of the undecided variables fixed as they are
    // (QPBO-I; Rother, Kolmogorov, Lempitsky & Szummer 2007). `decided`: what roof duality has said.
    void improve(const BinaryProblem& problem, std::span<const std::uint32_t> decided,
                 std::vector<std::uint32_t>& labels, std::size_t rounds);

private:
    std::vector<GraphNetwork::Edge> arcs_;
    GraphNetwork network_;
    MaxFlow<GraphNetwork> flow_;
};

}  // namespace tw::cuts
