// Working weights in the plainest layout: one vector of doubles and its scale.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "oracle.hpp"

namespace tw {

class PlainWeights : public WorkingWeights {
public:
    explicit PlainWeights(std::size_t size) : stored(size, 0.0) {}
    void load(std::span<const double> weights) override {
        std::ranges::copy(weights, stored.begin());
        factor = 1.0;
    }
    void store(std::span<double> weights) const override {
        for (std::size_t i = 0; i < stored.size(); ++i) weights[i] = factor * stored[i];
    }
    double scale() const override { return factor; }
    void multiply(double by) override {
        factor *= by;
        if (factor > 1e-100 && factor < 1e100) return;
        for (double& w : stored) w *= factor;
        factor = 1.0;
    }
    double squared_norm() const override {
        double sum = 0.0;
        for (const double w : stored) sum += w * w;
        return factor * factor * sum;
    }

    std::vector<double> stored;
    double factor = 1.0;
};

}  // namespace tw
