// What the recursions of training add to the scores of tokens: costs and constraints, which do not depend on weights,
// and transitions, as a matrix of all pairs of labels. Where most pairs have no weight: sparse_factors.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <span>
#include <vector>

#include "../base/huge_pages.hpp"
#include "../base/semiring.hpp"
#include "../kernels/training.hpp"
#include "training_set.hpp"

namespace tw::chain {

inline std::size_t padded_to(std::size_t n, std::size_t multiple) { return (n + multiple - 1) / multiple * multiple; }

// Scores that do not depend on weights, in rows of `stride` numbers. `position` is where each label is in a row, where
// that is not its number; `gold` are the positions of the gold labels.
template <class Real>
class FixedScores {
public:
    FixedScores(const TrainingSet& set, std::size_t stride, std::span<const std::uint16_t> position,
                const Stored<std::uint16_t>& gold)
        : set_(set), position_(position), gold_(gold), stride_(stride), base_(stride, -kInfinite) {
        std::fill_n(base_.begin(), set.n_labels(), Real{0});
        if (!set.constrained()) return;
        for (const auto* allowed : {&set.settings.constraints.start, &set.settings.constraints.end}) {
            const std::size_t row = ends_.size();
            ends_.insert(ends_.end(), base_.begin(), base_.end());
            for (std::size_t y = 0; y < set.n_labels(); ++y)
                if (!(*allowed)[y]) ends_[row + at(y)] = -kInfinite;
        }
    }

    std::size_t stride() const { return stride_; }
    const Real* base() const { return base_.data(); }  // 0 for labels and -inf for padding

    void set_cost_scale(double scale) {
        costs_.clear();
        if (scale == 0.0) return;
        const std::size_t K = set_.n_labels();
        costs_.assign(K * stride_, Real{0});
        for (std::size_t gold = 0; gold < K; ++gold)
            for (std::size_t y = 0; y < K; ++y)
                costs_[at(gold) * stride_ + at(y)] = static_cast<Real>(scale * set_.cost(gold, y));
    }
    // Adds costs and constraints to the scores of a sequence.
    void adjust(Real* scores, std::size_t sequence) const {
        const std::size_t begin = set_.starts[sequence], length = set_.length(sequence);
        const auto add = [&](std::size_t t, const Real* row) {
            for (std::size_t y = 0; y < stride_; ++y) scores[t * stride_ + y] += row[y];
        };
        if (!costs_.empty())
            for (std::size_t t = 0; t < length; ++t) add(t, costs_.data() + gold_[begin + t] * stride_);
        if (ends_.empty()) return;
        add(0, ends_.data());
        add(length - 1, ends_.data() + stride_);
    }

private:
    static constexpr Real kInfinite = std::numeric_limits<Real>::infinity();
    std::size_t at(std::size_t label) const { return position_.empty() ? label : position_[label]; }

    const TrainingSet& set_;
    std::span<const std::uint16_t> position_;
    const Stored<std::uint16_t>& gold_;
    std::size_t stride_;
    std::vector<Real> base_, ends_, costs_;
};

// With transition scores as the recursions want them. One per precision.
template <class Real>
class Factors : public FixedScores<Real> {
public:
    explicit Factors(const TrainingSet& set)
        : FixedScores<Real>(set, padded(set.n_labels()), {}, set.gold), n_labels_(set.n_labels()) {}

    static std::size_t padded(std::size_t n) {
        return padded_to(n, std::max<std::size_t>(training_loops<Real>().row_width, 4));  // recursions go by fours
    }
    void set_transitions(std::span<const double> scores) {  // [n_labels][n_labels], -inf where forbidden
        const std::size_t stride = this->stride();
        moves_.forward = buffer_.get(2 * stride * stride);
        moves_.backward = moves_.forward + stride * stride;
        training_loops<Real>().pack(scores.data(), n_labels_, stride, moves_);
    }
    const Moves<Real>& moves() const { return moves_; }

private:
    std::size_t n_labels_;
    Buffer<Real> buffer_;
    Moves<Real> moves_{};
};

// The whole matrix of transitions in double precision, made when somebody needs it. Several threads may ask.
class WholeFactors {
public:
    explicit WholeFactors(const TrainingSet& set) : set_(set), factors_(set) {}

    void set_transitions(std::span<const double> scores) {  // of each pair that has a weight
        pairs_.assign(scores.begin(), scores.end());
        has_scores_ = has_factors_ = false;
    }
    void set_cost_scale(double scale) {
        cost_scale_ = scale;
        has_factors_ = false;
    }
    std::span<const double> scores() {  // [n_labels][n_labels], -inf where forbidden
        const std::lock_guard guard(lock_);
        make_scores();
        return scores_;
    }
    const Factors<double>& factors() {
        const std::lock_guard guard(lock_);
        if (!has_factors_) {
            make_scores();
            factors_.set_transitions(scores_);
            factors_.set_cost_scale(cost_scale_);
            has_factors_ = true;
        }
        return factors_;
    }

private:
    void make_scores() {
        if (has_scores_) return;
        scores_.resize(set_.n_labels() * set_.n_labels(), 0.0);  // pairs without a weight stay 0
        for (std::size_t i = 0; i < pairs_.size(); ++i) scores_[set_.transition_pairs[i]] = pairs_[i];
        if (set_.constrained())
            for (std::size_t i = 0; i < scores_.size(); ++i)
                if (!set_.settings.constraints.transitions[i]) scores_[i] = kLogZero;
        has_scores_ = true;
    }

    const TrainingSet& set_;
    std::mutex lock_;
    bool has_scores_ = false, has_factors_ = false;
    double cost_scale_ = 0.0;
    std::vector<double> pairs_, scores_;
    Factors<double> factors_;
};

}  // namespace tw::chain
