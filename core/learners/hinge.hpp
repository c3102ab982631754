// The structured hinge loss, with rescaled margin or rescaled slack: the most violated structure of one example, or of
// all. Those of all are looked for by several threads (rescaled slack: by one) and then gone through in order, so that
// the result does not depend on their number.
//
// Rescaled slack is a hinge like the other once the difference is multiplied by the cost:
//     max_y cost(y) (1 - w . d(y))  =  max_y [cost(y) - w . (cost(y) d(y))],     d(y) = f(gold) - f(y).
// "The difference" of a structure is in this file, and for those who use it, the one so multiplied.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "../base/parallel.hpp"
#include "ranked_examples.hpp"

namespace tw::learners {

enum class Rescaling { kMargin, kSlack };

// Finds the structure with the largest  cost - w . difference,  sets its difference, and returns its cost; with
// rescaled slack, no cost and no difference, which is gold, when nothing is above zero. `w` grows as the oracle does.
double most_violated(RankedExamples& examples, AveragedWeights& w, std::size_t example, Rescaling rescaling,
                     SparseVector& difference);

// Calls visit(example, cost, difference) with the structure that maximises  score + nu * cost,  for all examples in
// order; examples of weight zero are left out. `w` grows as the oracle does.
template <class Visit>
void each_best(RankedExamples& examples, AveragedWeights& w, std::size_t n_jobs, double nu, Visit visit) {
    constexpr std::size_t kAtOnce = 2048, kOfAThread = 16;  // examples: bound what is held, and pay for the counter
    SparseVector difference;
    std::vector<std::vector<Output>> found;
    for (std::size_t begin = 0; begin < examples.n_examples(); begin += kAtOnce) {
        const std::size_t n = std::min(kAtOnce, examples.n_examples() - begin);
        found.assign(n, {});
        w.grow(examples.n_weights());
        parallel_for((n + kOfAThread - 1) / kOfAThread, n_jobs, [&](std::size_t item, std::size_t) {
            InterruptCheck check;
            for (std::size_t i = item * kOfAThread; i < std::min(n, (item + 1) * kOfAThread); ++i) {
                check();
                if (examples.example_weight(begin + i) != 0.0) found[i] = examples.kbest(w, begin + i, 1, nu);
            }
        });
        InterruptCheck check;
        for (std::size_t i = 0; i < n; ++i) {
            check();
            if (found[i].empty()) continue;
            examples.difference(w, begin + i, found[i].front(), difference);
            visit(begin + i, found[i].front().cost, difference);
        }
    }
}

// The same with the most violated structures.
template <class Visit>
void each_most_violated(RankedExamples& examples, AveragedWeights& w, std::size_t n_jobs, Rescaling rescaling,
                        Visit visit) {
    if (rescaling == Rescaling::kMargin) return each_best(examples, w, n_jobs, 1.0, visit);
    SparseVector difference;
    InterruptCheck check;
    for (std::size_t i = 0; i < examples.n_examples(); ++i) {
        check();
        if (examples.example_weight(i) == 0.0) continue;
        const double cost = most_violated(examples, w, i, rescaling, difference);
        visit(i, cost, difference);
    }
}

// Sum over the examples of  weight * max_y [cost(y) - w . difference(y)].
double hinge_sum(RankedExamples& examples, AveragedWeights& w, std::size_t n_jobs,
                 Rescaling rescaling = Rescaling::kMargin);

}  // namespace tw::learners
