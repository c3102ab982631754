// A tag dictionary (linear/tag_dictionary.hpp) made from examples: which labels a word may take, and what that is
// expected to lose.
//
// A word takes the labels that it was seen with, and those that it is likely enough to be seen with next. How likely
// that is, words tell about each other. The examples are cut into blocks, each a run of sequences; a label is new to a
// word in a block where no other block has the two together. Of a word that the other blocks have n times, n(a) with
// label a,
//
//     p(b) = rate(n)  sum over a of  n(a) / n  (new(a, b) + share(b)) / (new(a) + 1)
//
//     rate(n)    the share of new labels among tokens of words that the other blocks have as often as n, to a power of
//     2 new(a, b)  tokens for which b was new, each divided among the labels a that its word has elsewhere share(b) of
//     b among all that were new
//
// as of a backing-off language model (Witten & Bell 1991) whose contexts are the labels seen so far. The threshold of p
// is the largest for which tokens in blocks left out lose no more labels than is wanted. Blocks of many sequences keep
// texts together: a word takes the same rare labels again and again in one text.
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
    Candidates candidates;   // of the examples' tokens; words that are rare take all
    std::size_t n_lost = 0;  // tokens whose label the dictionary of the other blocks lacks

    TagDictionary view() const { return {keys, starts, labels}; }
};

// Of the words that examples have, no more than a share `loss` of all tokens being expected to be lost. Which attribute
// of a token is its word is said by the beginning of the attribute's name; `order` maps the codes of the examples to
// labels. Every token must have one label, and attributes names.
MadeDictionary tag_dictionary(const Examples& examples, std::span<const std::int32_t> order, std::size_t n_labels,
                              std::string_view word, double loss);

}  // namespace tw::chain
