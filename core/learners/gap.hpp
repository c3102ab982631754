// How far an objective still is above its minimum, guessed from how it has been falling.
//
// Quasi-Newton methods on large sparse problems come in bursts, and slow down as they go: the gap falls about as 1 /
// k^2 with the iterations k. What was gained since iteration k / 2 is then three times what is left; twice what is left
// is returned, to be on the safe side. Where the fall is geometric that is far too careful, and Aitken's extrapolation
// is better: if a window falls by a and the next by b, what is left is b q / (1 - q) with q = b / a. It is trusted,
// times kCaution, once windows are long enough to even out the bursts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace tw::learners {

class GapGuess {
public:
    void add(double objective) { values_.push_back(objective); }
    double gap() const {
        if (values_.size() <= kLeastIterations) return std::numeric_limits<double>::infinity();
        const double last = values_.back();
        const std::size_t k = values_.size() - 1;
        const double slow = (values_[k / 2] - last) / 1.5;
        const std::size_t window = k / 4;
        if (window < kLongWindow) return std::max(0.0, slow);
        const double a = values_[k - 2 * window] - values_[k - window], b = values_[k - window] - last;
        if (!(b > 0.0) || !(a > 0.0)) return std::max(0.0, b);
        const double ratio = std::min(b / a, kLargestRatio);
        return std::min(slow, kCaution * b * ratio / (1.0 - ratio));
    }
    // How much it fell in the last iterations, of which there may be too few to tell.
    double fall(std::size_t iterations) const {
        if (values_.size() <= iterations) return std::numeric_limits<double>::infinity();
        return values_[values_.size() - 1 - iterations] - values_.back();
    }
    const std::vector<double>& values() const { return values_; }
    void assign(std::span<const double> values) { values_.assign(values.begin(), values.end()); }

private:
    static constexpr std::size_t kLeastIterations = 6, kLongWindow = 50;
    static constexpr double kLargestRatio = 0.99, kCaution = 5.0;
    std::vector<double> values_;  // of every iteration
};

}  // namespace tw::learners
