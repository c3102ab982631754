// Monotone alignments of two sequences: pairs that do not cross, and gaps (Levenshtein 1966; Needleman & Wunsch 1970).
//
//     shape [n, m]      output: rows (i, j), both rising
//     pairs             n m x 1     site i m + j: source i stands with target j, equal or not
//     deletions         n x 1       source i stands alone
//     insertions        m x 1       target j stands alone
//     deletion_opens    n x 1       a run of deletions begins at i; only affine
//     insertion_opens   m x 1       (Gotoh 1982)
//
// Between two pairs deletions come before insertions, so a set of pairs is one alignment: there are (n + m over n).
// Free ends: what is before the first pair and after the last has no parts (Smith & Waterman 1981); without pairs there
// are none at all.
//
// Nodes, by state and how much of both is done:
//
//     paired(i, j)     pair (i - 1, j - 1) was last; (0, 0) is the beginning
//     deleted(i, j)    source i - 1 was last        from paired and deleted at (i - 1, j)
//     inserted(i, j)   target j - 1 was last        from all three at (i, j - 1)
#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "dynamic_program.hpp"
#include "families.hpp"

namespace tw {
namespace {

enum State : std::size_t { kPaired, kDeleted, kInserted };

struct AlignmentFamily {
    bool affine, free_ends;

    struct Sizes {
        std::size_t n, m;
        explicit Sizes(Shape shape) : n(shape.size() == 2 ? shape[0] : 0), m(shape.size() == 2 ? shape[1] : 0) {
            if (shape.size() != 2) throw std::invalid_argument("the shape of an alignment is two lengths");
            if (3 * (n + 1) * (m + 1) >= kNoPart) throw std::invalid_argument("two sequences are too long to align");
        }
        Part pair(std::size_t i, std::size_t j) const { return static_cast<Part>(i * m + j); }
        Part deletion(std::size_t i) const { return static_cast<Part>(n * m + i); }
        Part insertion(std::size_t j) const { return static_cast<Part>(n * m + n + j); }
        Part deletion_open(std::size_t i) const { return static_cast<Part>(n * m + n + m + i); }
        Part insertion_open(std::size_t j) const { return static_cast<Part>(n * m + 2 * n + m + j); }
    };

    std::vector<Block> blocks(Shape shape) const {
        const Sizes sizes(shape);
        std::vector<Block> out{{"pairs", sizes.n * sizes.m, 1}, {"deletions", sizes.n, 1}, {"insertions", sizes.m, 1}};
        if (affine) {
            out.push_back({"deletion_opens", sizes.n, 1});
            out.push_back({"insertion_opens", sizes.m, 1});
        }
        return out;
    }

    void parts_of(Shape shape, std::span<const std::uint32_t> rows, Parts& parts) const {
        const Sizes sizes(shape);
        if (rows.size() % 2 != 0) throw std::invalid_argument("an alignment is pairs of a source and a target position");
        std::size_t i = 0, j = 0;
        const auto gaps = [&](std::size_t to_i, std::size_t to_j) {
            if (affine && i < to_i) parts.push_back(sizes.deletion_open(i));
            if (affine && j < to_j) parts.push_back(sizes.insertion_open(j));
            for (; i < to_i; ++i) parts.push_back(sizes.deletion(i));
            for (; j < to_j; ++j) parts.push_back(sizes.insertion(j));
        };
        for (std::size_t k = 0; k < rows.size(); k += 2) {
            const std::size_t a = rows[k], b = rows[k + 1];
            if (a < i || b < j || a >= sizes.n || b >= sizes.m)
                throw std::invalid_argument("pairs of an alignment must rise on both sides, within the lengths");
            if (free_ends && k == 0) {
                i = a;
                j = b;
            }
            gaps(a, b);
            parts.push_back(sizes.pair(a, b));
            i = a + 1;
            j = b + 1;
        }
        if (!free_ends) gaps(sizes.n, sizes.m);
    }
    void output_of(Shape shape, std::span<const Part> parts, std::vector<std::uint32_t>& rows) const {
        const Sizes sizes(shape);
        for (const Part part : parts) {
            if (part >= sizes.n * sizes.m) break;
            const auto m = static_cast<std::uint32_t>(sizes.m);
            rows.insert(rows.end(), {part / m, part % m});
        }
    }

    // One for each pair that gold has not, and a half for each end of a pair of gold that stands alone.
    void costs(Shape shape, std::span<const Part> gold, std::span<double> out) const {
        const Sizes sizes(shape);
        std::ranges::fill(out, 0.0);
        std::fill_n(out.begin(), sizes.n * sizes.m, 1.0);
        for (const Part part : gold) {
            if (part >= sizes.n * sizes.m) break;
            out[part] = 0.0;
            out[sizes.deletion(part / sizes.m)] = out[sizes.insertion(part % sizes.m)] = 0.5;
        }
    }

    struct Program {
        Sizes sizes;
        bool affine, free_ends;

        std::size_t n_nodes() const { return 3 * (sizes.n + 1) * (sizes.m + 1) + 1; }
        std::size_t covered(std::size_t v) const { return v / 3 / (sizes.m + 1); }
        std::size_t node(State state, std::size_t i, std::size_t j) const { return 3 * (i * (sizes.m + 1) + j) + state; }

        Part node_part(std::size_t v) const {
            const std::size_t i = v / 3 / (sizes.m + 1), j = v / 3 % (sizes.m + 1);
            if (v + 1 == n_nodes()) return kNoPart;
            if (v % 3 == kDeleted) return i > 0 ? sizes.deletion(i - 1) : kNoPart;
            if (v % 3 == kInserted) return j > 0 ? sizes.insertion(j - 1) : kNoPart;
            return i > 0 && j > 0 ? sizes.pair(i - 1, j - 1) : kNoPart;
        }

        template <class Visit>
        void incoming(std::size_t v, Visit visit) const {
            const std::size_t i = v / 3 / (sizes.m + 1), j = v / 3 % (sizes.m + 1);
            if (v + 1 == n_nodes()) {
                if (!free_ends) {
                    for (const State state : {kPaired, kDeleted, kInserted})
                        visit(kNoPart, node(state, sizes.n, sizes.m));
                    return;
                }
                visit(kNoPart);
                for (std::size_t a = 1; a <= sizes.n; ++a)
                    for (std::size_t b = 1; b <= sizes.m; ++b) visit(kNoPart, node(kPaired, a, b));
            } else if (v % 3 == kPaired) {
                if (!free_ends && i == 0 && j == 0) visit(kNoPart);
                if (i == 0 || j == 0) return;
                if (free_ends) visit(kNoPart);
                for (const State state : {kPaired, kDeleted, kInserted}) visit(kNoPart, node(state, i - 1, j - 1));
            } else if (v % 3 == kDeleted) {
                if (i == 0) return;
                visit(affine ? sizes.deletion_open(i - 1) : kNoPart, node(kPaired, i - 1, j));
                visit(kNoPart, node(kDeleted, i - 1, j));
            } else if (j > 0) {
                const Part open = affine ? sizes.insertion_open(j - 1) : kNoPart;
                visit(open, node(kPaired, i, j - 1));
                visit(open, node(kDeleted, i, j - 1));
                visit(kNoPart, node(kInserted, i, j - 1));
            }
        }
    };
    Program program(Shape shape) const { return {Sizes(shape), affine, free_ends}; }
};

}  // namespace

std::unique_ptr<DerivationStructure> alignment_structure(bool affine, bool free_ends) {
    return std::make_unique<DynamicProgram<AlignmentFamily>>(AlignmentFamily{affine, free_ends});
}

}  // namespace tw
