#include "simplex_qp.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "../base/interrupt.hpp"

namespace tw::learners {
namespace {

constexpr std::size_t kMostRounds = 1000;  // rounding can keep the gradients apart for ever
constexpr double kFlat = 1e-300;           // curvature of a pair that is taken for none
constexpr double kRidge = 1e-10;           // of the largest diagonal entry: makes every matrix invertible

// Solves M x = y for several y in place; M is positive definite, [m][m], and is overwritten. False if it is not.
bool solve(std::vector<double>& M, std::size_t m, std::span<std::vector<double>* const> right) {
    for (std::size_t j = 0; j < m; ++j) {  // Cholesky, row by row
        for (std::size_t i = j; i < m; ++i) {
            double sum = M[i * m + j];
            for (std::size_t k = 0; k < j; ++k) sum -= M[i * m + k] * M[j * m + k];
            if (i == j && !(sum > 0.0)) return false;
            M[i * m + j] = i == j ? std::sqrt(sum) : sum / M[j * m + j];
        }
    }
    for (std::vector<double>* y : right) {
        for (std::size_t i = 0; i < m; ++i) {
            for (std::size_t k = 0; k < i; ++k) (*y)[i] -= M[i * m + k] * (*y)[k];
            (*y)[i] /= M[i * m + i];
        }
        for (std::size_t i = m; i-- > 0;) {
            for (std::size_t k = i + 1; k < m; ++k) (*y)[i] -= M[k * m + i] * (*y)[k];
            (*y)[i] /= M[i * m + i];
        }
    }
    return true;
}

double sum_of(const std::vector<double>& x) {
    double sum = 0.0;
    for (const double value : x) sum += value;
    return sum;
}

struct Program {
    std::span<const double> H, b;
    std::size_t n;
    std::vector<double> a, gradient;  // one entry more than given: what is left of the total, with H and b zero

    double h(std::size_t i, std::size_t j) const { return i < n && j < n ? H[i * n + j] : 0.0; }

    void find_gradient() {
        for (std::size_t i = 0; i < n; ++i) {
            gradient[i] = b[i];
            for (std::size_t j = 0; j < n; ++j)
                if (a[j] > 0.0) gradient[i] -= H[i * n + j] * a[j];
        }
        gradient[n] = 0.0;
    }

    double curvature(std::size_t i, std::size_t j) const { return std::max(h(i, i) + h(j, j) - 2.0 * h(i, j), kFlat); }

    // From which entry to take what `to` is given: the one that gains most; n + 1 when all are within the tolerance.
    std::size_t giver(std::size_t to, double tolerance) const {
        std::size_t best = n + 1;
        double most = 0.0;
        for (std::size_t j = 0; j <= n; ++j) {
            const double apart = gradient[to] - gradient[j];
            if (!(a[j] > 0.0) || !(apart > tolerance) || apart * apart / curvature(to, j) <= most) continue;
            most = apart * apart / curvature(to, j);
            best = j;
        }
        return best;
    }

    bool move_pair(double tolerance) {
        const auto to = static_cast<std::size_t>(std::ranges::max_element(gradient) - gradient.begin());
        const std::size_t from = giver(to, tolerance);
        if (from > n) return false;
        const double step = std::min(a[from], (gradient[to] - gradient[from]) / curvature(to, from));
        const double before = a[to];
        a[to] += step;
        a[from] = step == a[from] ? 0.0 : a[from] - step;
        if (a[to] == before) return false;
        for (std::size_t j = 0; j < n; ++j) gradient[j] -= step * (h(j, to) - h(j, from));
        return true;
    }

    // Where Newton's method would go with the entries that are not zero; their sum stays, the last entry takes the
    // rest. Empty when it cannot be told.
    std::vector<double> direction(const std::vector<std::size_t>& free) const {
        const std::size_t m = free.size();
        std::vector<double> M(m * m), to(m), ones(m, 1.0), out(n + 1, 0.0);
        double largest = 0.0;
        for (std::size_t i = 0; i < m; ++i) largest = std::max(largest, h(free[i], free[i]));
        for (std::size_t i = 0; i < m; ++i) {
            to[i] = gradient[free[i]];
            for (std::size_t j = 0; j < m; ++j) M[i * m + j] = h(free[i], free[j]);
            M[i * m + i] += kRidge * largest + kFlat;
        }
        std::vector<double>* const right[] = {&to, &ones};
        if (!solve(M, m, right)) return {};
        const double shared = a[n] > 0.0 ? 0.0 : sum_of(to) / sum_of(ones);
        for (std::size_t i = 0; i < m; ++i) {
            out[free[i]] = to[i] - shared * ones[i];
            if (a[n] > 0.0) out[n] -= out[free[i]];
        }
        return out;
    }

    // One step; true when an entry became zero on the way, so that another step may follow.
    bool newton() {
        std::vector<std::size_t> free;
        for (std::size_t i = 0; i < n; ++i)
            if (a[i] > 0.0) free.push_back(i);
        if (free.size() + (a[n] > 0.0 ? 1 : 0) < 2) return false;
        const std::vector<double> d = direction(free);
        if (d.empty()) return false;
        double slope = 0.0, bend = 0.0;
        for (const std::size_t i : free) {
            slope += gradient[i] * d[i];
            for (const std::size_t j : free) bend += d[i] * d[j] * h(i, j);
        }
        if (!(slope > 0.0) || !std::isfinite(bend)) return false;
        double step = bend > 0.0 ? slope / bend : std::numeric_limits<double>::infinity();
        std::size_t blocking = n + 1;
        for (std::size_t i = 0; i <= n; ++i)
            if (d[i] < 0.0 && a[i] > 0.0 && a[i] / -d[i] <= step) {
                step = a[i] / -d[i];
                blocking = i;
            }
        if (!std::isfinite(step)) return false;
        const auto a_before = a, gradient_before = gradient;
        const double value_before = value(), total = sum_of(a);
        for (std::size_t i = 0; i <= n; ++i) a[i] = std::max(0.0, a[i] + step * d[i]);
        if (blocking <= n) a[blocking] = 0.0;
        // Where H is nearly singular, rounding may change the sum, or lead down instead of up.
        const double off = total / sum_of(a);
        for (double& x : a) x *= off;
        find_gradient();
        if (value() > value_before) return blocking <= n;
        a = a_before;
        gradient = gradient_before;
        return false;
    }

    double value() const {
        double sum = 0.0;
        for (std::size_t i = 0; i < n; ++i) sum += 0.5 * a[i] * (b[i] + gradient[i]);
        return sum;
    }
};

}  // namespace

void solve_on_simplex(std::span<const double> H, std::span<const double> b, double total, double tolerance,
                      std::vector<double>& a) {
    const std::size_t n = b.size();
    Program program{H, b, n, a, std::vector<double>(n + 1)};
    program.a.push_back(std::max(0.0, total - sum_of(a)));
    program.find_gradient();
    for (std::size_t round = 0; round < kMostRounds; ++round) {
        std::size_t pairs = 0;
        check_interrupt();
        while (pairs <= n && program.move_pair(tolerance)) ++pairs;
        if (pairs == 0) break;
        for (std::size_t steps = 0; steps <= n && program.newton(); ++steps) check_interrupt();
    }
    program.a.pop_back();
    a = std::move(program.a);
}

}  // namespace tw::learners
