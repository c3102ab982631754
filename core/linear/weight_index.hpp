// Which (unit, code) of which channel has a weight, and its number in the vector that learners move.
//
//     weights:  [channel 0: unit 0's codes, unit 1's codes, ...][channel 1: ...] ... [added while learning, as met]
//
// Weights that only wrong outputs touch are given a number when a learner first meets them. The codes of a unit rise.
// Where a unit has all codes, no list is searched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../kernels/kernels.hpp"

namespace tw::linear {

inline constexpr std::uint32_t kNoWeight = ~std::uint32_t{0};

// The weights that were added to the units of a channel.
class Additions {
public:
    explicit Additions(std::size_t n_units) : first_(n_units, kNoneAdded) {}

    template <class Visit>
    void each(std::size_t unit, Visit visit) const {  // visit(code, weight)
        if (entries_.empty()) return;
        for (std::uint32_t i = first_[unit]; i != kNoneAdded; i = entries_[i].next)
            visit(entries_[i].code, entries_[i].weight);
    }
    std::uint32_t find(std::size_t unit, std::uint32_t code) const {
        if (entries_.empty()) return kNoWeight;
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

class WeightIndex {
public:
    // `grows`: weights that are not there are made when find_or_add() meets them.
    explicit WeightIndex(bool grows) : grows_(grows) {}

    // Adds a channel whose unit u has the codes codes[starts[u]] .. codes[starts[u + 1] - 1], rising; the caller keeps
    // them. No starts: every unit has all codes.
    void add_channel(std::size_t n_codes, std::size_t n_units, std::span<const std::uint32_t> starts,
                     std::span<const std::uint32_t> codes);

    std::size_t n_weights() const { return n_weights_; }
    std::size_t n_own() const { return n_own_; }  // without those that were added
    bool grows() const { return grows_; }

    // Where the weights of a unit begin; those of unit n_units, where the channel ends. Codes by weight - offset.
    bool full(std::size_t channel) const { return channels_[channel].starts.empty(); }
    std::uint32_t begin(std::size_t channel, std::size_t unit) const {
        const Channel& c = channels_[channel];
        return c.offset + (c.starts.empty() ? static_cast<std::uint32_t>(unit * c.n_codes) : c.starts[unit]);
    }
    std::span<const std::uint32_t> codes(std::size_t channel) const { return channels_[channel].codes; }
    std::uint32_t offset(std::size_t channel) const { return channels_[channel].offset; }
    const Additions& added(std::size_t channel) const { return channels_[channel].added; }

    std::uint32_t find(std::size_t channel, std::uint32_t unit, std::uint32_t code) const;
    std::uint32_t find_or_add(std::size_t channel, std::uint32_t unit, std::uint32_t code);
    // The same for a code that the unit lacks at the start; `first`: and nothing was added to the unit yet.
    std::uint32_t find_or_add_later(std::size_t channel, std::uint32_t unit, std::uint32_t code, bool first);

    // What was added, in order: (channel, unit, code) each.
    std::vector<double> list() const;
    void set_to(std::span<const double> list);  // forgets what there is; throws when it does not fit

    std::size_t memory_bytes() const;

private:
    struct Channel {
        std::size_t n_codes;
        std::uint32_t offset;
        std::span<const std::uint32_t> starts, codes;
        Additions added;
    };
    std::uint32_t find_own(const Channel& channel, std::uint32_t unit, std::uint32_t code) const;

    bool grows_;
    std::size_t n_weights_ = 0, n_own_ = 0;
    std::vector<Channel> channels_;
};

}  // namespace tw::linear
