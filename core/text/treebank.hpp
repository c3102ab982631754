// Dependency trees in text: the words, heads and relations of a CoNLL-U file, and the same file with other trees in it.
//
//     # text = It's late                  a comment: passed over, kept in `text`
//     1-2  It's  _   _    ...             a fused token, so are empty nodes (8.1): passed over, kept
//     1    It    it  PRON ...  3  nsubj   a word: a row of `words`, a head, a place where HEAD and one where DEPREL
//     stand
//
// What is written is the text as it was read, byte for byte, with those two cells of each word replaced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "columns.hpp"

namespace tw {

inline constexpr std::int32_t kNoHead = -1;  // HEAD is "_"

// What is asked of HEAD.
struct TreeChecks {
    bool heads = true;        // false: HEAD is not looked at, and `Treebank::heads` is empty
    bool partial = false;     // "_" stands for a head that is not known
    bool single_root = true;  // one word a sentence has the head 0; else one or more
};

struct Treebank {
    Columns words;                    // form, lemma, upos, xpos, feats
    Columns relations;                // one column, DEPREL, of the same rows
    std::vector<std::int32_t> heads;  // [word]: 0 is the root, word i of the sentence has number i + 1
    std::vector<Columns::Place> head_cells;
};

// The trees of rows that have the ten columns of CoNLL-U or CoNLL-X. Throws std::invalid_argument that names the line
// for words that are not numbered 1, 2, ..., for other numbers than those of words, ranges and empty nodes, and for
// heads that are not numbers, not in the sentence, or not a tree.
Treebank read_treebank(const Columns& rows, const TreeChecks& checks);

// The text with other heads, and with other relations (numbers into `names`) unless these are empty. kNoHead is
// written as "_".
std::string with_trees(const Treebank& treebank, std::span<const std::int32_t> heads,
                       std::span<const std::int32_t> relations, const std::vector<std::string>& names);

// Where the text of each sentence ends: behind the blank line after it, or with all of the text.
std::vector<std::int64_t> sentence_ends(const Treebank& treebank);

// The first word, from 1, of a cycle among the heads of a sentence; 0 when there is none.
std::size_t word_in_cycle(std::span<const std::int32_t> heads);

}  // namespace tw
