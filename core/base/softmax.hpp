// From scores to probabilities.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace tw {

// Turns scores into probabilities where they stand and returns  log sum exp(score).  There is at least one.
inline double softmax(std::span<double> scores) {
    const double highest = *std::max_element(scores.begin(), scores.end());
    double sum = 0.0;
    for (double& score : scores) sum += score = std::exp(score - highest);
    for (double& score : scores) score /= sum;
    return highest + std::log(sum);
}

}  // namespace tw
