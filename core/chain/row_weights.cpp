#include "row_weights.hpp"

#include <algorithm>
#include <cmath>

namespace tw::chain {

RowWeights::RowWeights(const TrainingSet& set, const RowLayout& layout, std::shared_ptr<const FlatLayout> flat)
    : set_(set),
      layout_(layout),
      flat_(std::move(flat)),
      stride_(Factors<float>::padded(set.n_labels())),
      transitions_(set.n_labels() * set.n_labels(), 0.0),
      trained_(transitions_.size(), 0),
      scores_(transitions_.size(), 0.0),
      once_(set.storage),
      single_(set),
      twice_(set),
      runner_(set, scores_, twice_) {
    const std::size_t rows = layout.n_unit_rows * stride_, size = rows + layout.n_entries;
    float* data = data_.get(size);
    fill_zeros(data, size);
    once_.assign(set.starts.back(), 0.0f);
    once_.expect(StoredBytes::Access::kAnywhere);
    stored_ = {data, data + rows, once_.data()};
    for (const std::uint32_t pair : set.transition_pairs) trained_[pair] = 1;
}

// Calls visit(weight, unit's factor, where it is stored).
template <class Visit>
void RowWeights::each_weight(Visit visit) const {
    const WeightTable& table = set_.unit_weights;
    InterruptCheck check;
    Touches touched(set_.storage);
    for (std::size_t r = 0; r < layout_.n_unit_rows; ++r) {
        check();
        const std::uint32_t u = layout_.row_units[r];
        for (std::uint32_t w = table.starts[u]; w < table.starts[u + 1]; ++w)
            visit(w, set_.factor(u), stored_.rows + r * stride_ + table.labels[w]);
    }
    for (std::size_t e = 0; e < layout_.n_entries; ++e) {
        check();
        visit(layout_.entry_weights[e].weight, set_.factor(layout_.entry_weights[e].unit), stored_.entries + e);
    }
    for (const std::uint32_t u : layout_.once_units) {
        check();
        touched(sizeof(float));
        visit(table.starts[u], set_.factor(u), stored_.once + layout_.index[u]);
    }
}

void RowWeights::load(std::span<const double> weights) {
    scale_ = 1.0;
    each_weight([&](std::size_t w, double factor, float* at) { *at = static_cast<float>(factor * weights[w]); });
    for (std::size_t i = 0; i < set_.transition_pairs.size(); ++i)
        transitions_[set_.transition_pairs[i]] = weights[set_.first_transition() + i];
}

void RowWeights::store(std::span<double> weights) const {
    each_weight([&](std::size_t w, double factor, const float* at) {
        weights[w] = scale_ * static_cast<double>(*at) / factor;
    });
    for (std::size_t i = 0; i < set_.transition_pairs.size(); ++i)
        weights[set_.first_transition() + i] = scale_ * transitions_[set_.transition_pairs[i]];
}

void RowWeights::multiply(double factor) {
    scale_ *= factor;
    if (scale_ > 1e-6 && scale_ < 1e6) return;  // single precision: fold the scale in before it gets out of hand
    each_weight([&](std::size_t, double, float* at) { *at = static_cast<float>(scale_ * static_cast<double>(*at)); });
    for (double& w : transitions_) w *= scale_;
    scale_ = 1.0;
}

double RowWeights::squared_norm() const {
    double sum = 0.0;
    each_weight([&](std::size_t, double factor, const float* at) {
        const double weight = static_cast<double>(*at) / factor;
        sum += weight * weight;
    });
    for (const double w : transitions_) sum += w * w;
    return scale_ * scale_ * sum;
}

double RowWeights::descend(std::span<const std::uint32_t> sequences, double step, double cost_scale) {
    prepare(cost_scale);
    const std::size_t n_parts = (sequences.size() + kSideBySide - 1) / kSideBySide;
    if (parts_.size() < n_parts) parts_.resize(n_parts);
    double loss = 0.0;
    for (std::size_t i = 0; i < n_parts; ++i) {
        const auto mine = sequences.subspan(i * kSideBySide, std::min(kSideBySide, sequences.size() - i * kSideBySide));
        parts_[i].sequences.assign(mine.begin(), mine.end());
        std::ranges::stable_sort(parts_[i].sequences,
                                 [&](std::uint32_t a, std::uint32_t b) { return set_.length(a) > set_.length(b); });
        loss += evaluate(parts_[i]);
    }
    const double factor = -step / scale_;
    for (std::size_t i = 0; i < n_parts; ++i) update(parts_[i], static_cast<float>(factor));
    update_transitions(sequences, factor);
    return loss;
}

void RowWeights::prepare(double cost_scale) {
    for (std::size_t i = 0; i < scores_.size(); ++i) scores_[i] = scale_ * transitions_[i];
    if (set_.constrained())
        for (std::size_t i = 0; i < scores_.size(); ++i)
            if (!set_.settings.constraints.transitions[i]) scores_[i] = kLogZero;
    single_.set_transitions(scores_);
    if (cost_scale != cost_scale_) {
        single_.set_cost_scale(cost_scale);
        twice_.set_cost_scale(cost_scale);
        cost_scale_ = cost_scale;
    }
    sums_.edges.assign(scores_.size(), 0.0);
}

double RowWeights::evaluate(Part& part) {
    gather(part);
    float* local = part.probabilities.data();
    const double gold = gold_score(part, local);
    sums_.loss = 0.0;
    if (!runner_.run(single_, part.sequences, group_rows_, local, sums_)) {
        gather(part);
        twice_.set_transitions(scores_);
        runner_.run_carefully(part.sequences, local, stride_, sums_);
    }
    return sums_.loss - gold;
}

void RowWeights::gather(Part& part) const {
    std::size_t tokens = 0;
    for (const std::uint32_t s : part.sequences) {
        tokens += set_.length(s);
        if (set_.storage)
            set_.storage->touch(FlatLayout::kLists * kAround + flat_->bytes(set_.starts[s], set_.starts[s + 1]));
    }
    part.probabilities.resize(tokens * stride_);
    float* scores = part.probabilities.data();
    for (const std::uint32_t s : part.sequences) {
        training_loops<float>().gather(flat_->token_lists(), stored_, stride_, single_.base(), set_.starts[s],
                                       set_.length(s), scores);
        scores += set_.length(s) * stride_;
    }
    const auto factor = static_cast<float>(scale_);
    for (float& score : part.probabilities) score *= factor;
}

double RowWeights::gold_score(const Part& part, const float* scores) const {
    double total = 0.0;
    for (const std::uint32_t s : part.sequences) {
        double score = 0.0;
        for (std::size_t t = set_.starts[s]; t < set_.starts[s + 1]; ++t, scores += stride_) {
            score += static_cast<double>(scores[set_.gold[t]]);
            if (t > set_.starts[s]) score += scores_[set_.gold[t - 1] * set_.n_labels() + set_.gold[t]];
        }
        total += set_.weight(s) * score;
    }
    return total;
}

void RowWeights::update(Part& part, float factor) {
    float* p = part.probabilities.data();
    for (const std::uint32_t s : part.sequences) {
        const auto weight = static_cast<float>(set_.weight(s));
        const std::size_t begin = set_.starts[s], length = set_.length(s);
        for (std::size_t t = 0; t < length; ++t) {
            float& gold = p[t * stride_ + set_.gold[begin + t]];
            gold -= weight;
            stored_.once[begin + t] += factor * flat_->once_members(begin + t) * gold;
        }
        training_loops<float>().step(flat_->token_lists(), stored_, flat_->members(), stride_, begin, length, factor,
                                     p);
        p += length * stride_;
    }
}

void RowWeights::update_transitions(std::span<const std::uint32_t> sequences, double factor) {
    for (const std::uint32_t s : sequences)
        for (std::size_t t = set_.starts[s] + 1; t < set_.starts[s + 1]; ++t)
            sums_.edges[set_.gold[t - 1] * set_.n_labels() + set_.gold[t]] -= set_.weight(s);
    for (std::size_t i = 0; i < transitions_.size(); ++i)
        if (trained_[i]) transitions_[i] += factor * sums_.edges[i];
}

}  // namespace tw::chain
