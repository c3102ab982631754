// Forward and backward vectors of a chain over the named semirings, instantiated outside the binding module.
#pragma once

#include <vector>

#include "../base/semiring.hpp"
#include "graphs.hpp"

namespace tw::lattice {

template <class S>
std::vector<typename S::Value> chain_forward(const S& semiring, const ChainGraph& graph);
template <class S>
std::vector<typename S::Value> chain_backward(const S& semiring, const ChainGraph& graph);

}  // namespace tw::lattice
