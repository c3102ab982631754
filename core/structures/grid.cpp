// Labelled grids: a label for each cell of a picture or a volume, with scores of cells and of pairs of neighbours.
//
//     shape [rows, columns]  or  [planes, rows, columns];  then nothing, or a bit for each cell, 32 in a number:
//     whether
//                            the cell is there. Cells that are not have no parts, nor have pairs with them.
//     cells                  as many x K; code: the label
//     right, down, ...       a block for each direction of cuts/grid.hpp, pairs of neighbours in its order x C
//                            C = K * K: the label of the first cell * K + that of the second
//                            C = 1 where pairs are associative: the two labels agree
//     output                 the label of each cell, row by row; any number for those that are not there
//
// The best labelling: by a minimum cut where that is exact (one or two labels, submodular pairs); by elimination where
// the grid is so narrow that K^(width + 1) is small; otherwise what `how` says, with a gap: kAuto and kCut are
// alpha-expansion for three labels and more, roof duality for two. Sums, lists and samples need
// a narrow grid, or beliefs where `how` says that these will do.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>

#include "../base/interrupt.hpp"
#include "../base/semiring.hpp"
#include "../base/softmax.hpp"
#include "../cuts/grid.hpp"
#include "../graphs/elimination.hpp"
#include "../graphs/search.hpp"
#include "families.hpp"

namespace tw {
namespace {

using Labels = std::vector<std::uint32_t>;
using Method = graphs::Search::Method;

constexpr double kNarrowTable = 1 << 12, kNarrowTables = 1 << 26;  // entries of one table, and of all

// A shape as the structure reads it, with where its blocks begin.
struct Cells {
    cuts::GridScores frame;  // sizes; what is solved has scores, too
    std::span<const std::uint32_t> mask;
    std::vector<std::size_t> begins;  // of blocks; one more at the end

    std::size_t size() const { return frame.n_cells(); }
    std::size_t n_parts() const { return begins.back(); }
    bool has(std::size_t cell) const { return mask.empty() || (mask[cell / 32] >> (cell % 32) & 1) != 0; }
    std::size_t n_directions() const { return begins.size() - 2; }

    // visit(direction, edge, from, to) for the pairs whose cells are both there.
    template <class Visit>
    void each_pair(Visit visit) const {
        for (std::size_t d = 0; d < n_directions(); ++d)
            cuts::each_edge(frame, d, [&](std::size_t edge, std::size_t from, std::size_t to) {
                if (has(from) && has(to)) visit(d, edge, from, to);
            });
    }
    std::string told() const {
        const auto [planes, rows, columns] = frame.size;
        const std::string flat = std::to_string(rows) + " x " + std::to_string(columns);
        return planes == 1 ? flat : std::to_string(planes) + " x " + flat;
    }
};

const char* direction_name(const cuts::Direction& d) {
    const int code = 9 * d.plane + 3 * d.row + d.column;
    switch (code) {
        case 1:
            return "right";
        case 3:
            return "down";
        case 9:
            return "back";
        case 4:
            return "down right";
        case 2:
            return "down left";
        case 10:
            return "back right";
        case 8:
            return "back left";
        case 12:
            return "back down";
        case 6:
            return "back up";
        case 13:
            return "back down right";
        case 11:
            return "back down left";
        case 7:
            return "back up right";
        default:
            return "back up left";
    }
}

class Grid final : public DerivationStructure {
public:
    using Structure::best;
    using Structure::log_partition;

    Grid(const GridBlocks& blocks, const graphs::Search& how) : of_(blocks), how_(how) {
        const bool flat = of_.n_dimensions == 2;
        if (of_.n_labels == 0) throw std::invalid_argument("there must be at least one label");
        if (!flat && of_.n_dimensions != 3) throw std::invalid_argument("a grid has two or three dimensions");
        if (of_.neighbours != 0 && of_.neighbours != (flat ? 4 : 6) && of_.neighbours != (flat ? 8 : 26))
            throw std::invalid_argument("a cell has 0, 4 or 8 neighbours in two dimensions, 0, 6 or 26 in three");
    }

    std::unique_ptr<Workspace> workspace() const override { return std::make_unique<Space>(); }

    std::vector<Block> blocks(Shape shape) const override {
        const Cells cells = read(shape);
        std::vector<Block> out{{"cells", cells.size(), of_.n_labels}};
        for (std::size_t d = 0; d < cells.n_directions(); ++d)
            out.push_back({direction_name(directions()[d]), cells.frame.n_edges(directions()[d]), n_codes()});
        return out;
    }

    void parts_of(Shape shape, std::span<const std::uint32_t> output, Parts& parts) const override {
        const Cells cells = read(shape);
        if (output.size() != cells.size())
            throw std::invalid_argument("a grid of " + cells.told() + " cells has as many labels, not " +
                                        std::to_string(output.size()));
        for (std::size_t i = 0; i < output.size(); ++i)
            if (cells.has(i) && output[i] >= of_.n_labels)
                throw std::invalid_argument("cell " + std::to_string(i) + " has label " + std::to_string(output[i]) +
                                            ", but there are " + std::to_string(of_.n_labels));
        parts_of(cells, output, parts);
    }
    void output_of(Shape shape, std::span<const Part> parts, std::vector<std::uint32_t>& output) const override {
        const Cells cells = read(shape);
        output.assign(cells.size(), 0);
        for (const Part part : parts)
            if (part < cells.begins[1]) output[part / of_.n_labels] = static_cast<std::uint32_t>(part % of_.n_labels);
    }

    // The label of each cell given those of all its neighbours: the loss is the pseudo-likelihood (Besag 1975), which
    // is exact on any grid. A pair counts in both of its cells.
    bool decides() const override { return true; }
    void decisions(Shape shape, std::span<const Part> gold,
                   const std::function<void(const Decision&)>& visit) const override {
        const Cells cells = read(shape);
        Labels labels;
        output_of(shape, gold, labels);
        const std::vector<Beside> beside = neighbours_of(cells, labels);
        const std::size_t K = of_.n_labels, width = 1 + of_.neighbours;
        Parts parts;
        InterruptCheck check;
        for (std::size_t i = 0, b = 0; i < cells.size(); ++i) {
            if (!cells.has(i)) continue;
            check();
            parts.assign(K * width, kNoPart);
            for (std::size_t k = 0; k < K; ++k) parts[k * width] = static_cast<Part>(i * K + k);
            for (std::size_t n = 1; b < beside.size() && beside[b].cell == i; ++b, ++n)
                for (std::size_t k = 0; k < K; ++k) {
                    const auto [cell, pair, label, first] = beside[b];
                    if (!of_.associative)
                        parts[k * width + n] = static_cast<Part>(pair + (first ? k * K + label : label * K + k));
                    else if (k == label)
                        parts[k * width + n] = pair;
                }
            visit({parts, width, labels[i]});
        }
    }

    bool lists(Shape shape) const override { return narrow(read(shape)); }
    bool sums(Shape shape) const override { return of_.neighbours == 0 || by_messages() || narrow(read(shape)); }

    std::vector<Answer> best(Shape shape, const PartScores& scores, std::size_t k, Workspace& space) const override {
        auto& own = dynamic_cast<Space&>(space);
        const Cells cells = read(shape);
        if (k == 0) return {};
        const double* given = masked(cells, scores, own);
        if (k > 1) return k_best(shape, cells, given, k, own);
        if (cells.n_directions() == 0) return independent(cells, given);
        const cuts::GridScores problem = solvable(cells, given);
        cuts::RefusedEdge refused;
        if (of_.n_labels <= 2 && !cuts::GridSolver::find_refused(problem, refused))
            return answers(cells, given, own.solver.cut(problem));
        if (narrow(cells)) return k_best(shape, cells, given, 1, own);
        if (how_.method == Method::kAuto || how_.method == Method::kCut)
            return answers(cells, given, own.solver.best(problem));
        return searched(cells, given, own);
    }

    double log_partition(Shape shape, const PartScores& scores, double* expected, double* variance,
                         Workspace& space) const override {
        auto& own = dynamic_cast<Space&>(space);
        const Cells cells = read(shape);
        const double* given = masked(cells, scores, own);
        if (variance && !expected) {
            own.kept.resize(cells.n_parts());
            expected = own.kept.data();
        }
        const double log_z = cells.n_directions() == 0 ? independent_sums(cells, given, expected)
                             : narrow(cells)           ? exact_sums(shape, cells, given, expected, own)
                                                       : approximate_sums(cells, given, expected, own);
        for (std::size_t i = 0; variance && i < cells.n_parts(); ++i) variance[i] = expected[i] * (1.0 - expected[i]);
        return log_z;
    }

    double entropy(Shape shape, const PartScores& scores) const override {
        const Cells cells = require_narrow(shape, "the entropy");
        Space own;
        const double* given = masked(cells, scores, own);
        double out = 0.0;
        plan(shape, cells, own).exact.sums(as_graph(cells, given, own), nullptr, &out, own.elimination);
        return out;
    }
    void max_marginals(Shape shape, const PartScores& scores, std::span<double> out) const override {
        const Cells cells = require_narrow(shape, "the best score with each part");
        Space own;
        const double* given = masked(cells, scores, own);
        std::vector<double> found(n_graph_scores(cells));
        plan(shape, cells, own).exact.max_marginals(as_graph(cells, given, own), found, own.elimination);
        std::ranges::fill(out, kLogZero);
        each_score(cells, [&](std::size_t at, std::size_t part) { out[part] = std::max(out[part], found[at]); });
    }
    std::vector<Parts> sample(Shape shape, const PartScores& scores, std::size_t n, bool distinct,
                              const std::function<double()>& draw) const override {
        const Cells cells = require_narrow(shape, "samples");
        Space own;
        const double* given = masked(cells, scores, own);
        std::vector<Parts> out;
        for (const Labels& labels :
             plan(shape, cells, own).exact.sample(as_graph(cells, given, own), n, distinct, draw, own.elimination))
            parts_of(cells, of_cells(cells, labels), out.emplace_back());
        return out;
    }
    // The first cell that no label is allowed for; the last where pairs forbid.
    std::size_t dead_end(Shape shape, const PartScores& scores) const override {
        const Cells cells = read(shape);
        for (std::size_t i = 0; i < cells.size(); ++i) {
            bool any = !cells.has(i);
            for (std::size_t k = 0; k < of_.n_labels; ++k)
                any |= scores[static_cast<Part>(i * of_.n_labels + k)] != kLogZero;
            if (!any) return i;
        }
        return cells.size() - (cells.size() > 0);
    }

private:
    // How to eliminate the cells of a shape.
    struct Plan {
        explicit Plan(const graphs::Graph& graph) : exact(graph) {}
        graphs::Elimination exact;
    };
    struct Space final : Workspace {
        cuts::GridSolver solver;
        graphs::Elimination::Space elimination;
        std::map<Labels, Plan> plans;  // by shape
        std::vector<double> masked, of_graph, kept;
    };
    static constexpr std::size_t kMostPlans = 64;

    // A neighbour of a cell: the first part of the pair, its label, and whether the cell comes first in the pair.
    struct Beside {
        std::uint32_t cell;
        Part pair;
        std::uint32_t label;
        bool first;
    };
    // By cell.
    std::vector<Beside> neighbours_of(const Cells& cells, const Labels& labels) const {
        std::vector<std::size_t> at(cells.size() + 1, 0);
        cells.each_pair([&](std::size_t, std::size_t, std::size_t from, std::size_t to) {
            ++at[from + 1];
            ++at[to + 1];
        });
        std::partial_sum(at.begin(), at.end(), at.begin());
        std::vector<Beside> out(at.back());
        cells.each_pair([&](std::size_t d, std::size_t edge, std::size_t from, std::size_t to) {
            const auto pair = static_cast<Part>(pair_part(cells, d, edge));
            out[at[from]++] = {static_cast<std::uint32_t>(from), pair, labels[to], true};
            out[at[to]++] = {static_cast<std::uint32_t>(to), pair, labels[from], false};
        });
        return out;
    }

    std::span<const cuts::Direction> directions() const {
        return of_.neighbours == 0 ? std::span<const cuts::Direction>() : cuts::directions(of_.neighbours);
    }
    std::size_t n_codes() const { return of_.associative ? 1 : of_.n_labels * of_.n_labels; }
    bool by_messages() const { return how_.method == Method::kBeliefs || how_.method == Method::kReweighted; }

    Cells read(Shape shape) const {
        Cells out;
        if (shape.size() < of_.n_dimensions)
            throw std::invalid_argument("the shape of a grid is its size along each dimension, and which cells it has");
        const bool flat = of_.n_dimensions == 2;
        out.frame.size = {flat ? 1 : shape[0], shape[flat ? 0 : 1], shape[flat ? 1 : 2]};
        out.frame.neighbours = of_.neighbours;
        out.frame.n_labels = of_.n_labels;
        out.frame.unary = nullptr;
        const double n = static_cast<double>(out.frame.size[0]) * out.frame.size[1] * out.frame.size[2];
        const double parts = n * static_cast<double>(of_.n_labels + directions().size() * n_codes());
        if (parts >= static_cast<double>(kNoPart))
            throw std::invalid_argument("a grid of " + out.told() + " cells has " + std::to_string(std::size_t(parts)) +
                                        " parts, scores of " + std::to_string(std::size_t(parts * 8e-9)) +
                                        " GB; the most is 4294967294. Cut it into smaller ones");
        out.mask = shape.subspan(of_.n_dimensions);
        if (!out.mask.empty() && out.mask.size() != (out.size() + 31) / 32)
            throw std::invalid_argument("a grid of " + out.told() + " cells has " +
                                        std::to_string((out.size() + 31) / 32) +
                                        " numbers that say which of them are there, or none");
        out.begins = {0, out.size() * of_.n_labels};
        for (const cuts::Direction& d : directions())
            out.begins.push_back(out.begins.back() + out.frame.n_edges(d) * n_codes());
        return out;
    }

    std::size_t pair_part(const Cells& cells, std::size_t d, std::size_t edge) const {
        return cells.begins[d + 1] + edge * n_codes();
    }

    void parts_of(const Cells& cells, std::span<const std::uint32_t> labels, Parts& parts) const {
        const std::size_t K = of_.n_labels;
        parts.clear();
        for (std::size_t i = 0; i < cells.size(); ++i)
            if (cells.has(i)) parts.push_back(static_cast<Part>(i * K + labels[i]));
        cells.each_pair([&](std::size_t d, std::size_t edge, std::size_t from, std::size_t to) {
            if (!of_.associative)
                parts.push_back(static_cast<Part>(pair_part(cells, d, edge) + labels[from] * K + labels[to]));
            else if (labels[from] == labels[to])
                parts.push_back(static_cast<Part>(pair_part(cells, d, edge)));
        });
    }

    Answer answer(const Cells& cells, const double* given, std::span<const std::uint32_t> labels, double gap) const {
        Answer out;
        parts_of(cells, labels, out.parts);
        for (const Part part : out.parts) out.score += given[part];
        out.gap = gap;
        return out;
    }

    // Scores of all parts, zero for those that no output has.
    const double* masked(const Cells& cells, const PartScores& scores, Space& own) const {
        const double* given = scores.masked(own.masked);
        if (cells.mask.empty()) return given;
        if (given != own.masked.data()) own.masked.assign(given, given + cells.n_parts());
        for (std::size_t i = 0; i < cells.size(); ++i)
            if (!cells.has(i)) std::fill_n(own.masked.data() + i * of_.n_labels, of_.n_labels, 0.0);
        for (std::size_t d = 0; d < cells.n_directions(); ++d)
            cuts::each_edge(cells.frame, d, [&](std::size_t edge, std::size_t from, std::size_t to) {
                if (!cells.has(from) || !cells.has(to))
                    std::fill_n(own.masked.data() + pair_part(cells, d, edge), n_codes(), 0.0);
            });
        return own.masked.data();
    }

    // ---- cuts ----

    cuts::GridScores solvable(const Cells& cells, const double* given) const {
        using Kind = cuts::PairScores::Kind;
        cuts::GridScores out = cells.frame;
        out.unary = given;
        for (std::size_t d = 0; d < cells.n_directions(); ++d)
            out.pairs.push_back({of_.associative ? Kind::kAgrees : Kind::kTables, given + cells.begins[d + 1]});
        return out;
    }

    std::vector<Answer> answers(const Cells& cells, const double* given, const cuts::GridAnswer& found) const {
        if (found.labels.empty() && cells.size() > 0) return {};
        return {answer(cells, given, found.labels, found.gap())};
    }

    // ---- cells without pairs ----

    std::vector<Answer> independent(const Cells& cells, const double* given) const {
        const std::size_t K = of_.n_labels;
        Labels labels(cells.size(), 0);
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const double* row = given + i * K;
            labels[i] = static_cast<std::uint32_t>(std::max_element(row, row + K) - row);
            if (row[labels[i]] == kLogZero) return {};
        }
        return {answer(cells, given, labels, 0.0)};
    }

    double independent_sums(const Cells& cells, const double* given, double* expected) const {
        const std::size_t K = of_.n_labels;
        double total = 0.0;
        std::vector<double> row(K);
        if (expected) std::fill_n(expected, cells.n_parts(), 0.0);
        for (std::size_t i = 0; i < cells.size(); ++i) {
            if (!cells.has(i)) continue;
            row.assign(given + i * K, given + (i + 1) * K);
            if (*std::ranges::max_element(row) == kLogZero) {
                if (expected) std::fill_n(expected, cells.n_parts(), 0.0);
                return kLogZero;
            }
            total += softmax(row);
            if (expected) std::ranges::copy(row, expected + i * K);
        }
        return total;
    }

    // ---- as a factor graph ----
    //
    //     variables: the cells that are there. Scores: as the parts, but for associative pairs, which have tables
    //     [cells x K][pair x K x K] ...

    std::size_t n_graph_scores(const Cells& cells) const {
        if (!of_.associative) return cells.n_parts();
        return cells.begins[1] + (cells.n_parts() - cells.begins[1]) * of_.n_labels * of_.n_labels;
    }
    std::size_t table_of(const Cells& cells, std::size_t d, std::size_t edge) const {
        const std::size_t part = pair_part(cells, d, edge);
        return of_.associative ? cells.begins[1] + (part - cells.begins[1]) * of_.n_labels * of_.n_labels : part;
    }

    graphs::Graph graph_of(const Cells& cells) const {
        graphs::Graph out;
        std::vector<std::uint32_t> number(cells.size());
        for (std::size_t i = 0; i < cells.size(); ++i) {
            if (!cells.has(i)) continue;
            number[i] = static_cast<std::uint32_t>(out.n_labels.size());
            out.n_labels.push_back(static_cast<std::uint32_t>(of_.n_labels));
            out.unary_at.push_back(i * of_.n_labels);
        }
        cells.each_pair([&](std::size_t d, std::size_t edge, std::size_t from, std::size_t to) {
            graphs::Factor factor;
            factor.variables = {number[from], number[to]};
            factor.at = table_of(cells, d, edge);
            out.factors.push_back(std::move(factor));
        });
        out.n_scores = n_graph_scores(cells);
        return out;
    }

    std::span<const double> as_graph(const Cells& cells, const double* given, Space& own) const {
        if (!of_.associative) return {given, cells.n_parts()};
        const std::size_t K = of_.n_labels;
        own.of_graph.assign(n_graph_scores(cells), 0.0);
        std::copy_n(given, cells.begins[1], own.of_graph.data());
        double* table = own.of_graph.data() + cells.begins[1];
        for (std::size_t part = cells.begins[1]; part < cells.n_parts(); ++part, table += K * K)
            for (std::size_t k = 0; k < K; ++k) table[k * K + k] = given[part];
        return own.of_graph;
    }

    // visit(score of the graph, part) for all parts that an output may have.
    template <class Visit>
    void each_score(const Cells& cells, Visit visit) const {
        const std::size_t K = of_.n_labels;
        for (std::size_t i = 0; i < cells.size(); ++i)
            for (std::size_t k = 0; cells.has(i) && k < K; ++k) visit(i * K + k, i * K + k);
        cells.each_pair([&](std::size_t d, std::size_t edge, std::size_t, std::size_t) {
            const std::size_t table = table_of(cells, d, edge), part = pair_part(cells, d, edge);
            for (std::size_t code = 0; code < K * K; ++code)
                if (!of_.associative)
                    visit(table + code, part + code);
                else if (code % (K + 1) == 0)
                    visit(table + code, part);
        });
    }
    void to_parts(const Cells& cells, std::span<const double> of_graph, double* out) const {
        std::fill_n(out, cells.n_parts(), 0.0);
        each_score(cells, [&](std::size_t at, std::size_t part) { out[part] += of_graph[at]; });
    }
    Labels of_cells(const Cells& cells, std::span<const std::uint32_t> labels) const {
        Labels out(cells.size(), 0);
        for (std::size_t i = 0, v = 0; i < out.size(); ++i)
            if (cells.has(i)) out[i] = labels[v++];
        return out;
    }

    // ---- narrow grids ----

    // A sweep along the longest side keeps the labels of what it has just passed.
    bool narrow(const Cells& cells) const {
        std::array<std::uint32_t, 3> size = cells.frame.size;
        std::ranges::sort(size);
        const bool diagonal = of_.neighbours == 8 || of_.neighbours == 26;
        double width = 0.0;
        if (cells.n_directions() > 0) {
            width = static_cast<double>(size[0]) * size[1];
            if (diagonal) width += 1.0 + (of_.n_dimensions == 3 ? static_cast<double>(size[0]) : 0.0);
        }
        const double table = std::pow(static_cast<double>(of_.n_labels), width + 1.0);
        return table <= kNarrowTable && table * static_cast<double>(cells.size()) <= kNarrowTables;
    }

    const Plan& plan(Shape shape, const Cells& cells, Space& own) const {
        Labels key(shape.begin(), shape.end());
        if (const auto found = own.plans.find(key); found != own.plans.end()) return found->second;
        if (own.plans.size() == kMostPlans) own.plans.clear();
        const Plan& made = own.plans.emplace(std::move(key), Plan(graph_of(cells))).first->second;
        if (!made.exact.narrow()) throw std::invalid_argument(made.exact.refusal());
        return made;
    }

    Cells require_narrow(Shape shape, const char* what) const {
        Cells cells = read(shape);
        if (!narrow(cells)) throw std::invalid_argument(refusal(cells, what));
        return cells;
    }
    std::string refusal(const Cells& cells, const char* what) const {
        return std::string(what) + " of a grid of " + cells.told() + " cells with " + std::to_string(of_.n_labels) +
               " labels would take tables of more than " + std::to_string(static_cast<int>(kNarrowTable)) +
               " entries, and there is no other exact way";
    }

    std::vector<Answer> k_best(Shape shape, const Cells& cells, const double* given, std::size_t k, Space& own) const {
        if (!narrow(cells)) throw std::invalid_argument(refusal(cells, "a list of the best labellings"));
        std::vector<Answer> out;
        const Plan& how = plan(shape, cells, own);
        const std::span<const double> scores = as_graph(cells, given, own);
        if (k == 1) {
            Labels labels;
            if (how.exact.best(scores, own.elimination, labels))
                out.push_back(answer(cells, given, of_cells(cells, labels), 0.0));
            return out;
        }
        for (const Labels& labels : how.exact.k_best(scores, k, own.elimination))
            out.push_back(answer(cells, given, of_cells(cells, labels), 0.0));
        return out;
    }

    double exact_sums(Shape shape, const Cells& cells, const double* given, double* expected, Space& own) const {
        const Plan& how = plan(shape, cells, own);
        const std::span<const double> scores = as_graph(cells, given, own);
        std::vector<double> found(expected ? scores.size() : 0);
        const double log_z = how.exact.sums(scores, expected ? found.data() : nullptr, nullptr, own.elimination);
        if (expected && log_z == kLogZero) std::fill_n(expected, cells.n_parts(), 0.0);
        if (expected && log_z != kLogZero) to_parts(cells, found, expected);
        return log_z;
    }

    // ---- wide grids ----

    std::vector<Answer> searched(const Cells& cells, const double* given, Space& own) const {
        const graphs::Found found = graphs::search(graph_of(cells), as_graph(cells, given, own), how_);
        if (how_.relaxed && !found.shares.empty() && found.score != found.bound) {
            Answer relaxed;
            std::vector<double> shares(cells.n_parts());
            to_parts(cells, found.shares, shares.data());
            for (Part part = 0; part < shares.size(); ++part) {
                if (shares[part] <= 0.0) continue;
                relaxed.parts.push_back(part);
                relaxed.shares.push_back(std::min(shares[part], 1.0));
                relaxed.score += relaxed.shares.back() * given[part];
            }
            relaxed.gap = std::max(0.0, found.bound - relaxed.score);
            return {relaxed};
        }
        if (found.labels.empty() && cells.size() > 0) return {};
        return {answer(cells, given, of_cells(cells, found.labels), std::max(0.0, found.bound - found.score))};
    }

    double approximate_sums(const Cells& cells, const double* given, double* expected, Space& own) const {
        if (!by_messages())
            throw std::invalid_argument(refusal(cells, "sums over all labellings") +
                                        "; with inference 'trw' or 'bp' they are approximate");
        const graphs::Beliefs found = graphs::beliefs(graph_of(cells), as_graph(cells, given, own), how_);
        if (expected && found.log_z == kLogZero) std::fill_n(expected, cells.n_parts(), 0.0);
        if (expected && found.log_z != kLogZero) to_parts(cells, found.beliefs, expected);
        return found.log_z;
    }

    const GridBlocks of_;
    const graphs::Search how_;
};

}  // namespace

std::unique_ptr<DerivationStructure> grid_structure(const GridBlocks& blocks, const graphs::Search& how) {
    return std::make_unique<Grid>(blocks, how);
}

}  // namespace tw
