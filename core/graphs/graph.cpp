#include "graph.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "../base/semiring.hpp"

namespace tw::graphs {
namespace {

std::size_t n_true(const Factor& factor, std::span<const std::uint32_t> labels) {
    return static_cast<std::size_t>(std::ranges::count_if(
        factor.literals, [&](const Literal& literal) { return labels[literal.variable] == literal.label; }));
}

// The output of a structure whose parts with a literal are the ones that are true. Parts without one follow from them
// as a rule; where they do not, any will do that is not forbidden.
bool structure_parts(const Factor& factor, std::span<const std::uint32_t> labels, Parts& parts) {
    const std::size_t n = factor.structure->n_parts(factor.shape);
    std::vector<std::uint8_t> allowed(n, 1);
    std::size_t wanted = 0;
    for (std::size_t p = 0; p < n; ++p) {
        const Literal literal = factor.literals[p];
        if (literal.variable == kNoVariable) continue;
        allowed[p] = labels[literal.variable] == literal.label;
        wanted += allowed[p];
    }
    const std::vector<double> nothing(n, 0.0);
    const std::vector<Answer> found = factor.structure->best(factor.shape, {nothing, allowed}, 1);
    if (found.empty()) return false;
    for (const Part part : found[0].parts) {
        parts.push_back(static_cast<Part>(factor.at + part));
        wanted -= factor.literals[part].variable != kNoVariable;
    }
    return wanted == 0;
}

bool factor_parts(const Graph& graph, const Factor& factor, std::span<const std::uint32_t> labels, Parts& parts) {
    using Kind = Factor::Kind;
    switch (factor.kind) {
        case Kind::kTable: {
            std::size_t entry = 0;
            for (const std::uint32_t v : factor.variables) entry = entry * graph.n_labels[v] + labels[v];
            parts.push_back(static_cast<Part>(factor.at + entry));
            return true;
        }
        case Kind::kXor:
            return n_true(factor, labels) == 1;
        case Kind::kOr:
            return n_true(factor, labels) >= 1;
        case Kind::kAtMost:
            return n_true(factor, labels) <= factor.most;
        case Kind::kStructure:
            return structure_parts(factor, labels, parts);
    }
    return false;
}

void require(bool holds, const char* message) {
    if (!holds) throw std::invalid_argument(message);
}

}  // namespace

bool Graph::parts_of(std::span<const std::uint32_t> labels, Parts& parts) const {
    parts.clear();
    for (std::size_t v = 0; v < n_variables(); ++v) parts.push_back(static_cast<Part>(unary_at[v] + labels[v]));
    return std::ranges::all_of(factors,
                               [&](const Factor& factor) { return factor_parts(*this, factor, labels, parts); });
}

double Graph::score(std::span<const double> scores, std::span<const std::uint32_t> labels) const {
    Parts parts;
    if (!parts_of(labels, parts)) return kLogZero;
    CompensatedSum total;
    for (const Part part : parts) {
        if (scores[part] == kLogZero) return kLogZero;
        total.add(scores[part]);
    }
    return total.value();
}

void Graph::check() const {
    require(unary_at.size() == n_variables(), "every variable must have unary scores");
    require(n_scores < kNoPart, "a factor graph has more than 4,294,967,294 scores");
    for (std::size_t v = 0; v < n_variables(); ++v) {
        require(n_labels[v] >= 1, "every variable must have at least one label");
        require(unary_at[v] + n_labels[v] <= n_scores, "unary scores are out of range");
    }
    for (const Factor& factor : factors) {
        double entries = 1.0;
        using Kind = Factor::Kind;
        require(factor.kind != Kind::kTable || !factor.variables.empty(), "a table must be about a variable");
        require((factor.kind != Kind::kXor && factor.kind != Kind::kOr) || !factor.literals.empty(),
                "one of no literals can never be true");
        for (const std::uint32_t v : factor.variables) {
            require(v < n_variables(), "a table is about a variable that is not there");
            require(std::ranges::count(factor.variables, v) == 1, "a table is about a variable twice");
            entries *= n_labels[v];
        }
        for (const Literal& literal : factor.literals) {
            const bool free = literal.variable == kNoVariable && factor.kind == Factor::Kind::kStructure;
            require(free || literal.variable < n_variables(), "a literal is about a variable that is not there");
            require(free || literal.label < n_labels[literal.variable], "a literal is about a label that is not there");
        }
        if (factor.kind == Factor::Kind::kStructure) {
            const std::size_t n = factor.structure->n_parts(factor.shape);
            require(factor.literals.size() == n, "a structure must have one literal for each part");
            entries = static_cast<double>(n);
        } else if (factor.kind != Factor::Kind::kTable) {
            entries = 0.0;
        }
        require(static_cast<double>(factor.at) + entries <= static_cast<double>(n_scores),
                "scores of a factor are out of range");
    }
}

}  // namespace tw::graphs
