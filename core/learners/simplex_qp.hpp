// A small quadratic program over a simplex:
//     maximise  b . a - a' H a / 2     subject to  a >= 0,  sum of a <= total.
//
// Pairs of entries find out which entries are zero (SMO, Platt 1999; the pair of Fan, Chen & Lin 2005); steps of
// Newton's method settle the others, for which pairs alone take very long when rows of H are nearly alike.
#pragma once

#include <span>
#include <vector>

namespace tw::learners {

// `H` is [n][n], symmetric and positive semidefinite; `a` is feasible where it starts and improved in place. Stops when
// the gradient of no entry exceeds that of another which could give way to it by more than `tolerance`: the value is
// then within total * tolerance of the maximum.
void solve_on_simplex(std::span<const double> H, std::span<const double> b, double total, double tolerance,
                      std::vector<double>& a);

}  // namespace tw::learners
