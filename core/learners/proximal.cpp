#include "proximal.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "../base/interrupt.hpp"
#include "vectors.hpp"

namespace tw::learners {
namespace {

constexpr std::size_t kScaleEvery = 10;  // iterations for which a diagonal is good
constexpr int kMostSweeps = 20;          // of coordinate descent, for one direction
constexpr double kEnough = 0.05;         // end it when a sweep gains no more than this part of what the first did
constexpr double kLeastDiagonal = 1e-3;  // of B, as a part of that of sigma D: rounding must not make it negative
constexpr std::size_t kPeriod = 5;
constexpr double kSlowly = 0.05;     // a fall of less than this part of the objective in a period
constexpr std::size_t kPadding = 4;  // numbers by which halves of a row are padded

// The inverse of a symmetric matrix that is scaled to ones and minus ones on its diagonal, by elimination with pivots;
// false when it has none.
bool invert(std::vector<double>& a, std::size_t n) {
    std::vector<double> inverse(n * n, 0.0);
    for (std::size_t i = 0; i < n; ++i) inverse[i * n + i] = 1.0;
    for (std::size_t i = 0; i < n; ++i) {
        std::size_t pivot = i;
        for (std::size_t r = i + 1; r < n; ++r)
            if (std::abs(a[r * n + i]) > std::abs(a[pivot * n + i])) pivot = r;
        if (!(std::abs(a[pivot * n + i]) > 1e-12)) return false;
        for (std::size_t c = 0; c < n; ++c) {
            std::swap(a[i * n + c], a[pivot * n + c]);
            std::swap(inverse[i * n + c], inverse[pivot * n + c]);
        }
        const double by = 1.0 / a[i * n + i];
        for (std::size_t c = 0; c < n; ++c) a[i * n + c] *= by, inverse[i * n + c] *= by;
        for (std::size_t r = 0; r < n; ++r) {
            const double factor = a[r * n + i];
            if (r == i || factor == 0.0) continue;
            for (std::size_t c = 0; c < n; ++c) {
                a[r * n + c] -= factor * a[i * n + c];
                inverse[r * n + c] -= factor * inverse[i * n + c];
            }
        }
    }
    a.swap(inverse);
    return true;
}

// In lanes, which the compiler may keep side by side in one register; n is a multiple of their number.
inline double product_of(const float* a, const float* b, std::size_t n) {
    std::array<float, kPadding> lanes{};
    for (std::size_t k = 0; k < n; k += kPadding)
        for (std::size_t lane = 0; lane < kPadding; ++lane) lanes[lane] += a[k + lane] * b[k + lane];
    return static_cast<double>(lanes[0] + lanes[1]) + static_cast<double>(lanes[2] + lanes[3]);
}

}  // namespace

double Proximal::find_direction(std::size_t n_jobs) {
    const std::size_t since = near_since();
    near_ = since <= iterations();
    if (!near_) return Owlqn::find_direction(n_jobs);
    if ((iterations() - since) % kScaleEvery == 0 && scaled_at_ != iterations()) {
        take_scaling(n_jobs);
        scaled_at_ = iterations();
    }
    choose_active();
    make_model(n_jobs);
    fill_rows(n_jobs);
    descend();
    const auto sums = over_blocks(weights_.size(), 1, n_jobs, [&](std::size_t begin, std::size_t end, double* out) {
        out[0] += change(goal_.data(), begin, end);
    });
    return sums[0];
}

// The first iteration at which the objective fell slowly: until then steps of OWL-QN gain more.
std::size_t Proximal::near_since() const {
    const std::vector<double>& values = guess_.values();
    for (std::size_t k = kPeriod; k < values.size(); ++k)
        if (values[k - kPeriod] - values[k] < kSlowly * std::abs(values[k])) return k;
    return std::numeric_limits<std::size_t>::max();
}

void Proximal::choose_active() {
    active_.clear();
    std::array<double, kBlock> uphill;
    for (std::size_t begin = 0; begin < weights_.size(); begin += kBlock) {
        const std::size_t end = std::min(weights_.size(), begin + kBlock);
        steepest(weights_, gradient_, begin, end, uphill.data());
        for (std::size_t j = begin; j < end; ++j)
            if (weights_[j] != 0.0 || uphill[j - begin] != 0.0) active_.push_back(static_cast<std::uint32_t>(j));
    }
}

// sigma and K^-1. Vectors s and y are brought to a curvature s.y of one, so that K^-1 is of numbers near one.
void Proximal::make_model(std::size_t n_jobs) {
    const std::size_t m = history_.size();
    width_ = (2 * m + kPadding - 1) / kPadding * kPadding;
    if (m == 0) {
        set_base(1.0 / kFirstScaledStep, n_jobs);
        return;
    }
    find_base(n_jobs);
    // s_i . D s_j,  s_i . y_j,  and y . h y of the newest y.
    const auto sums =
        over_blocks(weights_.size(), 2 * m * m, n_jobs, [&](std::size_t begin, std::size_t end, double* out) {
            std::array<double, kBlock> ds, y;
            const std::size_t size = end - begin;
            for (std::size_t j = 0; j < m; ++j) {
                const float *s_j = history_.s(j) + begin, *y_j = history_.y(j) + begin;
                for (std::size_t i = 0; i < size; ++i) {
                    ds[i] = static_cast<double>(s_j[i]) * base_[begin + i];
                    y[i] = y_j[i];
                }
                for (std::size_t i = 0; i < m; ++i)
                    add_two_dots(history_.s(i) + begin, ds.data(), y.data(), size, &out[i * m + j],
                                 &out[m * m + i * m + j]);
            }
        });
    const auto sds = [&](std::size_t i, std::size_t j) { return sums[i * m + j]; };
    const auto sy = [&](std::size_t i, std::size_t j) { return sums[m * m + i * m + j]; };
    units_.resize(2 * m);
    for (std::size_t i = 0; i < m; ++i) {
        units_[i] = 1.0 / std::sqrt(sds(i, i));
        units_[m + i] = 1.0 / std::sqrt(sy(i, i));
    }
    const std::size_t n = 2 * m;
    middle_.assign(n * n, 0.0);
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < m; ++j) middle_[i * n + j] = sds(i, j) * units_[i] * units_[j];
        for (std::size_t j = 0; j < i; ++j)
            middle_[i * n + m + j] = middle_[(m + j) * n + i] = sy(i, j) * units_[i] * units_[m + j];
        middle_[(m + i) * n + m + i] = -1.0;
    }
    if (!invert(middle_, n)) {
        history_.clear();
        width_ = 0;
    }
}

void Proximal::find_base(std::size_t n_jobs) {
    const float *s = history_.s(history_.size() - 1), *y = history_.y(history_.size() - 1);
    const auto sums = over_blocks(weights_.size(), 2, n_jobs, [&](std::size_t begin, std::size_t end, double* out) {
        for (std::size_t j = begin; j < end; ++j) {
            out[0] += static_cast<double>(s[j]) * y[j];
            out[1] += static_cast<double>(y[j]) * y[j] * h_[j];
        }
    });
    set_base(sums[1] / sums[0], n_jobs);
}

void Proximal::set_base(double sigma, std::size_t n_jobs) {
    base_.resize(weights_.size());
    over_blocks(weights_.size(), 0, n_jobs, [&](std::size_t begin, std::size_t end, double*) {
        for (std::size_t j = begin; j < end; ++j) base_[j] = static_cast<float>(sigma / h_[j]);
    });
}

void Proximal::fill_rows(std::size_t n_jobs) {
    const std::size_t m = history_.size(), n = 2 * m;
    rows_.resize(active_.size() * 2 * width_);
    curvature_.resize(active_.size());
    std::vector<float> middle(middle_.begin(), middle_.end());
    over_blocks(active_.size(), 0, n_jobs, [&](std::size_t begin, std::size_t end, double*) {
        for (std::size_t a = begin; a < end; ++a) {
            const std::size_t j = active_[a];
            float* q = rows_.data() + a * 2 * width_;
            std::fill_n(q, 2 * width_, 0.0F);
            const double diagonal = base_[j];
            for (std::size_t i = 0; i < m; ++i) {
                q[i] = static_cast<float>(units_[i] * diagonal * history_.s(i)[j]);
                q[m + i] = static_cast<float>(units_[m + i] * history_.y(i)[j]);
            }
            float* product = q + width_;
            for (std::size_t i = 0; i < n; ++i) {
                const float by = q[i], *row = &middle[i * n];
                if (by == 0.0F) continue;
                for (std::size_t k = 0; k < n; ++k) product[k] += by * row[k];
            }
            curvature_[a] = std::max(diagonal - product_of(q, product, width_), kLeastDiagonal * diagonal);
        }
    });
}

// Coordinate descent on the model, there and back again over the active weights. Sequential, so the same for any number
// of threads.
void Proximal::descend() {
    const auto factors = sums_.l1_factors();
    std::vector<float> v(width_, 0.0F);
    goal_ = weights_;
    double first = 0.0;
    InterruptCheck check;
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
        double gained = 0.0;
        for (std::size_t i = 0; i < active_.size(); ++i) {
            if (i % kBlock == 0) check();
            const std::size_t a = sweep % 2 == 0 ? i : active_.size() - 1 - i, j = active_[a];
            const float *q = rows_.data() + a * 2 * width_, *product = q + width_;
            const double along = product_of(q, v.data(), width_), diagonal = base_[j], b = curvature_[a];
            const double here = goal_[j], slope = gradient_[j] + diagonal * (here - weights_[j]) - along;
            const double there = nearest(j, here - slope / b, terms_.l1 * factors[j] / b), change = there - here;
            if (change == 0.0) continue;
            goal_[j] = there;
            for (std::size_t k = 0; k < width_; ++k) v[k] += static_cast<float>(change) * product[k];
            gained += b * change * change;
        }
        if (sweep == 0) first = gained;
        if (gained <= kEnough * first) break;
    }
}

double Proximal::first_step(double slope) const { return near_ ? 1.0 : Owlqn::first_step(slope); }

void Proximal::move(double step, std::size_t begin, std::size_t end) {
    if (!near_) {
        Owlqn::move(step, begin, end);
        return;
    }
    for (std::size_t j = begin; j < end; ++j)
        trial_weights_[j] = step == 0.0   ? weights_[j]
                            : step == 1.0 ? goal_[j]  // zeros are reached exactly
                                          : weights_[j] + step * (goal_[j] - weights_[j]);
}

double Proximal::promised(std::size_t begin, std::size_t end) const {
    return near_ ? change(trial_weights_.data(), begin, end) : Owlqn::promised(begin, end);
}

double Proximal::change(const double* to, std::size_t begin, std::size_t end) const {
    const auto factors = sums_.l1_factors();
    double sum = 0.0;
    for (std::size_t j = begin; j < end; ++j)
        sum +=
            gradient_[j] * (to[j] - weights_[j]) + terms_.l1 * factors[j] * (std::abs(to[j]) - std::abs(weights_[j]));
    return sum;
}

}  // namespace tw::learners
