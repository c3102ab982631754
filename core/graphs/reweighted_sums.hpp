// An upper bound of log Z, valid whenever it stops, and beliefs: tree-reweighted sums in the form of conditional
// entropies (Wainwright, Jaakkola & Willsky 2005; Globerson & Jaakkola 2007; as weighted mini-buckets Liu & Ihler
// 2011).
//
//     every variable is taken out with the factors that lead to those before it in the order, each with a share r of 1
//     (each variable hangs on one of them at random: a forest, and every edge is in it with probability r):
//
//          j   k          at i:  all it has = unary + messages of factors that it is the first of
//           \ /                  each factor above gets  given[slot] = r * all + shift[slot],  shifts add up to 0
//            i                   message to j:  r * log sum over i of exp((score(j, i) + given[i]) / r)
//           / \          at a variable with nothing above: log sum exp of all it has; the bound is the sum of these
//
// For any shifts the bound holds (Hoelder's inequality). Shifts move until all factors above a variable believe the
// same of it; a step that does not lower the bound is taken back and halved. Without cycles it is log Z.
#pragma once

#include "layout.hpp"
#include "search.hpp"

namespace tw::graphs {

// Throws std::invalid_argument where a factor is a structure.
Beliefs reweighted_sums(const Layout& layout, const Search& how, SearchState* warm, const Deadline& deadline);

}  // namespace tw::graphs
