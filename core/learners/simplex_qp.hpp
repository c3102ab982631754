// A small quadratic program over a simplex, solved by pairs (SMO, Platt 1999; the pair of Fan, Chen & Lin 2005):
//     maximise  b . a - a' H a / 2     subject to  a >= 0,  sum of a <= total.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tw::learners {

// `H` is [n][n], symmetric and positive semidefinite; `a` is feasible where it starts and improved in place. Stops when
// the gradient of no entry exceeds that of another which could give way to it by more than `tolerance`: the value is
// then within total * tolerance of the maximum.
void solve_on_simplex(std::span<const double> H, std::span<const double> b, double total, double tolerance,
                      std::vector<double>& a);

}  // namespace tw::learners
