// Weights that only wrong predictions touch: combinations of a unit and a label (or a pair of labels) that do not occur
// in gold, given a number when a learner first meets them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../kernels/kernels.hpp"
#include "training_set.hpp"

namespace tw::chain {

inline constexpr std::uint32_t kNoWeight = ~std::uint32_t{0};

// The added weights of one kind of units.
class Additions {
public:
    explicit Additions(std::size_t n_units) : first_(n_units, kNoneAdded) {}

    template <class Visit>
    void each(std::size_t unit, Visit visit) const {  // visit(code, weight)
        for (std::uint32_t i = first_[unit]; i != kNoneAdded; i = entries_[i].next)
            visit(entries_[i].code, entries_[i].weight);
    }
    std::uint32_t find(std::size_t unit, std::uint32_t code) const {
        for (std::uint32_t i = first_[unit]; i != kNoneAdded; i = entries_[i].next)
            if (entries_[i].code == code) return entries_[i].weight;
        return kNoWeight;
    }
    void add(std::uint32_t unit, std::uint32_t code, std::uint32_t weight) {
        entries_.push_back({unit, code, weight, first_[unit]});
        first_[unit] = static_cast<std::uint32_t>(entries_.size() - 1);
    }
    const std::vector<std::uint32_t>& first() const { return first_; }
    std::size_t n_units() const { return first_.size(); }
    const std::vector<AddedWeight>& entries() const { return entries_; }
    std::size_t memory_bytes() const {
        return first_.capacity() * sizeof(first_[0]) + entries_.capacity() * sizeof(AddedWeight);
    }

private:
    std::vector<std::uint32_t> first_;
    std::vector<AddedWeight> entries_;
};

// All weights of a training set: those it has from the start, and those added since.
class Growth {
public:
    explicit Growth(const TrainingSet& set);

    std::size_t n_weights() const { return n_weights_; }
    bool grows() const { return grows_; }

    // The number of a weight, made if it is not there and the set may grow; else kNoWeight.
    std::uint32_t of_unit(std::uint32_t unit, std::uint32_t label);
    // The same for a label that the unit lacks at the start; `first`: and nothing was added to the unit yet.
    std::uint32_t added_of_unit(std::uint32_t unit, std::uint32_t label, bool first) {
        return first ? add(units_, unit, label) : find_or_add(units_, unit, label);
    }
    std::uint32_t of_pair(std::uint32_t unit, std::uint32_t pair);
    std::uint32_t of_transition(std::size_t pair) const { return transition_[pair]; }

    const Additions& units() const { return units_; }
    const Additions& pairs() const { return pairs_; }

    // What was added, in order: (kind, unit, code) each.
    std::vector<double> list() const;
    void set_to(std::span<const double> list);  // forgets what there is; throws when it does not fit

    std::size_t memory_bytes() const { return units_.memory_bytes() + pairs_.memory_bytes(); }

private:
    std::uint32_t weight(const WeightTable& table, std::size_t offset, std::size_t full, Additions& added,
                         std::uint32_t unit, std::uint32_t code);
    std::uint32_t find_or_add(Additions& added, std::uint32_t unit, std::uint32_t code);
    std::uint32_t add(Additions& added, std::uint32_t unit, std::uint32_t code);

    const TrainingSet& set_;
    bool grows_;
    std::size_t n_weights_;
    Additions units_, pairs_;
    std::vector<std::uint32_t> transition_;  // the weight of each pair of labels, or kNoWeight
};

}  // namespace tw::chain
