// What a part of a training set has of attributes, for several parts to agree on which of them have weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../linear/examples.hpp"

namespace tw::chain {

// Attribute a has key keys[a] (the place it is hashed to, if it is), occurs counts[a] times, and was seen with the
// codes codes[starts[a]] .. codes[starts[a + 1] - 1], rising: labels, or previous * n_labels + current for attributes
// of pairs. Attributes that occur in the same tokens, always, are of one class.
struct Vocabulary {
    std::vector<Key> keys;
    std::vector<std::uint32_t> counts, classes, starts{0}, codes;
    Names names;
};

// Of the channel kTokenChannel or kPairChannel; `order` is from a code of the examples to a label. `seen`: whether
// codes are wanted.
Vocabulary vocabulary(const Examples& examples, std::string_view channel, std::span<const std::int32_t> order,
                      std::size_t n_labels, bool seen);

// previous * n_labels + current of neighbouring labels that were seen, rising.
std::vector<std::uint32_t> seen_transitions(const Examples& examples, std::span<const std::int32_t> order,
                                            std::size_t n_labels);

}  // namespace tw::chain
