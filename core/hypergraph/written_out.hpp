// A dynamic program as lists of nodes and edges, for a solver of linear programs. Only those that an output has: edges
// whose tails have a derivation, and that a derivation of the goal leads to.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "../structures/derivations.hpp"
#include "recursions.hpp"

namespace tw::hypergraph {

template <class Program>
Hyperedges written_out(const Program& program, const PartScores& scores, std::size_t most) {
    const std::size_t n = program.n_nodes();
    std::vector<std::uint8_t> derived(n, 0), used(n, 0);
    InterruptCheck check;
    const auto possible = [&](const Edge<Program>& edge) {
        if (weighs(edge.weight) && scores[edge.weight] == kLogZero) return false;
        for (const Node u : edge.each())
            if (!derived[u]) return false;
        return true;
    };
    for (std::size_t v = 0; v < n; ++v) {
        check();
        if (const Part part = part_of(program, v); part != kNoPart && scores[part] == kLogZero) continue;
        each_edge(program, v, [&](const Edge<Program>& edge) { derived[v] |= possible(edge); });
    }
    used[n - 1] = derived[n - 1];
    std::size_t n_edges = 0;
    for (std::size_t v = n; v-- > 0;) {
        check();
        if (!used[v]) continue;
        each_edge(program, v, [&](const Edge<Program>& edge) {
            if (!possible(edge)) return;
            ++n_edges;
            for (const Node u : edge.each()) used[u] = 1;
        });
    }
    if (n_edges > most)
        throw std::invalid_argument("its linear program has " + std::to_string(n_edges) + " variables, more than the " +
                                    std::to_string(most) + " that are taken on");
    Hyperedges out;
    std::vector<std::uint32_t> number(n, 0);
    for (std::size_t v = 0; v < n; ++v) {
        if (!used[v]) continue;
        check();
        const auto head = static_cast<std::uint32_t>(out.node_parts.size());
        number[v] = head;
        out.node_parts.push_back(part_of(program, v));
        each_edge(program, v, [&](const Edge<Program>& edge) {
            if (!possible(edge)) return;
            out.heads.push_back(head);
            out.first_tails.push_back(edge.n_tails > 0 ? number[edge.tails[0]] : Hyperedges::kNoTail);
            out.second_tails.push_back(edge.n_tails > 1 ? number[edge.tails[1]] : Hyperedges::kNoTail);
            out.parts.push_back(edge.weight);
        });
    }
    return out;
}

}  // namespace tw::hypergraph
