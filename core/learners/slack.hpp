// The most violated structure of the hinge with rescaled slack (Tsochantaridis et al. 2005; Mančev 2015, Table 2.1,
// "scaled hinge"):  argmax over y of  cost(y) * (1 + score(y) - score(gold)).
//
// The structures are points (cost c, margin m = 1 + score - gold), and kbest() finds those on the upper hull: the best
// of  m + nu c.  Bisection over nu (Sarawagi & Gupta 2008; Choi et al. 2016) leaves the two vertices on either side of
// nu = m / c;  no structure outside the two can be better. Points below the edge between the two can: they are listed
// in the order of  m + nu c  until  (m + nu c)^2 / (4 nu),  which bounds the product c m, is no more than the best
// found. Where kLongestSlackList do not suffice, an oracle that has an exact way is asked for it; it takes far longer
// on chains, and the search proves its answer nearly always. For other oracles the answer is then the best of those
// seen, at least the best on the hull, and `exact` is false.
#pragma once

#include <cstddef>

#include "ranked_examples.hpp"

namespace tw::learners {

struct SlackRival {
    Output found;
    SparseVector difference;  // f(x, gold) - f(x, y)
    double loss = 0.0;  // cost * (1 - w . difference); 0 when no structure is violated, and then nothing else is set
    bool exact = true;
};

inline constexpr std::size_t kLongestSlackList = 64;

// May add weights to the oracle, as difference() does; `w` grows with it.
SlackRival slack_rival(RankedExamples& examples, AveragedWeights& w, std::size_t example);

// The same without slack_argmax().
SlackRival slack_search(RankedExamples& examples, AveragedWeights& w, std::size_t example);

}  // namespace tw::learners
