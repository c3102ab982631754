// What bracketings with and without scores of rules have in common.
#pragma once

#include <span>
#include <vector>

#include "structure.hpp"

namespace tw {

// From parts of the block of spans to rows of begin, end and label, outermost first.
void bracketing_rows(std::size_t n, std::size_t n_labels, std::span<const Part> parts,
                     std::vector<std::uint32_t>& rows);

// How many constituents are wrong, and how many of gold's are missing: those of gold cost -1, and the whole sentence,
// which is a constituent of every tree, as many as gold has.
void bracketing_costs(std::size_t n, std::size_t n_labels, std::span<const Part> gold, std::span<double> out);

}  // namespace tw
