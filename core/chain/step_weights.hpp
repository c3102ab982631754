// Weights that stochastic steps change in place, in single precision, however they lie (row_steps.hpp,
// block_steps.hpp).
//
// A step is some sequences, four at a time side by side:
//
//     rows --gather--> scores of four --forward, backward--> probabilities less gold --step--> rows
//     once[t]          a number for the gold label of each token, of the unit that occurs there only
//     transitions[i]   of each pair that has a weight
//
// What is stored is the score that a unit of g attributes adds, sqrt(g) z / scale; a step on z moves it by g times its
// gradient.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "../oracle.hpp"
#include "flat_layout.hpp"
#include "group_runner.hpp"

namespace tw::chain {

template <class Steps>
class StepWeights : public WorkingWeights {
public:
    using Layout = typename Steps::Layout;
    using Flat = typename Steps::Flat;  // what all working weights share

    StepWeights(const TrainingSet& set, const Layout& layout, std::shared_ptr<const Flat> flat)
        : set_(set),
          layout_(layout),
          flat_(std::move(flat)),
          once_(set.storage),
          transitions_(set.transition_pairs.size(), 0.0),
          whole_(set),
          steps_(set, layout, *flat_, whole_) {
        once_.assign(set.starts.back(), 0.0f);
        once_.expect(StoredBytes::Access::kAnywhere);
    }

    void load(std::span<const double> weights) override {
        scale_ = 1.0;
        steps_.each_weight(once_.data(), [&](std::size_t w, double factor, float& at) {
            at = static_cast<float>(factor * weights[w]);
        });
        std::ranges::copy(weights.subspan(set_.first_transition()), transitions_.begin());
    }

    void store(std::span<double> weights) const override {
        steps_.each_weight(once_.data(), [&](std::size_t w, double factor, const float& at) {
            weights[w] = scale_ * static_cast<double>(at) / factor;
        });
        for (std::size_t i = 0; i < transitions_.size(); ++i)
            weights[set_.first_transition() + i] = scale_ * transitions_[i];
    }

    double scale() const override { return scale_; }

    void multiply(double factor) override {
        scale_ *= factor;
        if (scale_ > 1e-6 && scale_ < 1e6) return;  // single precision: fold the scale in before it gets out of hand
        steps_.each_weight(once_.data(), [&](std::size_t, double, float& at) {
            at = static_cast<float>(scale_ * static_cast<double>(at));
        });
        for (double& w : transitions_) w *= scale_;
        scale_ = 1.0;
    }

    double squared_norm() const override {
        double sum = 0.0;
        steps_.each_weight(once_.data(), [&](std::size_t, double factor, const float& at) {
            const double weight = static_cast<double>(at) / factor;
            sum += weight * weight;
        });
        for (const double w : transitions_) sum += w * w;
        return scale_ * scale_ * sum;
    }

    // The summed loss of the sequences, and a step against its gradient.
    double descend(std::span<const std::uint32_t> sequences, double step, double cost_scale) {
        prepare(cost_scale);
        const std::size_t n_fours = (sequences.size() + kSideBySide - 1) / kSideBySide;
        if (fours_.size() < n_fours) fours_.resize(n_fours);
        double loss = 0.0;
        for (std::size_t i = 0; i < n_fours; ++i) {
            const std::size_t begin = i * kSideBySide, end = std::min(begin + kSideBySide, sequences.size());
            fours_[i].sequences.assign(sequences.begin() + begin, sequences.begin() + end);
            sort_longest_first(fours_[i].sequences);
            loss += evaluate(fours_[i]);
        }
        const double factor = -step / scale_;
        for (std::size_t i = 0; i < n_fours; ++i) update(fours_[i], static_cast<float>(factor));
        update_transitions(sequences, factor);
        return loss;
    }

private:
    struct Four {  // up to four sequences of a step, longest first
        std::vector<std::uint32_t> sequences;
        std::vector<float> probabilities;
    };

    // Equal ones stay in their order. They are four at most: std::stable_sort would ask for memory, each time.
    void sort_longest_first(std::vector<std::uint32_t>& sequences) const {
        for (std::size_t i = 1; i < sequences.size(); ++i)
            for (std::size_t j = i; j > 0 && set_.length(sequences[j]) > set_.length(sequences[j - 1]); --j)
                std::swap(sequences[j], sequences[j - 1]);
    }

    void prepare(double cost_scale) {
        scores_.resize(transitions_.size());
        for (std::size_t i = 0; i < scores_.size(); ++i) scores_[i] = scale_ * transitions_[i];
        whole_.set_transitions(scores_);
        edge_scores_ = steps_.set_transitions(scores_);
        if (cost_scale != cost_scale_) {
            whole_.set_cost_scale(cost_scale);
            steps_.set_cost_scale(cost_scale);
            cost_scale_ = cost_scale;
        }
        sums_.begin(layout_.n_edges(), false);
    }

    double evaluate(Four& four) {
        gather(four);
        const double gold = gold_score(four);
        sums_.loss = 0.0;
        if (!steps_.runner().run(four.sequences, four.probabilities.data(), sums_)) {
            gather(four);
            steps_.runner().run_carefully(four.sequences, four.probabilities.data(), sums_);
        }
        return sums_.loss - gold;
    }

    void gather(Four& four) const {
        const std::size_t stride = steps_.stride();
        std::size_t tokens = 0;
        for (const std::uint32_t s : four.sequences) {
            tokens += set_.length(s);
            if (set_.storage)
                set_.storage->touch(FlatLayout::kLists * kAround + flat_->bytes(set_.starts[s], set_.starts[s + 1]));
        }
        four.probabilities.resize(tokens * stride);
        float* scores = four.probabilities.data();
        for (const std::uint32_t s : four.sequences) {
            steps_.gather(once_.data(), set_.starts[s], set_.length(s), scores);
            scores += set_.length(s) * stride;
        }
        const auto factor = static_cast<float>(scale_);
        for (float& score : four.probabilities) score *= factor;
    }

    double gold_score(const Four& four) const {
        const float* scores = four.probabilities.data();
        double total = 0.0;
        for (const std::uint32_t s : four.sequences) {
            double score = 0.0;
            for (std::size_t t = set_.starts[s]; t < set_.starts[s + 1]; ++t, scores += steps_.stride()) {
                score += static_cast<double>(scores[layout_.gold_at(t)]);
                const std::uint32_t edge = t > set_.starts[s] ? layout_.edge_to(t) : kNoAttribute;
                if (edge != kNoAttribute) score += edge_scores_[edge];
            }
            total += set_.weight(s) * score;
        }
        return total;
    }

    void update(Four& four, float factor) {
        const std::size_t stride = steps_.stride();
        float *p = four.probabilities.data(), *once = once_.data();
        for (const std::uint32_t s : four.sequences) {
            const auto weight = static_cast<float>(set_.weight(s));
            const std::size_t begin = set_.starts[s], length = set_.length(s);
            for (std::size_t t = 0; t < length; ++t) {
                float& gold = p[t * stride + layout_.gold_at(begin + t)];
                gold -= weight;
                once[begin + t] += factor * flat_->once_members(begin + t) * gold;
            }
            steps_.step(begin, length, factor, p);
            p += length * stride;
        }
    }

    void update_transitions(std::span<const std::uint32_t> sequences, double factor) {
        for (const std::uint32_t s : sequences) {
            const double weight = set_.weight(s);
            for (std::size_t t = set_.starts[s] + 1; t < set_.starts[s + 1]; ++t) {
                const std::uint32_t edge = layout_.edge_to(t);
                if (edge != kNoAttribute) sums_.edges[edge] -= weight;
            }
        }
        for (std::size_t i = 0; i < transitions_.size(); ++i)
            transitions_[i] += factor * sums_.edges[layout_.edge_of(i)];
    }

    const TrainingSet& set_;
    const Layout& layout_;
    const std::shared_ptr<const Flat> flat_;
    double scale_ = 1.0;
    Stored<float> once_;
    std::vector<double> transitions_, scores_;  // of each pair that has a weight: stored, and true
    std::span<const double> edge_scores_;       // of the edges of the layout
    double cost_scale_ = -1.0;
    WholeFactors whole_;
    Steps steps_;
    GroupSums sums_;
    std::vector<Four> fours_;
};

}  // namespace tw::chain
