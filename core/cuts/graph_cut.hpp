// Minimum cuts on graphs of pairwise tables: the best labelling, exactly where every table is submodular and variables
// have at most two labels, otherwise the best that moves find, with an honest bound.
//
// Two labels, submodular (also after swapping the labels of some variables): exact. Two labels, other tables: roof
// duality decides some variables, moves the rest; the bound is the roof dual's. More labels: alpha-expansion (Boykov,
// Veksler & Zabih 2001) with fusion of what its moves cannot express; the bound is that of the best score of each table
// and variable alone.
#pragma once

#include <span>

#include "../graphs/graph.hpp"

namespace tw::cuts {

// Throws std::invalid_argument where a factor is not a table of one or two variables, and says which. `shares` of the
// answer are left empty. `labels` is empty where every labelling is forbidden (the bound is then -inf) or where no
// labelling was found that is allowed.
graphs::Found cut_search(const graphs::Graph& graph, std::span<const double> scores, const graphs::Search& search);

// Whether cut_search would be exact: tables of one or two variables, two labels at most, all submodular as they stand.
bool is_submodular(const graphs::Graph& graph, std::span<const double> scores);

}  // namespace tw::cuts
