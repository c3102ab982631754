// A tag dictionary: a word that is in it takes some labels only; any other word takes all.
//
//     keys    [n_words]        of the attributes that are such words, rising
//     starts  [n_words + 1]    where the labels of each begin
//     labels  [...]            rising for each word
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "../text/attributes.hpp"

namespace tw {

// Views; who holds them is somebody else's affair.
struct TagDictionary {
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

    std::span<const Key> keys;
    std::span<const std::uint32_t> starts;
    std::span<const std::uint16_t> labels;

    bool empty() const { return keys.empty(); }
    void check(std::size_t n_labels) const;  // throws std::invalid_argument unless it is sound
    // The word of a token with these attributes, or kNone. `place`: where to look first; then where it was found.
    std::uint32_t find(std::span<const Key> attributes, std::size_t& place) const;
    // Sets the scores of all labels to -inf that a word does not take.
    void limit(std::uint32_t word, std::size_t n_labels, double* scores) const;
    void limit(const AttributeList& tokens, std::size_t n_labels, double* scores) const;  // [n_tokens][n_labels]
};

}  // namespace tw
