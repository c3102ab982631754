#include "lbfgs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tw::learners {
namespace {

constexpr double kSufficient = 1e-4, kFlatter = 0.9;  // the constants of the Wolfe conditions
constexpr int kMostTrials = 30;

// The minimum of the cubic with these values and slopes at a and b (Nocedal & Wright 2006, eq. 3.59), kept inside.
template <class Trial>
double between(const Trial& a, const Trial& b) {
    const double width = b.step - a.step;
    double t = a.step + 0.5 * width;
    const double d1 = a.slope + b.slope - 3.0 * (a.value - b.value) / (a.step - b.step);
    const double square = d1 * d1 - a.slope * b.slope;
    if (square >= 0.0) {
        const double d2 = std::copysign(std::sqrt(square), width);
        const double cubic = b.step - width * (b.slope + d2 - d1) / (b.slope - a.slope + 2.0 * d2);
        if (std::isfinite(cubic)) t = cubic;
    }
    return std::clamp(t, a.step + 0.1 * width, a.step + 0.9 * width);
}

}  // namespace

void Lbfgs::steepest(const std::vector<double>&, const std::vector<double>& gradient, std::size_t begin,
                     std::size_t end, double* out) const {
    std::copy(gradient.begin() + static_cast<std::ptrdiff_t>(begin),
              gradient.begin() + static_cast<std::ptrdiff_t>(end), out);
}

void Lbfgs::move(double step, std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j) trial_weights_[j] = weights_[j] + step * direction_[j];
}

// The Wolfe conditions, found by widening and then narrowing an interval. Where values can no longer be told apart the
// slope decides alone (Hager & Zhang 2005, the "approximate Wolfe conditions").
bool Lbfgs::search(double slope, std::size_t n_jobs, Trial& found) {
    const double infinity = std::numeric_limits<double>::infinity();
    const double rounding = value_rounding();
    Trial low{0.0, objective_, slope, 0.0}, high{infinity, infinity, infinity, 0.0};
    double step = first_step(slope);
    for (int trial = 0; trial < kMostTrials; ++trial) {
        const Trial here = try_step(step, n_jobs);
        const bool finite = std::isfinite(here.value) && std::isfinite(here.slope);
        const bool lower = here.value <= objective_ + kSufficient * step * slope;
        const bool as_low = here.value <= objective_ + rounding && here.slope <= (2.0 * kSufficient - 1.0) * slope;
        if (!finite || !(lower || as_low)) {
            high = here;
        } else if (here.slope < kFlatter * slope) {
            low = here;
        } else {
            found = here;
            return true;
        }
        if (high.step == infinity)
            step = 4.0 * low.step;
        else if (std::isfinite(high.value) && std::isfinite(high.slope))
            step = between(low, high);
        else
            step = low.step + 0.1 * (high.step - low.step);
        if (!(step > low.step) || !(step < high.step)) break;
        // Nothing that could still be gained between the two would be seen.
        if (high.step < infinity && -slope * (high.step - low.step) < rounding) break;
    }
    return false;
}

}  // namespace tw::learners
