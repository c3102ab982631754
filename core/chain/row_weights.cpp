#include "row_weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tw::chain {
namespace {

constexpr std::uint32_t kCopied = 8;
static_assert(kCopied <= kListPadding);

}  // namespace

RowWeights::RowWeights(const TrainingSet& set, const RowLayout& layout)
    : set_(set),
      layout_(layout),
      strides_(Factors<float>::strides(set.n_labels())),
      stride_(strides_.scores),
      row_members_(layout.n_unit_rows, 0.0f),
      entry_members_(layout.n_entries, 1.0f),
      once_members_(set.starts.back(), 0.0f),
      transitions_(set.n_labels() * set.n_labels(), 0.0),
      trained_(transitions_.size(), 0),
      scores_(transitions_.size(), 0.0),
      single_(set),
      twice_(set),
      runner_(set, scores_, twice_) {
    const std::size_t rows = row_members_.size() * strides_.weights;
    const std::size_t size = rows + layout.n_entries + once_members_.size();
    float* data = data_.get(size);
    std::fill_n(data, size, 0.0f);
    stored_ = {data, data + rows, data + rows + layout.n_entries};
    const std::size_t width = training_loops<float>().width, packs = stride_ / width;
    cells_.assign(row_members_.size() * packs, 0);
    for (std::size_t u = 0; u < set.units.size(); ++u) {
        const auto members = static_cast<float>(set.units.n_members[u]);
        const std::uint32_t begin = set.unit_weights.starts[u], end = set.unit_weights.starts[u + 1];
        if (layout.place[u] == Place::kRow) {
            row_members_[layout.index[u]] = members;
            for (std::uint32_t w = begin; w < end; ++w) {
                const std::uint32_t label = set.unit_weights.labels[w];
                cells_[layout.index[u] * packs + label / width] |= static_cast<std::uint16_t>(1u << label % width);
            }
        } else if (layout.place[u] == Place::kOnce) {
            once_members_[layout.index[u]] = members;
        } else {
            std::fill_n(entry_members_.begin() + layout.index[u], end - begin, members);
        }
    }
    members_ = {row_members_.data(), entry_members_.data(), cells_.data(), packs};
    for (const std::uint32_t pair : set.transition_pairs) trained_[pair] = 1;
}

// Calls visit(weight, unit, where it is stored).
template <class Visit>
void RowWeights::each_weight(Visit visit) const {
    const WeightTable& table = set_.unit_weights;
    for (std::size_t u = 0; u < set_.units.size(); ++u)
        for (std::uint32_t w = table.starts[u]; w < table.starts[u + 1]; ++w) {
            const std::size_t index = layout_.index[u];
            if (layout_.place[u] == Place::kRow)
                visit(w, u, stored_.rows + index * strides_.weights + table.labels[w]);
            else if (layout_.place[u] == Place::kEntries)
                visit(w, u, stored_.entries + index + (w - table.starts[u]));
            else
                visit(w, u, stored_.once + index);
        }
}

void RowWeights::load(std::span<const double> weights) {
    scale_ = 1.0;
    each_weight(
        [&](std::size_t w, std::size_t u, float* at) { *at = static_cast<float>(set_.factor(u) * weights[w]); });
    for (std::size_t i = 0; i < set_.transition_pairs.size(); ++i)
        transitions_[set_.transition_pairs[i]] = weights[set_.first_transition() + i];
}

void RowWeights::store(std::span<double> weights) const {
    each_weight([&](std::size_t w, std::size_t u, const float* at) {
        weights[w] = scale_ * static_cast<double>(*at) / set_.factor(u);
    });
    for (std::size_t i = 0; i < set_.transition_pairs.size(); ++i)
        weights[set_.first_transition() + i] = scale_ * transitions_[set_.transition_pairs[i]];
}

void RowWeights::multiply(double factor) {
    scale_ *= factor;
    if (scale_ > 1e-6 && scale_ < 1e6) return;  // single precision: fold the scale in before it gets out of hand
    each_weight(
        [&](std::size_t, std::size_t, float* at) { *at = static_cast<float>(scale_ * static_cast<double>(*at)); });
    for (double& w : transitions_) w *= scale_;
    scale_ = 1.0;
}

double RowWeights::squared_norm() const {
    double sum = 0.0;
    each_weight([&](std::size_t, std::size_t u, const float* at) {
        sum += static_cast<double>(*at) * static_cast<double>(*at) / static_cast<double>(set_.units.n_members[u]);
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
    flatten(part);
    const TokenLists lists = part.flat.view();
    part.probabilities.resize(part.flat.n_tokens * stride_);
    float* local = part.probabilities.data();
    RowArrays<float> weights = stored_;
    weights.once = part.flat.once.data();
    const auto gather = [&] {
        training_loops<float>().gather(lists, weights, strides_, single_.base(), 0, part.flat.n_tokens, local);
        const auto factor = static_cast<float>(scale_);
        for (std::size_t i = 0; i < part.flat.n_tokens * stride_; ++i) local[i] *= factor;
    };
    gather();
    const double gold = gold_score(part, local);
    sums_.loss = 0.0;
    if (!runner_.run(single_, part.sequences, group_rows_, local, sums_)) {
        gather();
        twice_.set_transitions(scores_);
        runner_.run_carefully(part.sequences, local, stride_, sums_);
    }
    return sums_.loss - gold;
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

void RowWeights::flatten(Part& part) const {
    Flat& flat = part.flat;
    flat.clear();
    const Lists &cr = layout_.composite_rows, &ce = layout_.composite_entries;
    const bool valued = !layout_.row_values.empty() || !layout_.entry_values.empty();
    for (const std::uint32_t s : part.sequences) {
        const std::size_t begin = set_.starts[s], end = set_.starts[s + 1];
        flat.gold.insert(flat.gold.end(), set_.gold.begin() + begin, set_.gold.begin() + end);
        flat.once.insert(flat.once.end(), stored_.once + begin, stored_.once + end);
        for (std::size_t t = begin; t < end; ++t) {
            const std::uint32_t first_row = layout_.rows.starts[t], last_row = layout_.rows.starts[t + 1];
            const std::uint32_t first_entry = layout_.entries.starts[t], last_entry = layout_.entries.starts[t + 1];
            flat.make_room((last_row - first_row) * kMostMembers,
                           (last_row - first_row) * kMostMembers * kMostEntries + (last_entry - first_entry));
            const auto in_group = static_cast<std::uint32_t>(flat.n_tokens++) << kLabelBits;
            for (std::uint32_t i = first_row; i < last_row; ++i) {
                const std::uint32_t row = layout_.rows.items[i];
                if (row < layout_.n_unit_rows) {
                    flat.rows.items[flat.n_rows++] = row;
                } else {
                    const std::size_t c = row - layout_.n_unit_rows;
                    flat.add_rows(cr.items.data() + cr.starts[c], cr.starts[c + 1] - cr.starts[c]);
                    for (std::uint32_t j = ce.starts[c]; j < ce.starts[c + 1]; ++j)
                        flat.add_entry(ce.items[j], in_group | layout_.composite_entry_labels[j]);
                }
            }
            for (std::uint32_t j = first_entry; j < last_entry; ++j)
                flat.add_entry(layout_.entries.items[j],
                               in_group | (layout_.entry_places[j] & ((1u << kLabelBits) - 1)));
            flat.rows.starts.push_back(flat.n_rows);
            flat.entries.starts.push_back(flat.n_entries);
            if (valued) add_valued(t, flat);
        }
    }
    flat.make_room(kListPadding, kListPadding);
    std::fill_n(flat.rows.items.begin() + flat.n_rows, kListPadding, 0u);
    std::fill_n(flat.entries.items.begin() + flat.n_entries, kListPadding, 0u);
}

void RowWeights::add_valued(std::size_t t, Flat& flat) const {
    const auto add = [](auto& to, const auto& from, std::size_t begin, std::size_t end) {
        to.insert(to.end(), from.begin() + begin, from.begin() + end);
    };
    const Lists &vr = layout_.valued_rows, &ve = layout_.valued_entries;
    add(flat.valued_rows.items, vr.items, vr.starts[t], vr.starts[t + 1]);
    add(flat.row_values, layout_.row_values, vr.starts[t], vr.starts[t + 1]);
    add(flat.valued_entries.items, ve.items, ve.starts[t], ve.starts[t + 1]);
    add(flat.valued_entry_labels, layout_.valued_entry_labels, ve.starts[t], ve.starts[t + 1]);
    add(flat.entry_values, layout_.entry_values, ve.starts[t], ve.starts[t + 1]);
    flat.valued_rows.end();
    flat.valued_entries.end();
}

void RowWeights::update(Part& part, float factor) {
    float* p = part.probabilities.data();
    std::size_t token = 0;
    for (const std::uint32_t s : part.sequences) {
        const auto weight = static_cast<float>(set_.weight(s));
        for (std::size_t t = set_.starts[s]; t < set_.starts[s + 1]; ++t, ++token) {
            p[token * stride_ + set_.gold[t]] -= weight;
            stored_.once[t] += factor * once_members_[t] * p[token * stride_ + set_.gold[t]];
        }
    }
    training_loops<float>().step(part.flat.view(), stored_, members_, strides_, part.flat.n_tokens, factor, p);
}

void RowWeights::update_transitions(std::span<const std::uint32_t> sequences, double factor) {
    for (const std::uint32_t s : sequences)
        for (std::size_t t = set_.starts[s] + 1; t < set_.starts[s + 1]; ++t)
            sums_.edges[set_.gold[t - 1] * set_.n_labels() + set_.gold[t]] -= set_.weight(s);
    for (std::size_t i = 0; i < transitions_.size(); ++i)
        if (trained_[i]) transitions_[i] += factor * sums_.edges[i];
}

void RowWeights::Flat::clear() {
    for (Lists* lists : {&rows, &entries, &valued_rows, &valued_entries}) lists->starts.assign(1, 0);
    for (Lists* lists : {&valued_rows, &valued_entries}) lists->items.clear();
    for (auto* labels : {&valued_entry_labels, &gold}) labels->clear();
    for (auto* values : {&row_values, &entry_values, &once}) values->clear();
    n_tokens = 0;
    n_rows = n_entries = 0;
}

void RowWeights::Flat::make_room(std::size_t more_rows, std::size_t more_entries) {
    const auto grow = [](std::vector<std::uint32_t>& list, std::size_t size) {
        if (list.size() < size) list.resize(2 * size);
    };
    grow(rows.items, n_rows + more_rows + kCopied);
    grow(entries.items, n_entries + more_entries);
    grow(entry_places, n_entries + more_entries);
}

// Whole runs of kCopied: lists are short, and a call to copy one exactly costs more than the copying.
void RowWeights::Flat::add_rows(const std::uint32_t* from, std::uint32_t n) {
    std::uint32_t* to = rows.items.data() + n_rows;
    for (std::uint32_t i = 0; i < n; i += kCopied) std::memcpy(to + i, from + i, kCopied * sizeof *to);
    n_rows += n;
}

void RowWeights::Flat::add_entry(std::uint32_t entry, std::uint32_t entry_place) {
    entries.items[n_entries] = entry;
    entry_places[n_entries++] = entry_place;
}

TokenLists RowWeights::Flat::view() const {
    const bool values = valued_rows.starts.size() > 1;
    return {rows.starts.data(),
            rows.items.data(),
            entries.starts.data(),
            entries.items.data(),
            entry_places.data(),
            gold.data(),
            values ? valued_rows.starts.data() : nullptr,
            valued_rows.items.data(),
            row_values.data(),
            values ? valued_entries.starts.data() : nullptr,
            valued_entries.items.data(),
            valued_entry_labels.data(),
            entry_values.data()};
}

}  // namespace tw::chain
