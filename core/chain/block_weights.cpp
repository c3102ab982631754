#include "block_weights.hpp"

#include <algorithm>

namespace tw::chain {

FlatBlocks::FlatBlocks(const TrainingSet& set, const BlockLayout& layout, std::size_t n_jobs)
    : flat(set, layout.rows, n_jobs, false), cells(layout.n_unit_values() / kBlockLabels, 0) {
    for (std::size_t u = 0; u < set.units.size(); ++u) {
        if (layout.rows.place[u] != Place::kRow) continue;
        for (std::uint32_t w = set.unit_weights.starts[u]; w < set.unit_weights.starts[u + 1]; ++w)
            cells[layout.slots[w] / kBlockLabels] |= static_cast<std::uint8_t>(1u << layout.slots[w] % kBlockLabels);
    }
}

BlockWeights::BlockWeights(const TrainingSet& set, const BlockLayout& layout, std::shared_ptr<const FlatBlocks> flat)
    : set_(set),
      layout_(layout),
      flat_(std::move(flat)),
      once_(set.storage),
      transitions_(set.transition_pairs.size(), 0.0),
      scores_(set.transition_pairs.size(), 0.0),
      factors_(set, layout),
      whole_(set),
      runner_(set, layout, factors_, whole_) {
    fill_zeros(values_.get(layout.n_unit_values()), layout.n_unit_values());
    once_.assign(set.starts.back(), 0.0f);
    once_.expect(StoredBytes::Access::kAnywhere);
}

// Calls visit(weight, unit's factor, where it is stored).
template <class Visit>
void BlockWeights::each_weight(Visit visit) const {
    const WeightTable& table = set_.unit_weights;
    InterruptCheck check;
    Touches touched(set_.storage);
    for (std::size_t u = 0; u < set_.units.size(); ++u) {
        check();
        const double factor = set_.factor(u);
        const bool once = layout_.rows.place[u] == Place::kOnce;
        if (once) touched(sizeof(float));
        float* const to = once ? const_cast<float*>(once_.data()) : values_.data();
        for (std::uint32_t w = table.starts[u]; w < table.starts[u + 1]; ++w) visit(w, factor, to + layout_.slots[w]);
    }
}

void BlockWeights::load(std::span<const double> weights) {
    scale_ = 1.0;
    each_weight([&](std::size_t w, double factor, float* at) { *at = static_cast<float>(factor * weights[w]); });
    std::ranges::copy(weights.subspan(set_.first_transition()), transitions_.begin());
}

void BlockWeights::store(std::span<double> weights) const {
    each_weight([&](std::size_t w, double factor, const float* at) {
        weights[w] = scale_ * static_cast<double>(*at) / factor;
    });
    for (std::size_t i = 0; i < transitions_.size(); ++i)
        weights[set_.first_transition() + i] = scale_ * transitions_[i];
}

void BlockWeights::multiply(double factor) {
    scale_ *= factor;
    if (scale_ > 1e-6 && scale_ < 1e6) return;  // single precision: fold the scale in before it gets out of hand
    each_weight([&](std::size_t, double, float* at) { *at = static_cast<float>(scale_ * static_cast<double>(*at)); });
    for (double& w : transitions_) w *= scale_;
    scale_ = 1.0;
}

double BlockWeights::squared_norm() const {
    double sum = 0.0;
    each_weight([&](std::size_t, double factor, const float* at) {
        const double weight = static_cast<double>(*at) / factor;
        sum += weight * weight;
    });
    for (const double w : transitions_) sum += w * w;
    return scale_ * scale_ * sum;
}

double BlockWeights::descend(std::span<const std::uint32_t> sequences, double step, double cost_scale) {
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

void BlockWeights::prepare(double cost_scale) {
    for (std::size_t i = 0; i < scores_.size(); ++i) scores_[i] = scale_ * transitions_[i];
    factors_.set_transitions(scores_);
    whole_.set_transitions(scores_);
    if (cost_scale != cost_scale_) {
        factors_.set_cost_scale(cost_scale);
        whole_.set_cost_scale(cost_scale);
        cost_scale_ = cost_scale;
    }
    sums_.edges.assign(scores_.size(), 0.0);
}

double BlockWeights::evaluate(Part& part) {
    gather(part);
    const double gold = gold_score(part);
    sums_.loss = 0.0;
    if (!runner_.run(part.sequences, part.probabilities.data(), sums_)) {
        gather(part);
        runner_.run_carefully(part.sequences, part.probabilities.data(), sums_);
    }
    return sums_.loss - gold;
}

void BlockWeights::gather(Part& part) const {
    std::size_t tokens = 0;
    for (const std::uint32_t s : part.sequences) {
        tokens += set_.length(s);
        if (set_.storage)
            set_.storage->touch(FlatLayout::kLists * kAround + flat_->flat.bytes(set_.starts[s], set_.starts[s + 1]));
    }
    part.probabilities.resize(tokens * factors_.stride());
    float* scores = part.probabilities.data();
    for (const std::uint32_t s : part.sequences) {
        many_label_loops<float>().gather(token_lists(), layout_.block_rows(), values_.data(), once_.data(),
                                         factors_.base(), factors_.stride(), set_.starts[s], set_.length(s), scores);
        scores += set_.length(s) * factors_.stride();
    }
    const auto factor = static_cast<float>(scale_);
    for (float& score : part.probabilities) score *= factor;
}

double BlockWeights::gold_score(const Part& part) const {
    const float* scores = part.probabilities.data();
    double total = 0.0;
    for (const std::uint32_t s : part.sequences) {
        double score = 0.0;
        for (std::size_t t = set_.starts[s]; t < set_.starts[s + 1]; ++t, scores += factors_.stride()) {
            score += static_cast<double>(scores[layout_.gold[t]]);
            const std::size_t pair = t > set_.starts[s] ? layout_.gold_pairs[t] : kNoAttribute;
            if (pair != kNoAttribute) score += scores_[pair];
        }
        total += set_.weight(s) * score;
    }
    return total;
}

void BlockWeights::update(Part& part, float factor) {
    const std::size_t stride = factors_.stride();
    float* p = part.probabilities.data();
    for (const std::uint32_t s : part.sequences) {
        const auto weight = static_cast<float>(set_.weight(s));
        const std::size_t begin = set_.starts[s], length = set_.length(s);
        for (std::size_t t = 0; t < length; ++t) {
            float& gold = p[t * stride + layout_.gold[begin + t]];
            gold -= weight;
            once_[begin + t] += factor * flat_->flat.once_members(begin + t) * gold;
        }
        many_label_loops<float>().step(token_lists(), layout_.block_rows(), values_.data(), flat_->flat.members().rows,
                                       flat_->cells.data(), stride, begin, length, factor, p);
        p += length * stride;
    }
}

void BlockWeights::update_transitions(std::span<const std::uint32_t> sequences, double factor) {
    for (const std::uint32_t s : sequences)
        for (std::size_t t = set_.starts[s] + 1; t < set_.starts[s + 1]; ++t)
            if (layout_.gold_pairs[t] != kNoAttribute) sums_.edges[layout_.gold_pairs[t]] -= set_.weight(s);
    for (std::size_t i = 0; i < transitions_.size(); ++i) transitions_[i] += factor * sums_.edges[i];
}

TokenLists BlockWeights::token_lists() const {
    TokenLists lists = flat_->flat.token_lists();
    lists.gold = layout_.gold.data();
    return lists;
}

}  // namespace tw::chain
