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
        if (rows.size() % 2 != 0)
            throw std::invalid_argument("an alignment is pairs of a source and a target position");
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
        std::size_t node(State state, std::size_t i, std::size_t j) const {
            return 3 * (i * (sizes.m + 1) + j) + state;
        }

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

    struct Space {
        std::vector<double> masked, paired, deleted;  // by column, of the row before and then of this one
        std::vector<std::uint8_t> from;               // by row and column
    };

    // The best alignment row by row. Of each cell a byte remembers where its three states came from:
    //
    //     bits 0-1  paired: from which state, or 3 where it is the first     bit 2  deleted: opened by a pair, or 0
    //     bits 3-4  inserted: from which state
    //
    // Sums and the order of comparisons are those of the recursions, so the answer is the same to the last bit.
    bool best(Shape shape, const PartScores& scores, Space& space, Answer& answer) const {
        const Sizes sizes(shape);
        const std::size_t n = sizes.n, m = sizes.m;
        const double* given = scores.masked(space.masked);
        const double *deletions = given + n * m, *insertions = deletions + n, *opens = insertions + m;
        space.paired.assign(m + 1, kLogZero);
        space.deleted.assign(m + 1, kLogZero);
        space.from.resize((n + 1) * (m + 1));
        double* paired = space.paired.data();
        double* deleted = space.deleted.data();
        std::vector<double> inserted_before(m + 1, kLogZero), inserted_here(m + 1);
        double highest = free_ends ? 0.0 : kLogZero;  // of free ends: without pairs
        std::size_t end_i = 0, end_j = 0;
        InterruptCheck check;
        for (std::size_t i = 0; i <= n; ++i) {
            check();
            std::uint8_t* from = space.from.data() + i * (m + 1);
            const double* row = given + (i > 0 ? (i - 1) * m : 0);
            const double alone = i > 0 ? deletions[i - 1] : 0.0;
            const double open_here = affine && i > 0 ? opens[i - 1] : 0.0;
            double diagonal_paired = kLogZero, diagonal_deleted = kLogZero;  // of the row before, one column back
            double inserted = kLogZero;
            for (std::size_t j = 0; j <= m; ++j) {
                std::uint8_t code = 0;
                double here = !free_ends && i == 0 && j == 0 ? 0.0 : kLogZero, gap = kLogZero;
                if (i > 0 && j > 0) {
                    double before = free_ends ? 0.0 : kLogZero;
                    code = 3;
                    if (diagonal_paired > before) before = diagonal_paired, code = kPaired;
                    if (diagonal_deleted > before) before = diagonal_deleted, code = kDeleted;
                    if (inserted_before[j - 1] > before) before = inserted_before[j - 1], code = kInserted;
                    here = before + row[j - 1];
                    if (free_ends && here > highest) {
                        highest = here;
                        end_i = i;
                        end_j = j;
                    }
                }
                if (j > 0) {
                    const double open = affine ? opens[n + j - 1] : 0.0;
                    const double by_pair = paired[j - 1] + open, by_gap = deleted[j - 1] + open;
                    double best = by_pair;
                    std::uint8_t state = kPaired;
                    if (by_gap > best) best = by_gap, state = kDeleted;
                    if (inserted > best) best = inserted, state = kInserted;
                    inserted = best + insertions[j - 1];
                    code |= static_cast<std::uint8_t>(state << 3);
                }
                diagonal_paired = paired[j];
                diagonal_deleted = deleted[j];
                if (i > 0) {
                    const double opened = diagonal_paired + open_here;
                    const bool goes_on = diagonal_deleted > opened;
                    gap = (goes_on ? diagonal_deleted : opened) + alone;
                    code |= static_cast<std::uint8_t>(goes_on << 2);
                }
                paired[j] = here;
                deleted[j] = gap;
                inserted_here[j] = inserted;
                from[j] = code;
            }
            inserted_before.swap(inserted_here);
        }
        State state = kPaired;
        if (!free_ends) {
            highest = paired[m];
            if (deleted[m] > highest) highest = deleted[m], state = kDeleted;
            if (inserted_before[m] > highest) highest = inserted_before[m], state = kInserted;
            end_i = n;
            end_j = m;
        }
        answer.score = highest;
        if (highest == kLogZero) return true;
        trace(sizes, space, state, end_i, end_j, answer.parts);
        return true;
    }

    void trace(const Sizes& sizes, const Space& space, State state, std::size_t i, std::size_t j, Parts& parts) const {
        while (i > 0 || j > 0) {
            const std::uint8_t code = space.from[i * (sizes.m + 1) + j];
            if (state == kPaired) {
                parts.push_back(sizes.pair(--i, --j));
                if ((code & 3) == 3) break;
                state = static_cast<State>(code & 3);
            } else if (state == kDeleted) {
                parts.push_back(sizes.deletion(--i));
                state = code >> 2 & 1 ? kDeleted : kPaired;
                if (affine && state == kPaired) parts.push_back(sizes.deletion_open(i));
            } else {
                parts.push_back(sizes.insertion(--j));
                state = static_cast<State>(code >> 3);
                if (affine && state != kInserted) parts.push_back(sizes.insertion_open(j));
            }
        }
        std::ranges::sort(parts);
    }

    bool sums(Shape, const PartScores&, Space&, double&, double*) const { return false; }
};

}  // namespace

std::unique_ptr<DerivationStructure> alignment_structure(bool affine, bool free_ends) {
    return std::make_unique<DynamicProgram<AlignmentFamily>>(AlignmentFamily{affine, free_ends});
}

}  // namespace tw
