// Spanning trees of undirected graphs: edges that connect all nodes without a cycle.
//
//     shape [n]                      nodes 0 to n - 1, all pairs of them: edge (0, 1), (0, 2) .. (n - 2, n - 1)
//     shape [n, a_0, b_0, a_1, ...]  the edges there are, by their two ends; several may have the same ends
//     edges    as many x 1           output: the numbers of the tree's n - 1 edges, rising
//
// A tree is an arborescence below node 0 in one way, so sums are those of arcs in both directions (Kirchhoff 1847;
// spanning/tree_sums.hpp). The best tree is Prim's (1957) when all pairs are edges and Kruskal's (1956) otherwise; the
// second best replaces one edge, by the best of those that connect what it held together (Gabow 1977). Equal scores:
// the edge with the lower number first.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>

#include "../base/semiring.hpp"
#include "../spanning/distinct_trees.hpp"
#include "../spanning/partition.hpp"
#include "../spanning/tree_sums.hpp"
#include "families.hpp"

namespace tw {
namespace {

using Nodes = std::vector<std::uint32_t>;

struct Ends {
    std::uint32_t a, b;
};

struct Edges {
    std::size_t n_nodes;
    std::vector<Ends> ends;

    explicit Edges(Shape shape) : n_nodes(shape.empty() ? 0 : shape[0]) {
        if (n_nodes == 0 || shape.size() % 2 == 0)
            throw std::invalid_argument("the shape of a graph is its number of nodes, one or more, and pairs of nodes");
        const auto n = static_cast<std::uint32_t>(n_nodes);
        for (std::size_t i = 1; i < shape.size(); i += 2) {
            if (shape[i] >= n || shape[i + 1] >= n || shape[i] == shape[i + 1])
                throw std::invalid_argument("an edge connects two of the nodes");
            ends.push_back({shape[i], shape[i + 1]});
        }
        if (shape.size() > 1) return;
        if (n > 40'000) throw std::invalid_argument("a graph has too many nodes for edges between all of them");
        for (std::uint32_t a = 0; a < n; ++a)
            for (std::uint32_t b = a + 1; b < n; ++b) ends.push_back({a, b});
    }
};

// Sets of nodes that grow together. Without shortcuts the way up is short (union by size), and it remembers when two
// nodes met: at the latest time on the ways from both to where they meet.
class Components {
public:
    explicit Components(std::size_t n) : above_(n), size_(n, 1), time_(n, 0) {
        std::iota(above_.begin(), above_.end(), 0u);
    }
    std::uint32_t of(std::uint32_t v) const {
        while (above_[v] != v) v = above_[v];
        return v;
    }
    bool join(std::uint32_t a, std::uint32_t b, std::uint32_t time) {
        a = of(a);
        b = of(b);
        if (a == b) return false;
        if (size_[a] < size_[b]) std::swap(a, b);
        size_[a] += size_[b];
        above_[b] = a;
        time_[b] = time;
        return true;
    }
    std::uint32_t met(std::uint32_t a, std::uint32_t b) const {  // they are in one set
        std::uint32_t latest = 0;
        while (a != b) {  // links that are further up were made later
            std::uint32_t& lower = above_[b] == b || (above_[a] != a && time_[a] < time_[b]) ? a : b;
            latest = std::max(latest, time_[lower]);
            lower = above_[lower];
        }
        return latest;
    }

private:
    Nodes above_, size_, time_;
};

class SpanningTree final : public DerivationStructure {
public:
    using Structure::best;
    using Structure::log_partition;

    std::vector<Block> blocks(Shape shape) const override {
        if (shape.size() == 1 && shape[0] > 0 && shape[0] <= 40'000)
            return {{"edges", std::size_t{shape[0]} * (shape[0] - 1) / 2, 1}};
        return {{"edges", Edges(shape).ends.size(), 1}};
    }
    void parts_of(Shape shape, std::span<const std::uint32_t> output, Parts& parts) const override {
        const Edges edges(shape);
        parts.assign(output.begin(), output.end());
        std::ranges::sort(parts);
        if (parts.size() + 1 != edges.n_nodes)
            throw std::invalid_argument("a spanning tree of " + std::to_string(edges.n_nodes) +
                                        " nodes has one edge fewer, this has " + std::to_string(parts.size()));
        if (!parts.empty() && parts.back() >= edges.ends.size()) throw std::invalid_argument("there is no such edge");
        Components components(edges.n_nodes);
        for (const Part part : parts)
            if (!components.join(edges.ends[part].a, edges.ends[part].b, 0))
                throw std::invalid_argument("a spanning tree has no cycle, this has");
    }
    void output_of(Shape, std::span<const Part> parts, std::vector<std::uint32_t>& output) const override {
        output.assign(parts.begin(), parts.end());
    }

    // Where the edge of each node leads, seen from node 0: to its neighbour on the way there.
    bool decides() const override { return true; }
    void decisions(Shape shape, std::span<const Part> gold,
                   const std::function<void(const Decision&)>& visit) const override {
        const Edges edges(shape);
        const Parts towards = edges_towards_first(edges, gold);
        std::vector<Parts> at(edges.n_nodes);
        for (Part part = 0; part < edges.ends.size(); ++part) {
            at[edges.ends[part].a].push_back(part);
            at[edges.ends[part].b].push_back(part);
        }
        for (std::size_t v = 1; v < edges.n_nodes; ++v) {
            const auto chosen = std::ranges::find(at[v], towards[v]) - at[v].begin();
            visit({at[v], 1, static_cast<std::size_t>(chosen)});
        }
    }

    std::vector<Answer> best(Shape shape, const PartScores& scores, std::size_t k, Workspace&) const override {
        std::vector<Answer> out;
        const Edges edges(shape);
        if (k == 0) return out;
        const bool dense = shape.size() == 1 && k == 1;
        const Parts order = dense ? Parts{} : by_score(edges, scores);
        Parts tree = dense ? prim(edges, scores) : kruskal(edges, order);
        if (tree.size() + 1 != edges.n_nodes) return out;
        const auto find_second = [&](std::span<const spanning::Condition> conditions, const Answer& known) {
            return second(edges, scores, order, conditions, known);
        };
        spanning::k_best(k, answer(scores, std::move(tree)), find_second, out);
        return out;
    }

    double log_partition(Shape shape, const PartScores& scores, double* expected, double* variance,
                         Workspace&) const override {
        const Edges edges(shape);
        Sums sums(edges, scores);
        const bool wanted = expected || variance;
        const double log_z = sums.log_partition(wanted);
        for (Part part = 0; wanted && part < edges.ends.size(); ++part) {
            const double p = log_z == kLogZero ? 0.0 : sums.probability(part);
            if (expected) expected[part] = p;
            if (variance) variance[part] = p * (1.0 - p);
        }
        return log_z;
    }

    double entropy(Shape shape, const PartScores& scores) const override {
        const Edges edges(shape);
        Sums sums(edges, scores);
        sums.log_partition(true);
        return sums.entropy();
    }

    // An edge that is not in the best tree takes the place of the worst between its ends.
    void max_marginals(Shape shape, const PartScores& scores, std::span<double> out) const override {
        const Edges edges(shape);
        const Parts order = by_score(edges, scores);
        std::ranges::fill(out, kLogZero);
        Components components(edges.n_nodes);
        Parts tree;
        for (const Part part : order)
            if (components.join(edges.ends[part].a, edges.ends[part].b, static_cast<std::uint32_t>(tree.size())))
                tree.push_back(part);
        if (tree.size() + 1 != edges.n_nodes) return;
        const double best = answer(scores, tree).score;
        for (const Part part : order) {
            const Part worst = tree[components.met(edges.ends[part].a, edges.ends[part].b)];
            out[part] = best - (scores[worst] - scores[part]);
        }
    }

    std::vector<Parts> sample(Shape shape, const PartScores& scores, std::size_t n, bool distinct,
                              const std::function<double()>& draw) const override {
        const Edges edges(shape);
        Sums sums(edges, scores);
        if (sums.log_partition(false) == kLogZero) return {};
        return sums.sample(n, distinct, draw);
    }

    // The first node that is not connected to node 0.
    std::size_t dead_end(Shape shape, const PartScores& scores) const override {
        const Edges edges(shape);
        Components components(edges.n_nodes);
        for (Part part = 0; part < edges.ends.size(); ++part)
            if (scores[part] != kLogZero) components.join(edges.ends[part].a, edges.ends[part].b, 0);
        std::uint32_t v = 0;
        while (v + 1 < edges.n_nodes && components.of(v) == components.of(0)) ++v;
        return v;
    }

private:
    static Answer answer(const PartScores& scores, Parts tree) {
        std::ranges::sort(tree);
        Answer out{std::move(tree), 0.0};
        for (const Part part : out.parts) out.score += scores[part];
        return out;
    }

    // The edges that are not forbidden, best first.
    static Parts by_score(const Edges& edges, const PartScores& scores) {
        Parts order;
        for (Part part = 0; part < edges.ends.size(); ++part)
            if (scores[part] != kLogZero) order.push_back(part);
        std::ranges::stable_sort(order, [&](Part a, Part b) { return scores[a] > scores[b]; });
        return order;
    }

    static Parts kruskal(const Edges& edges, std::span<const Part> order) {
        Components components(edges.n_nodes);
        Parts tree;
        for (const Part part : order) {
            if (tree.size() + 1 == edges.n_nodes) break;
            if (components.join(edges.ends[part].a, edges.ends[part].b, 0)) tree.push_back(part);
        }
        return tree;
    }

    // Between all pairs of nodes.
    static Parts prim(const Edges& edges, const PartScores& scores) {
        const auto n = static_cast<std::uint32_t>(edges.n_nodes);
        const auto edge = [n](std::uint32_t a, std::uint32_t b) {
            if (a > b) std::swap(a, b);
            return static_cast<Part>(std::size_t{a} * (2 * n - a - 1) / 2 + (b - a - 1));
        };
        Nodes outside(n - 1);
        std::iota(outside.begin(), outside.end(), 1u);
        std::vector<double> best(n, kLogZero);
        Parts nearest(n, 0), tree;
        for (std::uint32_t added = 0; !outside.empty();) {
            std::size_t next = 0;
            for (std::size_t i = 0; i < outside.size(); ++i) {
                const std::uint32_t v = outside[i];
                const Part part = edge(added, v);
                if (const double score = scores[part]; score > best[v] || (score == best[v] && part < nearest[v])) {
                    best[v] = score;
                    nearest[v] = part;
                }
                const std::uint32_t u = outside[next];
                if (best[v] > best[u] || (best[v] == best[u] && nearest[v] < nearest[u])) next = i;
            }
            added = outside[next];
            if (best[added] == kLogZero) break;
            tree.push_back(nearest[added]);
            outside[next] = outside.back();
            outside.pop_back();
        }
        return tree;
    }

    // By node: the edge to its neighbour on the way to node 0; the nodes in an order in which that comes before.
    static Parts edges_towards_first(const Edges& edges, std::span<const Part> tree, Nodes* order = nullptr) {
        std::vector<Parts> at(edges.n_nodes);
        for (const Part part : tree) {
            at[edges.ends[part].a].push_back(part);
            at[edges.ends[part].b].push_back(part);
        }
        Parts towards(edges.n_nodes, kNoPart);
        Nodes met{0};
        for (std::size_t i = 0; i < met.size(); ++i)
            for (const Part part : at[met[i]]) {
                if (part == towards[met[i]]) continue;
                const std::uint32_t v = edges.ends[part].a == met[i] ? edges.ends[part].b : edges.ends[part].a;
                towards[v] = part;
                met.push_back(v);
            }
        if (order) *order = std::move(met);
        return towards;
    }

    // Edges that are not in the tree, best first: each replaces those between its ends that have no replacement yet.
    static std::optional<spanning::SecondBest> second(const Edges& edges, const PartScores& scores,
                                                      std::span<const Part> order,
                                                      std::span<const spanning::Condition> conditions,
                                                      const Answer& known) {
        enum : std::uint8_t { kFree, kNeeded, kForbidden };
        std::vector<std::uint8_t> state(edges.ends.size(), kFree), in_tree(edges.ends.size(), 0);
        for (const auto [part, has_it] : conditions) state[part] = has_it ? kNeeded : kForbidden;
        for (const Part part : known.parts) in_tree[part] = 1;
        Nodes met, above(edges.n_nodes), depth(edges.n_nodes, 0), covered(edges.n_nodes);
        const Parts towards = edges_towards_first(edges, known.parts, &met);
        for (const std::uint32_t v : std::span(met).subspan(1)) {
            const Ends ends = edges.ends[towards[v]];
            above[v] = ends.a == v ? ends.b : ends.a;
            depth[v] = depth[above[v]] + 1;
        }
        std::iota(covered.begin(), covered.end(), 0u);
        const auto top = [&](std::uint32_t v) {  // the first above whose edge has no replacement
            while (covered[v] != v) v = covered[v] = covered[covered[v]];
            return v;
        };
        Part added = kNoPart, lacks = kNoPart;
        double loss = 0.0;
        for (const Part part : order) {
            if (in_tree[part] || state[part] == kForbidden) continue;
            std::uint32_t a = top(edges.ends[part].a), b = top(edges.ends[part].b);
            while (a != b) {
                if (depth[a] < depth[b]) std::swap(a, b);
                const double here = scores[towards[a]] - scores[part];
                if (state[towards[a]] == kFree && (lacks == kNoPart || here < loss)) {
                    loss = here;
                    added = part;
                    lacks = towards[a];
                }
                covered[a] = above[a];
                a = top(a);
            }
        }
        if (lacks == kNoPart) return {};
        Parts tree = known.parts;
        *std::ranges::find(tree, lacks) = added;
        return spanning::SecondBest{answer(scores, std::move(tree)), lacks};
    }

    // Sums, on arcs in both directions; several edges with the same ends are one arc.
    class Sums {
    public:
        Sums(const Edges& edges, const PartScores& scores) : edges_(edges), scores_(scores), n_(edges.n_nodes) {
            if (n_ > 20'000) throw std::invalid_argument("a graph has too many nodes for sums over all its trees");
            cells_.assign(n_ * n_, kLogZero);
            for (Part part = 0; part < edges.ends.size(); ++part) {
                const auto [a, b] = edges.ends[part];
                cells_[a * n_ + b] = cells_[b * n_ + a] = LogSum::plus(cells_[a * n_ + b], scores[part]);
            }
        }
        double log_partition(bool marginals) {
            if (marginals) marginals_.resize(n_ * n_);
            return sums_.log_partition(arcs(), marginals ? marginals_.data() : nullptr);
        }
        double probability(Part part) const {
            const auto [a, b] = edges_.ends[part];
            if (scores_[part] == kLogZero) return 0.0;
            const double of_arcs = std::min(marginals_[a * n_ + b] + marginals_[b * n_ + a], 1.0);
            return of_arcs * std::exp(scores_[part] - cells_[a * n_ + b]);
        }
        double entropy() const {
            CompensatedSum total;
            total.add(sums_.centred_log_partition());
            for (Part part = 0; part < edges_.ends.size(); ++part) {
                if (scores_[part] == kLogZero) continue;
                const auto [a, b] = edges_.ends[part];
                const double share = std::exp(scores_[part] - cells_[a * n_ + b]);
                for (const auto [h, m] : {Ends{a, b}, Ends{b, a}})
                    if (const double p = m == 0 ? 0.0 : marginals_[h * n_ + m] * share; p > 0.0)
                        total.add(-p * (scores_[part] - sums_.centre_of(m)));
            }
            return std::max(total.value(), 0.0);
        }
        std::vector<Parts> sample(std::size_t n, bool distinct, const std::function<double()>& draw) {
            std::vector<Parts> between(n_ * n_), out;  // the edges of each arc
            for (Part part = 0; part < edges_.ends.size(); ++part) {
                const auto [a, b] = edges_.ends[part];
                if (scores_[part] == kLogZero) continue;
                between[a * n_ + b].push_back(part);
                between[b * n_ + a].push_back(part);
            }
            std::size_t most = 1;
            for (const Parts& parts : between) most = std::max(most, parts.size());
            const auto log_share = [&](Part part, std::size_t cell) { return scores_[part] - cells_[cell]; };
            Nodes heads(n_);
            const auto one = [&] {
                sums_.sample(draw, heads);
                Parts tree;
                for (std::size_t m = 1; m < n_; ++m) {
                    const std::size_t cell = heads[m] * n_ + m;
                    const Parts& parts = between[cell];
                    std::size_t i = 0;
                    if (parts.size() > 1)
                        for (double left = draw(); i + 1 < parts.size(); ++i)
                            if ((left -= std::exp(log_share(parts[i], cell))) < 0.0) break;
                    tree.push_back(parts[i]);
                }
                std::ranges::sort(tree);
                return tree;
            };
            sums_.start_samples(arcs());
            while (!distinct && out.size() < n) out.push_back(one());
            if (!distinct) return out;
            std::vector<double> of_heads(n_);
            const auto conditional = [&](std::span<const std::uint32_t> choices, std::vector<double>& log_p) {
                const auto m = static_cast<std::uint32_t>(choices.size() + 1);
                for (std::size_t i = 1; i < m; ++i) heads[i] = choices[i - 1] / static_cast<std::uint32_t>(most);
                sums_.log_conditional(arcs(), heads, m, of_heads);
                log_p.assign(n_ * most, kLogZero);
                for (std::size_t h = 0; h < n_; ++h)
                    for (std::size_t i = 0; of_heads[h] != kLogZero && i < between[h * n_ + m].size(); ++i)
                        log_p[h * most + i] = of_heads[h] + log_share(between[h * n_ + m][i], h * n_ + m);
            };
            const auto complete = [&](std::span<const std::uint32_t> choices) {
                Parts tree;
                for (std::size_t m = 1; m < n_; ++m)
                    tree.push_back(between[choices[m - 1] / most * n_ + m][choices[m - 1] % most]);
                std::ranges::sort(tree);
                return tree;
            };
            return spanning::distinct_trees(n, n_ - 1, draw, one, conditional, complete);
        }

    private:
        spanning::ArcScores arcs() const { return {cells_.data(), n_ - 1, false}; }

        const Edges& edges_;
        const PartScores& scores_;
        std::size_t n_;
        std::vector<double> cells_, marginals_;
        spanning::TreeSums sums_;
    };
};

}  // namespace

std::unique_ptr<DerivationStructure> spanning_tree_structure() { return std::make_unique<SpanningTree>(); }

}  // namespace tw
