// Working weights in the plainest layout: one number per weight, and the scale they share.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "../oracle.hpp"

namespace tw {

class DenseWeights final : public WorkingWeights {
public:
    explicit DenseWeights(std::size_t n) : stored_(n, 0.0) {}
    void load(std::span<const double> weights) override {
        stored_.assign(weights.begin(), weights.end());
        scale_ = 1.0;
    }
    void store(std::span<double> weights) const override {
        for (std::size_t j = 0; j < stored_.size(); ++j) weights[j] = scale_ * stored_[j];
    }
    double scale() const override { return scale_; }
    void multiply(double factor) override {
        scale_ *= factor;
        if (std::abs(scale_) >= kSmallestScale) return;
        for (double& value : stored_) value *= scale_;
        scale_ = 1.0;
    }
    double squared_norm() const override {
        double sum = 0.0;
        for (const double value : stored_) sum += value * value;
        return scale_ * scale_ * sum;
    }
    double* stored() { return stored_.data(); }
    ScaledWeights view() const { return {stored_, scale_}; }

private:
    static constexpr double kSmallestScale = 1e-100;  // the scale is multiplied out before it underflows

    std::vector<double> stored_;
    double scale_ = 1.0;
};

}  // namespace tw
