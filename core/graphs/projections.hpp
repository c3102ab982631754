// Nearest points of the polytopes of logic factors over yes-or-no variables (Martins et al. 2015, sec. 5.1; Duchi et
// al. 2008 for the simplex).
//
//     exactly one   sum = 1           all at least 0
//     one or more   sum >= 1          all in [0, 1]
//     at most k     sum <= k          all in [0, 1]
//
// Each is the unit cube cut by one plane: the point is moved into the cube, and where that leaves the wrong side of the
// plane, by the same amount in every coordinate that is not at an end of its range.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

namespace tw::graphs {

// Onto  sum = total,  all in [0, 1]; total is between 0 and the number of coordinates. The sum of clamp(x - t) falls in
// t and is linear between the 2n places where a coordinate meets an end of its range; the piece that meets `total` is
// found among them, sorted.
inline void project_to_slice(std::span<double> point, double total) {
    std::vector<double> bends;
    bends.reserve(2 * point.size());
    for (const double x : point) {
        bends.push_back(x);
        bends.push_back(x - 1.0);
    }
    std::ranges::sort(bends);
    const auto sum_at = [&](double t) {
        double sum = 0.0;
        for (const double x : point) sum += std::clamp(x - t, 0.0, 1.0);
        return sum;
    };
    // The last bend at which the sum is still total or more.
    std::size_t low = 0, high = bends.size() - 1;
    while (low < high) {
        const std::size_t middle = (low + high + 1) / 2;
        if (sum_at(bends[middle]) >= total)
            low = middle;
        else
            high = middle - 1;
    }
    double inside = 0.0, fixed = 0.0;
    std::size_t n_inside = 0;
    for (const double x : point) {
        // Strictly after this bend and before the next one.
        if (x - 1.0 > bends[low])
            fixed += 1.0;
        else if (x > bends[low]) {
            inside += x;
            ++n_inside;
        }
    }
    const double t = n_inside == 0 ? bends[low] : (inside + fixed - total) / static_cast<double>(n_inside);
    for (double& x : point) x = std::clamp(x - t, 0.0, 1.0);
}

inline double moved_into_cube(std::span<double> point) {
    double sum = 0.0;
    for (double& x : point) sum += x = std::clamp(x, 0.0, 1.0);
    return sum;
}

// At least `least` and at most `most` of them are true, as shares.
inline void project_to_counts(std::span<double> point, std::size_t least, std::size_t most) {
    if (point.empty()) return;
    const std::vector<double> before(point.begin(), point.end());
    const double sum = moved_into_cube(point);
    const double wanted = std::clamp(sum, static_cast<double>(least), static_cast<double>(most));
    if (wanted == sum) return;
    std::ranges::copy(before, point.begin());
    project_to_slice(point, wanted);
}

}  // namespace tw::graphs
