// The structures that are dynamic programs, each made by one function; a file each defines what they are.
#pragma once

#include <memory>
#include <vector>

#include "../graphs/elimination_order.hpp"
#include "../graphs/graph.hpp"
#include "../hypergraph/layers.hpp"
#include "dependency.hpp"
#include "derivations.hpp"

namespace tw {

// Which labels may start, follow each other and end: non-zero where allowed. Empty: all.
struct LabelRules {
    std::vector<std::uint8_t> moves, start, end;
    std::vector<std::uint32_t> lengths;  // of segments: the longest of each label. Empty: as long as any

    bool may_start(std::size_t k) const { return start.empty() || start[k]; }
    bool may_end(std::size_t k) const { return end.empty() || end[k]; }
    std::size_t longest(std::size_t k, std::size_t of_any) const { return lengths.empty() ? of_any : lengths[k]; }
    bool may_follow(std::size_t a, std::size_t b, std::size_t n_labels) const {
        return moves.empty() || moves[a * n_labels + b];
    }
};

// One of n_labels labels; or, where that is 0, one of as many outputs as the shape says, each of them a site of its
// own.
std::unique_ptr<DerivationStructure> one_of_structure(std::size_t n_labels);

// First-order chains. Tied: all steps share the scores of transitions.
std::unique_ptr<DerivationStructure> chain_structure(std::size_t n_labels, bool tied, LabelRules rules);

// Semi-Markov chains: segments of at most `longest` positions. Tied: all boundaries share the scores of transitions.
std::unique_ptr<DerivationStructure> segment_structure(std::size_t n_labels, std::size_t longest, bool tied,
                                                       LabelRules rules);

// Label sequences that a deterministic automaton accepts, which starts in state 0. `final`: non-zero for states that a
// sequence may end in. Tied: all positions share the scores of arcs. Throws std::invalid_argument when two arcs leave a
// state with one label, or something is out of range. ngrams.hpp makes automata of chains of higher order.
std::unique_ptr<DerivationStructure> automaton_structure(std::size_t n_labels, std::vector<Arc> arcs,
                                                         std::vector<std::uint8_t> final, bool tied = true);

// Projective dependency trees (dependency.hpp says what their parts are), with a single root or with one or more.
std::unique_ptr<DerivationStructure> projective_tree_structure(const DependencyBlocks& blocks, bool single_root);

// Dependency trees whose arcs may cross, of the same parts without siblings and grandparents.
std::unique_ptr<DerivationStructure> arborescence_structure(std::size_t n_labels, bool single_root);

// Spanning trees of undirected graphs.
std::unique_ptr<DerivationStructure> spanning_tree_structure();

// Bipartite matchings (matching.cpp says what their shapes are).
std::unique_ptr<DerivationStructure> matching_structure();

// Monotone alignments of two sequences (alignment.cpp). Affine: runs of gaps have scores for where they begin. Free
// ends: what is before the first pair and after the last scores nothing.
std::unique_ptr<DerivationStructure> alignment_structure(bool affine, bool free_ends);

// Labelled bracketings: trees of constituents over the words of a sentence, scored by span and label.
std::unique_ptr<DerivationStructure> bracketing_structure(std::size_t n_labels);

// The same with scores of pairs of labels, parent and child, and of where children meet. `allowed`: non-zero for the
// pairs that may be, by code; empty: all.
std::unique_ptr<DerivationStructure> nested_bracketing_structure(std::size_t n_labels,
                                                                 std::vector<std::uint8_t> allowed = {});

// A rule of a grammar: a parent over one child or two. Symbols come first, then inner ones, then terminals, which only
// rules with one child lead to. `code`: which score it has, or kNoPart.
inline constexpr std::uint32_t kNoSymbol = ~std::uint32_t{0};
struct GrammarRule {
    std::uint32_t parent, left, right;
    Part code;
};
struct GrammarTables {
    std::size_t n_symbols, n_inner, n_terminals, n_codes;
    std::vector<GrammarRule> rules;
    std::vector<std::uint32_t> starts;
};

// Derivations of a weighted context-free grammar. Given the spans of its symbols and its words, a tree must have one
// derivation. Throws std::invalid_argument when a rule with one child does not lead to a higher symbol, or something is
// out of range.
std::unique_ptr<DerivationStructure> grammar_structure(GrammarTables tables);

// Labelled grids (grid.cpp). `how`: what is done where no answer is exact; kAuto is cuts for the best labelling, and no
// sums. Throws std::invalid_argument when there are no such grids.
struct GridBlocks {
    std::size_t n_labels;
    unsigned n_dimensions = 2;  // or 3
    unsigned neighbours = 4;    // or 8; 6 or 26 in three dimensions; 0: cells are independent
    bool associative = true;    // pairs have one score, of labels that agree; else one for each two labels
};
std::unique_ptr<DerivationStructure> grid_structure(const GridBlocks& blocks, const graphs::Search& how);

// How answers about factor graphs are found: by elimination, or by a search that may not find the best.
struct GraphAnswers {
    enum class Best : std::uint8_t {
        kAuto,    // by elimination where that is narrow enough, else by the search
        kExact,   // by elimination alone
        kSearch,  // by the search alone
    };
    Best best = Best::kAuto;
    graphs::Search search = {};
    bool approximate_sums = false;  // of graphs that are too wide: by messages. False: there are none
    graphs::Limits limits = {};
};

// Two node types that a kind of edges connects.
struct EdgeKind {
    std::uint32_t from, to;
};

// Labels of the nodes of graphs. Nodes are of types, each with as many labels as n_labels says, and edges are of kinds.
//     shape    nodes, edges, the type of each node, then kind and both nodes of each edge
//     blocks   for each type its nodes x labels, in their order; for each kind its edges x pairs of labels, in theirs
//     output   a label for each node
// Throws std::invalid_argument when something is out of range.
std::unique_ptr<DerivationStructure> graph_structure(std::vector<std::uint32_t> n_labels, std::vector<EdgeKind> kinds,
                                                     GraphAnswers answers);

}  // namespace tw
