// Bracketings whose constituents also see the label of their parent, and where its children meet.
//
//     shape, output: as bracketing.cpp
//     spans      n (n + 1) / 2 x L       as there
//     children   1 x (L + 1)^2, tied     code parent * (L + 1) + child; parent L: the child is the whole sentence,
//     child
//                                        L: a bare word
//     splits     n x L                   site k: two children of a constituent of this label meet before word k; site 0
//                                        is in no tree
//
// This is a grammar whose rules are scored piece by piece, any number of children to a rule. Four nodes for each span
// and label, so that a tree has one derivation:
//     several(i, j, l)   two children or more of a constituent l:  child(i, k, l) rest(k, j, l), and the split at k
//     whole(i, j, l)     a constituent: the part of its span, over several(i, j, l) or a word
//     child(i, j, l)     a child of a constituent l:  whole(i, j, any label), or a bare word
//     rest(i, j, l)      one child or more of it:     several(i, j, l), or child(i, j, l)
// That is L n^3 / 6 splits and n^2 / 2 times as many pairs of labels as may be. For the best tree all labels of a node
// lie side by side; nodes of a span are
//     [several: L][whole: L][child: L][rest: L]
#include <cmath>
#include <stdexcept>

#include "bracketing.hpp"
#include "dynamic_program.hpp"
#include "families.hpp"

namespace tw {
namespace {

struct NestedFamily {
    std::size_t n_labels;                                  // L
    std::vector<std::uint8_t> allowed = {};                // pairs, by code; empty: all
    std::vector<std::uint32_t> starts = {}, parents = {};  // by child, the bare word last: its parents, but for L

    NestedFamily(std::size_t L, std::vector<std::uint8_t> pairs) : n_labels(L), allowed(std::move(pairs)) {
        starts.push_back(0);
        for (std::size_t child = 0; child <= L; ++child) {
            for (std::uint32_t parent = 0; parent < L; ++parent)
                if (may(parent, child)) parents.push_back(parent);
            starts.push_back(static_cast<std::uint32_t>(parents.size()));
        }
    }

    static std::size_t n_spans(std::size_t n) { return n * (n + 1) / 2; }
    static std::size_t site(std::size_t n, std::size_t i, std::size_t j) { return i * (2 * n - i + 1) / 2 + j - i - 1; }
    bool may(std::size_t parent, std::size_t child) const {
        return allowed.empty() || allowed[parent * (n_labels + 1) + child];
    }
    Part span_part(std::size_t n, std::size_t i, std::size_t j, std::size_t l) const {
        return static_cast<Part>(site(n, i, j) * n_labels + l);
    }
    Part child_part(std::size_t n, std::size_t parent, std::size_t child) const {
        return static_cast<Part>(n_spans(n) * n_labels + parent * (n_labels + 1) + child);
    }
    Part split_part(std::size_t n, std::size_t k, std::size_t l) const {
        return static_cast<Part>((n_spans(n) + k) * n_labels + (n_labels + 1) * (n_labels + 1) + l);
    }

    std::vector<Block> blocks(Shape shape) const {
        const std::size_t n = shape[0];
        return {
            {"spans", n_spans(n), n_labels}, {"children", 1, (n_labels + 1) * (n_labels + 1)}, {"splits", n, n_labels}};
    }

    void parts_of(Shape shape, std::span<const std::uint32_t> rows, Parts& parts) const {
        const std::size_t n = shape[0];
        bracketing_structure(n_labels)->parts_of(shape, rows, parts);  // checks that they are a tree
        std::vector<std::uint32_t> sorted;
        output_of(shape, parts, sorted);
        const auto add = [&](std::size_t parent, std::size_t child, std::size_t begin, std::size_t i) {
            if (!may(parent, child))
                throw std::invalid_argument("a constituent has a child with a label that it may not have");
            parts.push_back(child_part(n, parent, child));
            if (i > begin) parts.push_back(split_part(n, i, parent));
        };
        each_child(sorted, [&](std::size_t r, std::size_t i, std::size_t child) {
            const bool bare = child == kBare;
            if (r == kBare)
                add(n_labels, sorted[2], 0, 0);
            else
                add(sorted[3 * r + 2], bare ? n_labels : sorted[3 * child + 2], sorted[3 * r], i);
        });
    }

    void output_of(Shape shape, std::span<const Part> parts, std::vector<std::uint32_t>& rows) const {
        const auto end = std::ranges::lower_bound(parts, static_cast<Part>(n_spans(shape[0]) * n_labels));
        bracketing_rows(shape[0], n_labels, parts.first(static_cast<std::size_t>(end - parts.begin())), rows);
    }

    void costs(Shape shape, std::span<const Part> gold, std::span<double> out) const {
        bracketing_costs(shape[0], n_labels, gold, out);
    }

    // As for bracketing.cpp: from the top down, the children of a constituent from left to right.
    void decisions(Shape shape, std::span<const Part> gold, const std::function<void(const Decision&)>& visit) const {
        const std::size_t n = shape[0];
        std::vector<std::uint32_t> rows;
        output_of(shape, gold, rows);
        Parts parts;
        if (shape.size() > 1) throw std::invalid_argument("decisions are made without spans that must be constituents");
        each_child(rows, [&](std::size_t r, std::size_t i, std::size_t child) {
            const std::size_t parent = r == kBare ? n_labels : rows[3 * r + 2];
            const std::size_t end = r == kBare ? n : rows[3 * r + 1];
            std::size_t chosen = 0;
            parts.clear();
            if (r != kBare && may(parent, n_labels)) parts = {kNoPart, child_part(n, parent, n_labels)};
            for (std::size_t j = r == kBare ? n : i + 1; j <= end; ++j)
                for (std::size_t l = 0; l < n_labels; ++l) {
                    if (!may(parent, l) || (r != kBare && j - i == end - rows[3 * r])) continue;
                    if (child != kBare && rows[3 * child + 1] == j && rows[3 * child + 2] == l)
                        chosen = parts.size() / 2;
                    parts.insert(parts.end(), {span_part(n, i, j, l), child_part(n, parent, l)});
                }
            visit({parts, 2, chosen});
        });
    }

    struct Program {  // spans that begin last come first, the shorter first among those that begin at one word
        const NestedFamily& family;
        Shape shape;
        std::size_t n = shape[0], L = family.n_labels;

        std::size_t n_nodes() const { return 4 * L * n_spans(n) + 1; }
        std::size_t several(std::size_t i, std::size_t j) const { return 4 * L * (n_spans(n - i - 1) + j - i - 1); }
        std::size_t whole(std::size_t i, std::size_t j) const { return several(i, j) + L; }
        std::size_t child(std::size_t i, std::size_t j) const { return several(i, j) + 2 * L; }
        std::size_t rest(std::size_t i, std::size_t j) const { return several(i, j) + 3 * L; }
        std::size_t covered(std::size_t) const { return 0; }

        Part node_part(std::size_t v) const {
            if (v + 1 == n_nodes() || v / L % 4 != 1) return kNoPart;
            const auto [i, j] = span_of(v / (4 * L));
            return family.span_part(n, i, j, v % L);
        }
        std::pair<std::size_t, std::size_t> span_of(std::size_t span) const {
            auto row = static_cast<std::size_t>((std::sqrt(8.0 * static_cast<double>(span) + 1.0) - 1.0) / 2.0);
            while (n_spans(row + 1) <= span) ++row;
            while (n_spans(row) > span) --row;
            return {n - row - 1, n - row + span - n_spans(row)};
        }

        template <class Visit>
        void incoming(std::size_t v, Visit visit) const {
            if (v + 1 == n_nodes()) {
                if (n == 0) return visit(kNoPart);
                for (std::size_t l = 0; l < L; ++l)
                    if (family.may(L, l)) visit(family.child_part(n, L, l), whole(0, n) + l);
                return;
            }
            const std::size_t kind = v / L % 4, l = v % L;
            const auto [i, j] = span_of(v / (4 * L));
            std::size_t first = i + 1;  // split
            bool required = false, crosses = false;
            for (std::size_t f = 1; f + 1 < shape.size(); f += 2) {
                const std::size_t a = shape[f], b = shape[f + 1];
                crosses = crosses || (i < a && a < j && j < b) || (a < i && i < b && b < j);
                if (a == i && b < j) first = std::max(first, b);
                required = required || (a == i && b == j);
            }
            if (kind == 0) {
                for (std::size_t k = first; k < j; ++k)
                    visit(family.split_part(n, k, l), child(i, k) + l, rest(k, j) + l);
            } else if (kind == 1) {
                if (crosses) return;
                if (j == i + 1)
                    visit(kNoPart);
                else
                    visit(kNoPart, several(i, j) + l);
            } else if (kind == 2) {
                if (j == i + 1 && !required && family.may(l, L)) visit(family.child_part(n, l, L));
                for (std::size_t k = 0; k < L; ++k)
                    if (family.may(l, k)) visit(family.child_part(n, l, k), whole(i, j) + k);
            } else {
                if (j > i + 1 && !required) visit(kNoPart, several(i, j) + l);
                visit(kNoPart, child(i, j) + l);
            }
        }
    };
    Program program(Shape shape) const { return {*this, shape}; }

    struct Space {
        std::vector<double> scores, nodes, pairs;  // pairs: by child, as `parents`
    };

    bool best(Shape shape, const PartScores& scores, Space& space, Answer& out) const {
        const std::size_t n = shape[0], L = n_labels;
        if (n == 0 || shape.size() > 1) return false;
        const double* values = best_inside(n, scores, space);
        const std::vector<double>& nodes = space.nodes;
        const Program program{*this, shape};
        out.score = nodes.back();
        out.parts.clear();
        if (out.score == kLogZero) return true;
        struct Open {
            std::size_t i, j, l;
        };
        std::vector<Open> open;  // two children or more
        const auto take = [&](std::size_t i, std::size_t j, std::size_t l) {
            out.parts.push_back(span_part(n, i, j, l));
            if (j > i + 1) open.push_back({i, j, l});
        };
        const auto one = [&](std::size_t i, std::size_t j, std::size_t parent) {  // the first that is the best
            const double is = parent == L ? out.score : nodes[program.child(i, j) + parent];
            const Part pair = child_part(n, parent, 0);
            if (j == i + 1 && parent < L && may(parent, L) && values[pair + L] == is)
                return out.parts.push_back(pair + static_cast<Part>(L));
            std::size_t l = 0;
            while (!may(parent, l) || nodes[program.whole(i, j) + l] + values[pair + l] != is) ++l;
            out.parts.push_back(pair + static_cast<Part>(l));
            take(i, j, l);
        };
        one(0, n, L);
        while (!open.empty()) {
            const auto [i, j, l] = open.back();
            open.pop_back();
            const double is = nodes[program.several(i, j) + l];
            std::size_t k = i + 1;
            while (nodes[program.child(i, k) + l] + nodes[program.rest(k, j) + l] + values[split_part(n, k, l)] != is)
                ++k;
            out.parts.push_back(split_part(n, k, l));
            one(i, k, l);
            if (j > k + 1 && nodes[program.rest(k, j) + l] == nodes[program.several(k, j) + l])
                open.push_back({k, j, l});
            else
                one(k, j, l);
        }
        std::ranges::sort(out.parts);
        return true;
    }

    bool sums(Shape, const PartScores&, Space&, double&, double*) const { return false; }

    std::vector<double> inside_best(Shape shape, const PartScores& scores, Space& space) const {
        if (shape.size() > 1) return hypergraph::inside(MaxPlus{}, program(shape), scores);
        best_inside(shape[0], scores, space);
        return space.nodes;
    }

private:
    static constexpr std::size_t kBare = ~std::size_t{0};

    // visit(row of the parent, where the child begins, its row) from the top down, each constituent's children from
    // left to right; kBare stands for the parent of the whole sentence, and for a bare word.
    template <class Visit>
    static void each_child(std::span<const std::uint32_t> rows, Visit visit) {
        if (rows.empty()) return;
        visit(kBare, std::size_t{0}, std::size_t{0});
        std::vector<std::size_t> after(rows.size() / 3);  // the row that follows all within a row
        for (std::size_t r = after.size(); r-- > 0;)
            for (after[r] = r + 1; after[r] < after.size() && rows[3 * after[r]] < rows[3 * r + 1];)
                after[r] = after[after[r]];
        for (std::size_t r = 0; r < after.size(); ++r) {
            if (rows[3 * r + 1] - rows[3 * r] == 1) continue;
            for (std::size_t i = rows[3 * r], child = r + 1; i < rows[3 * r + 1];) {
                const bool bare = child == after[r] || rows[3 * child] > i;
                visit(r, i, bare ? kBare : child);
                i = bare ? i + 1 : rows[3 * child + 1];
                if (!bare) child = after[child];
            }
        }
    }

    // Fills the nodes as the recursions would, sums rounded alike; returns the scores, -inf where they are not allowed.
    const double* best_inside(std::size_t n, const PartScores& scores, Space& space) const {
        const std::size_t L = n_labels;
        const double* values = scores.masked(space.scores);
        const std::uint32_t n_shape = static_cast<std::uint32_t>(n);
        const Program program{*this, {&n_shape, 1}};
        space.nodes.assign(program.n_nodes(), kLogZero);
        space.pairs.resize(parents.size());
        for (std::size_t child = 0; child <= L; ++child)
            for (std::uint32_t p = starts[child]; p < starts[child + 1]; ++p)
                space.pairs[p] = values[child_part(n, parents[p], child)];
        double* nodes = space.nodes.data();
        InterruptCheck check;
        for (std::size_t i = n; i-- > 0;)
            for (std::size_t j = i + 1; j <= n; ++j) {
                check();
                double* several = nodes + program.several(i, j);
                double *whole = several + L, *child = whole + L, *rest = child + L;
                const double* span = values + span_part(n, i, j, 0);
                if (j == i + 1) {
                    for (std::uint32_t p = starts[L]; p < starts[L + 1]; ++p) child[parents[p]] = space.pairs[p];
                    for (std::size_t l = 0; l < L; ++l) whole[l] = 0.0 + span[l];
                } else {
                    for (std::size_t k = i + 1; k < j; ++k)
                        add_split(several, nodes + program.child(i, k), nodes + program.rest(k, j),
                                  values + split_part(n, k, 0), L);
                    for (std::size_t l = 0; l < L; ++l) whole[l] = several[l] + span[l];
                }
                for (std::size_t l = 0; l < L; ++l)
                    for (std::uint32_t p = starts[l]; p < starts[l + 1]; ++p) {
                        const double with = whole[l] + space.pairs[p];
                        double& best = child[parents[p]];
                        best = best < with ? with : best;
                    }
                for (std::size_t l = 0; l < L; ++l) rest[l] = several[l] < child[l] ? child[l] : several[l];
            }
        double& goal = space.nodes.back();
        for (std::size_t l = 0; l < L; ++l)
            if (may(L, l)) goal = std::max(goal, nodes[program.whole(0, n) + l] + values[child_part(n, L, l)]);
        return values;
    }

    static void add_split(double* __restrict several, const double* __restrict child, const double* __restrict rest,
                          const double* __restrict split, std::size_t n) {
        for (std::size_t l = 0; l < n; ++l) {
            const double both = child[l] + rest[l] + split[l];
            several[l] = several[l] < both ? both : several[l];
        }
    }
};

}  // namespace

std::unique_ptr<DerivationStructure> nested_bracketing_structure(std::size_t n_labels,
                                                                 std::vector<std::uint8_t> allowed) {
    if (!allowed.empty() && allowed.size() != (n_labels + 1) * (n_labels + 1))
        throw std::invalid_argument("there must be (L + 1)^2 pairs of labels");
    return std::make_unique<DynamicProgram<NestedFamily>>(NestedFamily(n_labels, std::move(allowed)));
}

}  // namespace tw
