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
#include <numbers>
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
        std::vector<double> sums, of_sums, factors, more;
        std::vector<std::int32_t> powers;
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

    // Sums without logarithms. Each kind of node of a span has a power of two of its own, so that the largest of its
    // labels is from 1/2 to 1. False where some label is further below that than kLeast, a score is beyond kMost or two
    // splits are further apart than kFar, so that nothing that is not zero becomes zero; or where the sum of splits is
    // more than kDeep below the largest, so that no derivative leaves the range.
    bool sums(Shape shape, const PartScores& scores, Space& space, double& log_z, double* expected) const {
        const std::size_t n = shape[0], L = n_labels;
        if (n == 0 || shape.size() > 1 || !exponentiate(n, scores, space)) return false;
        const Program program{*this, shape};
        const double* factors = space.factors.data();
        space.sums.assign(program.n_nodes(), 0.0);
        space.powers.assign(4 * n_spans(n), 0);
        InterruptCheck check;
        for (std::size_t i = n; i-- > 0;)
            for (std::size_t j = i + 1; j <= n; ++j) {
                check();
                double* several = space.sums.data() + program.several(i, j);
                double *whole = several + L, *child = whole + L, *rest = child + L;
                std::int32_t* power = &space.powers[program.several(i, j) / L];
                const double* span = factors + span_part(n, i, j, 0);
                if (j > i + 1) {
                    if (!add_splits(program, i, j, space, several, power[0])) return false;
                    power[1] = power[0];
                    for (std::size_t l = 0; l < L; ++l) whole[l] = several[l] * span[l];
                } else {
                    std::copy_n(span, L, whole);
                    for (std::uint32_t p = starts[L]; p < starts[L + 1]; ++p) child[parents[p]] = space.pairs[p];
                }
                if (!scaled(whole, power[1])) return false;
                // Of a word alone a bare child is there already, with the power 0.
                const double into = std::ldexp(1.0, j > i + 1 ? 0 : power[1]);
                power[2] = j > i + 1 ? power[1] : 0;
                for (std::size_t l = 0; l < L; ++l)
                    for (std::uint32_t p = starts[l]; p < starts[l + 1]; ++p)
                        child[parents[p]] += whole[l] * into * space.pairs[p];
                if (!scaled(child, power[2])) return false;
                power[3] = std::max(power[0], power[2]);
                if (j == i + 1) power[3] = power[2];
                const double a = j > i + 1 ? std::ldexp(1.0, power[0] - power[3]) : 0.0;
                const double b = std::ldexp(1.0, power[2] - power[3]);
                for (std::size_t l = 0; l < L; ++l) rest[l] = several[l] * a + child[l] * b;
                if (lost(several, a) || lost(child, b) || !scaled(rest, power[3])) return false;
            }
        const double* whole = space.sums.data() + program.whole(0, n);
        double total = 0.0;
        for (std::size_t l = 0; l < L; ++l) total += whole[l] * factors[child_part(n, L, l)] * (may(L, l) ? 1.0 : 0.0);
        const std::int32_t power = space.powers[program.whole(0, n) / L];
        log_z = total > 0.0 ? std::log(total) + power * std::numbers::ln2 : kLogZero;
        if (expected) std::fill_n(expected, factors_size(n), 0.0);
        if (expected && total > 0.0) spread(program, total, space, expected);
        return true;
    }

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

    static constexpr double kLeast = 1e-110, kMost = 100.0, kMostOfSplits = 30.0;
    static constexpr int kFar = 240, kDeep = 580;  // powers of two

    std::size_t factors_size(std::size_t n) const { return split_part(n, n, 0); }

    // Exponentiated scores, those of pairs also by child. False: too large or too small.
    bool exponentiate(std::size_t n, const PartScores& scores, Space& space) const {
        const double* values = scores.masked(space.scores);
        const std::size_t size = factors_size(n);
        const std::size_t splits = split_part(n, 0, 0);
        for (std::size_t i = 0; i < size; ++i)
            if (std::abs(values[i]) > (i < splits ? kMost : kMostOfSplits) && values[i] != kLogZero) return false;
        space.factors.assign(values, values + size);
        kernels().exponentials(space.factors.data(), size, space.factors.data());
        space.pairs.resize(parents.size());
        for (std::size_t child = 0; child <= n_labels; ++child)
            for (std::uint32_t p = starts[child]; p < starts[child + 1]; ++p)
                space.pairs[p] = space.factors[child_part(n, parents[p], child)];
        return true;
    }

    // Scales labels so that the largest is from 1/2 to 1. False: another one that is not zero is too small then.
    bool scaled(double* labels, std::int32_t& power) const {
        double most = 0.0;
        for (std::size_t l = 0; l < n_labels; ++l) most = std::max(most, labels[l]);
        if (most == 0.0) {
            power = 0;
            return true;
        }
        int shift;
        std::frexp(most, &shift);
        power += shift;
        const double by = std::ldexp(1.0, -shift);
        bool good = true;
        for (std::size_t l = 0; l < n_labels; ++l) {
            labels[l] *= by;
            good = good && (labels[l] == 0.0 || labels[l] >= kLeast);
        }
        return good;
    }
    // Whether labels that are not all zero are multiplied by next to nothing.
    bool lost(const double* labels, double by) const {
        if (by >= std::ldexp(1.0, -kFar)) return false;
        return std::any_of(labels, labels + n_labels, [](double x) { return x > 0.0; });
    }

    // Two children or more: `power` is that of the sum. False: too far apart, or too small.
    bool add_splits(const Program& program, std::size_t i, std::size_t j, Space& space, double* several,
                    std::int32_t& power) const {
        const std::size_t L = n_labels;
        bool first = true;
        for (std::size_t k = i + 1; k < j; ++k) {
            const double *child = &space.sums[program.child(i, k)], *rest = &space.sums[program.rest(k, j)];
            const double* split = &space.factors[split_part(program.n, k, 0)];
            const std::int32_t own = space.powers[program.child(i, k) / L] + space.powers[program.rest(k, j) / L];
            if (std::none_of(child, child + L, [](double x) { return x > 0.0; }) ||
                std::none_of(rest, rest + L, [](double x) { return x > 0.0; }))
                continue;
            if (first) power = own;
            first = false;
            if (own < power - kFar) return false;
            if (own > power) {  // the sum so far is smaller
                if (own - power > kFar) return false;
                const double by = std::ldexp(1.0, power - own);
                for (std::size_t l = 0; l < L; ++l) several[l] *= by;
                power = own;
            }
            const double by = std::ldexp(1.0, own - power);
            for (std::size_t l = 0; l < L; ++l) several[l] += child[l] * rest[l] * (split[l] * by);
        }
        const std::int32_t before = power;
        return scaled(several, power) && before - power < kDeep;
    }

    // Derivatives of log Z by the scaled sums, from the whole sentence down; those of what is zero do not matter.
    void spread(const Program& program, double total, Space& space, double* expected) const {
        const std::size_t n = program.n, L = n_labels;
        const double *factors = space.factors.data(), *sums = space.sums.data();
        space.of_sums.assign(program.n_nodes(), 0.0);
        space.more.assign(parents.size() + L, 0.0);
        double *of_sums = space.of_sums.data(), *of_pairs = space.more.data(), *through = of_pairs + parents.size();
        for (std::size_t l = 0; l < L; ++l) {
            if (!may(L, l)) continue;
            const double factor = factors[child_part(n, L, l)] / total;
            of_sums[program.whole(0, n) + l] = factor;
            expected[child_part(n, L, l)] = factor * sums[program.whole(0, n) + l];
        }
        InterruptCheck check;
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = n; j > i; --j) {
                check();
                const std::size_t at = program.several(i, j);
                double *of_several = of_sums + at, *of_whole = of_several + L, *of_child = of_whole + L,
                       *of_rest = of_child + L;
                const double *several = sums + at, *whole = several + L, *child = whole + L, *rest = child + L;
                const std::int32_t* power = &space.powers[at / L];
                const double a = j > i + 1 ? std::ldexp(1.0, power[0] - power[3]) : 0.0;
                const double b = std::ldexp(1.0, power[2] - power[3]), c = std::ldexp(1.0, power[1] - power[2]);
                for (std::size_t l = 0; l < L; ++l) {
                    const double above = rest[l] > 0.0 ? of_rest[l] : 0.0;
                    of_several[l] += above * a;
                    of_child[l] = child[l] > 0.0 ? of_child[l] + above * b : 0.0;
                }
                for (std::size_t l = 0; l < L; ++l) {
                    if (whole[l] == 0.0) continue;
                    double sum = 0.0;
                    for (std::uint32_t p = starts[l]; p < starts[l + 1]; ++p) {
                        const double one = of_child[parents[p]] * space.pairs[p] * c;
                        sum += one;
                        of_pairs[p] += one * whole[l];
                    }
                    of_whole[l] += sum;
                    expected[span_part(n, i, j, l)] = of_whole[l] * whole[l];
                }
                if (j == i + 1) {
                    const double bare = std::ldexp(1.0, -power[2]);
                    for (std::uint32_t p = starts[L]; p < starts[L + 1]; ++p)
                        of_pairs[p] += of_child[parents[p]] * space.pairs[p] * bare;
                    continue;
                }
                const double* span = factors + span_part(n, i, j, 0);
                const double d = std::ldexp(1.0, power[0] - power[1]);
                for (std::size_t l = 0; l < L; ++l)
                    through[l] = several[l] > 0.0 ? of_several[l] + of_whole[l] * span[l] * d : 0.0;
                for (std::size_t k = i + 1; k < j; ++k) {
                    const std::size_t left = program.child(i, k), right = program.rest(k, j);
                    const std::int32_t own = space.powers[left / L] + space.powers[right / L];
                    const double by = std::ldexp(1.0, own - power[0]);
                    add_derivatives(through, by, factors + split_part(n, k, 0), sums + left, sums + right,
                                    of_sums + left, of_sums + right, expected + split_part(n, k, 0), L);
                }
            }
        for (std::size_t child = 0; child <= L; ++child)
            for (std::uint32_t p = starts[child]; p < starts[child + 1]; ++p)
                expected[child_part(n, parents[p], child)] = of_pairs[p];
    }

    static void add_derivatives(const double* __restrict through, double by, const double* __restrict split,
                                const double* __restrict child, const double* __restrict rest,
                                double* __restrict of_child, double* __restrict of_rest, double* __restrict of_split,
                                std::size_t n) {
        for (std::size_t l = 0; l < n; ++l) {
            const double one = through[l] * (split[l] * by), left = one * rest[l];
            of_child[l] += left;
            of_rest[l] += one * child[l];
            of_split[l] += left * child[l];
        }
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
