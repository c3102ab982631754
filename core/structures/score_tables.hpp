// Scores of the sentences of a batch in one padded table, as neural networks make them: what a batch loses against its
// gold trees, and the derivatives by all scores, in one call.
//
//     arcs     [sentence][head][modifier][label], n + 1 heads and modifiers; parts as in dependency.hpp
//     spans    [sentence][begin][end][label], n begins and n + 1 ends; parts as in bracketing.cpp
//
// A sentence uses the corner of its own length. Gold may be known in part: a head or a label that is not known may be
// any. The loss is then
//
//     sum or max of (score + cost) over all trees  -  sum or max of the score over trees that agree with gold
//
// where sums are of exponentials, in logarithms. The derivatives are what is expected of each part, or what the best
// tree has, of the first less that of the second (Gimpel & Smith 2010).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "derivations.hpp"

namespace tw {

struct TableLayout {
    enum class Trees : std::uint8_t { kProjective, kCrossing, kBrackets };

    Trees trees;
    std::size_t n_sentences, n_words, n_labels;  // words of the longest sentence there is room for

    bool spans() const { return trees == Trees::kBrackets; }
    std::size_t n_rows() const { return spans() ? n_words : n_words + 1; }
    std::size_t n_columns() const { return n_words + 1; }
    std::size_t table() const { return n_rows() * n_columns() * n_labels; }  // of one sentence
    std::size_t size() const { return n_sentences * table(); }
};

// Arcs: the head of each word, [sentence][word], and labels alike where there are two or more. Spans: rows of begin,
// end and label, [sentence][n_rows][3]. A number that is `unknown` may be any; a row whose begin is unknown is none.
struct GoldTables {
    const std::int64_t *numbers = nullptr, *labels = nullptr;
    std::size_t n_rows = 0;
    std::int64_t unknown = -100;
};

struct TableLoss {
    bool best = false;  // of trees; else sums
    double cost = 0.0;  // of each arc, or constituent, that is wrong; and of each constituent of gold that is missing
};

// Without gold (null numbers): what all trees come to, -inf where there is none. `gradient`, as the scores, may be
// null. Throws std::invalid_argument for scores that are not numbers or too large, for gold that is no tree of this
// kind, and where gold is forbidden; the message names the sentence. The same bits for any number of threads.
template <class Real>
void table_losses(const DerivationStructure& structure, const TableLayout& layout, const Real* scores,
                  std::span<const std::int64_t> lengths, const GoldTables& gold, const TableLoss& loss,
                  std::size_t n_jobs, Real* values, Real* gradient);

// Throws as table_losses does where gold is no tree of this kind, whatever the scores.
void check_table_gold(const DerivationStructure& structure, const TableLayout& layout,
                      std::span<const std::int64_t> lengths, const GoldTables& gold);

}  // namespace tw
