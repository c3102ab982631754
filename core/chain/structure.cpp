#include "structure.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "../base/semiring.hpp"
#include "../structures/chain_family.hpp"
#include "batch.hpp"
#include "one_chain.hpp"

namespace tw::chain {
namespace {

struct Space final : Workspace {
    std::vector<double> unary, moves, edges, last_moves;  // the last: tied ones as they were packed last
    bool best_packed = false, sums_packed = false;        // whether they are, in which of these
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
