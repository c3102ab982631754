// In which order to eliminate the variables of a graph, and what that joins.
//
// Greedy: next comes the variable whose table is smallest (its labels times those of its neighbours). Where the graph
// has cycles, other orders are tried too, and the one with the smallest tables in all is taken: the variable that
// connects the fewest neighbours anew (min-fill; Koller & Friedman 2009, sec. 9.4.3), and a sweep from one end to the
// other, which is what grids want (Cuthill & McKee 1969). Equal ones: the lowest number. Trees take linear time
// whatever their degrees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tw::graphs {

// Numbers of table entries; they may be beyond any whole number.
struct Width {
    double widest = 0.0;    // in the largest table
    double messages = 0.0;  // in all that is kept
    double entries = 0.0;   // in all tables: what an answer costs
};

struct Limits {
    double table = 1 << 24, messages = 1 << 26, entries = 1 << 30;
};

struct Order {
    std::vector<std::uint32_t> variables;      // first to last
    std::vector<std::uint32_t> neighbours;     // that each has when its turn comes, one list after the other
    std::vector<std::size_t> first_neighbour;  // where the list of each begins, in the order of `variables`
    Width width;
    bool narrow = true;  // false: a limit was passed, where the work ended
};

// Sets of variables that tables are about, one after the other; `ends`: where each ends.
struct Scopes {
    std::vector<std::uint32_t> variables;
    std::vector<std::size_t> ends;
};

Order elimination_order(std::span<const std::uint32_t> n_labels, const Scopes& scopes, const Limits& limits);

}  // namespace tw::graphs
