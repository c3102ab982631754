// Attributes that occur in the same tokens, always, are one unit: they cannot be told apart, and at the optimum of any
// penalised loss that treats them alike they have equal weights.
//
// A unit of g attributes with weight v each has one variable z = sqrt(g) v. Then |z|^2 is the sum of the squares it
// stands for, sqrt(g) |z| the sum of the absolute values, and sqrt(g) z what the unit adds to a score; so training
// with units finds the optimum of training with attributes, with fewer variables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "examples.hpp"

namespace tw {

struct Units {
    std::vector<std::uint32_t> of_attribute;  // unit of each attribute; kNoAttribute when it is too rare
    std::vector<std::uint32_t> n_members;     // attributes in each unit
    std::vector<std::uint32_t> counts;        // occurrences of each member
    bool from_model = false;  // whether an earlier model kept attributes apart that always occur together

    std::size_t size() const { return n_members.size(); }
};

// Which attributes get weights, and which of these may share one.
struct Candidates {
    std::span<const std::uint32_t> counts;  // occurrences of each attribute
    std::size_t min_count = 1;              // those with fewer are left out, unless
    std::span<const std::uint32_t> known;   // an earlier model has weights for them: equal numbers for equal weights, 0
                                            // for none. Empty: there is none. Only what starts from equal weights moves
                                            // as one.
    bool keep_known = false;

    bool has(std::uint32_t attribute) const {
        const std::uint32_t count = counts[attribute];
        return count > 0 && (count >= min_count || (keep_known && !known.empty() && known[attribute] != 0));
    }
};

// Groups attributes by the tokens they occur in. Only attributes with value 1 wherever they occur, and once in a token,
// are merged. Units are numbered by how often they occur, the most frequent first, so that what is used most lies
// together. Any number of threads finds the same.
Units merge(const Occurrences& occurrences, const Candidates& candidates, std::size_t n_jobs = 1);

// Every attribute a unit of its own.
Units apart(const Candidates& candidates);

// The units of the tokens of the given sequences, in this order: each unit once, equal attributes of a token added up.
// Units that occur once are numbered anew, in the order in which they are met here. Any number of threads lists the
// same.
Occurrences unit_occurrences(const Occurrences& attributes, Units& units,
                             std::span<const std::uint64_t> sequence_starts, std::span<const std::uint32_t> sequences,
                             std::size_t n_jobs = 1);

}  // namespace tw
