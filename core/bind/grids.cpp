// Grids of cells: scores as arrays in, labellings out.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <optional>
#include <string>

#include "../cuts/grid.hpp"
#include "arrays.hpp"

namespace tw::bind {
namespace {

using cuts::GridAnswer;
using cuts::GridScores;
using cuts::GridSolver;
using cuts::PairScores;
using CellLabels = nb::ndarray<const std::int32_t, nb::c_contig, nb::device::cpu>;

PairScores::Kind kind_of(const std::string& name) {
    if (name == "none") return PairScores::Kind::kNone;
    if (name == "table") return PairScores::Kind::kTable;
    if (name == "tables") return PairScores::Kind::kTables;
    if (name == "agree") return PairScores::Kind::kAgree;
    require(name == "agrees", "unknown kind of pair scores");
    return PairScores::Kind::kAgrees;
}

// Scores of a grid with the arrays they lie in.
class BoundGrid {
public:
    BoundGrid(const std::vector<std::uint32_t>& size, unsigned neighbours, std::size_t n_labels, const Scores& unary,
              const std::vector<std::pair<std::string, Scores>>& pairs)
        : unary_(unary) {
        const std::span<const cuts::Direction> steps = cuts::directions(neighbours);
        require(size.size() == 3 && (size[0] == 1 || neighbours == 6 || neighbours == 26),
                "size must be three numbers");
        require(n_labels >= 1 && n_labels < (1u << 20), "there must be at least one label, and fewer than 2**20");
        scores_ = {{size[0], size[1], size[2]}, neighbours, n_labels, unary.data(), {}};
        require(scores_.n_cells() < (std::size_t{1} << 31), "there must be fewer than 2**31 cells");
        require(unary.size() == scores_.n_cells() * n_labels, "unary has the wrong size");
        require_scores(unary, "unary holds NaN, +inf or a number beyond 1e300");
        require(pairs.size() == steps.size(), "there must be pair scores for each direction");
        for (std::size_t d = 0; d < pairs.size(); ++d) {
            const PairScores::Kind kind = kind_of(pairs[d].first);
            const std::size_t table = n_labels * n_labels, n_edges = scores_.n_edges(steps[d]);
            const std::size_t wanted = kind == PairScores::Kind::kNone     ? pairs[d].second.size()
                                       : kind == PairScores::Kind::kTable  ? table
                                       : kind == PairScores::Kind::kTables ? n_edges * table
                                       : kind == PairScores::Kind::kAgree  ? 1
                                                                           : n_edges;
            require(pairs[d].second.size() == wanted, "pair scores have the wrong size");
            require_scores(pairs[d].second, "pair scores hold NaN, +inf or a number beyond 1e300");
            pairs_.push_back(pairs[d].second);
            scores_.pairs.push_back({kind, pairs[d].second.data()});
        }
    }

    const GridScores& scores() const { return scores_; }

    std::vector<std::uint32_t> checked(const CellLabels& labels) const {
        require(labels.size() == scores_.n_cells(), "there must be one label for each cell");
        std::vector<std::uint32_t> out(labels.data(), labels.data() + labels.size());
        for (const std::uint32_t label : out) require(label < scores_.n_labels, "a label is out of range");
        return out;
    }

    double score(const CellLabels& labels) const {
        const std::vector<std::uint32_t> given = checked(labels);
        const Unlocked unlocked;
        return cuts::score(scores_, given);
    }

    // (direction, from, to, a, b, agree, differ) of the first edge that is not submodular, or None.
    nb::object refused() const {
        cuts::RefusedEdge found{};
        bool any = false;
        {
            const Unlocked unlocked;
            any = GridSolver::find_refused(scores_, found);
        }
        if (!any) return nb::none();
        return nb::make_tuple(found.direction, found.from, found.to, found.a, found.b, found.agree, found.differ);
    }

    double bytes_needed() const { return GridSolver::bytes_needed(scores_); }

private:
    Scores unary_;
    std::vector<Scores> pairs_;
    GridScores scores_{};
};

// (labels or None, score, bound, exact, impossible); undecided cells are -1.
nb::tuple to_python(const GridAnswer& answer, std::size_t n_cells) {
    nb::object labels = nb::none();
    if (!answer.impossible && answer.labels.size() == n_cells) {
        auto copy = std::make_unique_for_overwrite<std::int32_t[]>(n_cells);
        for (std::size_t v = 0; v < n_cells; ++v) copy[v] = static_cast<std::int32_t>(answer.labels[v]);
        labels = nb::cast(to_numpy(std::move(copy), {n_cells}));
    }
    return nb::make_tuple(labels, answer.score, answer.bound, answer.exact, answer.impossible);
}

template <class Ask>
nb::tuple answered(const BoundGrid& grid, Ask ask) {
    GridAnswer answer;
    {
        const Unlocked unlocked;
        answer = ask();
    }
    return to_python(answer, grid.scores().n_cells());
}

std::vector<std::uint32_t> start_of(const BoundGrid& grid, const std::optional<CellLabels>& start) {
    return start ? grid.checked(*start) : std::vector<std::uint32_t>{};
}

}  // namespace

void bind_grids(nb::module_& m) {
    nb::class_<BoundGrid>(m, "GridScores", "Scores of a grid: unary, and pair scores by direction as (kind, array).")
        .def(nb::init<const std::vector<std::uint32_t>&, unsigned, std::size_t, const Scores&,
                      const std::vector<std::pair<std::string, Scores>>&>(),
             nb::arg("size"), nb::arg("neighbours"), nb::arg("n_labels"), nb::arg("unary"), nb::arg("pairs"))
        .def("score", &BoundGrid::score, nb::arg("labels"), "The score of one label for each cell.")
        .def(
            "refused", &BoundGrid::refused,
            "The first edge that is not submodular: direction, from, to, two labels, what they score where cells agree "
            "and where they differ; or None.")
        .def("bytes_needed", &BoundGrid::bytes_needed, "Bytes that a cut takes beside the scores.");
    nb::class_<GridSolver>(m, "GridSolver",
                           "Cuts on grids, in memory that is kept; for one thread at a time. Answers are labels or "
                           "None, score, bound, exact, impossible.")
        .def(nb::init<>())
        .def(
            "cut",
            [](GridSolver& solver, const BoundGrid& grid) {
                return answered(grid, [&] { return solver.cut(grid.scores()); });
            },
            nb::arg("grid"))
        .def(
            "cut_again",
            [](GridSolver& solver, const BoundGrid& before, const BoundGrid& grid) {
                return answered(grid, [&] { return solver.cut_again(before.scores(), grid.scores()); });
            },
            nb::arg("before"), nb::arg("grid"), "As cut, from the flow of the last cut, which was of `before`.")
        .def(
            "expansion",
            [](GridSolver& solver, const BoundGrid& grid, const std::optional<CellLabels>& start, std::size_t rounds) {
                const std::vector<std::uint32_t> labels = start_of(grid, start);
                return answered(grid, [&] { return solver.expansion(grid.scores(), labels, rounds); });
            },
            nb::arg("grid"), nb::arg("start") = nb::none(), nb::arg("rounds") = 100)
        .def(
            "swap",
            [](GridSolver& solver, const BoundGrid& grid, const std::optional<CellLabels>& start, std::size_t rounds) {
                const std::vector<std::uint32_t> labels = start_of(grid, start);
                return answered(grid, [&] { return solver.swap(grid.scores(), labels, rounds); });
            },
            nb::arg("grid"), nb::arg("start") = nb::none(), nb::arg("rounds") = 100)
        .def(
            "partial",
            [](GridSolver& solver, const BoundGrid& grid) {
                return answered(grid, [&] { return solver.partial(grid.scores()); });
            },
            nb::arg("grid"))
        .def(
            "qpbo",
            [](GridSolver& solver, const BoundGrid& grid, const std::optional<CellLabels>& start, std::size_t rounds) {
                const std::vector<std::uint32_t> labels = start_of(grid, start);
                return answered(grid, [&] { return solver.qpbo(grid.scores(), labels, rounds); });
            },
            nb::arg("grid"), nb::arg("start") = nb::none(), nb::arg("rounds") = 10)
        .def(
            "kbest",
            [](GridSolver& solver, const BoundGrid& grid, std::size_t k) {
                std::vector<GridAnswer> found;
                {
                    const Unlocked unlocked;
                    found = solver.kbest(grid.scores(), k);
                }
                nb::list out;
                for (const GridAnswer& answer : found) out.append(to_python(answer, grid.scores().n_cells()));
                return out;
            },
            nb::arg("grid"), nb::arg("k"))
        .def(
            "max_marginals",
            [](GridSolver& solver, const BoundGrid& grid) {
                std::vector<double> found;
                {
                    const Unlocked unlocked;
                    found = solver.max_marginals(grid.scores());
                }
                return to_numpy(found, {found.size()});
            },
            nb::arg("grid"));
}

}  // namespace tw::bind
