// From a source's attributes to the channels that an oracle trains, and from trained weights to the tensors of a model.
//
//     SiteExamples --units--> Channel --oracle--> weights --tensors--> channel.NAME.keys, .starts, .codes, .weights
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "channel.hpp"
#include "examples.hpp"
#include "model.hpp"
#include "units.hpp"
#include "weight_index.hpp"

namespace tw::linear {

// The weights of attributes as a file has them; of a tied channel, a weight for each code and nothing else.
struct ChannelTensors {
    std::vector<Key> keys;  // a table as in key_table.hpp; empty when attributes are hashed
    std::vector<std::uint32_t> slots, starts, codes;
    std::vector<float> weights;
    Names names;  // empty when there are none
};

// What the units of a channel are.
struct ChannelUnits {
    bool tied = false;       // one unit, which is always there
    bool by_member = false;  // weights are those of members, not z = sqrt(g) v
    unsigned hash_bits = 0;
    Units units;
    std::vector<Key> keys;  // by attribute
    Names names;
};

// Fills in the units of a channel whose name, block, sites and codes are set: the attributes that examples have under
// its name, `min_count` times at least; of a tied one, none is looked at. kPlain: every attribute is a unit; otherwise
// those that always occur together are one.
ChannelUnits take_units(Channel& channel, const SiteExamples& examples, std::size_t min_count, Variables variables);

// The weights of attributes with every unit taken apart again: each of g members has z / sqrt(g), or with `by_member`
// z. Where weights may be added, zeros are left out. `keep_all`: also attributes that have no weights.
ChannelTensors tensors_of(const Units& units, std::span<const Key> keys, const Names& names, unsigned hash_bits,
                          const WeightIndex& index, std::size_t channel, std::span<const double> weights,
                          bool by_member, bool keep_all);
// Of a channel as take_units made it.
ChannelTensors tensors_of(const ChannelUnits& units, const WeightIndex& index, std::size_t channel, std::size_t n_codes,
                          std::span<const double> weights);

// visit(unit, code, weight) for the weights that a model has of these units; attributes are matched by key.
template <class Visit>
void each_known_weight(const ChannelUnits& units, const WeightRows& rows, Visit visit) {
    for (std::size_t a = 0; a < units.units.of_attribute.size(); ++a) {
        const std::uint32_t unit = units.units.of_attribute[a];
        if (unit == kNoAttribute) continue;
        const std::uint32_t number = units.hash_bits ? static_cast<std::uint32_t>(a) : rows.find(units.keys[a]);
        if (number != kNoAttribute)
            rows.each(number, [&](std::uint32_t code, double weight) { visit(unit, code, weight); });
    }
}

}  // namespace tw::linear
