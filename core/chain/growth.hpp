// Weights that only wrong predictions touch: combinations of a unit and a label (or a pair of labels) that do not occur
// in gold, given a number when a learner first meets them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tw::chain {

class Growth {
public:
    struct Entry {
        std::uint32_t unit, code, weight, next;
    };

    explicit Growth(std::size_t n_units) : first_(n_units, kNone) {}

    template <class Visit>
    void each(std::size_t unit, Visit visit) const {  // visit(code, weight)
        for (std::uint32_t i = first_[unit]; i != kNone; i = entries_[i].next)
            visit(entries_[i].code, entries_[i].weight);
    }

    // The weight of the combination, or kNone.
    std::uint32_t find(std::size_t unit, std::uint32_t code) const {
        for (std::uint32_t i = first_[unit]; i != kNone; i = entries_[i].next)
            if (entries_[i].code == code) return entries_[i].weight;
        return kNone;
    }
    void add(std::uint32_t unit, std::uint32_t code, std::uint32_t weight) {
        entries_.push_back({unit, code, weight, first_[unit]});
        first_[unit] = static_cast<std::uint32_t>(entries_.size() - 1);
    }

    const std::vector<Entry>& entries() const { return entries_; }
    std::size_t memory_bytes() const {
        return first_.capacity() * sizeof(first_[0]) + entries_.capacity() * sizeof(Entry);
    }

    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

private:
    std::vector<std::uint32_t> first_;
    std::vector<Entry> entries_;
};

}  // namespace tw::chain
