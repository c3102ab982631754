// Networks for max_flow.hpp: a grid without arcs, and any graph.
//
//     grid   one record for each cell, cells in their order, and a border of empty ones before and behind:
//                | residual of the arcs out of the cell, D of 8 bytes | excess 8 | level 4 | parent 1 |
//            slot 2d is a step in direction d, slot 2d + 1 the step back: where an arc leads, and its reverse, is known
//            from its number. D = 4: 48 bytes a cell. Records, not planes: a search looks at all of a cell at once.
//            Every cell has all D neighbours: beyond the end of a row that is some cell of another row, or the border,
//            and the arcs between the two are empty both ways.
//     graph  arcs sorted by the node they leave: residual 8, head 4, slot of the reverse 4
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "grid.hpp"
#include "max_flow.hpp"

namespace tw::cuts {

template <unsigned D>
class GridNetwork {
public:
    using Slot = std::uint16_t;  // not a byte, which the compiler would take for a part of anything

    struct Cell {
        std::array<double, D> residual{};
        double excess = 0.0;
        std::int32_t level = 0;
        Slot parent = 0;
    };

    // All residuals and excesses zero.
    void reset(const std::array<std::uint32_t, 3>& size) {
        size_ = size;
        n_cells_ = std::size_t{size[0]} * size[1] * size[2];
        border_ = 0;
        const std::span<const Direction> steps = directions(D);
        for (std::size_t d = 0; d < D / 2; ++d) {
            const std::ptrdiff_t row = size[2], plane = row * size[1];
            const std::ptrdiff_t step = steps[d].plane * plane + steps[d].row * row + steps[d].column;
            offsets_[2 * d] = step;
            offsets_[2 * d + 1] = -step;
            border_ = std::max(border_, static_cast<std::size_t>(std::abs(step)));
        }
        cells_.assign(n_cells_ + 2 * border_, Cell{});
    }

    bool has_size(const std::array<std::uint32_t, 3>& size) const { return !cells_.empty() && size_ == size; }
    void forget() { cells_.clear(); }

    Node node(std::size_t cell) const { return static_cast<Node>(border_ + cell); }

    template <class Visit>
    void each_node(Visit visit) {
        for (std::size_t cell = 0; cell < n_cells_; ++cell) visit(node(cell));
    }

    static constexpr std::size_t degree(Node) { return D; }
    Node to(Node v, std::size_t i) const { return static_cast<Node>(v + offsets_[i]); }
    static std::size_t back(Node, std::size_t i) { return i ^ 1; }
    double& residual(Node v, std::size_t i) { return cells_[v].residual[i]; }
    double& excess(Node v) { return cells_[v].excess; }
    std::int32_t& level(Node v) { return cells_[v].level; }
    Slot& parent(Node v) { return cells_[v].parent; }

private:
    std::array<std::uint32_t, 3> size_{};
    std::size_t n_cells_ = 0, border_ = 0;
    std::array<std::ptrdiff_t, D> offsets_{};
    std::vector<Cell> cells_;
};

class GraphNetwork {
public:
    using Slot = std::uint32_t;

    struct Edge {
        Node from, to;
        double forward, backward;  // capacities
    };

    void reset(std::size_t n_nodes, std::span<const Edge> edges) {
        nodes_.assign(n_nodes, {});
        first_.assign(n_nodes + 1, 0);
        for (const Edge& e : edges) ++first_[e.from + 1], ++first_[e.to + 1];
        for (std::size_t v = 0; v < n_nodes; ++v) first_[v + 1] += first_[v];
        arcs_.resize(2 * edges.size());
        for (const Edge& e : edges) {
            const Slot here = nodes_[e.from].parent++, there = nodes_[e.to].parent++;
            arcs_[first_[e.from] + here] = {e.forward, e.to, there};
            arcs_[first_[e.to] + there] = {e.backward, e.from, here};
        }
    }

    std::size_t size() const { return nodes_.size(); }
    template <class Visit>
    void each_node(Visit visit) {
        for (std::size_t v = 0; v < nodes_.size(); ++v) visit(static_cast<Node>(v));
    }

    std::size_t degree(Node v) const { return first_[v + 1] - first_[v]; }
    Node to(Node v, std::size_t i) const { return arcs_[first_[v] + i].head; }
    std::size_t back(Node v, std::size_t i) const { return arcs_[first_[v] + i].reverse; }
    double& residual(Node v, std::size_t i) { return arcs_[first_[v] + i].residual; }
    double& excess(Node v) { return nodes_[v].excess; }
    std::int32_t& level(Node v) { return nodes_[v].level; }
    Slot& parent(Node v) { return nodes_[v].parent; }

private:
    struct Arc {
        double residual;
        Node head;
        Slot reverse;
    };
    struct Vertex {
        double excess = 0.0;
        std::int32_t level = 0;
        Slot parent = 0;
    };

    std::vector<std::size_t> first_;
    std::vector<Arc> arcs_;
    std::vector<Vertex> nodes_;
};

}  // namespace tw::cuts
