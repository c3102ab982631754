// Sums over matchings by belief propagation (Huang & Jebara 2009): Bethe's approximation, for problems that are too
// large to be summed exactly. For as many rows as columns, all matched, its Z is at most the exact one, and more than
// 2^(-n/2) of it (Gurvits 2011; Anari & Rezaei 2019), and the messages converge (Vontobel 2013).
//
//     to column j   a[i][j] = 1 / (left[i]  + sum over k != j of  pair[i][k] b[i][k])
//     to row i      b[i][j] = 1 / (right[j] + sum over k != i of  pair[k][j] a[k][j])
//     belief        p[i][j] = x / (1 + x),  x = pair[i][j] a[i][j] b[i][j]
#pragma once

#include <cstddef>
#include <span>

#include "problem.hpp"

namespace tw::matching {

struct BetheSums {
    double log_partition = 0.0;
    bool converged = false;
    std::size_t iterations = 0;
};

// Of a problem that is solved; `out` has the beliefs by part.
BetheSums bethe(const Problem& problem, std::size_t iterations, double tolerance, std::span<double> out);

}  // namespace tw::matching
