// The vectors that quasi-Newton solvers remember, in single precision, with what is computed from them in double: the
// loops of learners/history.cpp on one block of numbers, which stays in the first cache.
#pragma once

#include <cstddef>

namespace tw {

// A move of the weights and of the gradient along with them; `h` scales, `steepest` is the gradient at the new point.
struct VectorMove {
    const double *point, *new_point, *gradient, *new_gradient, *steepest;
    const float* h;
};

struct VectorSums {
    double ss, yy, gg;  // squares of s, of y, and of the steepest direction
};

struct VectorLoops {
    // s = new point - point, y = new gradient - gradient; and in double precision y, h y and h steepest. Adds to sums.
    void (*change)(const VectorMove& move, std::size_t n, float* s, float* y, double* wide_y, double* hy, double* hg,
                   VectorSums& sums);
    // sums[2 i] += rows[i] . x and sums[2 i + 1] += rows[i] . z
    void (*two_dots)(const float* const* rows, std::size_t n_rows, const double* x, const double* z, std::size_t n,
                     double* sums);
    // out = -(gamma h (steepest - sum a_i y_i) + sum b_i s_i), of n_rows y and s
    void (*combine)(const float* const* y, const float* const* s, std::size_t n_rows, const double* a, const double* b,
                    double gamma, const float* h, const double* steepest, std::size_t n, double* out);
};

const VectorLoops& vector_loops() noexcept;

}  // namespace tw
