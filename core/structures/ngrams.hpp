// Chains of order M as automata: a state is a history, the last M labels (fewer at the beginning of a sequence), and an
// arc is an n-gram of at most M + 1 labels. Only arcs that are allowed, or seen, exist; K^M is never built for them.
//
//     order 2, sequence  0 1 1 0      state   ()     (0)    (0 1)   (1 1)   (1 0)
//                                     arc     0      0 1    0 1 1   1 1 0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "families.hpp"

namespace tw {

struct NGrams {
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

    std::size_t n_labels = 0, order = 0;
    // Ready for automaton_structure. Histories are numbered by their newest label first, so ties go to lowest labels.
    std::vector<Arc> arcs;
    std::vector<std::uint8_t> final;
    std::vector<std::uint32_t> labels;  // [arc][order + 1], oldest first; kNone where the history is shorter than order
};

// All n-grams that the rules allow. `allowed`, where it is not empty, has a byte for each of the K^(M + 1) n-grams of
// full length. Throws std::invalid_argument when they would not fit in memory, saying how much they take.
NGrams all_ngrams(std::size_t n_labels, std::size_t order, const LabelRules& rules = {},
                  std::span<const std::uint8_t> allowed = {});

// What becomes of n-grams that no sequence has.
//   kForbidden   they do not exist: a history that was only seen at an end goes no further.
//   kContinued   the same, but such a history goes on as its longest suffix does: there are outputs of every length.
//   kBackOff     any label may follow any history, and what is remembered is the longest suffix that was seen (Ye et
//                al. 2009): complete, and K times as many arcs as histories.
enum class Unseen { kForbidden, kContinued, kBackOff };

// The n-grams of these label sequences; a list of n-grams will do for sequences.
NGrams seen_ngrams(std::size_t n_labels, std::size_t order, std::span<const std::span<const std::uint32_t>> sequences,
                   const LabelRules& rules, Unseen unseen);

}  // namespace tw
