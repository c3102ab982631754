// The weights of an online learner: w = a v, so that scaling costs nothing, and a running sum for their average.
//
// The average of w_1 .. w_T, each counted c_t times, is kept lazily (Collins 2002; with scaling Xu 2011, Mančev
// 2015, sec. 6.5). With A_t = c_1 a_1 + ... + c_t a_t and v = sum of the changes d_r made after A_r was reached,
//     sum_t c_t a_t v_t  =  A_T v - sum_r A_r d_r,
// so a change costs two additions per non-zero, and counting a step costs one in all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "../base/huge_pages.hpp"
#include "../oracle.hpp"

namespace tw::learners {

class AveragedWeights {
public:
    // `rounded`: the oracle reads them in single precision. Only changes then need v itself, which is kept beside what
    // was passed, for both are far away. `layout`: where rounded weights are read; who says so keeps it.
    explicit AveragedWeights(std::span<const double> start, bool rounded = false, const RoundedLayout& layout = {});

    std::size_t size() const { return stored_.size() / stride_; }
    ScaledWeights view() const {
        if (rounds()) return {{}, scale_, rounded_, &changes_};
        return {stored_, scale_, {}, &changes_};
    }
    double scale() const { return scale_; }

    void grow(std::size_t n) {
        if (n <= size()) return;
        stored_.resize(n * stride_, 0.0);
        if (rounds() && layout_.places.empty()) rounded_.resize(n, 0.0f);
        if (!passed_.empty()) passed_.resize(n, 0.0);
    }

    double dot(const SparseVector& x) const {
        double sum = 0.0;
        if (x.counts.empty())
            for (std::size_t i = 0; i < x.size(); ++i) sum += stored_[x.indices[i] * stride_] * x.values[i];
        else
            for (std::size_t i = 0; i < x.size(); ++i)
                sum += stored_[x.indices[i] * stride_] * x.values[i] * x.counts[i];
        return scale_ * sum;
    }

    // What add() changes and no oracle has read just now.
    PrefetchTarget touched() const {
        if (rounds()) return {stored_.data(), 2 * sizeof(double)};
        return passed_.empty() ? PrefetchTarget{} : PrefetchTarget{passed_.data(), sizeof(double)};
    }

    // w += step * x
    void add(const SparseVector& x, double step) {
        const double factor = step / scale_, late = factor * counted_;
        changes_.note(x.indices);
        if (rounds()) {
            for (std::size_t i = 0; i < x.size(); ++i) {
                double* both = &stored_[x.indices[i] * 2];
                both[0] += factor * x.values[i];
                both[1] += late * x.values[i];
                round(x.indices[i], both[0]);
            }
            return;
        }
        if (counted_ == 0.0) {
            for (std::size_t i = 0; i < x.size(); ++i) stored_[x.indices[i]] += factor * x.values[i];
            return;
        }
        if (passed_.empty()) passed_.resize(stored_.size(), 0.0);
        for (std::size_t i = 0; i < x.size(); ++i) {  // both at once: each waits for memory
            stored_[x.indices[i]] += factor * x.values[i];
            passed_[x.indices[i]] += late * x.values[i];
        }
    }

    // w_j = max(w_j, 0); returns what w_j was.
    double raise_to_zero(std::uint32_t j) {
        double& v = stored_[j * stride_];
        const double was = scale_ * v;
        if (!(was < 0.0)) return was;
        if (rounds()) {
            stored_[j * 2 + 1] -= v * counted_;
            round(j, 0.0);
        } else if (counted_ != 0.0) {
            if (passed_.empty()) passed_.resize(stored_.size(), 0.0);
            passed_[j] -= v * counted_;
        }
        v = 0.0;
        changes_.note({&j, 1});
        return was;
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
        for (std::size_t j = 0; j < stored_.size(); j += stride_) sum += stored_[j] * stored_[j];
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
    void round();
    void round(std::uint32_t j, double v) {
        if (layout_.places.empty()) {
            rounded_[j] = rounded(v);
        } else {
            const RoundedPlace at = layout_.places[j];
            rounded_[at.place] = rounded(v * at.factor);
        }
    }
    // Far from where sums of single precision would overflow.
    static float rounded(double v) { return static_cast<float>(std::clamp(v, -1e30, 1e30)); }
    bool rounds() const { return stride_ == 2; }
    double passed(std::size_t j) const { return rounds() ? stored_[j * 2 + 1] : passed_.empty() ? 0.0 : passed_[j]; }

    std::size_t stride_;                  // of v in stored_
    LargeArray<double> stored_, passed_;  // v, and sum_r A_r d_r, which stands behind each v if that is rounded
    LargeArray<float> rounded_;           // v as the layout has it, or empty
    RoundedLayout layout_;
    double scale_ = 1.0, counted_ = 0.0, total_ = 0.0;
    ChangeLog changes_;  // of v
};

}  // namespace tw::learners
