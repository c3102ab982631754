// A factor graph: variables with labels of their own, and factors that score the labels of some of them together.
//
//     scores, one number a part, in an order that the owner chooses:
//         variable v   n_labels[v] numbers from unary_at[v] on
//         table f      one number for each joint labelling of its variables from `at` on, the last variable fastest
//     logic factors have no scores: they forbid.
//
// The score of a labelling is the sum of the unary scores and table entries that it meets, -inf where a factor forbids
// it. A graph never sees a weight; exact answers are in elimination.hpp, others in the files of their algorithms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "../structures/structure.hpp"

namespace tw::graphs {

// "Variable v has this label."
struct Literal {
    std::uint32_t variable, label;
};
inline constexpr std::uint32_t kNoVariable = ~std::uint32_t{0};

struct Factor {
    enum class Kind : std::uint8_t {
        kTable,      // a score for each joint labelling of `variables`
        kXor,        // exactly one of `literals` is true
        kOr,         // at least one is
        kAtMost,     // at most `most` are
        kStructure,  // an output of `structure` has part p if and only if literal p is true, for every p that has one
    };

    Kind kind = Kind::kTable;
    std::vector<std::uint32_t> variables = {};  // of tables, all different
    std::size_t at = 0;                         // of tables: where their scores begin
    // Of all others; all different, though several may be about one variable. Of structures: one a part, with
    // kNoVariable where a part stands for no label (the transitions of a chain, say).
    std::vector<Literal> literals = {};
    std::size_t most = 0;
    std::shared_ptr<const Structure> structure = nullptr;  // its parts have scores of their own, from `at` on
    std::vector<std::uint32_t> shape = {};
};

struct Graph {
    std::vector<std::uint32_t> n_labels;  // of variables; at least one each
    std::vector<std::size_t> unary_at;    // of variables
    std::vector<Factor> factors;
    std::size_t n_scores = 0;

    std::size_t n_variables() const { return n_labels.size(); }

    // The parts that a labelling meets, in the order of variables and factors; false where a factor forbids it.
    bool parts_of(std::span<const std::uint32_t> labels, Parts& parts) const;
    // Their scores added up, -inf where the labelling is forbidden.
    double score(std::span<const double> scores, std::span<const std::uint32_t> labels) const;
    // Throws std::invalid_argument where variables, labels or scores are out of range.
    void check() const;
};

// How an answer is looked for where elimination would be too wide.
struct Search {
    enum class Method : std::uint8_t { kAuto, kBeliefs, kReweighted, kDualDecomposition, kCut, kProgram };
    Method method = Method::kAuto;
    std::size_t iterations = 1000;
    double tolerance = 1e-6;  // of changes of messages, or of the gap as a share of the score
    double damping = 0.5;     // of loopy belief propagation: how much of the old message stays
    double seconds = 0.0;     // 0: no limit
    bool relaxed = false;     // a fractional answer may be given as it is (Finley & Joachims 2008)
    bool branch = false;      // branch and bound on what is undecided, until the answer is exact
};

// The best labelling that a search found, with what it proved. `shares`: by part, the relaxed answer or the beliefs
// that it was read off.
struct Found {
    std::vector<std::uint32_t> labels;  // empty where nothing was found that is allowed
    double score = 0.0, bound = 0.0;    // no labelling scores above the bound
    std::vector<double> shares;
    bool converged = false;
    std::size_t iterations = 0;
};

// Sums by messages. log_z: Bethe's estimate, or with tree-reweighted messages an upper bound. `beliefs`: by part.
struct Beliefs {
    double log_z = 0.0;
    std::vector<double> beliefs;
    bool converged = false, bound = false;
    std::size_t iterations = 0;
};

}  // namespace tw::graphs
