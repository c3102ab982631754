// Approximate answers about factor graphs with cycles: the best labelling with a bound, and sums by messages.
//
// `scores` are those of all parts (graph.hpp); -inf forbids. Both functions are deterministic, keep Search::seconds and
// hear interrupts. The algorithms have a file each; layout.hpp draws what they share:
//
//     reweighted.hpp            TRW-S / SRMP: a bound that only falls, labellings read off on the way (Kolmogorov 2015)
//     belief_propagation.hpp    damped messages, sums (Bethe) or maxima
//     reweighted_sums.hpp       an upper bound of log Z from conditional entropies (Globerson & Jaakkola 2007)
//     dual_decomposition.hpp    AD3: the linear relaxation, with logic factors and whole structures (Martins 2015)
//     branch.hpp                what is undecided is split until the answer is proved
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph.hpp"

namespace tw::graphs {

// Where a search ended. Handed to the next one on the same graph, whose scores may be others, it begins there.
struct SearchState {
    std::vector<double> given;          // what variables gave to their factors (layout.hpp)
    std::vector<std::uint32_t> labels;  // the best labelling, or none
    std::vector<double> messages;       // of belief propagation, to variables
    std::vector<double> shifts;         // of reweighted sums
};

// The best labelling that was found. Found::score == Found::bound where it is proved to be the best of all. Where no
// labelling is allowed: no labels, score and bound -inf. Where none was found: no labels, score -inf.
//
// Found::shares are there where Search::relaxed is set: in the local polytope, that is, those of a variable add up to
// one and those of a table to the shares of its variables; where the search came to an integral answer they are it. The
// iterations of dual decomposition end outside of the polytope by their tolerance and are repaired: what a table has
// too little of is added as the product of what its variables miss. What would meet a forbidden entry is left out;
// where that is more than 1e-4 of a table, the shares are those of the best labelling found. Logic factors and
// structures agree with their variables up to the tolerance.
Found search(const Graph& graph, std::span<const double> scores, const Search& how, SearchState* warm = nullptr);

// Beliefs of parts and log Z by messages: kBeliefs, or kReweighted, whose log_z is an upper bound whenever it stops.
// kAuto is kBeliefs. Without cycles both are exact. log_z is -inf where messages prove that nothing is allowed.
Beliefs beliefs(const Graph& graph, std::span<const double> scores, const Search& how, SearchState* warm = nullptr);

}  // namespace tw::graphs
