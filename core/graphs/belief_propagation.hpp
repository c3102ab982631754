// Loopy belief propagation with damping: sums (beliefs, Bethe's log Z; Yedidia, Freeman & Weiss 2005) or maxima.
//
//     to_variable[slot][label]   log message of the factor, its largest 0
//     to_factor[slot][label]     log message of the variable: its scores and the messages of its other factors
//
//     a pass visits variables in the order, or against it. A variable asks the factors that have heard something new,
//     which are those it is not the first of, adds up, and tells all its factors at once.
//
// One pass each way is exact in components without cycles, where nothing is damped. Messages of pairs are made from
// exponentials, in logarithms only where those would leave the range; a label that is out is -inf and stays so.
#pragma once

#include "layout.hpp"
#include "search.hpp"

namespace tw::graphs {

// Throws std::invalid_argument where a structure has no sums.
Beliefs propagate_sums(const Layout& layout, const Search& how, SearchState* warm, const Deadline& deadline);

// Max-product: scores of labels by variable, -inf where a label is out. Throws std::invalid_argument where a factor is
// a structure. False: messages prove that nothing is allowed.
bool propagate_maxima(const Layout& layout, const Search& how, SearchState* warm, const Deadline& deadline,
                      std::vector<double>& by_label, bool& converged, std::size_t& iterations);

}  // namespace tw::graphs
