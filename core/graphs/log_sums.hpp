// Sums of exponentials of short rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "../base/semiring.hpp"

namespace tw::graphs {

inline double highest(const double* values, std::size_t n) {
    double best = kLogZero;
    for (std::size_t i = 0; i < n; ++i) best = std::max(best, values[i]);
    return best;
}

inline double log_sum(const double* values, std::size_t n) {
    const double best = highest(values, n);
    if (best == kLogZero) return kLogZero;
    double total = 0.0;
    for (std::size_t i = 0; i < n; ++i) total += std::exp(values[i] - best);
    return best + std::log(total);
}

inline double log_add(double a, double b) {
    if (a < b) std::swap(a, b);
    return b == kLogZero ? a : a + std::log1p(std::exp(b - a));
}

// Values become probabilities; their log sum is returned.
inline double normalise(double* values, std::size_t n) {
    const double total = log_sum(values, n);
    for (std::size_t i = 0; i < n; ++i) values[i] = total == kLogZero ? 0.0 : std::exp(values[i] - total);
    return total;
}

}  // namespace tw::graphs
