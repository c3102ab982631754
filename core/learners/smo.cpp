#include "smo.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tw::learners {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::size_t kGold = std::numeric_limits<std::size_t>::max();

// A gain of the dual, which is quadratic in the violation, that no longer matters beside what was gained before.
constexpr double kNegligible = 1e-29;

// Steps after which a block is left as it is; met only when tau is below rounding.
std::size_t most_steps(std::size_t n) { return 1000 + 200 * n; }

struct Pair {
    std::size_t up = kGold, down = kGold;  // y' gains what y'' loses
    double gradient_up = 0.0, gradient_down = 0.0;
    double violation() const { return gradient_down - gradient_up; }
};

// y' = argmin of the gradient, y'' = argmax of it where lambda > 0 (eq. 3.11); gold's gradient is zero.
Pair violating_pair(std::span<const double> gradient, std::span<const double> lambda, double gold) {
    Pair pair;
    if (gold <= 0.0) pair.gradient_down = -kInfinite;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
        if (gradient[i] < pair.gradient_up) pair.up = i, pair.gradient_up = gradient[i];
        if (lambda[i] > 0.0 && gradient[i] > pair.gradient_down) pair.down = i, pair.gradient_down = gradient[i];
    }
    return pair;
}

double curvature(const Block& block, const Pair& pair) {
    double sum = 0.0;
    if (pair.up != kGold) sum += block.product(pair.up, pair.up);
    if (pair.down != kGold) sum += block.product(pair.down, pair.down);
    if (pair.up != kGold && pair.down != kGold) sum -= 2.0 * block.product(pair.up, pair.down);
    return sum;
}

}  // namespace

void Block::move(std::size_t i, double step) {
    lambda[i] += step;
    for (std::size_t j = 0; j < n; ++j) gradient[j] += step * product(i, j);
}

double pair_violation(std::span<const double> gradient, std::span<const double> lambda, double gold) {
    return std::max(0.0, violating_pair(gradient, lambda, gold).violation());
}

void smo(Block& block, double& gold, double tau) {
    double gained = 0.0;
    for (std::size_t steps = most_steps(block.n); steps > 0; --steps) {
        const Pair pair = violating_pair(block.gradient, block.lambda, gold);
        const double violation = pair.violation();
        if (!(violation > tau)) return;
        const double available = pair.down == kGold ? gold : block.lambda[pair.down];
        const double bend = curvature(block, pair);
        const double step = bend > 0.0 ? std::min(available, violation / bend) : available;
        const double gain = step * (violation - 0.5 * step * std::max(bend, 0.0));
        if (!(gain > kNegligible * gained)) return;
        gained += gain;
        if (pair.up == kGold)
            gold += step;
        else
            block.move(pair.up, step);
        if (pair.down == kGold)
            gold -= step;
        else
            block.move(pair.down, -step);
    }
}

double single_violation(std::span<const double> gradient, std::span<const double> lambda) {
    double worst = 0.0;
    for (std::size_t i = 0; i < gradient.size(); ++i)
        worst = std::max(worst, lambda[i] > 0.0 ? std::abs(gradient[i]) : -gradient[i]);
    return worst;
}

void coordinate_ascent(Block& block, double tau) {
    double gained = 0.0;
    for (std::size_t steps = most_steps(block.n); steps > 0; --steps) {
        std::size_t best = block.n;
        double step = 0.0, gain = 0.0, worst = 0.0;
        for (std::size_t i = 0; i < block.n; ++i) {
            const double slope = -block.gradient[i], bend = block.product(i, i);
            worst = std::max(worst, block.lambda[i] > 0.0 ? std::abs(slope) : slope);
            const double by = std::max(-block.lambda[i], slope / bend);
            const double gives = by * (slope - 0.5 * by * bend);
            if (gives > gain) best = i, step = by, gain = gives;
        }
        if (!(worst > tau) || best == block.n || !(gain > kNegligible * gained)) return;
        gained += gain;
        const double before = block.lambda[best];
        block.move(best, step);
        if (step == -before) block.lambda[best] = 0.0;
    }
}

namespace {

// The active-set method for  max b . lambda - 1/2 lambda K lambda,  0 <= lambda <= upper.
//
// Free variables have a zero gradient. The bounded one that violates most moves into the interval while the free ones
// give way so that their gradients stay zero, until its own is zero too (it becomes free) or something meets a bound.
// Every such move raises D or ends with fewer free variables, and no set of bounds comes back, so it is finite.
class ActiveSet {
public:
    ActiveSet(Block& block, double upper) : block_(block), upper_(upper), b_(block.n), excluded_(block.n, false) {
        double largest = 0.0;
        for (std::size_t i = 0; i < block.n; ++i) {
            b_[i] = -block.gradient[i];
            largest = std::max(largest, std::abs(b_[i]));
        }
        tolerance_ = 1e-12 * largest;
    }

    void solve() {
        for (std::size_t rounds = 100 + 50 * block_.n; rounds > 0; --rounds) {
            const std::size_t p = most_violated();
            if (p == block_.n) return;
            if (!enter(p)) excluded_[p] = true;
        }
    }

private:
    bool is_free(std::size_t i) const { return std::find(free_.begin(), free_.end(), i) != free_.end(); }

    std::size_t most_violated() const {
        std::size_t best = block_.n;
        double worst = tolerance_;
        for (std::size_t i = 0; i < block_.n; ++i) {
            if (excluded_[i] || is_free(i)) continue;
            const double violation = block_.lambda[i] > 0.0 ? block_.gradient[i] : -block_.gradient[i];
            if (violation > worst) best = i, worst = violation;
        }
        return best;
    }

    // Moves p until it is satisfied or bounded; false, and nothing is changed, when nothing bounds it: then no weights
    // meet its constraint together with those of the free ones.
    bool enter(std::size_t p) {
        const std::vector<double> lambda = block_.lambda;
        const std::vector<std::size_t> before = free_;
        const double sign = block_.lambda[p] > 0.0 ? -1.0 : 1.0;
        for (;;) {
            const std::vector<double> give = response(p);
            double bend = block_.product(p, p);
            for (std::size_t f = 0; f < free_.size(); ++f) bend -= block_.product(p, free_[f]) * give[f];
            const bool bends = bend > kDependent * block_.product(p, p);
            const double own = sign > 0.0 ? upper_ - block_.lambda[p] : block_.lambda[p];
            const double full = bends ? std::max(0.0, -sign * block_.gradient[p] / bend) : kInfinite;
            double step = std::min(full, own);
            std::size_t blocking = free_.size();
            for (std::size_t f = 0; f < free_.size(); ++f) {
                const double room = room_of(free_[f], -sign * give[f]);
                if (room < step) step = room, blocking = f;
            }
            if (step == kInfinite) {
                block_.lambda = lambda;
                free_ = before;
                refresh();
                return false;
            }
            block_.lambda[p] = step == own ? (sign > 0.0 ? upper_ : 0.0) : block_.lambda[p] + sign * step;
            for (std::size_t f = 0; f < free_.size(); ++f) {
                double& value = block_.lambda[free_[f]];
                value = std::clamp(value - sign * step * give[f], 0.0, upper_);
                if (f == blocking) value = -sign * give[f] > 0.0 ? upper_ : 0.0;
            }
            if (blocking < free_.size()) {
                free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(blocking));
                refresh();
                continue;
            }
            if (step != own) free_.push_back(p);
            refresh();
            return true;
        }
    }

    double room_of(std::size_t i, double direction) const {
        if (direction > 0.0) return (upper_ - block_.lambda[i]) / direction;
        if (direction < 0.0) return block_.lambda[i] / -direction;
        return kInfinite;
    }

    // How far the free variables move when p moves by -1: the solution of K_FF x = K_Fp, by Cholesky.
    std::vector<double> response(std::size_t p) const {
        const std::size_t m = free_.size();
        std::vector<double> L(m * m, 0.0), x(m);
        for (std::size_t i = 0; i < m; ++i) {
            for (std::size_t j = 0; j <= i; ++j) {
                double sum = block_.product(free_[i], free_[j]);
                for (std::size_t k = 0; k < j; ++k) sum -= L[i * m + k] * L[j * m + k];
                L[i * m + j] = i == j ? std::sqrt(std::max(sum, kTiny)) : sum / L[j * m + j];
            }
            x[i] = block_.product(free_[i], p);
            for (std::size_t k = 0; k < i; ++k) x[i] -= L[i * m + k] * x[k];
            x[i] /= L[i * m + i];
        }
        for (std::size_t i = m; i-- > 0;) {
            for (std::size_t k = i + 1; k < m; ++k) x[i] -= L[k * m + i] * x[k];
            x[i] /= L[i * m + i];
        }
        return x;
    }

    void refresh() {  // the gradient from scratch: no rounding piles up
        for (std::size_t i = 0; i < block_.n; ++i) {
            double sum = -b_[i];
            for (std::size_t j = 0; j < block_.n; ++j) sum += block_.product(i, j) * block_.lambda[j];
            block_.gradient[i] = sum;
        }
    }

    static constexpr double kDependent = 1e-10;  // of the squared length: what is left of a vector the others span
    static constexpr double kTiny = 1e-300;

    Block& block_;
    const double upper_;
    std::vector<double> b_;
    std::vector<bool> excluded_;
    std::vector<std::size_t> free_;
    double tolerance_ = 0.0;
};

}  // namespace

void active_set(Block& block, double upper) { ActiveSet(block, upper).solve(); }

}  // namespace tw::learners
