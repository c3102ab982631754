// The structured hinge loss of all examples at given weights: the most violated structure of each, looked for by
// several threads and then gone through in order, so that the result does not depend on their number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "../parallel.hpp"
#include "averaged_weights.hpp"

namespace tw::learners {

// Calls visit(example, cost, difference) with the structure that maximises  score + nu * cost,  for all examples in
// order; examples of weight zero are left out. `w` grows as the oracle does.
template <class Visit>
void each_most_violated(Oracle& oracle, AveragedWeights& w, std::size_t n_jobs, Visit visit, double nu = 1.0) {
    constexpr std::size_t kAtOnce = 2048, kOfAThread = 16;  // examples: bound what is held, and pay for the counter
    SparseVector difference;
    std::vector<std::vector<Found>> found;
    for (std::size_t begin = 0; begin < oracle.n_examples(); begin += kAtOnce) {
        const std::size_t n = std::min(kAtOnce, oracle.n_examples() - begin);
        found.assign(n, {});
        w.grow(oracle.n_weights());
        parallel_for((n + kOfAThread - 1) / kOfAThread, n_jobs, [&](std::size_t item, std::size_t) {
            for (std::size_t i = item * kOfAThread; i < std::min(n, (item + 1) * kOfAThread); ++i)
                if (oracle.example_weight(begin + i) != 0.0) found[i] = oracle.kbest(w.view(), begin + i, 1, nu);
        });
        for (std::size_t i = 0; i < n; ++i) {
            if (found[i].empty()) continue;
            oracle.difference(begin + i, found[i].front(), difference);
            w.grow(oracle.n_weights());
            visit(begin + i, found[i].front().cost, difference);
        }
    }
}

// Sum over the examples of  weight * max_y [cost(y) - w . (f(gold) - f(y))].
double hinge_sum(Oracle& oracle, AveragedWeights& w, std::size_t n_jobs);

}  // namespace tw::learners
