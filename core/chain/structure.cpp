#include "structure.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "../base/interrupt.hpp"
#include "../base/semiring.hpp"
#include "../structures/chain_family.hpp"
#include "batch.hpp"
#include "one_chain.hpp"

namespace tw::chain {
namespace {

struct Space final : Workspace {
    std::vector<double> unary, moves, edges, last_moves;  // the last: tied ones as they were packed last
    bool best_packed = false, sums_packed = false;        // whether they are, in which of these
    std::vector<double> beta, factors, rows, terms;
    BestOfChain best;
    SumsOfChain sums;
};

class KernelChain final : public DynamicProgram<ChainFamily> {
public:
    explicit KernelChain(ChainFamily family)
        : DynamicProgram(std::move(family)), K_(this->family().n_labels), tied_(this->family().tied) {
        for (std::size_t k = 0; k < K_; ++k) {
            start_.push_back(rules().may_start(k) ? 0.0 : kLogZero);
            end_.push_back(rules().may_end(k) ? 0.0 : kLogZero);
        }
    }

    using Structure::best;
    using Structure::log_partition;

    std::unique_ptr<Workspace> workspace() const override { return std::make_unique<Space>(); }

    std::vector<Answer> best(Shape shape, const PartScores& scores, std::size_t k, Workspace& work) const override {
        auto& space = static_cast<Space&>(work);
        const std::size_t length = shape[0], K = K_;
        std::vector<Answer> out;
        if (length == 0) return std::vector<Answer>(std::min<std::size_t>(k, 1));
        const Sequence sequence{unary(space, scores, length), length};
        const Potentials potentials{K, moves(space, scores, length), !tied_, start_.data(), end_.data()};
        space.best.search(potentials, sequence, k, std::exchange(space.best_packed, tied_));
        for (std::size_t i = 0; i < space.best.size(); ++i) {
            const std::int32_t* labels = space.best.labels(i);
            Answer& answer = out.emplace_back();
            answer.score = space.best.score(i);
            answer.parts.resize(2 * length - 1);
            Part* part = answer.parts.data();
            for (std::size_t t = 0; t < length; ++t) *part++ = static_cast<Part>(t * K + labels[t]);
            for (std::size_t t = 1; t < length; ++t)
                *part++ = static_cast<Part>(length * K + ((tied_ ? 0 : t - 1) * K + labels[t - 1]) * K + labels[t]);
            if (tied_) std::sort(answer.parts.begin() + static_cast<std::ptrdiff_t>(length), answer.parts.end());
        }
        return out;
    }

    double log_partition(Shape shape, const PartScores& scores, double* expected, double* variance,
                         Workspace& work) const override {
        constexpr std::size_t kMostKept = std::size_t{1} << 22;  // probabilities of pairs at all steps
        auto& space = static_cast<Space&>(work);
        const std::size_t length = shape[0], n_labels = length * K_, size = K_ * K_;
        const std::size_t n_steps = tied_ ? 1 : std::max<std::size_t>(length, 1) - 1;
        if (length == 0 || (variance && tied_ && length * size > kMostKept))
            return DynamicProgram::log_partition(shape, scores, expected, variance, work);
        if (!expected) {
            space.edges.resize(n_labels + n_steps * size);
            expected = space.edges.data();
        }
        const Potentials potentials{K_, moves(space, scores, length), !tied_, start_.data(), end_.data()};
        const Sequence sequence{unary(space, scores, length), length};
        const bool same = std::exchange(space.sums_packed, tied_);
        const double total = space.sums(potentials, sequence, same, expected, expected + n_labels);
        if (!variance) return total;
        const auto spread = [](double p) { return p * (1.0 - p); };
        std::transform(expected, expected + n_labels + n_steps * size, variance, spread);
        if (!tied_) return total;
        std::fill_n(variance + n_labels, size, 0.0);
        space.edges.assign((length - 1) * size, 0.0);
        double* edges = space.edges.data();
        if (length > 1 && total != kLogZero) edge_marginals({potentials, {sequence}, 1}, {&edges, 1});
        for (std::size_t i = 0; i < space.edges.size(); ++i) variance[n_labels + i % size] += spread(space.edges[i]);
        return total;
    }

    // beta_t(y) is the log of the sum over all that may follow label y at t, so that
    //     -log p(y_t | y_{t-1}) = beta_{t-1}(y_{t-1}) - move(y_{t-1}, y_t) - unary_t(y_t) - beta_t(y_t).
    // Derivatives by beta flow from each position to the next, over p(next label | label).
    bool loss_by_site(Shape shape, std::span<const double> scores, std::span<const Part> gold,
                      std::span<const double> weights, double& loss, double* derivatives,
                      Workspace& work) const override {
        auto& space = static_cast<Space&>(work);
        const std::size_t length = shape[0], K = K_, size = K * K;
        if (length == 0) return false;
        const double* unary = scores.data();
        const double* all_moves = moves(space, {scores}, length);
        space.beta.resize(length * K);
        space.factors.resize((tied_ ? 1 : std::max<std::size_t>(length - 1, 1)) * size);
        space.rows.resize(length * K);
        space.terms.resize(K);
        const auto factors = [&](std::size_t t) { return space.factors.data() + (tied_ ? 0 : t * size); };
        // exp(scores - the greatest); false where a finite one is so small that products may vanish.
        const auto exponentiated = [](const double* from, std::size_t n, double* to, double& greatest) {
            constexpr double kLeast = -200.0;
            greatest = *std::max_element(from, from + n);
            if (greatest == kLogZero) greatest = 0.0;
            for (std::size_t i = 0; i < n; ++i) {
                to[i] = from[i] - greatest;
                if (to[i] < kLeast && to[i] != kLogZero) return false;
            }
            kernels().exponentials(to, n, to);
            return true;
        };
        std::vector<double> shifts(tied_ ? 1 : length);
        for (std::size_t t = 0; t + 1 < (tied_ ? 2 : length); ++t)
            if (!exponentiated(all_moves + (tied_ ? 0 : t * size), size, factors(t), shifts[t])) return false;
        loss = 0.0;
        std::copy_n(end_.data(), K, space.beta.data() + (length - 1) * K);
        InterruptCheck check;
        for (std::size_t t = length; t-- > 0;) {  // rows[t]: exp(unary_t + beta_t), scaled
            check();
            double greatest = 0.0;
            for (std::size_t y = 0; y < K; ++y)
                space.terms[y] = unary[t * K + y] + space.beta[t * K + y] + (t == 0 ? start_[y] : 0.0);
            if (!exponentiated(space.terms.data(), K, space.rows.data() + t * K, greatest)) return false;
            const double* row = space.rows.data() + t * K;
            if (t == 0) {
                loss += weights[0] * (greatest + std::log(std::accumulate(row, row + K, 0.0)));
                break;
            }
            const double* from = factors(t - 1);
            for (std::size_t a = 0; a < K; ++a) {
                double sum = 0.0;
                for (std::size_t b = 0; b < K; ++b) sum += from[a * K + b] * row[b];
                space.beta[(t - 1) * K + a] =
                    sum == 0.0 ? kLogZero : std::log(sum) + greatest + shifts[tied_ ? 0 : t - 1];
                space.terms[a] = sum;
            }
            // From here on beta of t is not needed but for gold's label: what it is divided by takes its place.
            const double of_gold = space.beta[t * K + gold[t] % K];
            std::copy_n(space.terms.data(), K, space.beta.data() + t * K);
            const std::size_t before = gold[t - 1] % K, here = gold[t] % K;
            const double move = all_moves[(tied_ ? 0 : (t - 1) * size) + before * K + here];
            loss += weights[t] * (space.beta[(t - 1) * K + before] - move - unary[t * K + here] - of_gold);
        }
        loss -= weights[0] * (unary[gold[0]] + start_[gold[0]] + space.beta[gold[0]]);
        std::fill_n(derivatives, scores.size(), 0.0);
        double* edges = derivatives + length * K;
        const double* first = space.rows.data();
        const double total = std::accumulate(first, first + K, 0.0);
        for (std::size_t y = 0; y < K; ++y) derivatives[y] = space.terms[y] = weights[0] * first[y] / total;
        for (std::size_t t = 0; t < length; ++t) {  // terms: what flows into beta of t
            check();
            const std::size_t here = gold[t] % K;
            derivatives[t * K + here] -= weights[t];
            if (t + 1 == length) break;
            space.terms[here] += weights[t + 1] - weights[t];
            const double *sums = space.beta.data() + (t + 1) * K, *row = space.rows.data() + (t + 1) * K;
            double* nodes = derivatives + (t + 1) * K;
            double* step = edges + (tied_ ? 0 : t * size);
            for (std::size_t a = 0; a < K; ++a) {
                if (space.terms[a] == 0.0 || sums[a] == 0.0) continue;
                const double flow = space.terms[a] / sums[a];
                const double* from = factors(t) + a * K;
                for (std::size_t b = 0; b < K; ++b) {
                    const double p = flow * from[b] * row[b];
                    step[a * K + b] += p;
                    nodes[b] += p;
                }
            }
            std::copy_n(nodes, K, space.terms.data());
            step[here * K + gold[t + 1] % K] -= weights[t + 1];
        }
        return true;
    }

private:
    const LabelRules& rules() const { return family().rules; }
    const double* unary(Space& space, const PartScores& scores, std::size_t length) const {
        if (scores.allowed.empty()) return scores.scores.data();
        space.unary.resize(length * K_);
        for (Part part = 0; part < length * K_; ++part) space.unary[part] = scores[part];
        return space.unary.data();
    }
    const double* moves(Space& space, const PartScores& scores, std::size_t length) const {
        const double* given = scores.scores.data() + length * K_;
        const std::size_t size = K_ * K_, n = (tied_ ? 1 : length - 1) * size;
        const double* packed = space.last_moves.data();
        if (tied_ && scores.allowed.empty() && std::equal(given, given + n, packed, packed + space.last_moves.size()))
            return rules().moves.empty() ? given : space.moves.data();
        space.best_packed = space.sums_packed = false;
        space.last_moves.clear();
        if (tied_ && scores.allowed.empty()) space.last_moves.assign(given, given + n);
        if (scores.allowed.empty() && rules().moves.empty()) return given;
        space.moves.assign(given, given + n);
        for (std::size_t i = 0; i < n; ++i)
            if ((!rules().moves.empty() && !rules().moves[i % size]) ||
                (!scores.allowed.empty() && !scores.allowed[length * K_ + i]))
                space.moves[i] = kLogZero;
        return space.moves.data();
    }

    std::size_t K_;
    bool tied_;
    std::vector<double> start_, end_;
};

}  // namespace

std::unique_ptr<DerivationStructure> kernel_chain(std::size_t n_labels, bool tied, LabelRules rules) {
    return std::make_unique<KernelChain>(ChainFamily{n_labels, tied, std::move(rules)});
}

}  // namespace tw::chain
