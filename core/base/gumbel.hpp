// Noise that turns sorting into sampling without replacement (Kool, van Hoof & Welling 2020).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace tw {

// From a number that is uniform on [0, 1).
inline double gumbel(double uniform) {
    return -std::log(-std::log(std::max(uniform, std::numeric_limits<double>::min())));
}

// A perturbed score, given that the largest of its kind is another: their appendix B.3, which loses no digits.
inline double given_largest(double perturbed, double largest, double wanted) {
    const double v = wanted - perturbed + std::log1p(-std::exp(perturbed - largest));
    return wanted - std::max(0.0, v) - std::log1p(std::exp(-std::abs(v)));
}

}  // namespace tw
