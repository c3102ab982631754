// The dual problem inside one example, with everything outside it held fixed: how to raise
//     D(lambda) = sum_y lambda_y L_y - 1/2 |w|^2,    w = ... + sum_y lambda_y d_y,
// where d_y is the difference of features between gold and y, and L_y its cost. Three sets of constraints occur.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tw::learners {

// One example's part of the dual. K holds the inner products of the differences, n by n; `gradient` is that of -D, eq.
// 3.12:  w . d_y - L_y  at the current w. Both `lambda` and `gradient` are kept up to date.
struct Block {
    std::size_t n = 0;
    std::vector<double> K, gradient, lambda;

    double product(std::size_t i, std::size_t j) const { return K[i * n + j]; }
    void move(std::size_t i, double step);  // lambda_i += step
};

// sum_y lambda_y + gold = C, all >= 0 (eq. 3.9): one slack per example, the structured hinge. Gold has d = 0, L = 0.
// By how much the KKT conditions are violated (eq. 3.10 - 3.11), and the procedure SMO: the maximal violating pair
// moves (eq. 3.13) until they are violated by no more than tau, or until a step can no longer be told from zero.
double pair_violation(std::span<const double> gradient, std::span<const double> lambda, double gold);
void smo(Block& block, double& gold, double tau);

// lambda >= 0 only: the squared hinge, whose term in the dual is part of K and of the gradient (dual_coordinate.hpp).
// One variable moves at a time, the one that violates most.
double single_violation(std::span<const double> gradient, std::span<const double> lambda);
void coordinate_ascent(Block& block, double tau);

// 0 <= lambda <= upper, where upper may be infinite (eq. 3.6 - 3.7 and 3.3 - 3.4), from lambda = 0: solved exactly, by
// an active set. With upper infinite, constraints that contradict those taken before (the most violated first) are left
// out, so that what comes back is the exact solution for the others.
void active_set(Block& block, double upper);

}  // namespace tw::learners
