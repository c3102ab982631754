// Searches of loopy factor graphs on bare scores: core/graphs/search.hpp.

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "../graphs/search.hpp"
#include "../structures/derivations.hpp"
#include "arrays.hpp"
#include "learner_arguments.hpp"

namespace tw::bind {
namespace {

using graphs::Factor;
using graphs::Literal;
using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
using Logic = std::tuple<std::string, Pairs, std::size_t>;                                // kind, literals, most
using Whole = std::tuple<const DerivationStructure*, std::vector<std::uint32_t>, Pairs>;  // structure, shape, literals

std::vector<Literal> literals_of(const Pairs& pairs) {
    std::vector<Literal> out;
    for (const auto& [variable, label] : pairs) out.push_back({variable, label});
    return out;
}

Factor::Kind logic_named(const std::string& name) {
    if (name == "xor") return Factor::Kind::kXor;
    if (name == "or") return Factor::Kind::kOr;
    if (name == "at-most") return Factor::Kind::kAtMost;
    throw std::invalid_argument("no such logic factor: " + name);
}

graphs::Search::Method method_named(const std::string& name) {
    using Method = graphs::Search::Method;
    if (name == "auto") return Method::kAuto;
    if (name == "bp") return Method::kBeliefs;
    if (name == "trw") return Method::kReweighted;
    if (name == "ad3") return Method::kDualDecomposition;
    throw std::invalid_argument("no such method: " + name);
}

// Scores are those of variables, then those of tables, then those of structures.
class GraphSearch {
public:
    GraphSearch(const std::vector<std::uint32_t>& n_labels, const std::vector<std::vector<std::uint32_t>>& tables,
                const std::vector<Logic>& logic, const std::vector<Whole>& structures) {
        graph_.n_labels = n_labels;
        for (const std::uint32_t n : n_labels) {
            graph_.unary_at.push_back(graph_.n_scores);
            graph_.n_scores += n;
        }
        for (const auto& variables : tables) {
            std::size_t entries = 1;
            for (const std::uint32_t v : variables) {
                require(v < n_labels.size(), "a table is about a variable that is not there");
                entries *= n_labels[v];
                require(entries < (std::size_t{1} << 32), "a table has more than 4,294,967,295 entries");
            }
            graph_.factors.push_back({.variables = variables, .at = graph_.n_scores});
            graph_.n_scores += entries;
        }
        for (const auto& [kind, literals, most] : logic)
            graph_.factors.push_back({.kind = logic_named(kind), .literals = literals_of(literals), .most = most});
        for (const auto& [structure, shape, literals] : structures) {
            graph_.factors.push_back({.kind = Factor::Kind::kStructure,
                                      .at = graph_.n_scores,
                                      .literals = literals_of(literals),
                                      .structure = shared(*structure),
                                      .shape = shape});
            graph_.n_scores += structure->n_parts(shape);
        }
        graph_.check();
    }

    nb::tuple search(const Vector& scores, const std::string& method, std::size_t iterations, double tolerance,
                     double damping, double seconds, bool relaxed, bool branch, bool warm) {
        check(scores);
        const graphs::Search how{method_named(method), iterations, tolerance, damping, seconds, relaxed, branch};
        if (!warm) state_ = {};
        graphs::Found found;
        {
            const Unlocked unlocked;
            found = graphs::search(graph_, {scores.data(), scores.size()}, how, &state_);
        }
        return nb::make_tuple(to_numpy(found.labels, {found.labels.size()}), found.score, found.bound,
                              to_numpy(found.shares, {found.shares.size()}), found.converged, found.iterations);
    }

    nb::tuple beliefs(const Vector& scores, const std::string& method, std::size_t iterations, double tolerance,
                      double damping, double seconds, bool warm) {
        check(scores);
        const graphs::Search how{method_named(method), iterations, tolerance, damping, seconds, false, false};
        if (!warm) state_ = {};
        graphs::Beliefs found;
        {
            const Unlocked unlocked;
            found = graphs::beliefs(graph_, {scores.data(), scores.size()}, how, &state_);
        }
        return nb::make_tuple(found.log_z, to_numpy(found.beliefs, {found.beliefs.size()}), found.converged,
                              found.bound, found.iterations);
    }

private:
    void check(const Vector& scores) const {
        require(scores.size() == graph_.n_scores, "there must be one score for each part");
        require_scores(scores, "scores hold a NaN, +inf or a value beyond 1e300");
    }

    graphs::Graph graph_;
    graphs::SearchState state_;
};

}  // namespace

void bind_graph_search(nb::module_& m) {
    nb::class_<GraphSearch>(m, "GraphSearch",
                            "Searches of a factor graph; scores are those of variables, tables and structures.")
        .def(nb::init<const std::vector<std::uint32_t>&, const std::vector<std::vector<std::uint32_t>>&,
                      const std::vector<Logic>&, const std::vector<Whole>&>(),
             nb::arg("n_labels"), nb::arg("tables"), nb::arg("logic") = std::vector<Logic>(),
             nb::arg("structures") = std::vector<Whole>())
        .def("search", &GraphSearch::search, nb::arg("scores"), nb::arg("method") = "auto",
             nb::arg("iterations") = 1000, nb::arg("tolerance") = 1e-6, nb::arg("damping") = 0.5,
             nb::arg("seconds") = 0.0, nb::arg("relaxed") = false, nb::arg("branch") = false, nb::arg("warm") = false,
             "Labels, their score, the bound, shares, whether it converged, iterations. `warm`: from where the last "
             "call ended.")
        .def("beliefs", &GraphSearch::beliefs, nb::arg("scores"), nb::arg("method") = "bp",
             nb::arg("iterations") = 1000, nb::arg("tolerance") = 1e-6, nb::arg("damping") = 0.5,
             nb::arg("seconds") = 0.0, nb::arg("warm") = false,
             "log Z, beliefs of parts, whether messages converged, whether log Z is an upper bound, iterations.");
}

}  // namespace tw::bind
