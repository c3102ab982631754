// How far an objective still is above its minimum, guessed from how it has been falling.
//
// Let it fall by a in one window of iterations and by b in the next. If every further window falls by the same ratio
// q = b / a, what is left is b (q + q^2 + ...) = b q / (1 - q) (Aitken's extrapolation). Solvers slow down as they go,
// so q is never taken below kSmallestRatio, and the result is doubled.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace tw::learners {

class GapGuess {
public:
    void add(double objective) {
        if (values_.size() == 2 * kWindow + 1) values_.erase(values_.begin());
        values_.push_back(objective);
    }
    double gap() const {
        if (values_.size() < 2 * kWindow + 1) return std::numeric_limits<double>::infinity();
        const double earlier = values_[0] - values_[kWindow], later = values_[kWindow] - values_[2 * kWindow];
        if (!(earlier > 0.0) || !(later > 0.0)) return std::max(0.0, later);
        const double ratio = std::clamp(later / earlier, kSmallestRatio, kLargestRatio);
        return kCaution * later * ratio / (1.0 - ratio);
    }
    // How much it fell in the last window.
    double fall() const {
        if (values_.size() < kWindow + 1) return std::numeric_limits<double>::infinity();
        return values_[values_.size() - 1 - kWindow] - values_.back();
    }
    void clear() { values_.clear(); }
    std::span<const double> values() const { return values_; }
    void assign(std::span<const double> values) { values_.assign(values.begin(), values.end()); }
    static constexpr std::size_t kMost = 9;

private:
    static constexpr std::size_t kWindow = 4;
    static constexpr double kSmallestRatio = 0.25, kLargestRatio = 0.99, kCaution = 2.0;
    std::vector<double> values_;
};

}  // namespace tw::learners
