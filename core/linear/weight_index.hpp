// Which (unit, code) of which channel has a weight, and its number in the vector that learners move.
//
//     weights:  [channel 0: unit 0's codes, unit 1's codes, ...][channel 1: ...] ... [added while learning, as met]
//
// The codes of a unit rise. Where a unit has all codes, or is asked about one that it has not, no list is searched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tw::linear {

inline constexpr std::uint32_t kNoWeight = ~std::uint32_t{0};

class WeightIndex {
public:
    // `grows`: weights that are not there are made when find_or_add() meets them.
    explicit WeightIndex(bool grows) : grows_(grows) {}

    // Adds a channel: the codes of unit u are codes[starts[u]] .. codes[starts[u + 1] - 1], rising.
    void add_channel(std::size_t n_codes, std::vector<std::uint32_t> starts, std::vector<std::uint32_t> codes);

    std::size_t n_weights() const { return n_weights_; }
    bool grows() const { return grows_; }

    std::uint32_t find(std::size_t channel, std::uint32_t unit, std::uint32_t code) const;
    std::uint32_t find_or_add(std::size_t channel, std::uint32_t unit, std::uint32_t code);

    // visit(code, weight) for all weights of a unit.
    template <class Visit>
    void each(std::size_t channel, std::uint32_t unit, Visit visit) const {
        const Channel& c = channels_[channel];
        for (std::uint32_t i = c.starts[unit]; i < c.starts[unit + 1]; ++i) visit(c.codes[i], c.offset + i);
        for (std::uint32_t i = c.first_added[unit]; i != kNoWeight; i = added_[i].next)
            visit(added_[i].code, added_[i].weight);
    }

    // What was added, in order: (channel, unit, code) each.
    std::vector<double> list() const;
    void set_to(std::span<const double> list);  // forgets what there is; throws when it does not fit

private:
    struct Channel {
        std::size_t n_codes;
        std::uint32_t offset;
        std::vector<std::uint32_t> starts, codes;
        std::vector<std::uint32_t> first_added;  // by unit: in added_
    };
    struct Added {
        std::uint32_t channel, unit, code, weight, next;
    };

    bool grows_;
    std::size_t n_weights_ = 0, n_own_ = 0;
    std::vector<Channel> channels_;
    std::vector<Added> added_;
};

}  // namespace tw::linear
