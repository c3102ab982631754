#include "enumerated.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "../base/shards.hpp"
#include "../base/softmax.hpp"
#include "../linear/dense_weights.hpp"

namespace tw::user {
namespace {

// Sums over few of many numbers, in the order in which they were first met.
class Tally {
public:
    explicit Tally(std::size_t n) : sums_(n, 0.0), squares_(n, 0.0), seen_(n, 0) {}

    void add(std::uint32_t index, double value, double times) {
        if (seen_[index] == 0) {
            seen_[index] = 1;
            touched_.push_back(index);
        }
        sums_[index] += times * value;
        squares_[index] += times * value * value;
    }

    template <class Take>
    void empty(Take take) {  // take(index, sum of values, sum of their squares)
        for (const std::uint32_t index : touched_) {
            take(index, sums_[index], squares_[index]);
            sums_[index] = squares_[index] = 0.0;
            seen_[index] = 0;
        }
        touched_.clear();
    }

private:
    std::vector<double> sums_, squares_;
    std::vector<std::uint8_t> seen_;
    std::vector<std::uint32_t> touched_;
};

void append(SparseVector& to, std::uint32_t index, double value) {
    if (value == 0.0) return;
    to.indices.push_back(index);
    to.values.push_back(value);
}

}  // namespace

EnumeratedOracle::EnumeratedOracle(Outputs outputs) : all_(std::make_shared<const Outputs>(std::move(outputs))) {
    const std::size_t n = all_->gold.size();
    if (all_->starts.size() != n + 1 || all_->starts.back() != all_->features.size() ||
        all_->costs.size() != all_->features.size() || all_->sample_weights.size() != n)
        throw std::invalid_argument("outputs, costs, gold and sample_weight do not fit each other");
    for (std::size_t i = 0; i < n; ++i)
        if (all_->gold[i] >= count(i))
            throw std::invalid_argument("the gold output of example " + std::to_string(i) +
                                        " is not among its outputs");
    l1_factors_.assign(all_->n_features, 1.0);
}

void EnumeratedOracle::require_example(std::size_t example) const {
    if (example >= n_examples()) throw std::invalid_argument("there is no example " + std::to_string(example));
}

void EnumeratedOracle::part_scores(const ScaledWeights& weights, std::size_t example, std::vector<double>& out) const {
    require_example(example);
    out.resize(count(example));
    for (std::size_t y = 0; y < out.size(); ++y) {
        double sum = 0.0;
        all_->features.each(first(example) + y,
                            [&](std::uint32_t index, double value) { sum += weights.stored[index] * value; });
        out[y] = weights.scale * sum;
    }
}

void EnumeratedOracle::part_costs(std::size_t example, std::vector<double>& out) const {
    require_example(example);
    const auto begin = all_->costs.begin() + static_cast<std::ptrdiff_t>(first(example));
    out.assign(begin, begin + static_cast<std::ptrdiff_t>(count(example)));
}

std::vector<Output> EnumeratedOracle::kbest(const ScaledWeights& weights, std::size_t example, std::size_t k,
                                            double nu) const {
    std::vector<double> scores;
    part_scores(weights, example, scores);
    const double* costs = &all_->costs[first(example)];
    std::vector<std::uint32_t> order(scores.size());
    std::iota(order.begin(), order.end(), 0U);
    k = std::min(k, order.size());
    const auto value = [&](std::uint32_t y) { return scores[y] + nu * costs[y]; };
    std::partial_sort(
        order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(),
        [&](std::uint32_t a, std::uint32_t b) { return value(a) != value(b) ? value(a) > value(b) : a < b; });
    std::vector<Output> found(k);
    for (std::size_t i = 0; i < k; ++i) found[i] = {{order[i]}, nullptr, scores[order[i]], costs[order[i]]};
    return found;
}

void EnumeratedOracle::difference(std::size_t example, const Output& found, SparseVector& out) {
    require_example(example);
    const std::size_t y = found.code.at(0);
    if (y >= count(example)) throw std::invalid_argument("there is no such output");
    const SparseRows& f = all_->features;
    const std::size_t right = gold(example), other = first(example) + y;
    subtract(f.columns_of(right), f.values_of(right), f.columns_of(other), f.values_of(other), out);
}

bool EnumeratedOracle::slack_argmax(const ScaledWeights& weights, std::size_t example, Output& best) const {
    std::vector<double> scores;
    part_scores(weights, example, scores);
    const double* costs = &all_->costs[first(example)];
    const double gold_score = scores[all_->gold[example]];
    double highest = -std::numeric_limits<double>::infinity();
    for (std::uint32_t y = 0; y < scores.size(); ++y) {
        const double value = costs[y] * (1.0 + scores[y] - gold_score);
        if (value <= highest) continue;
        highest = value;
        best = {{y}, nullptr, scores[y], costs[y]};
    }
    return true;
}

double EnumeratedOracle::marginals(std::size_t example, std::span<const double> scores,
                                   std::vector<double>& out) const {
    require_example(example);
    if (scores.size() != count(example)) throw std::invalid_argument("part scores have the wrong size");
    out.assign(scores.begin(), scores.end());
    return softmax(out);
}

void EnumeratedOracle::difference_of_marginals(std::size_t example, std::span<const double> marginals,
                                               SparseVector& out) {
    require_example(example);
    if (marginals.size() != count(example)) throw std::invalid_argument("marginals have the wrong size");
    out.clear();
    std::vector<std::pair<std::uint32_t, double>> entries;
    const auto add = [&](std::size_t output, double times) {
        all_->features.each(output,
                            [&](std::uint32_t index, double value) { entries.emplace_back(index, times * value); });
    };
    add(gold(example), 1.0);
    for (std::size_t y = 0; y < marginals.size(); ++y)
        if (marginals[y] != 0.0) add(first(example) + y, -marginals[y]);
    std::ranges::stable_sort(entries, {}, &std::pair<std::uint32_t, double>::first);
    for (std::size_t i = 0; i < entries.size();) {
        double sum = 0.0;
        const std::uint32_t index = entries[i].first;
        for (; i < entries.size() && entries[i].first == index; ++i) sum += entries[i].second;
        append(out, index, sum);
    }
}

double EnumeratedOracle::infer(const ScaledWeights& weights, std::size_t example, double nu,
                               std::vector<double>& probabilities) const {
    part_scores(weights, example, probabilities);
    const double gold_score = probabilities[all_->gold[example]];
    if (nu != 0.0)
        for (std::size_t y = 0; y < probabilities.size(); ++y) probabilities[y] += nu * all_->costs[first(example) + y];
    return all_->sample_weights[example] * (softmax(probabilities) - gold_score);
}

double EnumeratedOracle::loss(std::span<const double> weights, std::span<double> gradient, double nu,
                              std::size_t n_jobs, bool) {
    return sum_over_shards(n_examples(), gradient, n_jobs, [&, this] {
        return [&weights, nu, this, p = std::vector<double>()](std::size_t example, double* sums) mutable {
            const double loss = infer({weights, 1.0}, example, nu, p);
            p[all_->gold[example]] -= 1.0;
            for (std::size_t y = 0; y < p.size(); ++y) {
                const double factor = all_->sample_weights[example] * p[y];
                all_->features.each(first(example) + y,
                                    [&](std::uint32_t index, double value) { sums[index] += factor * value; });
            }
            return loss;
        };
    });
}

void EnumeratedOracle::curvature(std::span<const double> weights, std::span<double> diagonal, double nu,
                                 std::size_t n_jobs) {
    sum_over_shards(n_examples(), diagonal, n_jobs, [&, this] {
        return [&weights, nu, this, p = std::vector<double>(), tally = Tally(n_weights())](std::size_t example,
                                                                                           double* sums) mutable {
            infer({weights, 1.0}, example, nu, p);
            for (std::size_t y = 0; y < p.size(); ++y)
                all_->features.each(first(example) + y,
                                    [&](std::uint32_t index, double value) { tally.add(index, value, p[y]); });
            tally.empty([&](std::uint32_t index, double mean, double square) {
                sums[index] += all_->sample_weights[example] * std::max(0.0, square - mean * mean);
            });
            return 0.0;
        };
    });
}

std::unique_ptr<WorkingWeights> EnumeratedOracle::working_weights() const {
    return std::make_unique<DenseWeights>(n_weights());
}

double EnumeratedOracle::descend(WorkingWeights& weights, std::span<const std::uint32_t> examples, double step,
                                 double nu) const {
    auto& working = dynamic_cast<DenseWeights&>(weights);
    std::vector<std::vector<double>> p(examples.size());
    double total = 0.0;
    for (std::size_t i = 0; i < examples.size(); ++i) total += infer(working.view(), examples[i], nu, p[i]);
    const double stored_step = step / working.scale();
    for (std::size_t i = 0; i < examples.size(); ++i) {
        p[i][all_->gold[examples[i]]] -= 1.0;
        for (std::size_t y = 0; y < p[i].size(); ++y) {
            const double factor = stored_step * all_->sample_weights[examples[i]] * p[i][y];
            all_->features.each(first(examples[i]) + y,
                                [&](std::uint32_t index, double value) { working.stored()[index] -= factor * value; });
        }
    }
    return total;
}

}  // namespace tw::user
