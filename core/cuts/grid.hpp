// Grids of cells in two or three dimensions: the best labelling by minimum cuts.
//
//     score(labels) = sum of unary[cell][label] + sum over edges of pair(direction of the edge)[label][label']
//
//     cells are numbered row by row (plane by plane in 3-D), the column fastest.
//     an edge goes from a cell one step in a direction; label is that of the cell it leaves, label' where it arrives.
//     directions, as steps (plane, row, column):
//         4   right (0,0,1)  down (0,1,0)
//         8   as 4, then  down-right (0,1,1)  down-left (0,1,-1)
//         6   right (0,0,1)  down (0,1,0)  back (1,0,0)
//         26  as 6, then  (0,1,1) (0,1,-1) (1,0,1) (1,0,-1) (1,1,0) (1,-1,0) (1,1,1) (1,1,-1) (1,-1,1) (1,-1,-1)
//     edges of one direction are numbered by the lower corner of the box that their two cells span, in a grid that is
//     one smaller along every axis the direction moves on: right is [row][column of H, W - 1], down-left (i, j) goes
//     from cell (i, j + 1) to (i + 1, j).
//
// Scores are maximised; -inf forbids, in unary and in pair scores. Whatever is found says what was proved: no labelling
// scores above the bound. Ties of exact cuts: the labelling whose labels are lowest, cell by cell (there is one).
//
// Two labels: exact where P[0][0] + P[1][1] >= P[0][1] + P[1][0] on every edge (Greig, Porteous & Seheult 1989,
// Kolmogorov & Zabih 2004). More: alpha-expansion and alpha-beta-swap (Boykov, Veksler & Zabih 2001). Two labels, any
// pairs: roof duality (QPBO; Hammer, Hansen & Simeone 1984, Boros & Hammer 2002), which labels some cells as every best
// labelling of a certain kind has them and leaves others undecided.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "../structures/structure.hpp"

namespace tw::cuts {

inline constexpr std::uint32_t kUndecided = ~std::uint32_t{0};

struct Direction {
    int plane, row, column;
};

// The directions of 4, 8, 6 or 26 neighbours; throws std::invalid_argument for others.
std::span<const Direction> directions(unsigned neighbours);

// Scores of the edges of one direction. A view: the caller keeps the numbers alive.
struct PairScores {
    enum class Kind : std::uint8_t {
        kNone,    // all zero
        kTable,   // [label][label'], the same for all edges
        kTables,  // [edge][label][label']
        kAgree,   // one number for all edges, added where the two labels are equal
        kAgrees,  // [edge], one number each
    };
    Kind kind = Kind::kNone;
    const double* scores = nullptr;
};

// A problem. A view: the caller keeps the numbers alive.
struct GridScores {
    std::array<std::uint32_t, 3> size;  // planes (1 in 2-D), rows, columns
    unsigned neighbours;                // 4 or 8 with one plane; 6 or 26
    std::size_t n_labels;
    const double* unary;            // [cell][label]
    std::vector<PairScores> pairs;  // one for each of directions(neighbours)

    std::size_t n_cells() const { return std::size_t{size[0]} * size[1] * size[2]; }
    std::size_t n_edges(const Direction& d) const;

    double pair(std::size_t direction, std::size_t edge, std::uint32_t a, std::uint32_t b) const {
        const PairScores& p = pairs[direction];
        switch (p.kind) {
            case PairScores::Kind::kNone:
                return 0.0;
            case PairScores::Kind::kTable:
                return p.scores[a * n_labels + b];
            case PairScores::Kind::kTables:
                return p.scores[(edge * n_labels + a) * n_labels + b];
            case PairScores::Kind::kAgree:
                return a == b ? p.scores[0] : 0.0;
            case PairScores::Kind::kAgrees:
                return a == b ? p.scores[edge] : 0.0;
        }
        return 0.0;
    }
};

// Calls visit(edge number, from cell, to cell) for every edge of a direction, in order.
template <class Visit>
void each_edge(const GridScores& grid, std::size_t direction, Visit visit) {
    const Direction d = directions(grid.neighbours)[direction];
    const std::size_t n_rows = grid.size[1], n_columns = grid.size[2];
    const auto shrink = [](std::uint32_t n, int step) { return static_cast<std::size_t>(step && n ? n - 1 : n); };
    const auto corner = [&](int plane, int row, int column) {  // of the box: which of its cells
        return (static_cast<std::size_t>(plane) * n_rows + static_cast<std::size_t>(row)) * n_columns +
               static_cast<std::size_t>(column);
    };
    const std::size_t planes = shrink(grid.size[0], d.plane), rows = shrink(grid.size[1], d.row),
                      columns = shrink(grid.size[2], d.column);
    const std::size_t first = corner(d.plane < 0, d.row < 0, d.column < 0);
    const std::size_t second = corner(d.plane > 0, d.row > 0, d.column > 0);
    std::size_t edge = 0;
    for (std::size_t p = 0; p < planes; ++p)
        for (std::size_t i = 0; i < rows; ++i) {
            const std::size_t row = (p * n_rows + i) * n_columns;
            for (std::size_t j = 0; j < columns; ++j, ++edge) visit(edge, row + j + first, row + j + second);
        }
}

double score(const GridScores& grid, std::span<const std::uint32_t> labels);

// A pair of labels for which a cut has no network: P[a][a] + P[b][b] < P[a][b] + P[b][a].
struct RefusedEdge {
    std::size_t direction, edge, from, to;
    std::uint32_t a, b;
    double agree, differ;  // the two sums
};

struct GridAnswer {
    std::vector<std::uint32_t> labels;  // empty where every labelling is forbidden or none was found that is allowed
    double score = -std::numeric_limits<double>::infinity();
    double bound = std::numeric_limits<double>::infinity();  // no labelling scores above it
    bool exact = false;                                      // proved optimal; then the bound is the score
    bool impossible = false;                                 // proved: every labelling is forbidden
    std::size_t n_undecided = 0;                             // of roof duality: cells labelled kUndecided
    std::size_t rounds = 0;                                  // of expansion and swap: passes over all labels

    double gap() const { return exact ? 0.0 : bound - score; }
};

// Solves one problem after the other in memory that is kept. One for each thread.
class GridSolver {
public:
    GridSolver();
    ~GridSolver();
    GridSolver(GridSolver&&) noexcept;
    GridSolver& operator=(GridSolver&&) noexcept;

    // The first edge, by direction and number, that is not submodular for some two labels; false where there is none.
    static bool find_refused(const GridScores& grid, RefusedEdge& found);

    // One or two labels, exactly. Every edge must be submodular: std::invalid_argument names the first that is not.
    GridAnswer cut(const GridScores& grid);
    // The same where only scores have changed since the last cut() of this solver, from `before` to `grid`: begins with
    // the flow that was found then (Kohli & Torr 2007). The same answer as cut(grid), up to rounding among ties.
    GridAnswer cut_again(const GridScores& before, const GridScores& grid);

    // Local optima for any number of labels: no move of the kind makes them better. `start`: labels to begin with, or
    // empty. Pairs that a move cannot express are truncated (Rother et al. 2005), so the score never falls.
    GridAnswer expansion(const GridScores& grid, std::span<const std::uint32_t> start = {}, std::size_t rounds = 100);
    GridAnswer swap(const GridScores& grid, std::span<const std::uint32_t> start = {}, std::size_t rounds = 100);

    // Roof duality, two labels, any pairs. `labels` has kUndecided where nothing is known; score is that of a complete
    // labelling only where n_undecided is 0. Some best labelling agrees with all that is decided.
    GridAnswer partial(const GridScores& grid);
    // A complete labelling from it: undecided cells are improved from `start` (or the best unary labels) by probing,
    // which keeps what is decided; exact where all is.
    GridAnswer qpbo(const GridScores& grid, std::span<const std::uint32_t> start = {}, std::size_t rounds = 10);

    // Two labels, submodular: the k best labellings, best first, by partition (Lawler 1972): one cut for each cell and
    // labelling. Fewer where fewer are allowed.
    std::vector<GridAnswer> kbest(const GridScores& grid, std::size_t k);
    // Two labels, submodular: the best score with each label at each cell, [cell][label]; one cut for each cell.
    std::vector<double> max_marginals(const GridScores& grid);

    // Whichever of these fits: cut where it is exact, qpbo for other problems of two labels, expansion for more.
    GridAnswer best(const GridScores& grid);

    // Bytes that cut() takes beside the scores.
    static double bytes_needed(const GridScores& grid);

private:
    struct Insides;
    std::unique_ptr<Insides> insides_;
};

}  // namespace tw::cuts
