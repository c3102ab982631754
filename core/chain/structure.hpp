// First-order chains as a structure of parts whose best labellings and sums come from the kernels.
#pragma once

#include <cstddef>
#include <memory>

#include "../structures/families.hpp"

namespace tw::chain {

// The same parts and the same answers as chain_structure(), faster.
std::unique_ptr<DerivationStructure> kernel_chain(std::size_t n_labels, bool tied, LabelRules rules);

}  // namespace tw::chain
