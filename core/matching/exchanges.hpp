// Further matchings, from a problem that is solved: what other matchings lose, and where they differ.
//
// A graph of rows. An arc from row a to row b: a takes the column of b, and loses `loss(a, column of b)`. One more
// node, the open, stands for all that is unmatched: an arc into it is a row that takes an unmatched column or is
// unmatched itself; an arc out of it is a row that was unmatched, or whose column now is. Two matchings differ by
// cycles that do not touch, so the second best differs from the best by the shortest cycle; and the best with a given
// pair by the shortest cycle that makes it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "problem.hpp"

namespace tw::matching {

// The k best matchings, by rows, distinct and best first (Murty 1968; Chegireddy & Hamacher 1987).
std::vector<std::vector<std::uint32_t>> k_best(const Problem& problem, std::size_t k);

// What the best matching with each part loses, by part; +inf where there is none. O(n^3).
void least_losses(const Problem& problem, std::span<double> out);

}  // namespace tw::matching
