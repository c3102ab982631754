// What dynamic programs answer beyond every structure.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "structure.hpp"

namespace tw {

// A dynamic program written out: the nodes and edges that some output has. Nodes are numbered, the last is the goal; an
// edge leads to its head from no, one or two tails.
struct Hyperedges {
    static constexpr std::uint32_t kNoTail = ~std::uint32_t{0};

    std::vector<Part> node_parts;  // by node: what every derivation of it has, or kNoPart
    std::vector<std::uint32_t> heads, first_tails, second_tails;  // by edge
    std::vector<Part> parts;                                      // by edge, or kNoPart
};

class DerivationStructure : public Structure {
public:
    // The edges of outputs that are not forbidden, for a linear program: an output is a flow of 1 out of the goal
    // (Martin, Rardin & Campbell 1990). False: the structure is not a dynamic program. Throws std::invalid_argument
    // when there are more than `most`.
    virtual bool hyperedges(Shape, const PartScores&, std::size_t /*most*/, Hyperedges&) const { return false; }

    virtual double entropy(Shape shape, const PartScores& scores) const = 0;
    // The best score of an output that has the part, for every part.
    virtual void max_marginals(Shape shape, const PartScores& scores, std::span<double> out) const = 0;
    // n outputs drawn from the distribution; draw() is uniform on [0, 1). Distinct ones: each from those that are left,
    // fewer than n where fewer exist.
    virtual std::vector<Parts> sample(Shape shape, const PartScores& scores, std::size_t n, bool distinct,
                                      const std::function<double()>& draw) const = 0;
    // The first position that no beginning of an output gets past, when there is no output.
    virtual std::size_t dead_end(Shape shape, const PartScores& scores) const = 0;
};

}  // namespace tw
