// Factor graphs on bare scores: one graph as a structure of parts, and searches of it.
#include <memory>

#include "../graphs/projections.hpp"
#include "../graphs/search.hpp"
#include "../structures/factor_graph.hpp"
#include "arrays.hpp"
#include "graph_arguments.hpp"
#include "learner_arguments.hpp"

namespace tw::bind {
namespace {

using graphs::Factor;
using graphs::Graph;
using Numbers = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// How a search goes on, as Python hands it over.
struct Way {
    std::string method;
    std::size_t iterations;
    double tolerance, damping, seconds;
    bool relaxed, branch;

    graphs::Search search() const {
        return {graph_method(method), iterations, tolerance, damping, seconds, relaxed, branch};
    }
};

// Calls visit(begin, end) for lists that stand one after the other in an array.
template <class Visit>
void each_list(const Numbers& ends, std::size_t size, Visit visit) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
        const std::size_t end = ends.data()[i];
        require(begin <= end && end <= size, "ends of lists must rise");
        visit(i, begin, end);
        begin = end;
    }
    require(begin == size, "the last list must end with the array");
}

std::vector<graphs::Literal> literals(const Numbers& pairs, std::size_t begin, std::size_t end) {
    std::vector<graphs::Literal> out;
    for (std::size_t i = begin; i < end; i += 2) out.push_back({pairs.data()[i], pairs.data()[i + 1]});
    return out;
}

// Scores: of variables, of edges, of tables, of structures, each in their order.
class GraphBuilder {
public:
    explicit GraphBuilder(const Numbers& n_labels) {
        graph.n_labels.assign(n_labels.data(), n_labels.data() + n_labels.size());
        graph.unary_at.reserve(n_labels.size());
        for (const std::uint32_t n : graph.n_labels) {
            graph.unary_at.push_back(graph.n_scores);
            graph.n_scores += n;
        }
    }
    void add_table(std::vector<std::uint32_t> variables) {
        std::size_t entries = 1;
        for (const std::uint32_t v : variables) {
            require(v < graph.n_variables(), "a table is about a variable that is not there");
            entries *= graph.n_labels[v];
            require(entries < kNoPart, "a table has more than 4,294,967,294 entries");
        }
        Factor& factor = graph.factors.emplace_back();
        factor.variables = std::move(variables);
        factor.at = graph.n_scores;
        graph.n_scores += entries;
    }
    void add_edges(const Numbers& edges) {
        require(edges.size() % 2 == 0, "edges must be pairs of variables");
        graph.factors.reserve(edges.size() / 2);
        for (std::size_t i = 0; i < edges.size(); i += 2) add_table({edges.data()[i], edges.data()[i + 1]});
    }
    void add_logic(const Numbers& kinds, const Numbers& pairs, const Numbers& ends) {
        require(kinds.size() == 2 * ends.size() && pairs.size() % 2 == 0, "logic factors must have kinds and literals");
        constexpr Factor::Kind kKinds[] = {Factor::Kind::kXor, Factor::Kind::kOr, Factor::Kind::kAtMost};
        each_list(ends, pairs.size() / 2, [&](std::size_t i, std::size_t begin, std::size_t end) {
            require(kinds.data()[2 * i] < 3, "no such logic factor");
            Factor& factor = graph.factors.emplace_back();
            factor.kind = kKinds[kinds.data()[2 * i]];
            factor.most = kinds.data()[2 * i + 1];
            factor.literals = literals(pairs, 2 * begin, 2 * end);
        });
    }
    void add_structure(const DerivationStructure& structure, const Numbers& shape, const Numbers& pairs) {
        Factor& factor = graph.factors.emplace_back();
        factor.kind = Factor::Kind::kStructure;
        factor.structure = shared(structure);
        factor.shape.assign(shape.data(), shape.data() + shape.size());
        factor.literals = literals(pairs, 0, pairs.size() / 2 * 2);
        factor.at = graph.n_scores;
        graph.n_scores += structure.n_parts(factor.shape);
    }

    Graph graph;
};

std::span<const double> checked(const OneGraph& self, const Vector& scores) {
    require(scores.size() == self.graph().n_scores, "there must be one score for each part");
    require_scores(scores, "scores hold a NaN, +inf or a value beyond 1e300");
    return {scores.data(), scores.size()};
}

}  // namespace

void bind_factor_graph(nb::module_& m) {
    nb::class_<graphs::SearchState>(m, "SearchState", "Where a search of a factor graph ended.")
        .def(nb::init<>())
        .def("__copy__", [](const graphs::SearchState& self) { return graphs::SearchState(self); });

    nb::class_<OneGraph, DerivationStructure>(m, "FactorGraph", "One factor graph; see core/graphs/graph.hpp.")
        .def(
            "__init__",
            [](OneGraph* self, const Numbers& n_labels, const Numbers& edges, const Numbers& scopes,
               const Numbers& scope_ends, const Numbers& logic, const Numbers& literals, const Numbers& literal_ends,
               const nb::list& structures, double most_entries) {
                GraphBuilder builder(n_labels);
                {
                    const Unlocked unlocked;
                    builder.add_edges(edges);
                    each_list(scope_ends, scopes.size(), [&](std::size_t, std::size_t begin, std::size_t end) {
                        builder.add_table({scopes.data() + begin, scopes.data() + end});
                    });
                    builder.add_logic(logic, literals, literal_ends);
                }
                for (const nb::handle one : structures) {
                    const auto spec = nb::cast<nb::tuple>(one);
                    builder.add_structure(nb::cast<const DerivationStructure&>(spec[0]), nb::cast<Numbers>(spec[1]),
                                          nb::cast<Numbers>(spec[2]));
                }
                GraphAnswers answers;
                answers.limits.entries = most_entries;
                const Unlocked unlocked;
                new (self) OneGraph(std::move(builder.graph), answers);
            },
            nb::arg("n_labels"), nb::arg("edges"), nb::arg("scopes"), nb::arg("scope_ends"), nb::arg("logic"),
            nb::arg("literals"), nb::arg("literal_ends"), nb::arg("structures"), nb::arg("most_entries"),
            "Lists of variables and literals stand one after the other. `logic`: kind (0 xor, 1 or, 2 at-most) and "
            "number of each. `structures`: (structure, shape, literals), 2^32 - 1 where a part has none.")
        .def_prop_ro("n_scores", [](const OneGraph& self) { return self.graph().n_scores; })
        .def_prop_ro(
            "refusal", [](const OneGraph& self) { return self.elimination().refusal(); },
            "Why there are no exact answers; empty where there are.")
        .def_prop_ro(
            "width",
            [](const OneGraph& self) {
                const graphs::Width& width = self.elimination().width();
                return nb::make_tuple(width.widest, width.messages, width.entries);
            },
            "Entries of the largest table of elimination, of all messages, and of all tables.")
        .def(
            "search",
            [](const OneGraph& self, const Vector& scores, const std::string& method, std::size_t iterations,
               double tolerance, double damping, double seconds, bool relaxed, bool branch,
               graphs::SearchState& state) {
                const std::span<const double> given = checked(self, scores);
                const graphs::Search how =
                    Way{method, iterations, tolerance, damping, seconds, relaxed, branch}.search();
                graphs::Found found;
                {
                    const Unlocked unlocked;
                    found = find_labels(self.graph(), given, how, &state);
                }
                return nb::make_tuple(to_numpy(found.labels, {found.labels.size()}), found.score, found.bound,
                                      to_numpy(found.shares, {found.shares.size()}), found.converged, found.iterations);
            },
            nb::arg("scores"), nb::arg("method"), nb::arg("iterations"), nb::arg("tolerance"), nb::arg("damping"),
            nb::arg("seconds"), nb::arg("relaxed"), nb::arg("branch"), nb::arg("state"),
            "Labels, score, bound, shares, whether it converged, iterations; goes on from `state` and changes it.")
        .def(
            "beliefs",
            [](const OneGraph& self, const Vector& scores, const std::string& method, std::size_t iterations,
               double tolerance, double damping, double seconds, graphs::SearchState& state) {
                const std::span<const double> given = checked(self, scores);
                const graphs::Search how = Way{method, iterations, tolerance, damping, seconds, false, false}.search();
                graphs::Beliefs found;
                {
                    const Unlocked unlocked;
                    found = graphs::beliefs(self.graph(), given, how, &state);
                }
                return nb::make_tuple(found.log_z, to_numpy(found.beliefs, {found.beliefs.size()}), found.converged,
                                      found.bound, found.iterations);
            },
            nb::arg("scores"), nb::arg("method"), nb::arg("iterations"), nb::arg("tolerance"), nb::arg("damping"),
            nb::arg("seconds"), nb::arg("state"),
            "log Z, beliefs of parts, whether messages converged, whether log Z is an upper bound, iterations.");

    m.def(
        "project_to_counts",
        [](Output point, std::size_t least, std::size_t most) {
            require(least <= most && most <= point.size(), "counts must be between 0 and the number of coordinates");
            graphs::project_to_counts({point.data(), point.size()}, least, most);
        },
        nb::arg("point"), nb::arg("least"), nb::arg("most"),
        "Move a point to the nearest one in [0, 1]^n whose sum is from `least` to `most`.");
}

}  // namespace tw::bind
