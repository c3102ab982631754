// Structures of scored parts, and the oracle of any of them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>

#include <cmath>
#include <limits>
#include <optional>
#include <random>

#include "../chain/structure.hpp"
#include "../linear/oracle.hpp"
#include "../matching/bethe.hpp"
#include "../structures/constrained.hpp"
#include "../structures/families.hpp"
#include "../structures/ngrams.hpp"
#include "graph_arguments.hpp"
#include "learner_arguments.hpp"
#include "sparse_arguments.hpp"

namespace tw::bind {
namespace {

using Numbers = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<const std::uint8_t, nb::c_contig, nb::device::cpu>;
using Singles = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

std::span<const std::uint32_t> view(const Numbers& array) { return {array.data(), array.size()}; }

std::vector<std::uint8_t> bytes(const std::optional<Bytes>& array, std::size_t size, const char* message) {
    if (!array) return {};
    require(array->size() == size, message);
    return {array->data(), array->data() + size};
}

// The codes that each site of the first block may have; any where there are none.
Lists allowed_codes(const DerivationStructure& structure, const std::vector<std::vector<std::uint32_t>>& shapes,
                    const Numbers& starts, const Numbers& codes) {
    Lists out;
    for (const auto& shape : shapes) {
        const Block block = structure.blocks(shape).at(0);
        for (std::size_t s = 0; s < block.n_sites; ++s) {
            require(out.size() + 1 < starts.size(), "allowed must say which codes each site may have");
            const std::uint32_t begin = starts.data()[out.size()], end = starts.data()[out.size() + 1];
            require(begin <= end && end <= codes.size(), "starts of allowed codes must rise");
            for (std::uint32_t i = begin; i < end; ++i)
                require(codes.data()[i] < block.n_codes, "an allowed code is out of range");
            out.push_back({codes.data() + begin, end - begin});
        }
    }
    return out;
}

LabelRules rules(std::size_t K, const std::optional<Bytes>& moves, const std::optional<Bytes>& start,
                 const std::optional<Bytes>& end) {
    return {bytes(moves, K * K, "transitions must have one entry per pair of labels"),
            bytes(start, K, "start must have one entry per label"), bytes(end, K, "end must have one entry per label")};
}

PartScores scores_of(const DerivationStructure& self, const Numbers& shape, const Vector& scores,
                     const std::optional<Bytes>& allowed) {
    const std::size_t n = self.n_parts(view(shape));
    require(scores.size() == n, "there must be one score for each part");
    require_scores(scores, "scores hold a NaN, +inf or a value beyond 1e300");
    require(!allowed || allowed->size() == n, "allowed must have one entry for each part");
    return {{scores.data(), n}, allowed ? std::span(allowed->data(), n) : std::span<const std::uint8_t>()};
}

// Rows of constraints on parts, as the arrays of a CSR matrix.
std::vector<PartsRow> part_rows(const Indices& indptr, const Indices& parts, const Vector& coefficients,
                                const Vector& lower, const Vector& upper, std::size_t n_parts) {
    const std::size_t n = lower.size();
    require(indptr.size() == n + 1 && upper.size() == n, "rows and their sides do not fit each other");
    require(parts.size() == coefficients.size() && indptr.data()[0] == 0 &&
                indptr.data()[n] == static_cast<std::int64_t>(parts.size()),
            "rows of constraints do not fit their parts");
    std::vector<PartsRow> out;
    for (std::size_t r = 0; r < n; ++r) {
        PartsRow row{{}, {}, lower.data()[r], upper.data()[r]};
        require(indptr.data()[r] <= indptr.data()[r + 1], "rows of constraints must follow one another");
        require(!std::isnan(row.lower) && !std::isnan(row.upper) && row.lower <= row.upper,
                "the sides of a constraint must leave something between them");
        for (std::int64_t i = indptr.data()[r]; i < indptr.data()[r + 1]; ++i) {
            require(parts.data()[i] >= 0 && static_cast<std::size_t>(parts.data()[i]) < n_parts,
                    "a part of a constraint is out of range");
            require(std::isfinite(coefficients.data()[i]), "coefficients of a constraint must be finite");
            row.parts.push_back(static_cast<Part>(parts.data()[i]));
            row.coefficients.push_back(coefficients.data()[i]);
        }
        out.push_back(std::move(row));
    }
    return out;
}

nb::object hyperedges(const DerivationStructure& self, const Numbers& shape, const Vector& scores, std::size_t most) {
    const PartScores given = scores_of(self, shape, scores, {});
    Hyperedges found;
    bool there;
    {
        const Unlocked unlocked;
        there = self.hyperedges(view(shape), given, most, found);
    }
    if (!there) return nb::none();
    const auto array = [](const std::vector<std::uint32_t>& numbers) {
        std::vector<std::int64_t> out;
        out.reserve(numbers.size());
        for (const std::uint32_t x : numbers) out.push_back(x == Hyperedges::kNoTail ? -1 : std::int64_t{x});
        return to_numpy(out, {out.size()});
    };
    return nb::make_tuple(array(found.node_parts), array(found.heads), array(found.first_tails),
                          array(found.second_tails), array(found.parts));
}

nb::tuple best_within(const DerivationStructure& self, const Numbers& shape, const Vector& scores,
                      const nb::tuple& rows, const Vector& lower, const Vector& upper, std::size_t k, std::size_t nodes,
                      std::size_t most_listed, double seconds) {
    const PartScores given = scores_of(self, shape, scores, {});
    const std::vector<PartsRow> all = part_rows(nb::cast<Indices>(rows[0]), nb::cast<Indices>(rows[1]),
                                                nb::cast<Vector>(rows[2]), lower, upper, given.scores.size());
    require(!std::isnan(seconds), "seconds must be a number");
    ConstrainedBest found;
    {
        const Unlocked unlocked;
        const auto space = self.workspace();
        found = constrained_best(self, view(shape), given, all, k, {nodes, most_listed, seconds}, *space);
    }
    nb::list out;
    for (const Answer& answer : found.answers)
        out.append(nb::make_tuple(to_numpy(answer.parts, {answer.parts.size()}), answer.score, answer.gap));
    return nb::make_tuple(out, found.proved, found.out_of_time, found.bound, found.questions);
}

using Class = nb::class_<DerivationStructure>;

// ---- structures whose outputs are sequences or trees ---------------------------------------------------------------

void define_sequences(Class& c) {
    c.def_static(
         "chain",
         [](std::size_t n_labels, bool tied, const std::optional<Bytes>& moves, const std::optional<Bytes>& start,
            const std::optional<Bytes>& end, bool kernels) {
             require(n_labels >= 1, "there must be at least one label");
             LabelRules given = rules(n_labels, moves, start, end);
             return kernels ? chain::kernel_chain(n_labels, tied, std::move(given))
                            : chain_structure(n_labels, tied, std::move(given));
         },
         nb::arg("n_labels"), nb::arg("tied") = true, nb::arg("transitions") = nb::none(),
         nb::arg("start") = nb::none(), nb::arg("end") = nb::none(), nb::arg("kernels") = false,
         "`kernels`: by the kernels of chains, or as any dynamic program.")
        .def_static(
            "segments",
            [](std::size_t n_labels, std::size_t longest, bool tied, const std::optional<Bytes>& moves,
               const std::optional<Bytes>& start, const std::optional<Bytes>& end,
               const std::optional<Numbers>& lengths) {
                require(n_labels >= 1 && longest >= 1, "there must be at least one label and one length");
                LabelRules all = rules(n_labels, moves, start, end);
                if (lengths) {
                    require(lengths->size() == n_labels, "lengths must have one entry per label");
                    all.lengths.assign(lengths->data(), lengths->data() + n_labels);
                    for (const std::uint32_t n : all.lengths)
                        require(n >= 1 && n <= longest, "lengths must be from 1 to longest");
                }
                return segment_structure(n_labels, longest, tied, std::move(all));
            },
            nb::arg("n_labels"), nb::arg("longest"), nb::arg("tied") = true, nb::arg("transitions") = nb::none(),
            nb::arg("start") = nb::none(), nb::arg("end") = nb::none(), nb::arg("lengths") = nb::none())
        .def_static(
            "automaton",
            [](std::size_t n_labels, const Numbers& arcs, const Bytes& final, bool tied) {
                require(arcs.size() % 3 == 0, "arcs must be rows of state, label and next state");
                std::vector<Arc> list;
                for (std::size_t i = 0; i < arcs.size(); i += 3)
                    list.push_back({arcs.data()[i], arcs.data()[i + 1], arcs.data()[i + 2]});
                return automaton_structure(n_labels, std::move(list), {final.data(), final.data() + final.size()},
                                           tied);
            },
            nb::arg("n_labels"), nb::arg("arcs"), nb::arg("final"), nb::arg("tied") = true);
}

void define_trees(Class& c) {
    c.def_static(
         "projective_tree",
         [](std::size_t n_labels, bool single_root, bool siblings, bool grandparents) {
             require(n_labels >= 1, "there must be at least one label");
             return projective_tree_structure({n_labels, siblings, grandparents}, single_root);
         },
         nb::arg("n_labels") = 1, nb::arg("single_root") = true, nb::arg("siblings") = false,
         nb::arg("grandparents") = false, "Projective dependency trees; see core/structures/dependency.hpp.")
        .def_static(
            "bracketing",
            [](std::size_t n_labels) {
                require(n_labels >= 1, "there must be at least one label");
                return bracketing_structure(n_labels);
            },
            nb::arg("n_labels"), "Block: spans, n (n + 1) / 2 x n_labels; outputs are rows of begin, end and label.")
        .def_static(
            "arborescence",
            [](std::size_t n_labels, bool single_root) {
                require(n_labels >= 1, "there must be at least one label");
                return arborescence_structure(n_labels, single_root);
            },
            nb::arg("n_labels") = 1, nb::arg("single_root") = true, "Dependency trees whose arcs may cross.")
        .def_static(
            "nested_bracketing",
            [](std::size_t n_labels, const std::optional<Bytes>& allowed) {
                require(n_labels >= 1, "there must be at least one label");
                std::vector<std::uint8_t> pairs;
                if (allowed) pairs.assign(allowed->data(), allowed->data() + allowed->size());
                return nested_bracketing_structure(n_labels, std::move(pairs));
            },
            nb::arg("n_labels"), nb::arg("allowed") = nb::none(),
            "Blocks: spans, children (pairs of labels), splits; see core/structures/nested_bracketing.cpp.")
        .def_static(
            "grammar",
            [](std::size_t n_symbols, std::size_t n_inner, std::size_t n_terminals, std::size_t n_codes,
               const Numbers& rules, const Numbers& starts) {
                require(rules.size() % 4 == 0, "rules must be rows of parent, left and right child, and code");
                GrammarTables tables{n_symbols, n_inner, n_terminals, n_codes, {}, {}};
                for (std::size_t i = 0; i < rules.size(); i += 4)
                    tables.rules.push_back(
                        {rules.data()[i], rules.data()[i + 1], rules.data()[i + 2], rules.data()[i + 3]});
                tables.starts.assign(starts.data(), starts.data() + starts.size());
                return grammar_structure(std::move(tables));
            },
            nb::arg("n_symbols"), nb::arg("n_inner"), nb::arg("n_terminals"), nb::arg("n_codes"), nb::arg("rules"),
            nb::arg("starts"), "Derivations of a grammar; see core/structures/grammar.cpp. 2^32 - 1 stands for none.");
}

// ---- structures of graphs, of grids, of pairs
// ---------------------------------------------------------------------------

void define_graphs(Class& c) {
    c.def_static(
         "graph",
         [](const Numbers& n_labels, const Numbers& kinds, const std::string& method, std::size_t iterations,
            double tolerance, double damping, double seconds, bool relaxed, bool branch, bool approximate_sums,
            double most_entries) {
             GraphAnswers answers;
             answers.search = {graph_method(method), iterations, tolerance, damping, seconds, relaxed, branch};
             using Best = GraphAnswers::Best;
             answers.best = method == "auto" ? Best::kAuto : method == "exact" ? Best::kExact : Best::kSearch;
             answers.approximate_sums = approximate_sums;
             answers.limits.entries = most_entries;
             require(kinds.size() % 2 == 0, "kinds must be pairs of node types, one after the other");
             std::vector<EdgeKind> list;
             for (std::size_t i = 0; i < kinds.size(); i += 2) list.push_back({kinds.data()[i], kinds.data()[i + 1]});
             return graph_structure({n_labels.data(), n_labels.data() + n_labels.size()}, std::move(list), answers);
         },
         nb::arg("n_labels"), nb::arg("kinds"), nb::arg("method") = "auto", nb::arg("iterations") = 1000,
         nb::arg("tolerance") = 1e-6, nb::arg("damping") = 0.5, nb::arg("seconds") = 0.0, nb::arg("relaxed") = false,
         nb::arg("branch") = false, nb::arg("approximate_sums") = false, nb::arg("most_entries") = 0x1p26,
         "Labels of the nodes of graphs; n_labels by node type; kinds of edges: two types each, one after the "
         "other. Shape, blocks and "
         "outputs: core/structures/families.hpp. `method`: auto, exact, bp, trw, ad3, cut or ilp.")
        .def_static("spanning_tree", &spanning_tree_structure,
                    "Spanning trees of undirected graphs; see core/structures/spanning_tree.cpp.")
        .def_static("matching", &matching_structure, "Bipartite matchings; see core/structures/matching.cpp.")
        .def_static("alignment", &alignment_structure, nb::arg("affine") = false, nb::arg("free_ends") = false,
                    "Monotone alignments of two sequences; see core/structures/alignment.cpp.")
        .def_static(
            "grid",
            [](std::size_t n_labels, unsigned n_dimensions, unsigned neighbours, bool associative,
               const std::string& inference, bool relaxed, std::size_t iterations, double seconds) {
                require(inference != "exact" && inference != "ilp", "inference must be auto, cut, bp, trw or ad3");
                graphs::Search how;
                how.method = graph_method(inference);
                how.relaxed = relaxed;
                how.iterations = iterations;
                how.seconds = seconds;
                return grid_structure({n_labels, n_dimensions, neighbours, associative}, how);
            },
            nb::arg("n_labels"), nb::arg("n_dimensions") = 2, nb::arg("neighbours") = 4, nb::arg("associative") = true,
            nb::arg("inference") = "auto", nb::arg("relaxed") = false, nb::arg("iterations") = 1000,
            nb::arg("seconds") = 0.0,
            "Labelled grids; see core/structures/grid.cpp. `inference`, where no answer is exact: auto, cut, bp, trw "
            "or ad3.");
}

// ---- questions -----------------------------------------------------------------------------------------------------

void define_shapes(Class& c) {
    c.def(
         "answers_lists",
         [](const DerivationStructure& self, const Numbers& shape) {
             const Unlocked unlocked;
             return self.lists(view(shape));
         },
         nb::arg("shape"), "Whether several best outputs can be had; of a graph, whether exact answers can.")
        .def(
            "answers_sums",
            [](const DerivationStructure& self, const Numbers& shape) { return self.sums(view(shape)); },
            nb::arg("shape"), "Whether sums over all outputs of a shape are within reach.")
        .def(
            "blocks",
            [](const DerivationStructure& self, const Numbers& shape) {
                nb::list out;
                for (const Block& block : self.blocks(view(shape)))
                    out.append(nb::make_tuple(block.name, block.n_sites, block.n_codes));
                return out;
            },
            "Name, sites and codes of each kind of parts.")
        .def("parts_of",
             [](const DerivationStructure& self, const Numbers& shape, const Numbers& output) {
                 Parts parts;
                 self.parts_of(view(shape), view(output), parts);
                 return to_numpy(parts, {parts.size()});
             })
        .def("output_of", [](const DerivationStructure& self, const Numbers& shape, const Numbers& parts) {
            std::vector<std::uint32_t> output;
            self.output_of(view(shape), view(parts), output);
            return to_numpy(output, {output.size()});
        });
}

void define_best(Class& c) {
    c.def(
         "answer",
         [](const DerivationStructure& self, const Numbers& shape, const Vector& scores,
            const std::optional<Bytes>& allowed) -> nb::object {
             const PartScores given = scores_of(self, shape, scores, allowed);
             std::vector<Answer> found;
             std::vector<std::uint32_t> output;
             {
                 const Unlocked unlocked;
                 found = self.best(view(shape), given, 1);
                 if (!found.empty() && found[0].shares.empty()) self.output_of(view(shape), found[0].parts, output);
             }
             if (found.empty()) return nb::none();
             nb::object shares = nb::none();
             if (!found[0].shares.empty()) {
                 std::vector<double> all(scores.size(), 0.0);
                 for (std::size_t i = 0; i < found[0].parts.size(); ++i) all[found[0].parts[i]] = found[0].shares[i];
                 shares = nb::cast(to_numpy(all, {all.size()}));
             }
             return nb::make_tuple(to_numpy(output, {output.size()}), found[0].score, found[0].gap, shares);
         },
         nb::arg("shape"), nb::arg("scores"), nb::arg("allowed") = nb::none(),
         "The best output, its score, its gap, and the shares of all parts where it is relaxed; or None.")
        .def(
            "best",
            [](const DerivationStructure& self, const Numbers& shape, const Vector& scores, std::size_t k,
               const std::optional<Bytes>& allowed) {
                const PartScores given = scores_of(self, shape, scores, allowed);
                std::vector<Answer> found;
                {
                    const Unlocked unlocked;
                    found = self.best(view(shape), given, k);
                }
                nb::list out;
                for (const Answer& answer : found)
                    out.append(nb::make_tuple(to_numpy(answer.parts, {answer.parts.size()}), answer.score));
                return out;
            },
            nb::arg("shape"), nb::arg("scores"), nb::arg("k") = 1, nb::arg("allowed") = nb::none())
        .def(
            "best_output",
            [](const DerivationStructure& self, const Numbers& shape, const Vector& scores) -> nb::object {
                const PartScores given = scores_of(self, shape, scores, {});
                std::vector<Answer> found;
                std::vector<std::uint32_t> output;
                {
                    const Unlocked unlocked;
                    found = self.best(view(shape), given, 1);
                    if (!found.empty()) self.output_of(view(shape), found[0].parts, output);
                }
                if (found.empty()) return nb::none();
                return nb::make_tuple(to_numpy(output, {output.size()}), found[0].score);
            },
            nb::arg("shape"), nb::arg("scores"), "The best output and its score, or None.");
}

void define_sums(Class& c) {
    c.def(
         "log_partition",
         [](const DerivationStructure& self, const Numbers& shape, const Vector& scores,
            const std::optional<Bytes>& allowed) {
             const PartScores given = scores_of(self, shape, scores, allowed);
             const Unlocked unlocked;
             return self.log_partition(view(shape), given, nullptr);
         },
         nb::arg("shape"), nb::arg("scores"), nb::arg("allowed") = nb::none())
        .def(
            "sums",
            [](const DerivationStructure& self, const Numbers& shape, const Vector& scores) {
                const PartScores given = scores_of(self, shape, scores, {});
                auto expected = std::make_unique<double[]>(scores.size());
                double log_z;
                {
                    const Unlocked unlocked;
                    log_z = self.log_partition(view(shape), given, expected.get());
                }
                return nb::make_tuple(log_z, to_numpy(std::move(expected), {scores.size()}));
            },
            nb::arg("shape"), nb::arg("scores"), "The log partition and the marginals.")
        .def(
            "marginals",
            [](const DerivationStructure& self, const Numbers& shape, const Vector& scores,
               const std::optional<Bytes>& allowed) {
                const PartScores given = scores_of(self, shape, scores, allowed);
                std::vector<double> expected(scores.size());
                {
                    const Unlocked unlocked;
                    self.log_partition(view(shape), given, expected.data());
                }
                return to_numpy(expected, {expected.size()});
            },
            nb::arg("shape"), nb::arg("scores"), nb::arg("allowed") = nb::none(),
            "How often each part is expected in an output.")
        .def(
            "max_marginals",
            [](const DerivationStructure& self, const Numbers& shape, const Vector& scores,
               const std::optional<Bytes>& allowed) {
                const PartScores given = scores_of(self, shape, scores, allowed);
                std::vector<double> out(scores.size());
                {
                    const Unlocked unlocked;
                    self.max_marginals(view(shape), given, out);
                }
                return to_numpy(out, {out.size()});
            },
            nb::arg("shape"), nb::arg("scores"), nb::arg("allowed") = nb::none())
        .def(
            "entropy",
            [](const DerivationStructure& self, const Numbers& shape, const Vector& scores,
               const std::optional<Bytes>& allowed) {
                const PartScores given = scores_of(self, shape, scores, allowed);
                const Unlocked unlocked;
                return self.entropy(view(shape), given);
            },
            nb::arg("shape"), nb::arg("scores"), nb::arg("allowed") = nb::none())
        .def(
            "sample",
            [](const DerivationStructure& self, const Numbers& shape, const Vector& scores, std::size_t n,
               std::uint64_t seed, bool distinct, const std::optional<Bytes>& allowed) {
                const PartScores given = scores_of(self, shape, scores, allowed);
                std::vector<Parts> drawn;
                {
                    const Unlocked unlocked;
                    std::mt19937_64 engine(seed);
                    const auto draw = [&] { return static_cast<double>(engine() >> 11) * 0x1p-53; };
                    drawn = self.sample(view(shape), given, n, distinct, draw);
                }
                nb::list out;
                for (const Parts& parts : drawn) out.append(to_numpy(parts, {parts.size()}));
                return out;
            },
            nb::arg("shape"), nb::arg("scores"), nb::arg("n"), nb::arg("seed"), nb::arg("distinct") = false,
            nb::arg("allowed") = nb::none());
}

void define_constraints(Class& c) {
    c.def_static(
         "constrained",
         [](const DerivationStructure& structure, const nb::list& rows) {
             std::vector<CodesRow> all;
             for (const nb::handle given : rows) {
                 const auto row = nb::cast<nb::tuple>(given);
                 const auto coefficients = nb::cast<Vector>(row[1]);
                 all.push_back({nb::cast<std::size_t>(row[0]),
                                {coefficients.data(), coefficients.data() + coefficients.size()},
                                nb::cast<double>(row[2]),
                                nb::cast<double>(row[3])});
                 for (const double x : all.back().coefficients)
                     require(std::isfinite(x), "coefficients of a constraint must be finite");
                 require(all.back().lower <= all.back().upper,
                         "the sides of a constraint must leave something between them");
             }
             return constrained_structure(shared(structure), std::move(all));
         },
         nb::arg("structure"), nb::arg("rows"),
         "Outputs that keep rows of (block, a coefficient for each of its codes, lower, upper); see "
         "core/structures/constrained.hpp.")
        .def("hyperedges", hyperedges, nb::arg("shape"), nb::arg("scores"), nb::arg("most"),
             "Of a dynamic program, what an output may have: the part of each node, and of each edge its head, its "
             "two tails and its part, -1 for none. Else None.")
        .def("best_within", best_within, nb::arg("shape"), nb::arg("scores"), nb::arg("rows"), nb::arg("lower"),
             nb::arg("upper"), nb::arg("k") = 1, nb::arg("nodes") = 20'000, nb::arg("most_listed") = 4096,
             nb::arg("seconds") = std::numeric_limits<double>::infinity(),
             "The best outputs that keep linear constraints on parts (the arrays of a CSR matrix): a list of parts, "
             "score and gap; whether that is proved; whether time ran out; a bound; how many questions it took.")
        .def(
            "dead_end",
            [](const DerivationStructure& self, const Numbers& shape, const Vector& scores) {
                const PartScores given = scores_of(self, shape, scores, {});
                const Unlocked unlocked;
                return self.dead_end(view(shape), given);
            },
            nb::arg("shape"), nb::arg("scores"), "The first position that no beginning of an output gets past.");
}

void bind_structure(nb::module_& m) {
    Class c(m, "PartStructure", "An output family made of scored parts; see core/structures.");
    define_sequences(c);
    define_trees(c);
    define_graphs(c);
    define_shapes(c);
    define_best(c);
    define_sums(c);
    define_constraints(c);
}

// Numbers of which the last means none, as -1.
nb::ndarray<nb::numpy, std::int64_t> with_none(const std::vector<std::uint32_t>& numbers, std::size_t columns) {
    std::vector<std::int64_t> out;
    for (const std::uint32_t x : numbers) out.push_back(x == NGrams::kNone ? -1 : std::int64_t{x});
    return to_numpy(out, {out.size() / columns, columns});
}

nb::ndarray<nb::numpy, std::int64_t> rows_of_words(const std::vector<std::array<std::uint32_t, 3>>& rows) {
    std::vector<std::uint32_t> flat;
    for (const auto& row : rows) flat.insert(flat.end(), row.begin(), row.end());
    return with_none(flat, 3);
}

void bind_dependency_sites(nb::module_& m) {
    m.def(
        "is_projective", [](const Numbers& heads) { return is_projective(view(heads)); }, nb::arg("heads"),
        "Whether no two arcs of a tree cross.");
    m.def(
        "sibling_sites",
        [](const Numbers& shape) { return rows_of_words(DependencySites(view(shape), {1, true, false}).siblings()); },
        nb::arg("shape"), "Head, sibling (or -1) and modifier of every site; see core/structures/dependency.hpp.");
    m.def(
        "grandparent_sites",
        [](const Numbers& shape) {
            return rows_of_words(DependencySites(view(shape), {1, false, true}).grandparents());
        },
        nb::arg("shape"), "Grandparent, head and modifier of every site.");
}

void bind_bethe(nb::module_& m) {
    m.def(
        "bethe_matching",
        [](const Numbers& shape, const Vector& scores, std::size_t iterations, double tolerance) -> nb::object {
            const matching::Sizes sizes(view(shape));
            require(scores.size() == sizes.n_pairs() + (sizes.open ? sizes.n + sizes.m : 0),
                    "there must be one score for each part");
            require_scores(scores, "scores hold a NaN, +inf or a value beyond 1e300");
            std::vector<double> beliefs(scores.size());
            matching::BetheSums found;
            bool possible;
            {
                const Unlocked unlocked;
                matching::Problem problem(sizes, {{scores.data(), scores.size()}, {}});
                possible = problem.solve();
                if (possible) found = matching::bethe(problem, iterations, tolerance, beliefs);
            }
            if (!possible) return nb::none();
            return nb::make_tuple(found.log_partition, to_numpy(beliefs, {beliefs.size()}), found.converged,
                                  found.iterations);
        },
        nb::arg("shape"), nb::arg("scores"), nb::arg("iterations"), nb::arg("tolerance"),
        "Sums over matchings as Bethe approximates them: log partition, beliefs by part, whether they converged, and "
        "after how many iterations; None where there is no matching.");
}

void bind_ngrams(nb::module_& m) {
    nb::class_<NGrams>(m, "NGrams", "The automaton of a chain of higher order; see core/structures/ngrams.hpp.")
        .def_static(
            "all",
            [](std::size_t n_labels, std::size_t order, const std::optional<Bytes>& moves,
               const std::optional<Bytes>& start, const std::optional<Bytes>& end,
               const std::optional<Bytes>& allowed) {
                require(n_labels >= 1, "there must be at least one label");
                double n = 1.0;
                for (std::size_t m = 0; m <= order && n < 1e18; ++m) n *= static_cast<double>(n_labels);
                require(!allowed || static_cast<double>(allowed->size()) == n,
                        "allowed must have one entry for each n-gram of full length");
                const Unlocked unlocked;
                return all_ngrams(
                    n_labels, order, rules(n_labels, moves, start, end),
                    allowed ? std::span(allowed->data(), allowed->size()) : std::span<const std::uint8_t>());
            },
            nb::arg("n_labels"), nb::arg("order"), nb::arg("transitions") = nb::none(), nb::arg("start") = nb::none(),
            nb::arg("end") = nb::none(), nb::arg("allowed") = nb::none(),
            "All n-grams that the rules, and `allowed` with an entry for each of full length, leave.")
        .def_static(
            "seen",
            [](std::size_t n_labels, std::size_t order, const nb::list& sequences, bool backoff,
               const std::optional<Bytes>& moves, const std::optional<Bytes>& start, const std::optional<Bytes>& end,
               bool strict) {
                require(n_labels >= 1, "there must be at least one label");
                require(!backoff || !strict, "backoff lets labels follow that strict forbids: choose one");
                std::vector<Numbers> kept;
                std::vector<std::span<const std::uint32_t>> views;
                for (const nb::handle sequence : sequences) {
                    kept.push_back(nb::cast<Numbers>(sequence));
                    views.push_back(view(kept.back()));
                }
                const Unlocked unlocked;
                return seen_ngrams(n_labels, order, views, rules(n_labels, moves, start, end),
                                   backoff  ? Unseen::kBackOff
                                   : strict ? Unseen::kForbidden
                                            : Unseen::kContinued);
            },
            nb::arg("n_labels"), nb::arg("order"), nb::arg("sequences"), nb::arg("backoff") = false,
            nb::arg("transitions") = nb::none(), nb::arg("start") = nb::none(), nb::arg("end") = nb::none(),
            nb::arg("strict") = false,
            "The n-grams of label sequences (uint32 arrays). A history that was only seen at an end goes on as its "
            "longest suffix does, unless `strict`. With `backoff`, labels that were not seen after a history may "
            "follow too, and the longest suffix that was seen is remembered.")
        .def_ro("n_labels", &NGrams::n_labels)
        .def_ro("order", &NGrams::order)
        .def_prop_ro("n_arcs", [](const NGrams& self) { return self.arcs.size(); })
        .def_prop_ro("n_states", [](const NGrams& self) { return self.final.size(); })
        .def_prop_ro(
            "arcs",
            [](const NGrams& self) {
                std::vector<std::uint32_t> rows;
                for (const Arc& arc : self.arcs) rows.insert(rows.end(), {arc.from, arc.label, arc.to});
                return to_numpy(rows, {self.arcs.size(), 3});
            },
            nb::rv_policy::move, "Rows of state, label and next state; state 0 is the first.")
        .def_prop_ro(
            "final", [](const NGrams& self) { return to_numpy(self.final, {self.final.size()}); }, nb::rv_policy::move)
        .def_prop_ro(
            "labels", [](const NGrams& self) { return with_none(self.labels, self.order + 1); }, nb::rv_policy::move,
            "The labels of each arc, (n_arcs, order + 1), oldest first; -1 before the beginning.")
        .def(
            "structure",
            [](const NGrams& self, bool tied) {
                return automaton_structure(self.n_labels, self.arcs, self.final, tied);
            },
            nb::arg("tied") = true, "Blocks: labels, T x K; arcs, 1 x n_arcs, or T x n_arcs when not tied.");
}

// Numbers that NumPy holds, as long as the channel lives.
void take_dense(linear::Channel& out, Singles rows) {
    require(rows.shape(1) == out.n_units, "rows of a channel must have one number for each unit");
    for (std::size_t i = 0; i < rows.size(); ++i)
        require(std::isfinite(rows.data()[i]), "attribute values must be finite numbers");
    auto* held = new Singles(std::move(rows));
    out.dense = std::shared_ptr<const float[]>(held->data(), [held](const float*) {
        const nb::gil_scoped_acquire locked;
        delete held;
    });
}

// (name, block, "each" | "tied" | "interval", longest, n_codes, n_units, codes by code of the block or none, first site
// of each example, and) indptr, indices, values[, not negative]; or a matrix of single precision, not negative
linear::Channel channel_of(const nb::tuple& from) {
    using Sites = linear::Channel::Sites;
    linear::Channel out;
    out.name = nb::cast<std::string>(from[0]);
    out.block = nb::cast<std::size_t>(from[1]);
    const auto sites = nb::cast<std::string>(from[2]);
    require(sites == "each" || sites == "tied" || sites == "interval", "sites must be each, tied or interval");
    out.sites = sites == "each" ? Sites::kEach : sites == "tied" ? Sites::kTied : Sites::kInterval;
    out.longest = nb::cast<std::size_t>(from[3]);
    require(out.sites != Sites::kInterval || out.longest >= 1, "longest must be at least 1");
    out.n_codes = nb::cast<std::size_t>(from[4]);
    out.n_units = nb::cast<std::size_t>(from[5]);
    const auto codes = nb::cast<Indices>(from[6]);
    for (std::size_t i = 0; i < codes.size(); ++i) {
        const std::int64_t code = codes.data()[i];
        require(code >= -1 && code < static_cast<std::int64_t>(out.n_codes), "a code of a channel is out of range");
        out.codes.push_back(code < 0 ? linear::kNoCode : static_cast<std::uint32_t>(code));
    }
    if (from.size() == 10) {  // all numbers of all sites, and whether weights stay from being negative
        out.nonnegative = nb::cast<bool>(from[9]);
        take_dense(out, nb::cast<Singles>(from[8]));
        out.first = starts_of(nb::cast<Indices>(from[7]), nb::cast<Singles>(from[8]).shape(0));
        return out;
    }
    out.nonnegative = from.size() > 11 && nb::cast<bool>(from[11]);
    out.rows = rows_of(nb::cast<Indices>(from[8]), nb::cast<Indices>(from[9]), nb::cast<Vector>(from[10]), out.n_units);
    for (const double value : out.rows.values) require(std::isfinite(value), "attribute values must be finite numbers");
    out.first = starts_of(nb::cast<Indices>(from[7]), out.rows.size());
    return out;
}

std::vector<double> not_negative(const Vector& from, const char* message) {
    for (std::size_t i = 0; i < from.size(); ++i)
        require(std::isfinite(from.data()[i]) && from.data()[i] >= 0.0, message);
    return {from.data(), from.data() + from.size()};
}

linear::Combinations combinations_named(const std::string& name) {
    if (name == "seen") return linear::Combinations::kSeen;
    if (name == "all") return linear::Combinations::kAll;
    require(name == "grown", "combinations must be seen, all or grown");
    return linear::Combinations::kGrown;
}

}  // namespace

void bind_linear(nb::module_& m) {
    bind_structure(m);
    bind_dependency_sites(m);
    bind_bethe(m);
    bind_ngrams(m);
    nb::class_<linear::LinearOracle, Oracle>(
        m, "LinearOracle", "Any structure as learners see it: channels of attributes feed its blocks.")
        .def_prop_ro("n_parameters", &linear::LinearOracle::n_parameters, "Weights, one per attribute and code.")
        .def(
            "__init__",
            [](linear::LinearOracle* self, const DerivationStructure& structure, const nb::list& shapes,
               const nb::list& outputs, const Vector& weights, const nb::list& channels,
               const std::string& combinations, const std::optional<nb::tuple>& allowed,
               const std::optional<Vector>& cost, const std::optional<Vector>& site_weights) {
                linear::Examples examples;
                const auto numbers = [](nb::handle from) {
                    const auto array = nb::cast<Numbers>(from);
                    return std::vector<std::uint32_t>(array.data(), array.data() + array.size());
                };
                for (const nb::handle shape : shapes) examples.shapes.push_back(numbers(shape));
                for (const nb::handle output : outputs) examples.outputs.push_back(numbers(output));
                examples.weights.assign(weights.data(), weights.data() + weights.size());
                for (const double w : examples.weights)
                    require(std::isfinite(w) && w >= 0.0, "weights of examples must be finite numbers >= 0");
                for (const nb::handle channel : channels)
                    examples.channels.push_back(channel_of(nb::cast<nb::tuple>(channel)));
                if (allowed)
                    examples.allowed = allowed_codes(structure, examples.shapes, nb::cast<Numbers>((*allowed)[0]),
                                                     nb::cast<Numbers>((*allowed)[1]));
                if (cost) examples.cost = not_negative(*cost, "costs must be finite numbers >= 0");
                if (site_weights)
                    examples.site_weights = not_negative(*site_weights, "weights of sites must be finite numbers >= 0");
                new (self)
                    linear::LinearOracle(shared(structure), std::move(examples), combinations_named(combinations));
            },
            nb::arg("structure"), nb::arg("shapes"), nb::arg("outputs"), nb::arg("weights"), nb::arg("channels"),
            nb::arg("combinations") = "seen", nb::arg("allowed") = nb::none(), nb::arg("cost") = nb::none(),
            nb::arg("site_weights") = nb::none(),
            "`allowed`, in place of outputs that are known only in part: starts and codes of the codes that each site "
            "of the first block may have; any where there are none. `cost`, by gold and other code of the first block; "
            "`site_weights`, of all its sites.")
        .def(
            "weight",
            [](const linear::LinearOracle& self, std::size_t channel, std::uint32_t unit, std::uint32_t code) {
                const auto& channels = self.features().channels();
                require(
                    channel < channels.size() && unit < channels[channel].n_units && code < channels[channel].n_codes,
                    "there is no such weight");
                const std::uint32_t found = self.features().index().find(channel, unit, code);
                return found == linear::kNoWeight ? std::int64_t{-1} : std::int64_t{found};
            },
            nb::arg("channel"), nb::arg("unit"), nb::arg("code"), "The number of a weight, or -1.");
}

}  // namespace tw::bind
