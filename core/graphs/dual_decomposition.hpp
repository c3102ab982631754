// AD3, dual decomposition by alternating directions (Martins et al. 2011; 2015): the linear relaxation of a graph whose
// factors are tables, logic, or whole structures that only know their best output.
//
//     shares[v][label]     what variables agree on: the mean of their factors' opinions
//     opinion[slot][label] of a factor: the best of  score + given - penalty / 2 * |opinion - shares|^2,  a point of
//     the
//                          factor's polytope
//     given[slot][label]   all of the unary scores, split among factors; falls where the opinion is above the shares
//
//     factor                 its point as a mixture of joint labellings, kept from round to round
//        [labels of slots | own score | weight]      few: an active-set method adds the best labelling while it helps
//        [labels of slots | own score | weight]      (Martins et al. 2015, Algorithm 3)
//
// Logic factors over variables of two labels are projected in closed form instead (projections.hpp). The penalty
// follows the two residuals. What was given is a dual point as in layout.hpp: its bound holds at any time.
#pragma once

#include "reweighted.hpp"

namespace tw::graphs {

struct Relaxation {
    std::vector<double> given;  // of the best bound
    double bound = 0.0;
    std::vector<double> shares;  // by part; in the local polytope. Empty where they could not be repaired
    std::size_t iterations = 0;
    bool converged = false;
};

// From what the dual has given, without the labels that are out of it. `best` becomes what was found if that is better.
// `to_the_end`: until the relaxation is solved, not only until the gap is closed.
Relaxation decompose(const Layout& layout, const Reweighted& from, Labelling& best, const Search& how, bool to_the_end,
                     const Deadline& deadline);

}  // namespace tw::graphs
