#include "bethe.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "../base/interrupt.hpp"
#include "../base/semiring.hpp"

namespace tw::matching {
namespace {

double x_log_x(double x) { return x > 0.0 ? x * std::log(x) : 0.0; }

// 1 / (alone + sum of all others), for each of n numbers, without a difference; kept away from 0 and infinity.
void reciprocals(double alone, const double* of, std::size_t n, std::size_t stride, double* out,
                 std::vector<double>& before) {
    before.resize(n);
    double sum = alone;
    for (std::size_t k = 0; k < n; ++k) {
        before[k] = sum;
        sum += of[k * stride];
    }
    sum = 0.0;
    for (std::size_t k = n; k-- > 0;) {
        out[k * stride] = 1.0 / std::clamp(before[k] + sum, 1e-150, 1e150);
        sum += of[k * stride];
    }
}

}  // namespace

BetheSums bethe(const Problem& problem, std::size_t iterations, double tolerance, std::span<double> out) {
    const std::size_t n = problem.n_rows, m = problem.n_columns;
    std::vector<double> pair(n * m, 0.0), to_column(n * m, 1.0), to_row(n * m, 1.0), p(n * m, 0.0), terms(n * m);
    std::vector<double> left(n), right(m), before;
    for (std::size_t i = 0; i < n; ++i) left[i] = std::exp(-problem.left_loss(i));
    for (std::size_t j = 0; j < m; ++j) right[j] = std::exp(-problem.right_loss(j));
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < m; ++j)
            if (problem.score(i, j) != kLogZero) pair[i * m + j] = std::exp(-problem.loss(i, j));
    BetheSums found;
    InterruptCheck check;
    while (found.iterations < iterations && !found.converged) {
        ++found.iterations;
        for (std::size_t e = 0; e < n * m; ++e) terms[e] = pair[e] * to_row[e];
        for (std::size_t i = 0; i < n; ++i) {
            check();
            reciprocals(left[i], terms.data() + i * m, m, 1, to_column.data() + i * m, before);
        }
        for (std::size_t e = 0; e < n * m; ++e) terms[e] = pair[e] * to_column[e];
        for (std::size_t j = 0; j < m; ++j) {
            check();
            reciprocals(right[j], terms.data() + j, n, m, to_row.data() + j, before);
        }
        double change = 0.0;
        for (std::size_t e = 0; e < n * m; ++e) {
            const double x = pair[e] * to_column[e] * to_row[e], belief = x > 1e300 ? 1.0 : x / (1.0 + x);
            change = std::max(change, std::abs(belief - p[e]));
            p[e] = belief;
        }
        found.converged = change < tolerance;
    }
    // The free energy of the beliefs: mean loss and entropies of rows and columns, less those of pairs, which both
    // have.
    std::ranges::fill(out, 0.0);
    std::vector<double> row_left(n, 1.0), column_left(m, 1.0);
    CompensatedSum log_z;
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < m; ++j) {
            const double here = p[i * m + j];
            out[problem.pair_part(i, j)] = here;
            if (here == 0.0) continue;
            row_left[i] -= here;
            column_left[j] -= here;
            log_z.add(-here * problem.loss(i, j) - x_log_x(here) + x_log_x(1.0 - here));
        }
    const auto unmatched = [&](double share, double loss, Part part) {
        share = std::clamp(share, 0.0, 1.0);
        if (loss == -kLogZero) return;
        if (part != kNoPart) out[part] = share;
        log_z.add(-share * loss - x_log_x(share));
    };
    for (std::size_t i = 0; i < n; ++i) unmatched(row_left[i], problem.left_loss(i), problem.left_part(i));
    for (std::size_t j = 0; j < m; ++j) unmatched(column_left[j], problem.right_loss(j), problem.right_part(j));
    found.log_partition = problem.total() + log_z.value();
    return found;
}

}  // namespace tw::matching
