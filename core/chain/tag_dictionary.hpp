// A tag dictionary (linear/tag_dictionary.hpp) made from examples. Which attribute of a token is its word is said by
// the beginning of the attribute's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "../linear/examples.hpp"
#include "../linear/tag_dictionary.hpp"
#include "candidates.hpp"

namespace tw::chain {

struct MadeDictionary {
    std::vector<Key> keys;
    std::vector<std::uint32_t> starts{0};
    std::vector<std::uint16_t> labels;
    Candidates candidates;  // of the examples' tokens
    // Tokens whose words are in it, and of these the ones that alone have their word with their label: were one of them
    // new, the dictionary would lack its label.
    std::size_t n_limited = 0, n_alone = 0;

    TagDictionary view() const { return {keys, starts, labels}; }
};

// Of words that occur at least `min_count` times; `order` maps the codes of the examples to labels. Every token must
// have one label, and attributes names.
MadeDictionary tag_dictionary(const Examples& examples, std::span<const std::int32_t> order, std::size_t n_labels,
                              std::string_view word, std::size_t min_count);

}  // namespace tw::chain
