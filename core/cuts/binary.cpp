#include "binary.hpp"

#include <random>

#include "pair_terms.hpp"

namespace tw::cuts {
namespace {

// What label 1 of a variable gains, and which label it must have: +inf label 1, -inf label 0, 0 either.
struct Gain {
    double sum = 0.0, force = 0.0;
};

// Gains of all variables and the constant beside them.
class Gains {
public:
    explicit Gains(const BinaryProblem& problem, std::span<const std::uint32_t> fixed) : gains_(problem.size()) {
        for (std::size_t v = 0; v < gains_.size(); ++v) {
            const double zero = problem.unary[2 * v], one = problem.unary[2 * v + 1];
            if (zero == -kInfinite) force(v, kInfinite);
            if (one == -kInfinite) force(v, -kInfinite);
            if (!fixed.empty() && fixed[v] != kUndecided) force(v, fixed[v] ? kInfinite : -kInfinite);
            if (zero == -kInfinite)
                constant_ += one == -kInfinite ? 0.0 : one;
            else
                constant_ += zero, gains_[v].sum = one == -kInfinite ? 0.0 : one - zero;
        }
    }

    void add(const BinaryProblem::Edge& edge, const PairTerms& terms) {
        impossible_ |= terms.impossible;
        constant_ += terms.constant;
        gains_[edge.from].sum += terms.from;
        gains_[edge.to].sum += terms.to;
        force(edge.from, terms.force_from);
        force(edge.to, terms.force_to);
    }

    bool impossible() const { return impossible_; }
    double excess(std::size_t v) const { return gains_[v].force != 0.0 ? gains_[v].force : gains_[v].sum; }
    // The best score if no pair lost anything.
    double ceiling() const {
        double total = constant_;
        for (const Gain& g : gains_) total += g.force != 0.0 ? (g.force > 0.0 ? g.sum : 0.0) : std::max(g.sum, 0.0);
        return total;
    }

private:
    void force(std::size_t v, double to) {
        if (to == 0.0) return;
        if (gains_[v].force == -to) impossible_ = true;
        gains_[v].force = to;
    }

    std::vector<Gain> gains_;
    double constant_ = 0.0;
    bool impossible_ = false;
};

BinaryAnswer no_answer() {
    BinaryAnswer answer;
    answer.impossible = true;
    answer.bound = -kInfinite;
    return answer;
}

}  // namespace

double BinaryProblem::score(std::span<const std::uint32_t> labels) const {
    double total = 0.0;
    for (std::size_t v = 0; v < size(); ++v) total += unary[2 * v + labels[v]];
    for (const Edge& e : edges)
        total += labels[e.from] ? (labels[e.to] ? e.p11 : e.p10) : (labels[e.to] ? e.p01 : e.p00);
    return total;
}

BinaryAnswer BinarySolver::cut(const BinaryProblem& problem) {
    const std::size_t n = problem.size();
    Gains gains(problem, {});
    arcs_.clear();
    for (const BinaryProblem::Edge& e : problem.edges) {
        const PairTerms terms = pair_terms(e.p00, e.p01, e.p10, e.p11);
        gains.add(e, terms);
        if (terms.forward > 0.0 || terms.backward > 0.0) arcs_.push_back({e.from, e.to, terms.forward, terms.backward});
    }
    if (gains.impossible()) return no_answer();
    network_.reset(n, arcs_);
    for (std::size_t v = 0; v < n; ++v) network_.excess(static_cast<Node>(v)) = gains.excess(v);
    if (!flow_.run(network_)) return no_answer();
    BinaryAnswer answer;
    answer.bound = gains.ceiling() - flow_.pushed();
    answer.labels.resize(n);
    for (std::size_t v = 0; v < n; ++v) answer.labels[v] = network_.level(static_cast<Node>(v)) > 0;
    return answer;
}

BinaryAnswer BinarySolver::roof_dual(const BinaryProblem& problem, std::span<const std::uint32_t> fixed) {
    const std::size_t n = problem.size();
    Gains gains(problem, fixed);
    arcs_.clear();
    const auto other = [&](Node v) { return static_cast<Node>(v + n); };
    for (const BinaryProblem::Edge& e : problem.edges) {
        PairTerms terms = pair_terms(e.p00, e.p01, e.p10, e.p11);
        const bool crossed = !terms.submodular;
        if (crossed) {  // the same of x and 1 - y
            terms = pair_terms(e.p01, e.p00, e.p11, e.p10);
            terms.constant += terms.to;
            terms.to = -terms.to;
            terms.force_to = -terms.force_to;
        }
        gains.add(e, terms);
        if (terms.forward <= 0.0 && terms.backward <= 0.0) continue;
        const Node to = crossed ? other(e.to) : e.to, mirrored = crossed ? e.to : other(e.to);
        arcs_.push_back({e.from, to, terms.forward, terms.backward});
        arcs_.push_back({mirrored, other(e.from), terms.forward, terms.backward});
    }
    if (gains.impossible()) return no_answer();
    network_.reset(2 * n, arcs_);
    for (std::size_t v = 0; v < n; ++v) {
        network_.excess(static_cast<Node>(v)) = gains.excess(v);
        network_.excess(other(static_cast<Node>(v))) = -gains.excess(v);
    }
    if (!flow_.run(network_)) return no_answer();
    BinaryAnswer answer;
    answer.bound = gains.ceiling() - 0.5 * flow_.pushed();
    answer.labels.assign(n, kUndecided);
    for (std::size_t v = 0; v < n; ++v) {
        const bool one = network_.level(static_cast<Node>(v)) > 0,
                   zero = network_.level(other(static_cast<Node>(v))) > 0;
        if (one != zero)
            answer.labels[v] = one;
        else
            ++answer.n_undecided;
    }
    return answer;
}

void BinarySolver::improve(const BinaryProblem& problem, std::span<const std::uint32_t> decided,
                           std::vector<std::uint32_t>& labels, std::size_t rounds) {
    std::mt19937_64 random(1);  // the same choices every time
    std::vector<std::uint32_t> fixed(decided.size());
    double best = problem.score(labels);
    for (std::size_t round = 0; round < rounds; ++round) {
        for (std::size_t v = 0; v < fixed.size(); ++v)
            fixed[v] = decided[v] == kUndecided && random() % 4 ? kUndecided : labels[v];
        const BinaryAnswer found = roof_dual(problem, fixed);
        if (found.impossible) continue;
        std::vector<std::uint32_t> candidate = labels;
        for (std::size_t v = 0; v < fixed.size(); ++v)
            if (found.labels[v] != kUndecided) candidate[v] = found.labels[v];
        const double now = problem.score(candidate);
        if (now > best) {
            best = now;
            labels.swap(candidate);
        }
    }
}

}  // namespace tw::cuts
