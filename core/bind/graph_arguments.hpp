// How answers about factor graphs are looked for, as Python names it.
#pragma once

#include <stdexcept>
#include <string>

#include "../graphs/graph.hpp"

namespace tw::bind {

inline graphs::Search::Method graph_method(const std::string& name) {
    using Method = graphs::Search::Method;
    if (name == "auto" || name == "exact") return Method::kAuto;
    if (name == "bp") return Method::kBeliefs;
    if (name == "trw") return Method::kReweighted;
    if (name == "ad3") return Method::kDualDecomposition;
    if (name == "cut") return Method::kCut;
    if (name == "ilp") return Method::kProgram;
    throw std::invalid_argument("method must be auto, exact, bp, trw, ad3, cut or ilp");
}

}  // namespace tw::bind
