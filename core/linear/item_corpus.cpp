#include "item_corpus.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "../base/interrupt.hpp"

namespace tw::linear {

std::uint32_t ItemCorpus::label_number(std::string_view name) {
    const auto [place, added] =
        label_numbers_.try_emplace(std::string(name), static_cast<std::uint32_t>(label_names_.size()));
    if (added) label_names_.emplace_back(name);
    return place->second;
}

void ItemCorpus::append(const Items& items, std::span<const std::uint32_t> labels, std::int64_t group) {
    const std::size_t n = items.n_attributes();
    if (numbers_.size() + n >= kNoAttribute) throw std::invalid_argument("more than 4,294,967,294 attributes of items");
    keys_.resize(n);
    for (std::size_t i = 0; i < n; ++i) keys_[i] = hash_bytes(items.name(i));
    const std::size_t before = numbers_.size(), sequences = n_sequences();
    const auto roll_back = [&] {  // nothing is half there
        numbers_.resize(before);
        if (values_.size() > before) values_.resize(before);
        labels_.resize(starts_[sequences]);
        items_.resize(starts_[sequences] + 1);
        starts_.resize(sequences + 1);
        groups_.resize(sequences);
    };
    try {
        add(items, labels, group);
    } catch (...) {
        roll_back();
        throw;
    }
}

void ItemCorpus::add(const Items& items, std::span<const std::uint32_t> labels, std::int64_t group) {
    const std::size_t before = numbers_.size();
    numbers_.resize(before + keys_.size());
    index_.intern(keys_, numbers_.data() + before, [&](std::size_t i) { names_.add(items.name(i)); });
    const bool ones = std::ranges::all_of(items.values, [](double value) { return value == 1.0; });
    if (!ones && values_.empty()) values_.assign(before, 1.0f);
    if (!ones || !values_.empty())
        for (const double value : items.values) values_.push_back(static_cast<float>(value));
    for (std::size_t t = 0; t < items.size(); ++t) items_.push_back(before + items.items[t + 1]);
    labels_.insert(labels_.end(), labels.begin(), labels.end());
    starts_.push_back(labels_.size());
    groups_.push_back(group);
}

// Features by attribute: its occurrences are brought together, and their labels added up one attribute at a time.
ItemCorpus::Features ItemCorpus::features(const Wanted& wanted) const {
    Features out;
    const std::size_t K = label_names_.size(), A = n_attributes();
    std::vector<std::size_t> starts(A + 1, 0);
    const auto each_item = [&](auto visit) {
        InterruptCheck check;
        for (std::size_t s = 0; s < n_sequences(); ++s) {
            check();
            if (!trains(s, wanted.holdout)) continue;
            for (std::size_t t = starts_[s]; t < starts_[s + 1]; ++t) visit(s, t);
        }
    };
    each_item([&](std::size_t, std::size_t t) {
        for (std::size_t i = items_[t]; i < items_[t + 1]; ++i) ++starts[numbers_[i] + 1];
    });
    for (std::size_t a = 0; a < A; ++a) starts[a + 1] += starts[a];
    struct Seen {
        std::uint32_t label;
        float value;
    };
    std::vector<Seen> seen(starts.back());
    std::vector<std::size_t> next(starts.begin(), starts.end() - 1);
    std::vector<double> of_pair(K * K, 0.0);
    std::vector<std::uint8_t> pair_seen(K * K, wanted.all_transitions);
    each_item([&](std::size_t s, std::size_t t) {
        for (std::size_t i = items_[t]; i < items_[t + 1]; ++i) seen[next[numbers_[i]]++] = {labels_[t], value(i)};
        if (t == starts_[s]) return;
        const std::size_t pair = labels_[t - 1] * K + labels_[t];
        of_pair[pair] += 1.0;
        pair_seen[pair] = 1;
    });
    const auto frequent = [&](double sum) { return sum + 1e-6 * std::abs(sum) >= wanted.min_frequency; };
    for (std::size_t pair = 0; pair < K * K; ++pair) out.count += pair_seen[pair] && frequent(of_pair[pair]);
    out.has.assign(A, 0);
    std::vector<double> sums(K, 0.0);
    std::vector<std::uint32_t> touched;
    enum : std::uint8_t { kUntouched, kZeros, kOthers };
    std::vector<std::uint8_t> is_touched(K, kUntouched);
    for (std::size_t a = 0; a < A; ++a) {
        touched.clear();
        for (std::size_t i = starts[a]; i < starts[a + 1]; ++i) {
            if (!is_touched[seen[i].label]) touched.push_back(seen[i].label);
            std::uint8_t& kind = is_touched[seen[i].label];
            kind = std::max<std::uint8_t>(kind, seen[i].value == 0.0f ? kZeros : kOthers);
            sums[seen[i].label] += static_cast<double>(seen[i].value);
        }
        std::size_t here = 0;
        for (const std::uint32_t label : touched) {
            here += frequent(sums[label]);
            sums[label] = 0.0;
            if (is_touched[label] == kZeros && frequent(0.0)) out.of_zeros.emplace_back(index_.keys()[a], label);
            is_touched[label] = kUntouched;
        }
        if (wanted.all_states && !touched.empty() && frequent(0.0)) here += K - touched.size();
        out.has[a] = here > 0;
        out.count += here;
    }
    std::ranges::sort(out.of_zeros);
    return out;
}

std::unique_ptr<ItemCorpus::Selection> ItemCorpus::selection(std::int64_t holdout, bool held,
                                                             std::vector<std::uint8_t> has_features) const {
    std::vector<std::size_t> sequences;
    for (std::size_t s = 0; s < n_sequences(); ++s)
        if (trains(s, holdout) != held) sequences.push_back(s);
    return std::make_unique<Selection>(*this, std::move(sequences), std::move(has_features));
}

void ItemCorpus::Selection::attributes(std::size_t first, std::size_t last, Attributes& out) const {
    out.resize(1);
    AttributeList& list = out.front();
    list.clear();
    const std::span<const Key> keys = corpus_.index_.keys();
    bool ones = true;
    for (std::size_t s = first; s < last; ++s)
        for (std::size_t t = corpus_.starts_[sequences_[s]]; t < corpus_.starts_[sequences_[s] + 1]; ++t) {
            for (std::size_t i = corpus_.items_[t]; i < corpus_.items_[t + 1]; ++i) {
                if (!there(i)) continue;
                list.keys.push_back(keys[corpus_.numbers_[i]]);
                list.values.push_back(corpus_.value(i));
                ones &= corpus_.value(i) == 1.0f;
            }
            list.starts.push_back(static_cast<std::uint32_t>(list.keys.size()));
        }
    if (ones) list.values.clear();
}

std::string ItemCorpus::Selection::name(std::size_t sequence, std::size_t site, std::size_t i, std::size_t) const {
    const std::size_t t = corpus_.starts_[sequences_[sequence]] + site;
    std::size_t at = corpus_.items_[t];
    for (std::size_t left = i;; ++at)
        if (there(at) && left-- == 0) break;
    const std::uint32_t number = corpus_.numbers_[at];
    const std::size_t begin = number == 0 ? 0 : corpus_.names_.ends[number - 1];
    return {corpus_.names_.text.data() + begin, corpus_.names_.ends[number] - begin};
}

std::vector<std::int32_t> ItemCorpus::Selection::labels() const {
    std::vector<std::int32_t> out;
    for (const std::size_t s : sequences_)
        for (std::size_t t = corpus_.starts_[s]; t < corpus_.starts_[s + 1]; ++t)
            out.push_back(static_cast<std::int32_t>(corpus_.labels_[t]));
    return out;
}

}  // namespace tw::linear
