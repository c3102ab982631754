// The weights of an online learner: w = a v, so that scaling costs nothing, and a running sum for their average.
//
// The average of w_1 .. w_T, each counted c_t times, is kept lazily (Collins 2002; with scaling Xu 2011, the thesis's
// 6.5). With A_t = c_1 a_1 + ... + c_t a_t and v = sum of the changes d_r made after A_r was reached,
//     sum_t c_t a_t v_t  =  A_T v - sum_r A_r d_r,
// so a change costs two additions per non-zero, and counting a step costs one in all.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "../huge_pages.hpp"
#include "../oracle.hpp"
#include "../prefetch.hpp"

namespace tw::learners {

class AveragedWeights {
public:
    explicit AveragedWeights(std::span<const double> start) : stored_(start.begin(), start.end()) {}

    std::size_t size() const { return stored_.size(); }
    ScaledWeights view() const { return {stored_, scale_}; }
    double scale() const { return scale_; }

    void grow(std::size_t n) {
        if (n <= stored_.size()) return;
        stored_.resize(n, 0.0);
        if (!passed_.empty()) passed_.resize(n, 0.0);
    }

    double dot(const SparseVector& x) const {
        double sum = 0.0;
        for (std::size_t i = 0; i < x.size(); ++i) sum += stored_[x.indices[i]] * x.values[i];
        return scale_ * sum;
    }

    // A hint that add() will come soon. What was passed is read by nothing else, and so is far away.
    void fetch(const SparseVector& x) const {
        if (passed_.empty()) return;
        for (const std::uint32_t j : x.indices) fetch_ahead(&passed_[j]);
    }

    // w += step * x
    void add(const SparseVector& x, double step) {
        const double factor = step / scale_;
        if (counted_ == 0.0) {
            for (std::size_t i = 0; i < x.size(); ++i) stored_[x.indices[i]] += factor * x.values[i];
            return;
        }
        if (passed_.empty()) passed_.resize(stored_.size(), 0.0);
        const double late = factor * counted_;
        for (std::size_t i = 0; i < x.size(); ++i) {  // both at once: each waits for memory
            stored_[x.indices[i]] += factor * x.values[i];
            passed_[x.indices[i]] += late * x.values[i];
        }
    }

    // w *= factor
    void multiply(double factor) {
        scale_ *= factor;
        const double size = scale_ < 0.0 ? -scale_ : scale_;
        if (size < kSmallest || size > kLargest) multiply_out();
    }

    // The weights as they are now enter the average `times` times.
    void count(double times = 1.0) {
        counted_ += times * scale_;
        total_ += times;
    }

    double squared_norm() const {
        double sum = 0.0;
        for (const double x : stored_) sum += x * x;
        return scale_ * scale_ * sum;
    }

    std::vector<double> current() const;
    std::vector<double> average() const;  // of the weights counted; the current ones when none were

    // All of the above as one vector of numbers, and back.
    std::vector<double> state() const;
    void restore(std::span<const double> state);

private:
    // A_T v and sum_r A_r d_r are up to 1/a times their difference, so that a scale of 1e-4 costs four digits of
    // sixteen.
    static constexpr double kSmallest = 1e-4, kLargest = 1e4;
    void multiply_out();

    LargeArray<double> stored_, passed_;  // v, and sum_r A_r d_r
    double scale_ = 1.0, counted_ = 0.0, total_ = 0.0;
};

}  // namespace tw::learners
