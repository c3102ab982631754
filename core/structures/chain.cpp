#include "chain_family.hpp"

namespace tw {

std::unique_ptr<DerivationStructure> chain_structure(std::size_t n_labels, bool tied, LabelRules rules) {
    return std::make_unique<DynamicProgram<ChainFamily>>(ChainFamily{n_labels, tied, std::move(rules)});
}

}  // namespace tw
