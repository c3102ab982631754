// A training set as CRFsuite's users append it: sequences of items with a label each, in groups, one of which may be
// held out; and the features that CRFsuite makes of it.
//
//     sequence s:   items  starts[s] .. starts[s + 1] - 1
//     item t:       label, attributes  items[t] .. items[t + 1] - 1, each a number and a value
//
// A value of 0 adds nothing to a score, so that sources leave it out. But it makes a feature of the attribute and the
// label, which has a say wherever the attribute has another value: whoever trains is told of those.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../text/attributes.hpp"
#include "index.hpp"
#include "items.hpp"

namespace tw::linear {

class ItemCorpus {
public:
    // Labels are numbered as they are first met.
    std::uint32_t label_number(std::string_view name);
    const std::vector<std::string>& labels() const { return label_names_; }

    void append(const Items& items, std::span<const std::uint32_t> labels, std::int64_t group);
    std::size_t n_sequences() const { return groups_.size(); }
    std::size_t n_attributes() const { return index_.size(); }

    struct Wanted {
        std::int64_t holdout = -1;
        double min_frequency = 0.0;
        bool all_states = false, all_transitions = false;
    };
    // What CRFsuite trains with, of the sequences that are not held out: the number of its features, the attributes
    // that have some, and the features of values that are all 0, by key.
    struct Features {
        std::size_t count = 0;
        std::vector<std::uint8_t> has;
        std::vector<std::pair<Key, std::uint32_t>> of_zeros;
    };
    Features features(const Wanted& wanted) const;

    // The sequences that are held out, or the others.
    class Selection;
    std::unique_ptr<Selection> selection(std::int64_t holdout, bool held, std::vector<std::uint8_t> has_features) const;

private:
    std::vector<std::size_t> starts_{0}, items_{0};
    std::vector<std::int64_t> groups_;
    std::vector<std::uint32_t> labels_, numbers_;
    std::vector<float> values_;  // or, while all are 1, none
    Index index_;
    Names names_;
    std::vector<std::string> label_names_;
    std::unordered_map<std::string, std::uint32_t> label_numbers_;
    std::vector<Key> keys_;  // scratch space

    void add(const Items& items, std::span<const std::uint32_t> labels, std::int64_t group);
    float value(std::size_t i) const { return values_.empty() ? 1.0f : values_[i]; }
    bool trains(std::size_t sequence, std::int64_t holdout) const {
        return holdout < 0 || groups_[sequence] != holdout;
    }
};

// A view of the corpus, which the caller keeps and does not append to meanwhile.
class ItemCorpus::Selection final : public Source {
public:
    Selection(const ItemCorpus& corpus, std::vector<std::size_t> sequences, std::vector<std::uint8_t> has_features)
        : corpus_(corpus), sequences_(std::move(sequences)), has_features_(std::move(has_features)) {}

    std::size_t n_sequences() const override { return sequences_.size(); }
    std::size_t length(std::size_t sequence) const override {
        return corpus_.starts_[sequences_[sequence] + 1] - corpus_.starts_[sequences_[sequence]];
    }
    void attributes(std::size_t first, std::size_t last, Attributes& out) const override;
    std::string name(std::size_t sequence, std::size_t site, std::size_t i, std::size_t channel) const override;
    std::vector<std::int32_t> labels() const;  // of all items

private:
    bool there(std::size_t i) const {
        return corpus_.value(i) != 0.0f && (has_features_.empty() || has_features_[corpus_.numbers_[i]]);
    }

    const ItemCorpus& corpus_;
    std::vector<std::size_t> sequences_;
    std::vector<std::uint8_t> has_features_;  // by attribute; empty: all
};

}  // namespace tw::linear
