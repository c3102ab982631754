#include "simplex_qp.hpp"

#include <algorithm>
#include <limits>

namespace tw::learners {
namespace {

constexpr std::size_t kPairsPerEntry = 20000;  // rounding can keep the gradients apart for ever
constexpr double kFlat = 1e-300;               // curvature of a pair that is taken for none

struct Program {
    std::span<const double> H, b;
    std::vector<double> a, gradient;  // one entry more than given: what is left of the total, with H and b zero
    std::size_t n;

    double h(std::size_t i, std::size_t j) const { return i < n && j < n ? H[i * n + j] : 0.0; }
    double curvature(std::size_t i, std::size_t j) const { return std::max(h(i, i) + h(j, j) - 2.0 * h(i, j), kFlat); }
    // From which entry to take what `to` is given: the one that gains most; n + 1 when nothing is gained.
    std::size_t giver(std::size_t to, double tolerance) const {
        std::size_t best = n + 1;
        double most = 0.0, widest = 0.0;
        for (std::size_t j = 0; j <= n; ++j) {
            if (!(a[j] > 0.0)) continue;
            const double apart = gradient[to] - gradient[j];
            widest = std::max(widest, apart);
            if (apart > 0.0 && apart * apart / curvature(to, j) > most) {
                most = apart * apart / curvature(to, j);
                best = j;
            }
        }
        return widest > tolerance ? best : n + 1;
    }
    bool improve(double tolerance) {
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
};

}  // namespace

void solve_on_simplex(std::span<const double> H, std::span<const double> b, double total, double tolerance,
                      std::vector<double>& a) {
    const std::size_t n = b.size();
    Program program{H, b, a, std::vector<double>(b.begin(), b.end()), n};
    double used = 0.0;
    for (const double x : a) used += x;
    program.a.push_back(std::max(0.0, total - used));
    program.gradient.push_back(0.0);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) program.gradient[i] -= H[i * n + j] * a[j];
    for (std::size_t pairs = 0; pairs < kPairsPerEntry * (n + 1) && program.improve(tolerance);) ++pairs;
    program.a.pop_back();
    a = std::move(program.a);
}

}  // namespace tw::learners
