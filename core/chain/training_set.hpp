// Examples made ready for training chains: units of attributes, the weights they have, and sequences in an order that
// suits the recursions.
//
// Sequences of similar length are neighbours, in groups that advance side by side; groups are dealt out to shards. Both
// depend on the data alone. Shards are what threads share: each has sums of its own, added up in their order, so the
// result does not depend on the number of threads.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../linear/examples.hpp"
#include "../linear/units.hpp"
#include "../linear/weight_index.hpp"
#include "earlier_model.hpp"
#include "label_sets.hpp"

namespace tw::chain {

using linear::kNoWeight;
using linear::WeightIndex;

inline constexpr std::size_t kMostShards = 16;

// Which (attribute, label) and (label, label) pairs get weights: those seen, and besides them all label pairs, all
// labels of attributes, or both. kGrown: all label pairs, the attributes' seen labels, all labels of attributes that
// are frequent, and what learners meet later.
enum class Combinations { kSeen, kTransitions, kStates, kAll, kGrown };

struct Constraints {  // all empty, or all there: non-zero where allowed
    std::vector<std::uint8_t> transitions, start, end;
};

struct Settings {
    std::size_t n_labels = 0;
    std::vector<std::int32_t> order;  // from a code of the examples to a label
    std::size_t min_count = 1;
    Combinations combinations = Combinations::kSeen;
    bool transitions = true;  // whether plain label pairs have weights
    // Weights whose features add up to less in gold are left out, as CRFsuite's feature.minfreq does. Values are in
    // single precision, so that what is less by some rounding counts as equal.
    double min_frequency = -std::numeric_limits<double>::infinity();
    // Attributes, by key, and labels that count as seen together though no occurrence says so: CRFsuite counts values
    // of 0. Sorted by key, only read while the set is made.
    std::vector<std::pair<Key, std::uint32_t>> also_seen;
    Constraints constraints;
    std::vector<double> cost;  // [gold][label], zero on the diagonal; empty: 1 for every wrong label
    bool weigh_costs = false;  // token weights weigh costs, so they are kept even when equal within every sequence
    bool by_member = false;    // Variables::kByMember, not kScaled
    // The model that training will start from, or null; only read while the set is made.
    const ModelView* earlier = nullptr;
    bool keep_known = false;  // whether all that it has weights for and that occurs here gets weights
};

// What the weights of units (or of pair attributes) are: those of unit u are starts[u] .. starts[u + 1] - 1.
struct WeightTable {
    std::vector<std::uint32_t> starts{0};
    std::vector<std::uint32_t> labels;  // of each weight; previous * n_labels + current for pairs
};

// Whether features that add up to `sum` are as many as wanted.
inline bool frequent(double sum, double min_frequency) { return sum + 1e-6 * std::abs(sum) >= min_frequency; }

struct Group {  // sequences first .. first + size - 1, longest first
    std::uint32_t first, size;
};

class TrainingSet {
public:
    // The same for any number of threads.
    TrainingSet(Examples&& examples, Settings settings, std::size_t n_jobs = 1);

    std::size_t n_labels() const { return settings.n_labels; }
    std::size_t n_sequences() const { return starts.size() - 1; }
    std::size_t length(std::size_t i) const { return starts[i + 1] - starts[i]; }
    std::size_t longest_group() const {  // in tokens
        std::size_t most = 0;
        for (const Group& g : groups) most = std::max<std::size_t>(most, starts[g.first + g.size] - starts[g.first]);
        return most;
    }
    // Of a group; of the end, how many there are.
    std::size_t first_sequence(std::size_t group) const {
        return group == groups.size() ? n_sequences() : groups[group].first;
    }
    std::size_t first_token(std::size_t group) const { return starts[first_sequence(group)]; }
    // Groups 0, ..., n_groups cut into n parts with about as many tokens each.
    std::vector<std::size_t> cuts(std::size_t n) const;
    double weight(std::size_t i) const { return weights.empty() ? 1.0 : weights[i]; }
    bool partly_labelled() const { return !allowed_starts.empty(); }
    bool has_pair_attributes() const { return pair_units.size() > 0; }
    bool has_pairs() const { return !pair_weights.labels.empty(); }
    bool constrained() const { return !settings.constraints.transitions.empty(); }
    bool valued() const { return !occurrences.values.empty(); }

    // Labels that a token may carry.
    std::span<const std::uint16_t> allowed(std::size_t token) const {
        if (allowed_starts.empty()) return {gold.data() + token, 1};
        return {gold.data() + allowed_starts[token], allowed_starts[token + 1] - allowed_starts[token]};
    }
    double cost(std::size_t gold_label, std::size_t label) const {
        return settings.cost.empty() ? (gold_label == label ? 0.0 : 1.0)
                                     : settings.cost[gold_label * n_labels() + label];
    }

    // Weights lie in this order: units, pair attributes, transitions.
    std::size_t n_unit_weights() const { return unit_weights.labels.size(); }
    std::size_t n_pair_weights() const { return pair_weights.labels.size(); }
    std::size_t first_transition() const { return n_unit_weights() + n_pair_weights(); }
    std::size_t n_weights() const { return first_transition() + transition_pairs.size(); }
    // What a variable of the unit is multiplied with in a score.
    double factor(std::size_t unit) const {
        const std::uint32_t g = units.n_members[unit];
        if (settings.by_member) return g;
        return g < kRoots ? roots_[g] : std::sqrt(static_cast<double>(g));
    }
    // The weight of each member, by the unit's variable.
    double share(std::size_t unit) const { return settings.by_member ? 1.0 : 1.0 / factor(unit); }
    bool has_merged_units() const {
        return std::ranges::any_of(units.n_members, [](std::uint32_t g) { return g > 1; });
    }

    std::size_t memory_bytes() const;

    // The channels of the weights' index.
    enum : std::size_t { kUnits, kPairs, kTransitions };
    linear::WeightIndex weight_index() const;

    Settings settings;
    StoragePointer storage;  // of what grows with the number of tokens, or null
    unsigned hash_bits;
    std::size_t n_examples;  // as they were added, empty ones included

    // Sequences in the order of the groups; tokens one after the other.
    std::vector<std::uint64_t> starts{0};
    std::vector<std::uint32_t> example;   // of each sequence
    std::vector<std::uint32_t> sequence;  // of each example; kNoAttribute when it is empty
    std::vector<double> weights;          // of sequences, or empty
    Stored<double> token_weights;         // or empty: equal within every sequence
    Stored<std::uint16_t> gold;
    Stored<std::uint64_t> allowed_starts;  // into gold; empty when every token has one label
    std::vector<Group> groups;
    std::vector<std::uint32_t> shards;  // groups of shard i: shards[i] .. shards[i + 1] - 1

    Occurrences occurrences, pair_occurrences;
    Units units, pair_units;
    WeightTable unit_weights, pair_weights;
    std::vector<std::uint32_t> transition_pairs;         // previous * n_labels + current of each transition weight
    std::vector<std::uint32_t> transition_starts{0, 0};  // a table of one unit

    // Attributes as they were given.
    std::vector<Key> keys, pair_keys;
    Names names, pair_names;
    std::size_t n_attributes = 0, n_pair_attributes = 0;

private:
    void order_sequences(const Examples& examples);
    void take_labels(const Examples& examples);
    void take_weights(const Examples& examples);
    void check_constraints() const;
    void take_attributes(Examples& examples, std::size_t n_jobs);
    std::vector<std::uint32_t> known_weights(const AttributeView ModelView::* kind, std::span<const Key> of,
                                             std::size_t n, std::size_t n_codes) const;
    std::vector<std::uint32_t> also_seen_classes() const;
    LabelSets seen_labels(std::size_t n_jobs) const;
    void find_weights(std::size_t n_jobs);
    template <class Visit>
    void each_known(const AttributeView ModelView::* kind, const Units& of, std::span<const Key> from,
                    std::size_t n_codes, Visit visit) const;
    void find_pair_weights();
    void find_transitions();
    void drop_rare_weights();
    template <class Visit>
    void each_label_pair(Visit visit) const;
    bool possible(std::uint32_t pair) const;

    static constexpr std::size_t kRoots = 64;
    std::array<double, kRoots> roots_;  // square roots: passes want them for every unit
};

}  // namespace tw::chain
