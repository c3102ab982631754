#include "grid.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <variant>

#include "binary.hpp"
#include "networks.hpp"
#include "pair_terms.hpp"

namespace tw::cuts {
namespace {

constexpr std::array<Direction, 4> kFlat = {{{0, 0, 1}, {0, 1, 0}, {0, 1, 1}, {0, 1, -1}}};
constexpr std::array<Direction, 13> kSolid = {{{0, 0, 1},
                                               {0, 1, 0},
                                               {1, 0, 0},
                                               {0, 1, 1},
                                               {0, 1, -1},
                                               {1, 0, 1},
                                               {1, 0, -1},
                                               {1, 1, 0},
                                               {1, -1, 0},
                                               {1, 1, 1},
                                               {1, 1, -1},
                                               {1, -1, 1},
                                               {1, -1, -1}}};

using Kind = PairScores::Kind;

// Calls visit(edge, from, to, table) for each edge of a direction, where table(a, b) is the score of two labels.
template <class Visit>
void each_pair(const GridScores& grid, std::size_t direction, Visit visit) {
    const PairScores& pairs = grid.pairs[direction];
    const double* scores = pairs.scores;
    const std::size_t k = grid.n_labels;
    const auto walk = [&](auto table_of) {
        each_edge(grid, direction,
                  [&](std::size_t edge, std::size_t from, std::size_t to) { visit(edge, from, to, table_of(edge)); });
    };
    switch (pairs.kind) {
        case Kind::kNone:
            return;
        case Kind::kTable:
            return walk(
                [=](std::size_t) { return [=](std::uint32_t a, std::uint32_t b) { return scores[a * k + b]; }; });
        case Kind::kTables:
            return walk([=](std::size_t edge) {
                return [=](std::uint32_t a, std::uint32_t b) { return scores[(edge * k + a) * k + b]; };
            });
        case Kind::kAgree:
            return walk([=](std::size_t) {
                return [=](std::uint32_t a, std::uint32_t b) { return a == b ? scores[0] : 0.0; };
            });
        case Kind::kAgrees:
            return walk([=](std::size_t edge) {
                return [=](std::uint32_t a, std::uint32_t b) { return a == b ? scores[edge] : 0.0; };
            });
    }
}

// The first edge of which two labels refuse a cut.
template <class Table>
bool refuses(const Table& p, std::size_t n_labels, RefusedEdge& found) {
    for (std::uint32_t a = 0; a < n_labels; ++a)
        for (std::uint32_t b = a + 1; b < n_labels; ++b) {
            if (pair_terms(p(a, a), p(a, b), p(b, a), p(b, b)).submodular) continue;
            found.a = a;
            found.b = b;
            found.agree = p(a, a) + p(b, b);
            found.differ = p(a, b) + p(b, a);
            return true;
        }
    return false;
}

std::string cell_name(const GridScores& grid, std::size_t cell) {
    const std::size_t column = cell % grid.size[2], row = cell / grid.size[2] % grid.size[1];
    const std::size_t plane = cell / grid.size[2] / grid.size[1];
    const std::string flat = std::to_string(row) + ", " + std::to_string(column);
    return grid.neighbours == 6 || grid.neighbours == 26 ? "(" + std::to_string(plane) + ", " + flat + ")"
                                                         : "(" + flat + ")";
}

[[noreturn]] void refuse(const GridScores& grid, const RefusedEdge& e) {
    throw std::invalid_argument("the edge from cell " + cell_name(grid, e.from) + " to " + cell_name(grid, e.to) +
                                " is not submodular: labels " + std::to_string(e.a) + " and " + std::to_string(e.b) +
                                " score " + std::to_string(e.agree) + " where both cells agree and " +
                                std::to_string(e.differ) + " where they differ (sums over the two ways)");
}

// No labelling is above: each direction's edges are chains, which share the unary scores equally, and the best
// labelling of all chains is known (Wainwright, Jaakkola & Willsky 2005, without looking for better shares).
class ChainBound {
public:
    explicit ChainBound(const GridScores& grid) : grid_(grid) {}

    double operator()() {
        std::size_t n_used = 0;
        for (const PairScores& pairs : grid_.pairs) n_used += pairs.kind != Kind::kNone;
        const std::size_t n = grid_.n_cells(), k = grid_.n_labels;
        share_ = n_used ? 1.0 / static_cast<double>(n_used) : 1.0;
        double total = 0.0;
        const std::size_t n_passes = std::max<std::size_t>(n_used, 1);
        std::vector<double> best;
        std::size_t direction = 0;
        for (std::size_t pass = 0; pass < n_passes; ++pass, ++direction) {
            check_interrupt();
            while (n_used && grid_.pairs[direction].kind == Kind::kNone) ++direction;
            best.resize(n * k);
            for (std::size_t i = 0; i < n * k; ++i) best[i] = share_ * grid_.unary[i];
            ended_.assign(n, 1);
            if (n_used) forward(direction, best);
            for (std::size_t v = 0; v < n; ++v)
                if (ended_[v]) total += *std::max_element(&best[v * k], &best[v * k] + k);
        }
        return total;
    }

private:
    // best[cell][label]: of chains that end there; ended_: whether the chain goes on.
    void forward(std::size_t direction, std::vector<double>& best) {
        const std::size_t k = grid_.n_labels;
        const PairScores& pairs = grid_.pairs[direction];
        // Edges are visited in an order in which a cell's own edge into it comes first: rows from above, columns from
        // the left.
        each_pair(grid_, direction, [&](std::size_t, std::size_t from, std::size_t to, const auto& p) {
            const double* before = &best[from * k];
            double* here = &best[to * k];
            if (pairs.kind == Kind::kAgree || pairs.kind == Kind::kAgrees) {
                const double top = *std::max_element(before, before + k), agree = p(0, 0);
                for (std::size_t b = 0; b < k; ++b) {  // a negative score may be avoided by another label
                    double differ = top;
                    if (agree < 0.0) {
                        differ = -kInfinite;
                        for (std::size_t a = 0; a < k; ++a)
                            if (a != b) differ = std::max(differ, before[a]);
                    }
                    here[b] += std::max(before[b] + agree, differ);
                }
            } else {
                for (std::uint32_t b = 0; b < k; ++b) {
                    double most = -kInfinite;
                    for (std::uint32_t a = 0; a < k; ++a) most = std::max(most, before[a] + p(a, b));
                    here[b] += most;
                }
            }
            ended_[from] = 0;
        });
    }

    const GridScores& grid_;
    double share_ = 1.0;
    std::vector<std::uint8_t> ended_;
};

// The network of a problem of two labels on a grid, and the flow through it.
template <unsigned D>
class GridFlow {
public:
    // gain(cell): what label 1 has over label 0, infinite where one of them is forbidden. terms(direction, visit) calls
    // visit(from, to, PairTerms) for each edge. False: every labelling is forbidden.
    template <class Gain, class Terms>
    bool solve(const GridScores& grid, Gain gain, Terms terms) {
        solved_ = false;  // until the end, which an interrupt may prevent
        possible_ = true;
        network_.reset(grid.size);
        std::size_t cell = 0;
        network_.each_node([&](Node v) { network_.excess(v) = gain(cell++); });
        for (std::size_t d = 0; d < grid.pairs.size(); ++d) {
            check_interrupt();
            terms(d, [&](std::size_t from, std::size_t to, const PairTerms& pair) {
                const Node v = network_.node(from), u = network_.node(to);
                if (pair.forward > 0.0 || pair.backward > 0.0) {
                    network_.residual(v, 2 * d) = pair.forward;
                    network_.residual(u, 2 * d + 1) = pair.backward;
                }
                add(v, pair.from);
                add(u, pair.to);
                if (pair.force_from != 0.0) add(v, pair.force_from);
                if (pair.force_to != 0.0) add(u, pair.force_to);
                if (pair.impossible) possible_ = false;
            });
        }
        return finish();
    }

    // The same for other finite scores on the network of the last call, with its flow.
    template <class Gain, class Terms>
    bool solve_again(const GridScores& grid, Gain change, Terms changes) {
        solved_ = false;
        std::size_t cell = 0;
        network_.each_node([&](Node v) { network_.excess(v) += change(cell++); });
        for (std::size_t d = 0; d < grid.pairs.size(); ++d)
            changes(d, [&](std::size_t from, std::size_t to, const PairTerms& before, const PairTerms& pair) {
                const Node v = network_.node(from), u = network_.node(to);
                double& forward = network_.residual(v, 2 * d);
                double& backward = network_.residual(u, 2 * d + 1);
                forward += pair.forward - before.forward;
                backward += pair.backward - before.backward;
                // What flows over an arc that has become too small is taken back to where it came from.
                if (forward < 0.0) give_back(v, u, forward, backward);
                if (backward < 0.0) give_back(u, v, backward, forward);
                network_.excess(v) += pair.from - before.from;
                network_.excess(u) += pair.to - before.to;
            });
        return finish();
    }

    bool holds(const GridScores& grid) const { return solved_ && network_.has_size(grid.size); }
    void forget() {
        network_.forget();
        solved_ = false;
    }

    void read_labels(std::vector<std::uint32_t>& labels, std::size_t n_cells) {
        labels.clear();
        labels.reserve(n_cells);
        network_.each_node([&](Node v) { labels.push_back(network_.level(v) > 0); });
    }

private:
    void add(Node v, double gain) {
        double& excess = network_.excess(v);
        if (std::isinf(gain) && gain == -excess)
            possible_ = false;
        else
            excess += gain;
    }

    void give_back(Node v, Node u, double& used, double& other) {
        network_.excess(v) -= used;
        network_.excess(u) += used;
        other = std::max(other + used, 0.0);
        used = 0.0;
    }

    bool finish() {
        solved_ = possible_ && flow_.run(network_);
        return solved_;
    }

    GridNetwork<D> network_;
    MaxFlow<GridNetwork<D>> flow_;
    bool possible_ = true, solved_ = false;
};

}  // namespace

std::span<const Direction> directions(unsigned neighbours) {
    switch (neighbours) {
        case 4:
            return {kFlat.data(), 2};
        case 8:
            return kFlat;
        case 6:
            return {kSolid.data(), 3};
        case 26:
            return kSolid;
    }
    throw std::invalid_argument("neighbours must be 4 or 8, or 6 or 26 in three dimensions");
}

std::size_t GridScores::n_edges(const Direction& d) const {
    const auto along = [](std::uint32_t n, int step) { return static_cast<std::size_t>(step && n ? n - 1 : n); };
    return along(size[0], d.plane) * along(size[1], d.row) * along(size[2], d.column);
}

double score(const GridScores& grid, std::span<const std::uint32_t> labels) {
    // Sums of a thousand are added up: adding a million equal numbers one by one would lose five digits.
    double total = 0.0, part = 0.0;
    const auto add = [&](std::size_t i, double value) {
        if (i % 1024 == 0) {
            total += part;
            part = 0.0;
        }
        part += value;
    };
    for (std::size_t v = 0; v < labels.size(); ++v) add(v, grid.unary[v * grid.n_labels + labels[v]]);
    for (std::size_t d = 0; d < grid.pairs.size(); ++d)
        each_pair(grid, d, [&](std::size_t edge, std::size_t from, std::size_t to, const auto& p) {
            add(edge, p(labels[from], labels[to]));
        });
    return total + part;
}

struct GridSolver::Insides {
    std::variant<std::monostate, GridFlow<4>, GridFlow<8>, GridFlow<6>, GridFlow<26>> flow;
    BinarySolver binary;
    std::size_t n_again = 0;  // cuts since the last one that began from nothing

    // Calls use(flow) with the flow for these neighbours, which keeps its memory.
    template <class Use>
    auto with_flow(unsigned neighbours, Use use) {
        const auto as = [&]<unsigned D>(std::integral_constant<unsigned, D>) {
            if (!std::holds_alternative<GridFlow<D>>(flow)) flow.emplace<GridFlow<D>>();
            return use(std::get<GridFlow<D>>(flow));
        };
        switch (neighbours) {
            case 4:
                return as(std::integral_constant<unsigned, 4>{});
            case 8:
                return as(std::integral_constant<unsigned, 8>{});
            case 6:
                return as(std::integral_constant<unsigned, 6>{});
            default:
                return as(std::integral_constant<unsigned, 26>{});
        }
    }
};

GridSolver::GridSolver() : insides_(std::make_unique<Insides>()) {}
GridSolver::~GridSolver() = default;
GridSolver::GridSolver(GridSolver&&) noexcept = default;
GridSolver& GridSolver::operator=(GridSolver&&) noexcept = default;

double GridSolver::bytes_needed(const GridScores& grid) {
    double cells = 1.0;
    for (const std::uint32_t n : grid.size) cells *= n + 1.0;
    return cells * (8.0 * grid.neighbours + 8.0 + 8.0 + 8.0 + 4.0);  // residuals; excess; level; frontiers; labels
}

bool GridSolver::find_refused(const GridScores& grid, RefusedEdge& found) {
    for (std::size_t d = 0; d < grid.pairs.size(); ++d) {
        bool refused = false;
        const bool tied = grid.pairs[d].kind == Kind::kTable || grid.pairs[d].kind == Kind::kAgree;
        bool first = true;
        each_pair(grid, d, [&](std::size_t edge, std::size_t from, std::size_t to, const auto& p) {
            if (refused || (tied && !first)) return;
            first = false;
            if (!refuses(p, grid.n_labels, found)) return;
            refused = true;
            found.direction = d;
            found.edge = edge;
            found.from = from;
            found.to = to;
        });
        if (refused) return true;
    }
    return false;
}

namespace {

double gain_of(const double* unary) {
    if (unary[0] == -kInfinite) return unary[1] == -kInfinite ? std::nan("") : kInfinite;
    return unary[1] - unary[0];
}

GridAnswer impossible_answer() {
    GridAnswer answer;
    answer.impossible = true;
    answer.exact = true;
    answer.bound = -kInfinite;
    return answer;
}

bool has_forbidden_cell(const GridScores& grid) {
    const std::size_t k = grid.n_labels;
    for (std::size_t v = 0; v < grid.n_cells(); ++v) {
        const double* unary = grid.unary + v * k;
        if (std::all_of(unary, unary + k, [](double s) { return s == -kInfinite; })) return true;
    }
    return false;
}

GridAnswer exact_answer(const GridScores& grid, std::vector<std::uint32_t>&& labels) {
    GridAnswer answer;
    answer.labels = std::move(labels);
    answer.score = answer.bound = score(grid, answer.labels);
    answer.exact = true;
    if (answer.score == -kInfinite) return impossible_answer();
    return answer;
}

template <class Table>
PairTerms terms_of(const Table& p) {
    return pair_terms(p(0, 0), p(0, 1), p(1, 0), p(1, 1));
}

// The terms of the edges of a direction, which for tied scores are made once.
template <class Visit>
void each_terms(const GridScores& grid, std::size_t direction, Visit visit) {
    const Kind kind = grid.pairs[direction].kind;
    if (kind == Kind::kTable || kind == Kind::kAgree) {
        PairTerms terms;
        bool first = true;
        each_pair(grid, direction, [&](std::size_t, std::size_t from, std::size_t to, const auto& p) {
            if (first) terms = terms_of(p);
            first = false;
            visit(from, to, terms);
        });
    } else {
        each_pair(grid, direction,
                  [&](std::size_t, std::size_t from, std::size_t to, const auto& p) { visit(from, to, terms_of(p)); });
    }
}

}  // namespace

GridAnswer GridSolver::cut(const GridScores& grid) {
    const std::size_t n = grid.n_cells();
    if (grid.n_labels > 2) throw std::invalid_argument("a cut is exact for two labels; use expansion for more");
    if (grid.n_labels < 2 || n == 0) return exact_answer(grid, std::vector<std::uint32_t>(n, 0));
    if (RefusedEdge refused; find_refused(grid, refused)) refuse(grid, refused);
    if (has_forbidden_cell(grid)) return impossible_answer();
    insides_->n_again = 0;
    std::vector<std::uint32_t> labels;
    const bool possible = insides_->with_flow(grid.neighbours, [&](auto& flow) {
        const bool found = flow.solve(
            grid, [&](std::size_t cell) { return gain_of(grid.unary + 2 * cell); },
            [&](std::size_t d, auto visit) { each_terms(grid, d, visit); });
        if (found) flow.read_labels(labels, n);
        return found;
    });
    return possible ? exact_answer(grid, std::move(labels)) : impossible_answer();
}

GridAnswer GridSolver::cut_again(const GridScores& before, const GridScores& grid) {
    constexpr std::size_t kMostAgain = 50;  // rounding adds up
    const std::size_t n = grid.n_cells();
    const auto finite = [](const GridScores& g) {
        const auto all_finite = [](const double* p, std::size_t count) {
            return std::all_of(p, p + count, [](double s) { return std::isfinite(s); });
        };
        if (!all_finite(g.unary, g.n_cells() * g.n_labels)) return false;
        const std::span<const Direction> steps = directions(g.neighbours);
        for (std::size_t d = 0; d < g.pairs.size(); ++d) {
            const std::size_t k = g.n_labels * g.n_labels, edges = g.n_edges(steps[d]);
            const PairScores& pairs = g.pairs[d];
            const std::size_t count = pairs.kind == Kind::kNone    ? 0
                                      : pairs.kind == Kind::kTable ? k
                                      : pairs.kind == Kind::kAgree ? 1
                                                                   : edges * (pairs.kind == Kind::kTables ? k : 1);
            if (!all_finite(pairs.scores, count)) return false;
        }
        return true;
    };
    const bool known = grid.n_labels == 2 && before.n_labels == 2 && n > 0 && grid.neighbours == before.neighbours &&
                       grid.size == before.size && insides_->n_again < kMostAgain && finite(before) && finite(grid) &&
                       insides_->with_flow(grid.neighbours, [&](auto& flow) { return flow.holds(grid); });
    if (!known) return cut(grid);
    if (RefusedEdge refused; find_refused(grid, refused)) refuse(grid, refused);
    ++insides_->n_again;
    std::vector<std::uint32_t> labels;
    insides_->with_flow(grid.neighbours, [&](auto& flow) {
        flow.solve_again(
            grid, [&](std::size_t cell) { return gain_of(grid.unary + 2 * cell) - gain_of(before.unary + 2 * cell); },
            [&](std::size_t d, auto visit) {
                if (grid.pairs[d].kind == before.pairs[d].kind && grid.pairs[d].scores == before.pairs[d].scores)
                    return;
                each_edge(grid, d, [&](std::size_t edge, std::size_t from, std::size_t to) {
                    const auto of = [&](const GridScores& g) {
                        return pair_terms(g.pair(d, edge, 0, 0), g.pair(d, edge, 0, 1), g.pair(d, edge, 1, 0),
                                          g.pair(d, edge, 1, 1));
                    };
                    visit(from, to, of(before), of(grid));
                });
            });
        flow.read_labels(labels, n);
    });
    return exact_answer(grid, std::move(labels));
}

namespace {

// Moves over labellings of a grid: each cell keeps its label or takes another, all at once, by one cut.
class Moves {
public:
    Moves(const GridScores& grid, std::span<const std::uint32_t> start) : grid_(grid), labels_(grid.n_cells()) {
        const std::size_t k = grid.n_labels;
        for (std::size_t v = 0; v < labels_.size(); ++v) {
            const double* unary = grid.unary + v * k;
            labels_[v] = start.empty() ? 0 : start[v];
            if (unary[labels_[v]] == -kInfinite)
                labels_[v] = static_cast<std::uint32_t>(std::max_element(unary, unary + k) - unary);
        }
        penalty_ = penalty();
        score_ = soft_score(labels_);
    }

    const std::vector<std::uint32_t>& labels() const { return labels_; }

    // All cells may take `alpha`, as label 0 of the network: where that makes no difference, they do. Whether the score
    // rose.
    template <class Flow>
    bool expand(Flow& flow, std::uint32_t alpha) {
        const std::size_t k = grid_.n_labels;
        const auto gain = [&](std::size_t cell) {
            const double* unary = grid_.unary + cell * k;
            return unary[labels_[cell]] - unary[alpha];
        };
        const auto terms = [&](std::size_t d, auto visit) {
            const Kind kind = grid_.pairs[d].kind;
            if (kind == Kind::kAgree || kind == Kind::kTable) {
                std::vector<PairTerms> tied;
                each_pair(grid_, d, [&](std::size_t, std::size_t from, std::size_t to, const auto& p) {
                    if (tied.empty())
                        for (std::uint32_t a = 0; a < k; ++a)
                            for (std::uint32_t b = 0; b < k; ++b) tied.push_back(move_terms(p, alpha, alpha, a, b));
                    visit(from, to, tied[labels_[from] * k + labels_[to]]);
                });
            } else {
                each_pair(grid_, d, [&](std::size_t, std::size_t from, std::size_t to, const auto& p) {
                    visit(from, to, move_terms(p, alpha, alpha, labels_[from], labels_[to]));
                });
            }
        };
        if (!flow.solve(grid_, gain, terms)) return false;
        flow.read_labels(moved_, labels_.size());
        for (std::size_t v = 0; v < labels_.size(); ++v) moved_[v] = moved_[v] ? labels_[v] : alpha;
        return accept();
    }

    // Cells labelled alpha or beta may take the other.
    template <class Flow>
    bool swap(Flow& flow, std::uint32_t alpha, std::uint32_t beta) {
        const std::size_t k = grid_.n_labels;
        const auto other = [&](std::size_t cell) {
            const std::uint32_t label = labels_[cell];
            return label == alpha ? beta : label == beta ? alpha : label;
        };
        // Label 1 of the network is beta, whatever the cell has now: so the pairs are submodular where the tables are.
        const auto zero = [&](std::size_t cell) { return labels_[cell] == beta ? alpha : labels_[cell]; };
        const auto one = [&](std::size_t cell) { return labels_[cell] == alpha ? beta : labels_[cell]; };
        const auto gain = [&](std::size_t cell) {
            const double* unary = grid_.unary + cell * k;
            if (unary[zero(cell)] == -kInfinite) return kInfinite;
            return unary[one(cell)] - unary[zero(cell)];
        };
        const auto terms = [&](std::size_t d, auto visit) {
            each_pair(grid_, d, [&](std::size_t, std::size_t from, std::size_t to, const auto& p) {
                if (other(from) == labels_[from] && other(to) == labels_[to]) return;
                visit(from, to, move_terms(p, zero(from), zero(to), one(from), one(to)));
            });
        };
        if (!flow.solve(grid_, gain, terms)) return false;
        flow.read_labels(moved_, labels_.size());
        for (std::size_t v = 0; v < labels_.size(); ++v)
            moved_[v] = static_cast<std::uint32_t>(moved_[v] ? one(v) : zero(v));
        return accept();
    }

private:
    template <class Table>
    PairTerms move_terms(const Table& p, std::uint32_t a, std::uint32_t b, std::uint32_t new_a,
                         std::uint32_t new_b) const {
        const auto soft = [&](double s) { return s == -kInfinite ? -penalty_ : s; };
        return finite_pair_terms(soft(p(a, b)), soft(p(a, new_b)), soft(p(new_a, b)), soft(p(new_a, new_b)));
    }

    bool accept() {
        const double found = soft_score(moved_);
        if (found <= score_ + 1e-13 * std::abs(score_)) return false;
        score_ = found;
        labels_.swap(moved_);
        return true;
    }

    double soft_score(const std::vector<std::uint32_t>& labels) const {
        if (penalty_ == 0.0) return score(grid_, labels);
        double total = 0.0;
        for (std::size_t v = 0; v < labels.size(); ++v) total += grid_.unary[v * grid_.n_labels + labels[v]];
        for (std::size_t d = 0; d < grid_.pairs.size(); ++d)
            each_pair(grid_, d, [&](std::size_t, std::size_t from, std::size_t to, const auto& p) {
                const double s = p(labels[from], labels[to]);
                total += s == -kInfinite ? -penalty_ : s;
            });
        return total;
    }

    // Where pairs are forbidden: more than all other scores together can make good. 0: none are.
    double penalty() const {
        bool any = false;
        double total = 1.0;
        const auto range = [&](double least, double most) {
            if (most > least) total += most - least;
        };
        for (std::size_t d = 0; d < grid_.pairs.size(); ++d)
            each_pair(grid_, d, [&](std::size_t, std::size_t, std::size_t, const auto& p) {
                double least = kInfinite, most = -kInfinite;
                for (std::uint32_t a = 0; a < grid_.n_labels; ++a)
                    for (std::uint32_t b = 0; b < grid_.n_labels; ++b) {
                        const double s = p(a, b);
                        any |= s == -kInfinite;
                        if (s > -kInfinite) least = std::min(least, s), most = std::max(most, s);
                    }
                range(least, most);
            });
        if (!any) return 0.0;
        for (std::size_t v = 0; v < labels_.size(); ++v) {
            double least = kInfinite, most = -kInfinite;
            for (std::size_t a = 0; a < grid_.n_labels; ++a) {
                const double s = grid_.unary[v * grid_.n_labels + a];
                if (s > -kInfinite) least = std::min(least, s), most = std::max(most, s);
            }
            range(least, most);
        }
        return std::min(total, 1e300);
    }

    const GridScores& grid_;
    std::vector<std::uint32_t> labels_, moved_;
    double penalty_ = 0.0, score_ = 0.0;
};

// Tries the first `n` labels of the order until none of them raises the score. Where few do, these are settled among
// themselves before the others have their turn.
template <class Try>
void settle(std::size_t n, std::vector<std::uint32_t>& order, std::size_t& round, std::size_t rounds,
            const Try& raises) {
    for (std::size_t begin = 0; round < rounds;) {
        ++round;
        std::size_t next = begin;
        for (std::size_t end = n; next < end;)
            if (raises(order[next]))
                ++next;
            else
                std::swap(order[next], order[--end]);
        if (next == begin) return;
        begin = 0;
        if (next < n / 2) {
            settle(next, order, round, rounds, raises);
            begin = next;
        }
    }
}

void finish(const GridScores& grid, GridAnswer& answer) {
    answer.score = score(grid, answer.labels);
    if (answer.score == -kInfinite) answer.labels.clear();
    answer.bound = std::max(ChainBound(grid)(), answer.score);
    answer.exact = answer.bound == answer.score && answer.score > -kInfinite;
}

}  // namespace

GridAnswer GridSolver::expansion(const GridScores& grid, std::span<const std::uint32_t> start, std::size_t rounds) {
    if (has_forbidden_cell(grid)) return impossible_answer();
    Moves moves(grid, start);
    GridAnswer answer;
    const std::size_t k = grid.n_labels;
    if (k > 1 && grid.n_cells() > 0)
        insides_->with_flow(grid.neighbours, [&](auto& flow) {
            std::vector<std::uint32_t> order(k);
            std::iota(order.begin(), order.end(), 0u);
            settle(k, order, answer.rounds, rounds, [&](std::uint32_t alpha) { return moves.expand(flow, alpha); });
            flow.forget();
        });
    answer.labels = moves.labels();
    finish(grid, answer);
    return answer;
}

GridAnswer GridSolver::swap(const GridScores& grid, std::span<const std::uint32_t> start, std::size_t rounds) {
    if (has_forbidden_cell(grid)) return impossible_answer();
    Moves moves(grid, start);
    GridAnswer answer;
    const std::size_t k = grid.n_labels, n_pairs = k * (k - 1) / 2;
    if (k > 1 && grid.n_cells() > 0)
        insides_->with_flow(grid.neighbours, [&](auto& flow) {
            std::size_t n_failed = 0;
            for (; answer.rounds < rounds && n_failed < n_pairs; ++answer.rounds)
                for (std::uint32_t alpha = 0; alpha < k; ++alpha)
                    for (std::uint32_t beta = alpha + 1; beta < k && n_failed < n_pairs; ++beta)
                        n_failed = moves.swap(flow, alpha, beta) ? 1 : n_failed + 1;
            flow.forget();
        });
    answer.labels = moves.labels();
    finish(grid, answer);
    return answer;
}

namespace {

BinaryProblem binary_problem(const GridScores& grid) {
    if (grid.n_labels != 2) throw std::invalid_argument("roof duality is for two labels; use expansion for more");
    BinaryProblem problem;
    problem.unary.assign(grid.unary, grid.unary + 2 * grid.n_cells());
    std::size_t n_edges = 0;
    for (const Direction& d : directions(grid.neighbours)) n_edges += grid.n_edges(d);
    problem.edges.reserve(n_edges);
    for (std::size_t d = 0; d < grid.pairs.size(); ++d)
        each_pair(grid, d, [&](std::size_t, std::size_t from, std::size_t to, const auto& p) {
            problem.edges.push_back(
                {static_cast<Node>(from), static_cast<Node>(to), p(0, 0), p(0, 1), p(1, 0), p(1, 1)});
        });
    return problem;
}

}  // namespace

GridAnswer GridSolver::partial(const GridScores& grid) {
    if (grid.n_labels == 1 || grid.n_cells() == 0) return cut(grid);
    if (has_forbidden_cell(grid)) return impossible_answer();
    const BinaryProblem problem = binary_problem(grid);
    BinaryAnswer found = insides_->binary.roof_dual(problem);
    if (found.impossible) return impossible_answer();
    if (found.n_undecided == 0) return exact_answer(grid, std::move(found.labels));
    GridAnswer answer;
    answer.labels = std::move(found.labels);
    answer.bound = found.bound;
    answer.n_undecided = found.n_undecided;
    return answer;
}

GridAnswer GridSolver::qpbo(const GridScores& grid, std::span<const std::uint32_t> start, std::size_t rounds) {
    GridAnswer answer = partial(grid);
    if (answer.exact) return answer;
    const BinaryProblem problem = binary_problem(grid);
    std::vector<std::uint32_t> decided = std::move(answer.labels);
    answer.labels = expansion(grid, start, 2).labels;  // truncated moves: a labelling to begin with
    if (answer.labels.empty()) answer.labels = Moves(grid, start).labels();
    for (std::size_t v = 0; v < decided.size(); ++v)
        if (decided[v] != kUndecided) answer.labels[v] = decided[v];
    insides_->binary.improve(problem, decided, answer.labels, rounds);
    answer.score = problem.score(answer.labels);
    if (answer.score == -kInfinite) answer.labels.clear();
    answer.bound = std::max(answer.bound, answer.score);
    // The bound is a sum of as many numbers as there are scores: it is reached where the two differ by rounding.
    answer.exact = answer.score > -kInfinite && answer.bound - answer.score <= 1e-12 * (1.0 + std::abs(answer.score));
    if (answer.exact) answer.bound = answer.score;
    return answer;
}

std::vector<GridAnswer> GridSolver::kbest(const GridScores& grid, std::size_t k) {
    struct Candidate {
        GridAnswer answer;
        std::size_t free_from;  // cells before it are fixed
    };
    std::vector<GridAnswer> found;
    GridAnswer first = cut(grid);
    if (first.impossible || k == 0) return found;
    std::vector<Candidate> candidates;  // worst first; among equals, the one found first last
    const auto add = [&](GridAnswer&& answer, std::size_t free_from) {
        const auto place = std::find_if(candidates.begin(), candidates.end(),
                                        [&](const Candidate& other) { return other.answer.score >= answer.score; });
        candidates.insert(place, {std::move(answer), free_from});
        if (candidates.size() + found.size() > k) candidates.erase(candidates.begin());
    };
    add(std::move(first), 0);
    const std::size_t n = grid.n_cells(), n_labels = grid.n_labels;
    std::vector<double> unary;
    GridScores limited = grid;
    while (!candidates.empty() && found.size() < k) {
        const std::size_t free_from = candidates.back().free_from;
        found.push_back(std::move(candidates.back().answer));
        candidates.pop_back();
        if (found.size() == k || n_labels < 2) break;
        const std::vector<std::uint32_t> labels = found.back().labels;
        unary.assign(grid.unary, grid.unary + n * n_labels);
        limited.unary = unary.data();
        // The labellings that agree with this one before a cell and differ there: these are all others of its part.
        for (std::size_t cell = 0; cell < n; ++cell) {
            double& kept = unary[2 * cell + labels[cell]];
            double& other = unary[2 * cell + 1 - labels[cell]];
            const double score_kept = kept;
            if (cell >= free_from && other > -kInfinite) {
                kept = -kInfinite;
                GridAnswer answer = cut(limited);
                kept = score_kept;
                if (!answer.impossible) add(std::move(answer), cell + 1);
            }
            other = -kInfinite;
        }
    }
    return found;
}

std::vector<double> GridSolver::max_marginals(const GridScores& grid) {
    const std::size_t n = grid.n_cells(), k = grid.n_labels;
    std::vector<double> most(n * k, -kInfinite);
    const GridAnswer first = cut(grid);
    if (first.impossible) return most;
    std::vector<double> unary(grid.unary, grid.unary + n * k);
    GridScores limited = grid;
    limited.unary = unary.data();
    for (std::size_t cell = 0; cell < n; ++cell) {
        const std::uint32_t label = first.labels[cell];
        most[cell * k + label] = first.score;
        if (k < 2) continue;
        const double kept = unary[2 * cell + label];
        unary[2 * cell + label] = -kInfinite;
        most[2 * cell + 1 - label] = cut(limited).score;
        unary[2 * cell + label] = kept;
    }
    return most;
}

GridAnswer GridSolver::best(const GridScores& grid) {
    if (grid.n_labels > 2) return expansion(grid);
    RefusedEdge refused;
    return grid.n_labels == 2 && find_refused(grid, refused) ? qpbo(grid) : cut(grid);
}

}  // namespace tw::cuts
