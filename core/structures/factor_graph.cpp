#include "factor_graph.hpp"

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "../base/semiring.hpp"
#include "../cuts/graph_cut.hpp"

namespace tw {
namespace {

using graphs::Elimination;
using graphs::Factor;
using graphs::Graph;
using Labels = std::vector<std::uint32_t>;

struct Space final : Workspace {
    Elimination::Space tables;
    std::vector<double> masked;
};

std::span<const double> values(const PartScores& scores, Space& space) {
    return {scores.masked(space.masked), scores.scores.size()};
}

void require(bool holds, const char* message) {
    if (!holds) throw std::invalid_argument(message);
}

}  // namespace

graphs::Found find_labels(const Graph& graph, std::span<const double> scores, graphs::Search how,
                          graphs::SearchState* state) {
    using Method = graphs::Search::Method;
    if (how.method == Method::kCut || (how.method == Method::kAuto && cuts::is_submodular(graph, scores)))
        return cuts::cut_search(graph, scores, how);
    if (how.method == Method::kProgram) {
        how.method = Method::kAuto;
        how.branch = true;
    }
    return graphs::search(graph, scores, how, state);
}

// ---- any graph -----------------------------------------------------------------------------------------------------

std::unique_ptr<Workspace> GraphStructure::workspace() const { return std::make_unique<Space>(); }

std::vector<Answer> GraphStructure::best(Shape shape, const PartScores& scores, std::size_t k,
                                         Workspace& workspace) const {
    Space& space = static_cast<Space&>(workspace);
    const std::shared_ptr<const Prepared> ready = prepared(shape);
    const std::span<const double> given = values(scores, space);
    using Best = GraphAnswers::Best;
    const bool narrow = ready->elimination.narrow();
    if (k == 1 && (answers_.best == Best::kSearch || (answers_.best == Best::kAuto && !narrow)))
        return searched(shape, *ready->graph, given);
    std::vector<Labels> found(1);
    if (k != 1)
        found = ready->elimination.k_best(given, k, space.tables);
    else if (!ready->elimination.best(given, space.tables, found[0]))
        found.clear();
    std::vector<Answer> out;
    for (const Labels& labels : found) {
        Answer& answer = out.emplace_back();
        parts_of_labels(shape, labels, answer.parts);
        CompensatedSum total;
        for (const Part part : answer.parts) total.add(given[part]);
        answer.score = total.value();
    }
    // Found by what each loses against the best; the scores themselves are rounded once more.
    std::ranges::stable_sort(out, [](const Answer& a, const Answer& b) { return a.score > b.score; });
    return out;
}

std::vector<Answer> GraphStructure::searched(Shape shape, const Graph& graph, std::span<const double> scores) const {
    const graphs::Found found = find_labels(graph, scores, answers_.search);
    if (found.labels.empty() && graph.n_variables() > 0) return {};
    Answer answer;
    answer.gap = std::max(found.bound - found.score, 0.0);
    const auto whole = [](double share) { return share == 0.0 || share == 1.0; };
    if (!answers_.search.relaxed || std::ranges::all_of(found.shares, whole)) {
        parts_of_labels(shape, found.labels, answer.parts);
        answer.score = found.score;
        return {std::move(answer)};
    }
    CompensatedSum total;
    for (Part part = 0; part < found.shares.size(); ++part) {
        if (!(found.shares[part] > 0.0)) continue;
        answer.parts.push_back(part);
        answer.shares.push_back(found.shares[part]);
        total.add(found.shares[part] * scores[part]);
    }
    answer.score = total.value();
    return {std::move(answer)};
}

double GraphStructure::log_partition(Shape shape, const PartScores& scores, double* expected, double* variance,
                                     Workspace& workspace) const {
    Space& space = static_cast<Space&>(workspace);
    const std::shared_ptr<const Prepared> ready = prepared(shape);
    double* const wanted = expected ? expected : variance;
    const std::span<const double> given = values(scores, space);
    double log_z;
    if (answers_.approximate_sums && !ready->elimination.narrow()) {
        const graphs::Beliefs found = graphs::beliefs(*ready->graph, given, answers_.search);
        if (wanted) std::ranges::copy(found.beliefs, wanted);
        log_z = found.log_z;
    } else {
        log_z = ready->elimination.sums(given, wanted, nullptr, space.tables);
    }
    if (variance)
        for (std::size_t i = 0; i < scores.scores.size(); ++i) variance[i] = wanted[i] * (1.0 - wanted[i]);
    return log_z;
}

double GraphStructure::entropy(Shape shape, const PartScores& scores) const {
    Space space;
    double nats = 0.0;
    prepared(shape)->elimination.sums(values(scores, space), nullptr, &nats, space.tables);
    return nats;
}

void GraphStructure::max_marginals(Shape shape, const PartScores& scores, std::span<double> out) const {
    Space space;
    prepared(shape)->elimination.max_marginals(values(scores, space), out, space.tables);
}

std::vector<Parts> GraphStructure::sample(Shape shape, const PartScores& scores, std::size_t n, bool distinct,
                                          const std::function<double()>& draw) const {
    Space space;
    std::vector<Parts> out;
    const auto drawn = prepared(shape)->elimination.sample(values(scores, space), n, distinct, draw, space.tables);
    for (const Labels& labels : drawn) parts_of_labels(shape, labels, out.emplace_back());
    return out;
}

std::size_t GraphStructure::dead_end(Shape shape, const PartScores& scores) const {
    Space space;
    const std::shared_ptr<const Prepared> ready = prepared(shape);
    return ready->elimination.narrow() ? ready->elimination.dead_end(values(scores, space), space.tables) : 0;
}

// ---- one graph -----------------------------------------------------------------------------------------------------

OneGraph::OneGraph(Graph graph, GraphAnswers answers) : GraphStructure(answers) {
    graph.check();
    Elimination elimination(graph, answers.limits);
    prepared_ = std::make_shared<const Prepared>(Prepared{std::move(elimination), std::move(graph)});
}

void OneGraph::parts_of(Shape shape, std::span<const std::uint32_t> output, Parts& parts) const {
    require(output.size() == graph().n_variables(), "an output has one label for each variable");
    for (std::size_t v = 0; v < output.size(); ++v) require(output[v] < graph().n_labels[v], "a label is out of range");
    require(parts_of_labels(shape, output, parts), "a factor forbids these labels");
}

// Unary scores may stand anywhere: by variable, which of its parts is there.
void OneGraph::output_of(Shape, std::span<const Part> parts, std::vector<std::uint32_t>& output) const {
    output.assign(graph().n_variables(), 0);
    for (std::size_t v = 0; v < output.size(); ++v) {
        const auto found = std::ranges::lower_bound(parts, static_cast<Part>(graph().unary_at[v]));
        require(found != parts.end() && *found < graph().unary_at[v] + graph().n_labels[v],
                "the parts lack a label of a variable");
        output[v] = static_cast<std::uint32_t>(*found - graph().unary_at[v]);
    }
}

bool OneGraph::parts_of_labels(Shape, std::span<const std::uint32_t> labels, Parts& parts) const {
    const bool allowed = graph().parts_of(labels, parts);
    if (!std::ranges::is_sorted(parts)) std::ranges::sort(parts);
    return allowed;
}

// ---- graphs by shape -----------------------------------------------------------------------------------------------

namespace {

class TypedGraphs final : public GraphStructure {
public:
    TypedGraphs(Labels n_labels, std::vector<EdgeKind> kinds, GraphAnswers answers)
        : GraphStructure(answers), n_labels_(std::move(n_labels)), kinds_(std::move(kinds)) {
        require(!n_labels_.empty(), "there must be at least one node type");
        for (const std::uint32_t n : n_labels_) require(n >= 1, "every node type must have at least one label");
        for (const EdgeKind kind : kinds_)
            require(kind.from < n_labels_.size() && kind.to < n_labels_.size(),
                    "a kind of edges is about a node type that is not there");
    }

    std::vector<Block> blocks(Shape shape) const override {
        const View view(shape);
        std::vector<Block> out;
        for (std::size_t t = 0; t < n_labels_.size(); ++t)
            out.push_back({n_labels_.size() == 1 ? "nodes" : "nodes " + std::to_string(t), 0, n_labels_[t]});
        for (std::size_t k = 0; k < kinds_.size(); ++k)
            out.push_back({kinds_.size() == 1 ? "edges" : "edges " + std::to_string(k), 0, n_pairs(k)});
        for (std::size_t v = 0; v < view.n_nodes; ++v) ++out[checked_type(view, v)].n_sites;
        for (std::size_t e = 0; e < view.n_edges; ++e) ++out[n_labels_.size() + checked_kind(view, e)].n_sites;
        return out;
    }

    void parts_of(Shape shape, std::span<const std::uint32_t> output, Parts& parts) const override {
        const View view(shape);
        require(output.size() == view.n_nodes, "an output has one label for each node");
        for (std::size_t v = 0; v < view.n_nodes; ++v)
            require(output[v] < n_labels_[checked_type(view, v)], "a label is out of range for the type of its node");
        parts_of_labels(shape, output, parts);
    }

    void output_of(Shape shape, std::span<const Part> parts, std::vector<std::uint32_t>& output) const override {
        const View view(shape);
        std::vector<std::size_t> next = firsts(shape);
        output.assign(view.n_nodes, 0);
        // Nodes of one type follow each other in their block: a part for each.
        std::vector<const Part*> from;
        for (std::size_t t = 0; t < n_labels_.size(); ++t)
            from.push_back(std::ranges::lower_bound(parts, static_cast<Part>(next[t])) - parts.begin() + parts.data());
        for (std::size_t v = 0; v < view.n_nodes; ++v) {
            const std::uint32_t t = view.type(v);
            require(from[t] != parts.data() + parts.size() && *from[t] >= next[t] && *from[t] < next[t] + n_labels_[t],
                    "the parts lack a label of a node");
            output[v] = static_cast<std::uint32_t>(*from[t]++ - next[t]);
            next[t] += n_labels_[t];
        }
    }

    // One for each node with another label, whatever its type (Hamming).
    void costs(Shape shape, std::span<const Part> gold, std::span<double> out) const override {
        const std::size_t n_first = firsts(shape)[n_labels_.size()];
        std::ranges::fill(out, 0.0);
        std::fill_n(out.begin(), n_first, 1.0);
        for (const Part part : gold)
            if (part < n_first) out[part] = 0.0;
    }

    // Node by node, given the labels of the neighbours that come before it.
    bool decides() const override { return true; }
    void decisions(Shape shape, std::span<const Part> gold,
                   const std::function<void(const Decision&)>& visit) const override {
        const View view(shape);
        Labels labels;
        output_of(shape, gold, labels);
        struct Link {
            std::size_t first, other_stride, own_stride;
            std::uint32_t other;
        };
        std::vector<std::vector<Link>> before(view.n_nodes);
        std::vector<std::size_t> next = firsts(shape);
        std::vector<std::size_t> unary(view.n_nodes);
        for (std::size_t v = 0; v < view.n_nodes; ++v) {
            unary[v] = next[view.type(v)];
            next[view.type(v)] += n_labels_[view.type(v)];
        }
        for (std::size_t e = 0; e < view.n_edges; ++e) {
            const auto [kind, a, b] = view.edge(e);
            std::size_t& first = next[n_labels_.size() + kind];
            const std::size_t n_second = n_labels_[kinds_[kind].to];
            if (a < b)
                before[b].push_back({first, n_second, 1, a});
            else
                before[a].push_back({first, 1, n_second, b});
            first += n_pairs(kind);
        }
        Parts alternatives;
        for (std::size_t v = 0; v < view.n_nodes; ++v) {
            alternatives.clear();
            for (std::size_t l = 0; l < n_labels_[view.type(v)]; ++l) {
                alternatives.push_back(static_cast<Part>(unary[v] + l));
                for (const Link& link : before[v])
                    alternatives.push_back(
                        static_cast<Part>(link.first + l * link.own_stride + labels[link.other] * link.other_stride));
            }
            visit({alternatives, 1 + before[v].size(), labels[v]});
        }
    }

private:
    struct EdgeView {
        std::uint32_t kind, a, b;
    };
    struct View {  // of a shape whose size was checked
        explicit View(Shape shape) : shape_(shape) {
            require(shape.size() >= 2, "the shape of a graph has the number of its nodes and of its edges");
            n_nodes = shape[0];
            n_edges = shape[1];
            require(shape.size() == 2 + n_nodes + 3 * n_edges,
                    "the shape of a graph has a type for each node, and kind and both nodes of each edge");
        }
        std::uint32_t type(std::size_t v) const { return shape_[2 + v]; }
        EdgeView edge(std::size_t e) const {
            const std::uint32_t* const row = shape_.data() + 2 + n_nodes + 3 * e;
            return {row[0], row[1], row[2]};
        }
        std::size_t n_nodes = 0, n_edges = 0;

    private:
        Shape shape_;
    };

    std::size_t n_pairs(std::size_t kind) const {
        return std::size_t{n_labels_[kinds_[kind].from]} * n_labels_[kinds_[kind].to];
    }
    std::uint32_t checked_type(const View& view, std::size_t v) const {
        require(view.type(v) < n_labels_.size(), "a node is of a type that is not there");
        return view.type(v);
    }
    std::uint32_t checked_kind(const View& view, std::size_t e) const {
        const auto [kind, a, b] = view.edge(e);
        require(kind < kinds_.size(), "an edge is of a kind that is not there");
        require(a < view.n_nodes && b < view.n_nodes, "an edge leads to a node that is not there");
        require(a != b, "an edge leads from a node to itself");
        require(view.type(a) == kinds_[kind].from && view.type(b) == kinds_[kind].to,
                "an edge is not of a kind that connects the types of its nodes");
        return kind;
    }
    // Where each block begins.
    std::vector<std::size_t> firsts(Shape shape) const {
        std::vector<std::size_t> out{0};
        for (const Block& block : blocks(shape)) out.push_back(out.back() + block.size());
        return out;
    }

    bool parts_of_labels(Shape shape, std::span<const std::uint32_t> labels, Parts& parts) const override {
        const View view(shape);
        std::vector<std::size_t> next = firsts(shape);
        parts.clear();
        for (std::size_t v = 0; v < view.n_nodes; ++v) {
            const std::uint32_t t = view.type(v);
            parts.push_back(static_cast<Part>(next[t] + labels[v]));
            next[t] += n_labels_[t];
        }
        for (std::size_t e = 0; e < view.n_edges; ++e) {
            const auto [kind, a, b] = view.edge(e);
            std::size_t& first = next[n_labels_.size() + kind];
            parts.push_back(static_cast<Part>(first + labels[a] * n_labels_[kinds_[kind].to] + labels[b]));
            first += n_pairs(kind);
        }
        if (!std::ranges::is_sorted(parts)) std::ranges::sort(parts);
        return true;
    }

    Graph graph(Shape shape) const {
        const View view(shape);
        std::vector<std::size_t> next = firsts(shape);
        Graph out;
        out.n_scores = next.back();
        for (std::size_t v = 0; v < view.n_nodes; ++v) {
            const std::uint32_t t = view.type(v);
            out.n_labels.push_back(n_labels_[t]);
            out.unary_at.push_back(next[t]);
            next[t] += n_labels_[t];
        }
        for (std::size_t e = 0; e < view.n_edges; ++e) {
            const auto [kind, a, b] = view.edge(e);
            Factor factor;
            factor.variables = {a, b};
            factor.at = next[n_labels_.size() + kind];
            next[n_labels_.size() + kind] += n_pairs(kind);
            out.factors.push_back(std::move(factor));
        }
        return out;
    }

    // Orders of elimination are found once for each shape. All are forgotten when they take too much memory.
    std::shared_ptr<const Prepared> prepared(Shape shape) const override {
        constexpr std::size_t kMostBytes = 512 << 20;
        const std::string_view key(reinterpret_cast<const char*>(shape.data()), shape.size_bytes());
        {
            const std::lock_guard lock(mutex_);
            if (const auto known = known_.find(key); known != known_.end()) return known->second;
        }
        Graph made = graph(shape);
        Elimination elimination(made, answers_.limits);
        std::size_t bytes = 2 * key.size() + elimination.bytes();
        std::optional<Graph> kept;
        if (!elimination.narrow() || answers_.best == GraphAnswers::Best::kSearch) {
            bytes += made.factors.size() * (sizeof(Factor) + 32) + made.n_variables() * 16;
            kept = std::move(made);
        }
        auto ready = std::make_shared<const Prepared>(Prepared{std::move(elimination), std::move(kept)});
        const std::lock_guard lock(mutex_);
        if (bytes_ + bytes > kMostBytes) {
            known_.clear();
            bytes_ = 0;
        }
        if (known_.emplace(key, ready).second) bytes_ += bytes;
        return ready;
    }

    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view key) const { return std::hash<std::string_view>{}(key); }
    };

    const Labels n_labels_;
    const std::vector<EdgeKind> kinds_;
    mutable std::mutex mutex_;
    mutable std::unordered_map<std::string, std::shared_ptr<const Prepared>, Hash, std::equal_to<>> known_;
    mutable std::size_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<DerivationStructure> graph_structure(std::vector<std::uint32_t> n_labels, std::vector<EdgeKind> kinds,
                                                     GraphAnswers answers) {
    return std::make_unique<TypedGraphs>(std::move(n_labels), std::move(kinds), answers);
}

}  // namespace tw
