#include "graph_cut.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "binary.hpp"
#include "pair_terms.hpp"

namespace tw::cuts {
namespace {

using graphs::Factor;
using graphs::Found;
using graphs::Graph;
using graphs::Search;

// The graph with tables of one variable added to the unary scores: [variable][label], and tables of two.
class PairGraph {
public:
    struct Pair {
        Node from, to;
        const double* scores;  // [label of from][label of to]
    };

    PairGraph(const Graph& graph, std::span<const double> scores) : n_labels_(graph.n_labels) {
        at_.resize(n_labels_.size() + 1, 0);
        for (std::size_t v = 0; v < n_labels_.size(); ++v) at_[v + 1] = at_[v] + n_labels_[v];
        unary_.resize(at_.back());
        for (std::size_t v = 0; v < n_labels_.size(); ++v)
            std::copy_n(scores.data() + graph.unary_at[v], n_labels_[v], unary_.data() + at_[v]);
        for (std::size_t f = 0; f < graph.factors.size(); ++f) {
            const Factor& factor = graph.factors[f];
            const double* table = scores.data() + factor.at;
            if (factor.kind != Factor::Kind::kTable || factor.variables.size() > 2)
                throw std::invalid_argument("a cut needs tables of one or two variables: factor " + std::to_string(f) +
                                            " is of another kind");
            if (factor.variables.empty())
                constant_ += *table;
            else if (factor.variables.size() == 1)
                for (std::size_t k = 0; k < n_labels_[factor.variables[0]]; ++k)
                    unary_[at_[factor.variables[0]] + k] += table[k];
            else
                pairs_.push_back({factor.variables[0], factor.variables[1], table});
        }
    }

    std::size_t size() const { return n_labels_.size(); }
    std::uint32_t n_labels(std::size_t v) const { return n_labels_[v]; }
    const std::vector<Pair>& pairs() const { return pairs_; }
    double constant() const { return constant_; }
    const double* unary(std::size_t v) const { return unary_.data() + at_[v]; }
    double pair(const Pair& p, std::uint32_t a, std::uint32_t b) const { return p.scores[a * n_labels_[p.to] + b]; }

    double score(std::span<const std::uint32_t> labels) const {
        double total = constant_;
        for (std::size_t v = 0; v < size(); ++v) total += unary(v)[labels[v]];
        for (const Pair& p : pairs_) total += pair(p, labels[p.from], labels[p.to]);
        return total;
    }

    // The best of each variable and of each table alone.
    double ceiling() const {
        double total = constant_;
        for (std::size_t v = 0; v < size(); ++v) total += *std::max_element(unary(v), unary(v) + n_labels(v));
        for (const Pair& p : pairs_)
            total += *std::max_element(p.scores, p.scores + std::size_t{n_labels(p.from)} * n_labels(p.to));
        return total;
    }

    bool is_binary() const {
        return std::all_of(n_labels_.begin(), n_labels_.end(), [](std::uint32_t k) { return k <= 2; });
    }

    // Each variable keeps labels[v], as 0, or takes proposal[v], as 1. Where both are the same, 1 is forbidden.
    void fill(BinaryProblem& problem, std::span<const std::uint32_t> labels,
              std::span<const std::uint32_t> proposal) const {
        problem.unary.resize(2 * size());
        for (std::size_t v = 0; v < size(); ++v) {
            problem.unary[2 * v] = unary(v)[labels[v]];
            problem.unary[2 * v + 1] = labels[v] == proposal[v] ? -kInfinite : unary(v)[proposal[v]];
        }
        problem.edges.clear();
        for (const Pair& p : pairs_) {
            const std::uint32_t a = labels[p.from], b = labels[p.to], x = proposal[p.from], y = proposal[p.to];
            problem.edges.push_back({p.from, p.to, pair(p, a, b), pair(p, a, y), pair(p, x, b), pair(p, x, y)});
        }
    }

private:
    std::vector<std::uint32_t> n_labels_;
    std::vector<std::size_t> at_;
    std::vector<double> unary_;
    std::vector<Pair> pairs_;
    double constant_ = 0.0;
};

bool submodular(const BinaryProblem& problem) {
    return std::all_of(problem.edges.begin(), problem.edges.end(),
                       [](const BinaryProblem::Edge& e) { return pair_terms(e.p00, e.p01, e.p10, e.p11).submodular; });
}

class CutSearch {
public:
    CutSearch(const PairGraph& graph, const Search& search) : graph_(graph), search_(search), labels_(graph.size()) {
        for (std::size_t v = 0; v < labels_.size(); ++v) {
            const double* unary = graph.unary(v);
            labels_[v] = static_cast<std::uint32_t>(std::max_element(unary, unary + graph.n_labels(v)) - unary);
        }
    }

    Found two_labels() {
        BinaryProblem problem;
        const std::vector<std::uint32_t> zeros(graph_.size(), 0);
        std::vector<std::uint32_t> ones(graph_.size());
        for (std::size_t v = 0; v < ones.size(); ++v) ones[v] = graph_.n_labels(v) - 1;
        graph_.fill(problem, zeros, ones);
        if (submodular(problem)) {
            const BinaryAnswer found = solver_.cut(problem);
            if (found.impossible) return nothing();
            labels_ = found.labels;
            return exactly();
        }
        const BinaryAnswer roof = solver_.roof_dual(problem);
        if (roof.impossible) return nothing();
        if (roof.n_undecided == 0) {
            labels_ = roof.labels;
            return exactly();
        }
        moves();
        std::vector<std::uint32_t> better = labels_;
        for (std::size_t v = 0; v < better.size(); ++v)
            if (roof.labels[v] != kUndecided) better[v] = roof.labels[v];
        if (graph_.score(better) >= graph_.score(labels_)) labels_ = better;
        if (!late()) solver_.improve(problem, roof.labels, labels_, 10);
        return with_bound(roof.bound + graph_.constant());
    }

    Found more_labels() {
        for (std::size_t v = 0; v < labels_.size(); ++v)
            if (graph_.unary(v)[labels_[v]] == -kInfinite) return nothing();
        moves();
        return with_bound(graph_.ceiling());
    }

private:
    bool late() const {
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begun_;
        return search_.seconds > 0.0 && spent.count() >= search_.seconds;
    }

    // Expansion of every label in turn until none raises the score.
    void moves() {
        std::uint32_t k = 0;
        for (std::size_t v = 0; v < labels_.size(); ++v) k = std::max(k, graph_.n_labels(v));
        double best = graph_.score(labels_);
        BinaryProblem problem;
        std::vector<std::uint32_t> proposal(labels_.size()), moved(labels_.size());
        std::size_t n_failed = 0;
        for (; n_rounds_ < search_.iterations && n_failed < k; ++n_rounds_)
            for (std::uint32_t alpha = 0; alpha < k && n_failed < k; ++alpha) {
                if (late()) return;
                for (std::size_t v = 0; v < labels_.size(); ++v)
                    proposal[v] =
                        alpha < graph_.n_labels(v) && graph_.unary(v)[alpha] > -kInfinite ? alpha : labels_[v];
                graph_.fill(problem, labels_, proposal);
                soften(problem);
                const BinaryAnswer found = submodular(problem) ? solver_.cut(problem) : solver_.roof_dual(problem);
                ++n_failed;
                if (found.impossible) continue;
                for (std::size_t v = 0; v < labels_.size(); ++v)
                    moved[v] = found.labels[v] == 1 ? proposal[v] : labels_[v];
                const double now = graph_.score(moved);
                if (!(now > best + 1e-13 * std::abs(best)) && !(best == -kInfinite && now > best)) continue;
                best = now;
                labels_ = moved;
                n_failed = 1;
            }
        converged_ = n_failed >= k;
    }

    // From a forbidden labelling moves must lead somewhere: forbidden pairs are then no worse than very bad.
    static void soften(BinaryProblem& problem) {
        double total = 1.0;
        bool any = false;
        const auto add = [&](double s) { s == -kInfinite ? any = true : (total += std::abs(s), true); };
        for (const BinaryProblem::Edge& e : problem.edges) add(e.p00), add(e.p01), add(e.p10), add(e.p11);
        if (!any) return;
        for (const double s : problem.unary)
            if (std::isfinite(s)) total += std::abs(s);
        const double bad = -std::min(total, 1e300);
        for (BinaryProblem::Edge& e : problem.edges)
            for (double* s : {&e.p00, &e.p01, &e.p10, &e.p11})
                if (*s == -kInfinite) *s = bad;
    }

    Found exactly() {
        converged_ = true;
        Found found = with_bound(graph_.score(labels_));
        found.bound = found.score;
        return found;
    }

    Found nothing() {
        Found found;
        found.score = found.bound = -kInfinite;
        found.converged = true;
        return found;
    }

    Found with_bound(double bound) {
        Found found;
        found.labels = labels_;
        found.score = graph_.score(labels_);
        found.bound = std::max(bound, found.score);
        if (found.score > -kInfinite && found.bound - found.score <= 1e-12 * (1.0 + std::abs(found.score)))
            found.bound = found.score;
        found.converged = converged_;
        found.iterations = n_rounds_;
        if (found.score == -kInfinite) found.labels.clear();
        return found;
    }

    const PairGraph& graph_;
    const Search& search_;
    std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
    BinarySolver solver_;
    std::vector<std::uint32_t> labels_;
    std::size_t n_rounds_ = 0;
    bool converged_ = false;
};

}  // namespace

Found cut_search(const Graph& graph, std::span<const double> scores, const Search& search) {
    const PairGraph pairs(graph, scores);
    CutSearch found(pairs, search);
    return pairs.is_binary() ? found.two_labels() : found.more_labels();
}

bool is_submodular(const Graph& graph, std::span<const double> scores) {
    const auto pairwise = [](const Factor& factor) {
        return factor.kind == Factor::Kind::kTable && factor.variables.size() <= 2;
    };
    if (!std::all_of(graph.factors.begin(), graph.factors.end(), pairwise)) return false;
    const PairGraph pairs(graph, scores);
    if (!pairs.is_binary()) return false;
    for (const PairGraph::Pair& p : pairs.pairs())
        if (pairs.n_labels(p.from) == 2 && pairs.n_labels(p.to) == 2 &&
            !pair_terms(p.scores[0], p.scores[1], p.scores[2], p.scores[3]).submodular)
            return false;
    return true;
}

}  // namespace tw::cuts
