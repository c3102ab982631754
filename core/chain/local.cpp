#include "local.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "../base/semiring.hpp"
#include "../linear/dense_weights.hpp"
#include "shards.hpp"

namespace tw::chain {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};

}  // namespace

LocalOracle::LocalOracle(std::shared_ptr<const TrainingSet> set)
    : set_(std::move(set)), K_(set_->n_labels()), transition_(K_ * K_, kNone), l1_factors_(set_->n_weights(), 1.0) {
    for (std::size_t i = 0; i < set_->transition_pairs.size(); ++i)
        transition_[set_->transition_pairs[i]] = static_cast<std::uint32_t>(set_->first_transition() + i);
    for (std::size_t u = 0; u < set_->units.size(); ++u)
        for (std::size_t w = set_->unit_weights.starts[u]; w < set_->unit_weights.starts[u + 1]; ++w)
            l1_factors_[w] = set_->factor(u);
}

double LocalOracle::example_weight(std::size_t example) const {
    const std::uint32_t s = set_->sequence[example];
    return s == kNoAttribute ? 0.0 : set_->weight(s);
}

template <class Visit>
void LocalOracle::each_token(std::size_t s, Visit visit) const {
    for (std::size_t t = set_->starts[s]; t < set_->starts[s + 1]; ++t)
        visit(Token{t, t == set_->starts[s], t + 1 == set_->starts[s + 1]},
              set_->weight(s) * (set_->token_weights.empty() ? 1.0 : set_->token_weights[t]));
}

void LocalOracle::add_scores(const double* weights, double scale, const Token& token, double* row) const {
    const Occurrences& o = set_->occurrences;
    const WeightTable& table = set_->unit_weights;
    for (std::size_t i = o.starts[token.number]; i < o.starts[token.number + 1]; ++i) {
        const double factor = scale * set_->factor(o.numbers[i]) * static_cast<double>(o.value(i));
        for (std::size_t w = table.starts[o.numbers[i]]; w < table.starts[o.numbers[i] + 1]; ++w)
            row[table.labels[w]] += factor * weights[w];
    }
    if (token.first) return;
    const std::size_t before = set_->gold[token.number - 1] * K_;
    for (std::size_t y = 0; y < K_; ++y)
        if (transition_[before + y] != kNone) row[y] += scale * weights[transition_[before + y]];
    if (!set_->has_pairs()) return;
    const Occurrences& p = set_->pair_occurrences;
    const WeightTable& pairs = set_->pair_weights;
    for (std::size_t i = p.starts[token.number]; i < p.starts[token.number + 1]; ++i)
        for (std::size_t w = pairs.starts[p.numbers[i]]; w < pairs.starts[p.numbers[i] + 1]; ++w)
            if (pairs.labels[w] - before < K_)
                row[pairs.labels[w] - before] +=
                    scale * static_cast<double>(p.value(i)) * weights[set_->n_unit_weights() + w];
}

void LocalOracle::forbid(const Token& token, double* row) const {
    if (!set_->constrained()) return;
    const Constraints& c = set_->settings.constraints;
    const std::uint8_t* allowed =
        token.first ? c.start.data() : c.transitions.data() + set_->gold[token.number - 1] * K_;
    for (std::size_t y = 0; y < K_; ++y)
        if (!allowed[y] || (token.last && !c.end[y])) row[y] = kLogZero;
}

double LocalOracle::decide(const double* weights, double scale, double nu, const Token& token, double* row) const {
    const std::size_t gold = set_->gold[token.number];
    std::fill_n(row, K_, 0.0);
    add_scores(weights, scale, token, row);
    forbid(token, row);
    const double gold_score = row[gold];
    if (nu != 0.0)
        for (std::size_t y = 0; y < K_; ++y) row[y] += nu * set_->cost(gold, y);
    const double highest = *std::max_element(row, row + K_);
    double sum = 0.0;
    for (std::size_t y = 0; y < K_; ++y) sum += row[y] = std::exp(row[y] - highest);
    for (std::size_t y = 0; y < K_; ++y) row[y] /= sum;
    return highest + std::log(sum) - gold_score;
}

void LocalOracle::add(const Token& token, const double* row, double factor, int power, double* sums) const {
    const auto raised = [power](double x) { return power == 1 ? x : x * x; };
    const Occurrences& o = set_->occurrences;
    const WeightTable& table = set_->unit_weights;
    for (std::size_t i = o.starts[token.number]; i < o.starts[token.number + 1]; ++i) {
        const double x = factor * raised(set_->factor(o.numbers[i]) * static_cast<double>(o.value(i)));
        for (std::size_t w = table.starts[o.numbers[i]]; w < table.starts[o.numbers[i] + 1]; ++w)
            sums[w] += x * row[table.labels[w]];
    }
    if (token.first) return;
    const std::size_t before = set_->gold[token.number - 1] * K_;
    for (std::size_t y = 0; y < K_; ++y)
        if (transition_[before + y] != kNone) sums[transition_[before + y]] += factor * row[y];
    if (!set_->has_pairs()) return;
    const Occurrences& p = set_->pair_occurrences;
    const WeightTable& pairs = set_->pair_weights;
    for (std::size_t i = p.starts[token.number]; i < p.starts[token.number + 1]; ++i)
        for (std::size_t w = pairs.starts[p.numbers[i]]; w < pairs.starts[p.numbers[i] + 1]; ++w)
            if (pairs.labels[w] - before < K_)
                sums[set_->n_unit_weights() + w] +=
                    factor * raised(static_cast<double>(p.value(i))) * row[pairs.labels[w] - before];
}

double LocalOracle::loss(std::span<const double> weights, std::span<double> gradient, double nu, std::size_t n_jobs,
                         bool) {
    return over_shards<Space>(*set_, gradient, n_jobs, [&](std::size_t s, Space& space, double* sums) {
        space.row.resize(K_);
        double total = 0.0;
        each_token(s, [&](const Token& token, double weight) {
            total += weight * decide(weights.data(), 1.0, nu, token, space.row.data());
            space.row[set_->gold[token.number]] -= 1.0;
            add(token, space.row.data(), weight, 1, sums);
        });
        return total;
    });
}

void LocalOracle::curvature(std::span<const double> weights, std::span<double> diagonal, double nu,
                            std::size_t n_jobs) {
    over_shards<Space>(*set_, diagonal, n_jobs, [&](std::size_t s, Space& space, double* sums) {
        space.row.resize(K_);
        each_token(s, [&](const Token& token, double weight) {
            decide(weights.data(), 1.0, nu, token, space.row.data());
            for (double& p : space.row) p *= 1.0 - p;
            add(token, space.row.data(), weight, 2, sums);
        });
        return 0.0;
    });
}

std::unique_ptr<WorkingWeights> LocalOracle::working_weights() const {
    return std::make_unique<DenseWeights>(n_weights());
}

// All at the same weights: probabilities are kept until every decision has been looked at.
double LocalOracle::descend(WorkingWeights& working, std::span<const std::uint32_t> examples, double step,
                            double nu) const {
    auto& weights = dynamic_cast<DenseWeights&>(working);
    Space space;
    double total = 0.0;
    const auto each = [&](auto visit) {
        for (const std::uint32_t example : examples) {
            if (example >= n_examples()) throw std::invalid_argument("there is no example " + std::to_string(example));
            if (set_->sequence[example] != kNoAttribute) each_token(set_->sequence[example], visit);
        }
    };
    each([&](const Token& token, double weight) {
        space.kept.resize(space.kept.size() + K_);
        double* row = space.kept.data() + space.kept.size() - K_;
        total += weight * decide(weights.stored(), weights.scale(), nu, token, row);
        row[set_->gold[token.number]] -= 1.0;
    });
    const double* row = space.kept.data();
    each([&](const Token& token, double weight) {
        add(token, row, -step / weights.scale() * weight, 1, weights.stored());
        row += K_;
    });
    return total;
}

}  // namespace tw::chain
