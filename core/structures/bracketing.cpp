// Labelled bracketings: trees over the words of a sentence, each constituent a span with one label.
//
//     shape: [n words], or [n words, begin, end, begin, end, ...]: spans that must be constituents
//     output: rows (begin, end, label), outermost first
//     spans   n (n + 1) / 2 x L      the sites of (begin, end) in rows: (0, 1) .. (0, n), (1, 2) .. (1, n), ...
//
// The whole sentence is a constituent. One of two words or more has two children or more, each a bare word, which
// scores nothing, or a constituent; a single word may be one.
//
// Three nodes a span, so that a tree has one derivation however many children there are:
//     several(i, j)  two children or more:  child(i, k) rest(k, j)
//     child(i, j)    one of them:           a label over several(i, j); a word alone may also be bare
//     rest(i, j)     one child or more:     several(i, j), or child(i, j)
// That is n^3 / 6 splits and n^2 / 2 labels. A span that must be a constituent forbids what crosses it, and that its
// words are children of a larger one: several(i, longer) may not split within it, nor rest(i, j) be several. The fast
// way takes the labels of a span together first; then row i of
//     several[i][j]  =  sum over k of child[i][k] rest[k][j]
// needs only rows below it, and is made by adding multiples of these: contiguous in j.
#include "bracketing.hpp"

#include <cmath>
#include <stdexcept>

#include "dynamic_program.hpp"
#include "families.hpp"

namespace tw {
namespace {

struct BracketingFamily {
    std::size_t n_labels;

    static std::size_t n_spans(std::size_t n) { return n * (n + 1) / 2; }
    static std::size_t site(std::size_t n, std::size_t i, std::size_t j) { return i * (2 * n - i + 1) / 2 + j - i - 1; }
    Part part(std::size_t n, std::size_t i, std::size_t j, std::size_t label) const {
        return static_cast<Part>(site(n, i, j) * n_labels + label);
    }

    std::vector<Block> blocks(Shape shape) const { return {{"spans", n_spans(shape[0]), n_labels}}; }

    void parts_of(Shape shape, std::span<const std::uint32_t> rows, Parts& parts) const {
        const std::size_t n = shape[0];
        if (rows.size() % 3 != 0) throw std::invalid_argument("constituents must be rows of begin, end and label");
        for (std::size_t r = 0; r < rows.size(); r += 3) {
            if (rows[r] >= rows[r + 1] || rows[r + 1] > n || rows[r + 2] >= n_labels)
                throw std::invalid_argument("a constituent or its label is out of range");
            parts.push_back(part(n, rows[r], rows[r + 1], rows[r + 2]));
        }
        std::ranges::sort(parts);
        std::vector<std::uint32_t> sorted, ends;  // of the constituents that are open
        output_of(shape, parts, sorted);
        if (n > 0 && (sorted.empty() || sorted[0] != 0 || sorted[1] != n))
            throw std::invalid_argument("the whole sentence must be a constituent");
        for (std::size_t r = 0; r < sorted.size(); r += 3) {
            if (r > 0 && sorted[r] == sorted[r - 3] && sorted[r + 1] == sorted[r - 2])
                throw std::invalid_argument("a span has two labels: a chain of unary constituents must be one label");
            while (!ends.empty() && ends.back() <= sorted[r]) ends.pop_back();
            if (!ends.empty() && ends.back() < sorted[r + 1]) throw std::invalid_argument("two constituents cross");
            ends.push_back(sorted[r + 1]);
        }
        for (std::size_t f = 1; f + 1 < shape.size(); f += 2) {
            const Part first = part(n, shape[f], shape[f + 1], 0);
            if (const auto it = std::ranges::lower_bound(parts, first); it == parts.end() || *it >= first + n_labels)
                throw std::invalid_argument("a span that must be a constituent is none");
        }
    }

    void output_of(Shape shape, std::span<const Part> parts, std::vector<std::uint32_t>& rows) const {
        bracketing_rows(shape[0], n_labels, parts, rows);
    }
    void costs(Shape shape, std::span<const Part> gold, std::span<double> out) const {
        bracketing_costs(shape[0], n_labels, gold, out);
    }

    // From the top down: the label of the sentence; then, for each constituent of two words or more, its children from
    // left to right, each of which is the bare word or a constituent with its end and its label.
    void decisions(Shape shape, std::span<const Part> gold, const std::function<void(const Decision&)>& visit) const {
        const std::size_t n = shape[0];
        std::vector<std::uint32_t> rows;
        output_of(shape, gold, rows);
        Parts parts;
        std::size_t chosen = 0;
        const auto add = [&](std::size_t i, std::size_t j, std::size_t r) {
            for (std::size_t l = 0; l < n_labels; ++l) {
                if (r < rows.size() && rows[r] == i && rows[r + 1] == j && rows[r + 2] == l) chosen = parts.size();
                parts.push_back(part(n, i, j, l));
            }
        };
        if (shape.size() > 1) throw std::invalid_argument("decisions are made without spans that must be constituents");
        if (n == 0) return;
        add(0, n, 0);
        visit({parts, 1, chosen});
        std::vector<std::size_t> after(rows.size() / 3);  // the row that follows all within a row
        for (std::size_t r = rows.size() / 3; r-- > 0;)
            for (after[r] = r + 1; after[r] < after.size() && rows[3 * after[r]] < rows[3 * r + 1];)
                after[r] = after[after[r]];
        for (std::size_t r = 0; r < after.size(); ++r) {
            const std::size_t begin = rows[3 * r], end = rows[3 * r + 1];
            if (end - begin == 1) continue;
            for (std::size_t i = begin, child = r + 1; i < end;) {
                const bool bare = child == after[r] || rows[3 * child] > i;
                parts.assign(1, kNoPart);
                chosen = 0;
                for (std::size_t j = i + 1; j <= end; ++j)
                    if (j - i < end - begin) add(i, j, bare ? rows.size() : 3 * child);
                visit({parts, 1, chosen});
                i = bare ? i + 1 : rows[3 * child + 1];
                if (!bare) child = after[child];
            }
        }
    }

    struct Program {  // spans that begin last come first, the shorter first among those that begin at one word
        const BracketingFamily& family;
        Shape shape;
        std::size_t n = shape[0];

        std::size_t n_nodes() const { return 3 * n_spans(n) + 1; }
        std::size_t several(std::size_t i, std::size_t j) const { return 3 * (n_spans(n - i - 1) + j - i - 1); }
        std::size_t child(std::size_t i, std::size_t j) const { return several(i, j) + 1; }
        std::size_t rest(std::size_t i, std::size_t j) const { return several(i, j) + 2; }
        std::size_t covered(std::size_t) const { return 0; }

        template <class Visit>
        void incoming(std::size_t v, Visit visit) const {
            if (v + 1 == n_nodes()) return n == 0 ? visit(kNoPart) : labels(0, n, visit);
            const std::size_t kind = v % 3, span = v / 3;
            auto row = static_cast<std::size_t>((std::sqrt(8.0 * static_cast<double>(span) + 1.0) - 1.0) / 2.0);
            while (n_spans(row + 1) <= span) ++row;
            while (n_spans(row) > span) --row;
            const std::size_t i = n - row - 1, j = i + 1 + span - n_spans(row);
            std::size_t first = i + 1;  // split
            bool required = false;
            for (std::size_t f = 1; f + 1 < shape.size(); f += 2)
                if (shape[f] == i) {
                    if (shape[f + 1] < j) first = std::max<std::size_t>(first, shape[f + 1]);
                    required = required || shape[f + 1] == j;
                }
            if (kind == 0) {
                for (std::size_t k = first; k < j; ++k) visit(kNoPart, child(i, k), rest(k, j));
            } else if (kind == 1) {
                if (j == i + 1 && !required) visit(kNoPart);
                labels(i, j, visit);
            } else {
                if (j > i + 1 && !required) visit(kNoPart, several(i, j));
                visit(kNoPart, child(i, j));
            }
        }

        template <class Visit>
        void labels(std::size_t i, std::size_t j, Visit visit) const {
            for (std::size_t f = 1; f + 1 < shape.size(); f += 2) {
                const std::size_t a = shape[f], b = shape[f + 1];
                if ((i < a && a < j && j < b) || (a < i && i < b && b < j)) return;  // they cross
            }
            const Part first = family.part(n, i, j, 0);
            for (Part l = 0; l < family.n_labels; ++l)
                if (j == i + 1)
                    visit(first + l);
                else
                    visit(first + l, several(i, j));
        }
    };
    Program program(Shape shape) const { return {*this, shape}; }

    // Tables are [i][j], n + 1 wide, j > i.
    struct Space {
        std::vector<double> scores, top;             // top: the best label of each span
        std::vector<double> several, child, rest;    // the best of each node
        std::vector<double> share, total;            // exp(score - top) of each label, and their sum
        std::vector<double> weight, sum, kid, more;  // of labels; and sums of several, child and rest
        std::vector<double> of_sum, of_more;         // derivatives of log Z
    };

    bool best(Shape shape, const PartScores& scores, Space& space, Answer& out) const {
        const std::size_t n = shape[0], wide = n + 1;
        if (n == 0 || shape.size() > 1) return false;
        const double* values = best_inside(n, scores, space);
        const double below = n > 1 ? space.several[n] : 0.0;
        out.score = below + space.top[n];
        out.parts.clear();
        if (out.score == kLogZero) return true;
        const auto label = [&](std::size_t i, std::size_t j) {  // the first whose rounded sum is the best
            const double base = j > i + 1 ? space.several[i * wide + j] : 0.0;
            const Part first = part(n, i, j, 0);
            Part l = 0;
            while (base + values[first + l] != base + space.top[i * wide + j]) ++l;
            out.parts.push_back(first + l);
        };
        label(0, n);
        std::vector<std::pair<std::size_t, std::size_t>> open;  // two children or more
        if (n > 1) open.emplace_back(0, n);
        const auto one = [&](std::size_t i, std::size_t j) {
            if (j == i + 1 && !(space.top[i * wide + j] > 0.0)) return;
            label(i, j);
            if (j > i + 1) open.emplace_back(i, j);
        };
        while (!open.empty()) {
            const auto [i, j] = open.back();
            open.pop_back();
            std::size_t k = i + 1;
            while (space.child[i * wide + k] + space.rest[k * wide + j] != space.several[i * wide + j]) ++k;
            one(i, k);
            if (j > k + 1 && space.rest[k * wide + j] == space.several[k * wide + j])
                open.emplace_back(k, j);
            else
                one(k, j);
        }
        std::ranges::sort(out.parts);
        return true;
    }

    std::vector<double> inside_best(Shape shape, const PartScores& scores, Space& space) const {
        const std::size_t n = shape[0];
        if (shape.size() > 1) return hypergraph::inside(MaxPlus{}, program(shape), scores);
        best_inside(n, scores, space);
        std::vector<double> out;
        out.reserve(3 * n_spans(n) + 1);
        for (std::size_t i = n; i-- > 0;)
            for (std::size_t at = i * (n + 1) + i + 1; at <= i * (n + 1) + n; ++at)
                out.insert(out.end(), {space.several[at], space.child[at], space.rest[at]});
        out.push_back((n > 1 ? space.several[n] : 0.0) + space.top[n]);
        return out;
    }

    // Sums without logarithms. Each word is scaled by one factor, the best tree's share of a word: all trees over a
    // span then are by the same. Bare words are always possible, so sums of several children are never zero; where they
    // leave [1e-100, 1e100], or labels are too large, false. Labels so small that they vanish do no harm: without the
    // constituent its children are its parent's, so its probability is below its exponentiated score.
    bool sums(Shape shape, const PartScores& scores, Space& space, double& log_z, double* expected) const {
        const std::size_t n = shape[0], wide = n + 1;
        if (n == 0 || shape.size() > 1) return false;
        const double* values = best_inside(n, scores, space);
        const double per_word = n > 1 ? space.several[n] / static_cast<double>(n) : 0.0, word = std::exp(-per_word);
        double largest = 1.0, smallest = 1.0;
        if (!label_sums(n, values, space)) return false;
        const double whole = std::log(space.total[n - 1]) + space.top[n];
        for (auto* table : {&space.sum, &space.kid, &space.more}) table->resize(wide * wide);
        InterruptCheck check;
        for (std::size_t i = n; i-- > 0;) {
            check();
            double *sum = &space.sum[i * wide], *kid = &space.kid[i * wide], *more = &space.more[i * wide];
            std::fill_n(sum, wide, 0.0);
            for (std::size_t k = i + 1; k <= n; ++k) {
                const double labels = space.weight[i * wide + k];
                kid[k] = k == i + 1 ? word + word * labels : labels * sum[k];
                more[k] = k == i + 1 ? kid[k] : sum[k] + kid[k];
                if (k > i + 1) {
                    largest = std::max(largest, sum[k]);
                    smallest = std::min(smallest, sum[k]);
                }
                const double factor = kid[k], *row = &space.more[k * wide];
                for (std::size_t j = k + 1; j <= n; ++j) sum[j] += factor * row[j];
            }
        }
        if (!(largest <= 1e100 && smallest >= 1e-100)) return false;
        log_z = whole + (n > 1 ? std::log(space.sum[n]) + per_word * static_cast<double>(n) : 0.0);
        if (!expected) return true;
        std::fill_n(expected, n_spans(n) * n_labels, 0.0);
        if (log_z != kLogZero) spread(n, word, space, expected);
        return true;
    }

private:
    // The numbers of all labels joined into one, in four lanes that the compiler takes as vectors.
    template <class Join>
    double joined(const double* values, double nothing, Join join) const {
        double lanes[4] = {nothing, nothing, nothing, nothing};
        std::size_t l = 0;
        for (; l + 4 <= n_labels; l += 4)
            for (std::size_t u = 0; u < 4; ++u) lanes[u] = join(lanes[u], values[l + u]);
        for (; l < n_labels; ++l) lanes[0] = join(lanes[0], values[l]);
        return join(join(lanes[0], lanes[1]), join(lanes[2], lanes[3]));
    }

    // Fills top, several, child and rest; returns the scores, -inf where they are not allowed.
    const double* best_inside(std::size_t n, const PartScores& scores, Space& space) const {
        const std::size_t wide = n + 1;
        const double *values = scores.masked(space.scores), *label = values;
        for (auto* table : {&space.top, &space.several, &space.child, &space.rest}) table->resize(wide * wide);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = i + 1; j <= n; ++j, label += n_labels)
                space.top[i * wide + j] = joined(label, kLogZero, [](double a, double b) { return a < b ? b : a; });
        InterruptCheck check;
        for (std::size_t i = n; i-- > 0;) {
            check();
            double *several = &space.several[i * wide], *child = &space.child[i * wide], *rest = &space.rest[i * wide];
            const double* top = &space.top[i * wide];
            std::fill_n(several, wide, kLogZero);
            for (std::size_t k = i + 1; k <= n; ++k) {
                child[k] = k == i + 1 ? std::max(0.0, top[k]) : several[k] + top[k];
                rest[k] = std::max(several[k], child[k]);
                const double one = child[k], *row = &space.rest[k * wide];
                for (std::size_t j = k + 1; j <= n; ++j) {
                    const double both = one + row[j];
                    several[j] = several[j] < both ? both : several[j];
                }
            }
        }
        return values;
    }

    // Fills share and total, by site, and weight, by span. False: too large.
    bool label_sums(std::size_t n, const double* values, Space& space) const {
        const std::size_t wide = n + 1;
        space.share.resize(n_spans(n) * n_labels);
        space.total.resize(n_spans(n));
        space.weight.resize(wide * wide);
        std::size_t at = 0;
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = i + 1; j <= n; ++j, ++at) {
                const double top = space.top[i * wide + j] == kLogZero ? 0.0 : space.top[i * wide + j];
                for (std::size_t l = at * n_labels; l < (at + 1) * n_labels; ++l) space.share[l] = values[l] - top;
            }
        kernels().exponentials(space.share.data(), space.share.size(), space.share.data());
        at = 0;
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = i + 1; j <= n; ++j, ++at) {
                const double total = joined(&space.share[at * n_labels], 0.0, [](double a, double b) { return a + b; });
                space.total[at] = total;
                if (const double top = space.top[i * wide + j]; i > 0 || j < n) {  // the root's is never multiplied
                    if (top > 200.0) return false;
                    space.weight[i * wide + j] = total * std::exp(top);
                }
            }
        return true;
    }

    // Derivatives of log Z, from the whole sentence down: products of what is positive, and sums.
    void spread(std::size_t n, double word, Space& space, double* expected) const {
        const std::size_t wide = n + 1;
        space.of_sum.assign(wide * wide, 0.0);
        space.of_more.assign(wide * wide, 0.0);
        const auto give = [&](std::size_t i, std::size_t j, double p) {
            const std::size_t at = site(n, i, j), first = at * n_labels;
            if (p == 0.0) return;
            p /= space.total[at];
            for (std::size_t l = first; l < first + n_labels; ++l) expected[l] = p * space.share[l];
        };
        InterruptCheck check;
        for (std::size_t i = 0; i < n; ++i) {
            check();
            double* of_sum = &space.of_sum[i * wide];
            for (std::size_t k = n; k > i; --k) {
                if (i == 0 && k == n) {
                    give(0, n, 1.0);
                    if (n > 1) of_sum[n] = 1.0 / space.sum[n];
                    continue;
                }
                const double *more = &space.more[k * wide], factor = space.kid[i * wide + k];
                double *of_more = &space.of_more[k * wide], lanes[4] = {};
                std::size_t j = k + 1;
                for (; j + 4 <= wide; j += 4)
                    for (std::size_t u = 0; u < 4; ++u) {
                        lanes[u] += of_sum[j + u] * more[j + u];
                        of_more[j + u] += of_sum[j + u] * factor;
                    }
                for (; j < wide; ++j) {
                    lanes[0] += of_sum[j] * more[j];
                    of_more[j] += of_sum[j] * factor;
                }
                const double above = space.of_more[i * wide + k], weight = space.weight[i * wide + k];
                const double of_kid = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) + above;
                of_sum[k] = above + weight * of_kid;
                give(i, k, of_kid * weight * (k == i + 1 ? word : space.sum[i * wide + k]));
            }
        }
    }
};

}  // namespace

void bracketing_rows(std::size_t n, std::size_t n_labels, std::span<const Part> parts,
                     std::vector<std::uint32_t>& rows) {
    const auto wide = static_cast<std::uint32_t>(n);
    std::uint32_t i = 0, begin = 0;  // the row of spans, and its first site
    const std::size_t before = rows.size();
    for (const Part part : parts) {
        const auto at = static_cast<std::uint32_t>(part / n_labels);
        for (; at >= begin + (wide - i); ++i) begin += wide - i;
        rows.insert(rows.end(), {i, i + at - begin + 1, static_cast<std::uint32_t>(part % n_labels)});
    }
    // What begins at one word comes from the shortest to the longest: turn it round.
    for (std::size_t r = before, end; r < rows.size(); r = end) {
        for (end = r + 3; end < rows.size() && rows[end] == rows[r];) end += 3;
        for (std::size_t a = r, b = end - 3; a < b; a += 3, b -= 3)
            std::swap_ranges(rows.begin() + a, rows.begin() + a + 3, rows.begin() + b);
    }
}

void bracketing_costs(std::size_t n, std::size_t n_labels, std::span<const Part> gold, std::span<double> out) {
    const std::size_t n_spans = n * (n + 1) / 2;
    std::ranges::fill(out, 0.0);
    std::fill_n(out.begin(), n_spans * n_labels, 1.0);
    double all = 0.0;
    for (const Part part : gold)
        if (part < n_spans * n_labels) {
            out[part] = -1.0;
            ++all;
        }
    for (std::size_t l = 0; l < n_labels && n > 0; ++l) out[(n - 1) * n_labels + l] += all;
}

std::unique_ptr<DerivationStructure> bracketing_structure(std::size_t n_labels) {
    return std::make_unique<DynamicProgram<BracketingFamily>>(BracketingFamily{n_labels});
}

}  // namespace tw
