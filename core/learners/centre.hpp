// The centre of the penalty of dual methods.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "solver.hpp"

namespace tw::learners {

// The centre of the penalty |w - centre|^2 / 2: the weights that training starts from. All that dual methods do is
// add multiples of differences to it; when it is zero it takes no memory.
class Centre {
public:
    explicit Centre(std::span<const double> start) {
        if (std::ranges::any_of(start, [](double w) { return w != 0.0; })) values_.assign(start.begin(), start.end());
    }
    double at(std::size_t j) const { return j < values_.size() ? values_[j] : 0.0; }
    double dot(std::span<const double> x) const {
        double sum = 0.0;
        for (std::size_t j = 0; j < std::min(x.size(), values_.size()); ++j) sum += values_[j] * x[j];
        return sum;
    }
    // |w - centre|^2, and centre . (w - centre)
    double squared_distance(std::span<const double> w) const;
    double dot_of_distance(std::span<const double> w) const;
    std::size_t memory_bytes() const { return values_.capacity() * sizeof(double); }

    const std::vector<double>& values() const { return values_; }
    void restore(const State& state, std::size_t n_weights);  // from state["centre"]

private:
    std::vector<double> values_;
};

}  // namespace tw::learners
