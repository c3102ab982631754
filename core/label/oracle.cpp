#include "oracle.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "../base/shards.hpp"
#include "../base/softmax.hpp"
#include "../linear/dense_weights.hpp"

namespace tw::label {

LabelOracle::LabelOracle(Rows rows, std::vector<std::uint32_t> gold, std::size_t n_labels,
                         std::vector<double> sample_weights, std::vector<double> cost, Groups groups)
    : rows_(std::make_shared<const Rows>(std::move(rows))),
      gold_(std::move(gold)),
      n_labels_(n_labels),
      n_groups_(groups.of_label.size() == 0 ? n_labels : groups.n_groups),
      groups_(std::move(groups.of_label)),
      sample_weights_(std::move(sample_weights)),
      cost_(std::move(cost)) {
    if (gold_.size() != rows_->n_rows) throw std::invalid_argument("y must have one label per row of X");
    if (sample_weights_.empty()) sample_weights_.assign(rows_->n_rows, 1.0);
    if (sample_weights_.size() != rows_->n_rows)
        throw std::invalid_argument("sample_weight must have one number per row of X");
    if (groups_.size() != 0 && groups_.size() != n_labels_)
        throw std::invalid_argument("expansion must have one row per label");
    if (cost_.empty()) {
        cost_.assign(n_labels_ * n_labels_, 1.0);
        for (std::size_t k = 0; k < n_labels_; ++k) cost_[k * n_labels_ + k] = 0.0;
    }
    if (cost_.size() != n_labels_ * n_labels_)
        throw std::invalid_argument("cost must have one row and one column per label");
    for (std::size_t i = 0; i < cost_.size(); ++i)
        if (!(cost_[i] >= 0.0)) throw std::invalid_argument("cost holds a number below 0");
    for (std::size_t k = 0; k < n_labels_; ++k)
        if (cost_[k * n_labels_ + k] != 0.0)
            throw std::invalid_argument("cost[" + std::to_string(k) + "][" + std::to_string(k) +
                                        "] must be 0: the right label costs nothing");
    for (const std::uint32_t label : gold_)
        if (label >= n_labels_) throw std::invalid_argument("y holds a label that is not below n_labels");
    l1_factors_.assign(n_weights(), 1.0);
}

void LabelOracle::require_example(std::size_t example) const {
    if (example >= rows_->n_rows) throw std::invalid_argument("there is no example " + std::to_string(example));
}

template <int power>
void LabelOracle::to_groups(const double* of_labels, double* of_groups) const {
    if (groups_.size() == 0) {
        std::copy_n(of_labels, n_labels_, of_groups);
        return;
    }
    std::fill_n(of_groups, n_groups_, 0.0);
    for (std::size_t k = 0; k < n_labels_; ++k)
        groups_.each(k, [&](std::size_t group, double share) {
            of_groups[group] += of_labels[k] * (power == 2 ? share * share : share);
        });
}

void LabelOracle::score(const ScaledWeights& weights, std::size_t row, std::span<double> out) const {
    std::vector<double> scratch(groups_.size() == 0 ? 0 : n_groups_);
    const std::span<double> of_groups = groups_.size() == 0 ? out : std::span<double>(scratch);
    std::ranges::fill(of_groups, 0.0);
    rows_->each(row, [&](std::size_t column, double x) {
        const double factor = weights.scale * x;
        const double* of_column = weights.stored.data() + column * n_groups_;
        for (std::size_t g = 0; g < n_groups_; ++g) of_groups[g] += factor * of_column[g];
    });
    if (groups_.size() == 0) return;
    for (std::size_t k = 0; k < n_labels_; ++k) {
        out[k] = 0.0;
        groups_.each(k, [&](std::size_t group, double share) { out[k] += share * of_groups[group]; });
    }
}

void LabelOracle::part_scores(const ScaledWeights& weights, std::size_t example, std::vector<double>& out) const {
    require_example(example);
    out.resize(n_labels_);
    score(weights, example, out);
}

void LabelOracle::part_costs(std::size_t example, std::vector<double>& out) const {
    require_example(example);
    out.resize(n_labels_);
    for (std::size_t k = 0; k < n_labels_; ++k) out[k] = cost(example, k);
}

std::vector<Output> LabelOracle::kbest(const ScaledWeights& weights, std::size_t example, std::size_t k,
                                       double nu) const {
    std::vector<double> scores;
    part_scores(weights, example, scores);
    std::vector<std::uint32_t> order(n_labels_);
    std::iota(order.begin(), order.end(), 0U);
    k = std::min(k, n_labels_);
    const auto value = [&](std::uint32_t label) { return scores[label] + nu * cost(example, label); };
    std::partial_sort(
        order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(),
        [&](std::uint32_t a, std::uint32_t b) { return value(a) != value(b) ? value(a) > value(b) : a < b; });
    std::vector<Output> found(k);
    for (std::size_t i = 0; i < k; ++i) found[i] = {{order[i]}, nullptr, scores[order[i]], cost(example, order[i])};
    return found;
}

void LabelOracle::difference(std::size_t example, const Output& found, SparseVector& out) {
    require_example(example);
    out.clear();
    const std::size_t gold = gold_[example], label = found.code.at(0);
    if (gold == label) return;
    std::vector<double> of_labels(n_labels_, 0.0), of_groups(n_groups_);
    of_labels[gold] = 1.0;
    of_labels.at(label) = -1.0;
    to_groups<1>(of_labels.data(), of_groups.data());
    std::vector<std::uint32_t> unequal;  // a group that both are in tells them nothing about each other
    for (std::size_t g = 0; g < n_groups_; ++g)
        if (of_groups[g] != 0.0) unequal.push_back(static_cast<std::uint32_t>(g));
    rows_->each(example, [&](std::size_t column, double x) {
        if (x == 0.0) return;
        for (const std::uint32_t g : unequal) {
            out.indices.push_back(static_cast<std::uint32_t>(column * n_groups_ + g));
            out.values.push_back(x * of_groups[g]);
        }
    });
}

bool LabelOracle::slack_argmax(const ScaledWeights& weights, std::size_t example, Output& best) const {
    std::vector<double> scores;
    part_scores(weights, example, scores);
    double highest = -std::numeric_limits<double>::infinity();
    for (std::uint32_t label = 0; label < n_labels_; ++label) {
        const double value = cost(example, label) * (1.0 + scores[label] - scores[gold_[example]]);
        if (value <= highest) continue;
        highest = value;
        best = {{label}, nullptr, scores[label], cost(example, label)};
    }
    return true;
}

double LabelOracle::marginals(std::size_t, std::span<const double> scores, std::vector<double>& out) const {
    if (scores.size() != n_labels_) throw std::invalid_argument("part scores have the wrong size");
    out.assign(scores.begin(), scores.end());
    return softmax(out);
}

void LabelOracle::difference_of_marginals(std::size_t example, std::span<const double> marginals, SparseVector& out) {
    require_example(example);
    if (marginals.size() != n_labels_) throw std::invalid_argument("marginals have the wrong size");
    out.clear();
    std::vector<double> of_labels(n_labels_), of_groups(n_groups_);
    for (std::size_t k = 0; k < n_labels_; ++k) of_labels[k] = (k == gold_[example] ? 1.0 : 0.0) - marginals[k];
    to_groups<1>(of_labels.data(), of_groups.data());
    rows_->each(example, [&](std::size_t column, double x) {
        if (x == 0.0) return;
        for (std::size_t g = 0; g < n_groups_; ++g) {
            out.indices.push_back(static_cast<std::uint32_t>(column * n_groups_ + g));
            out.values.push_back(x * of_groups[g]);
        }
    });
}

double LabelOracle::infer(const ScaledWeights& weights, std::size_t row, double nu,
                          std::span<double> probabilities) const {
    score(weights, row, probabilities);
    const double gold_score = probabilities[gold_[row]];
    if (nu != 0.0)
        for (std::size_t k = 0; k < n_labels_; ++k) probabilities[k] += nu * cost(row, k);
    return sample_weights_[row] * (softmax(probabilities) - gold_score);
}

double LabelOracle::loss(std::span<const double> weights, std::span<double> gradient, double nu, std::size_t n_jobs,
                         bool) {
    return sum_over_shards(rows_->n_rows, gradient, n_jobs, [&, this] {
        return [&weights, nu, this, p = std::vector<double>(n_labels_), q = std::vector<double>(n_groups_)](
                   std::size_t row, double* sums) mutable {
            const double loss = infer({weights, 1.0}, row, nu, p);
            p[gold_[row]] -= 1.0;
            to_groups<1>(p.data(), q.data());
            rows_->each(row, [&](std::size_t column, double x) {
                const double factor = sample_weights_[row] * x;
                for (std::size_t g = 0; g < n_groups_; ++g) sums[column * n_groups_ + g] += factor * q[g];
            });
            return loss;
        };
    });
}

void LabelOracle::curvature(std::span<const double> weights, std::span<double> diagonal, double nu,
                            std::size_t n_jobs) {
    sum_over_shards(rows_->n_rows, diagonal, n_jobs, [&, this] {
        return [&weights, nu, this, p = std::vector<double>(n_labels_), mean = std::vector<double>(n_groups_),
                square = std::vector<double>(n_groups_)](std::size_t row, double* sums) mutable {
            infer({weights, 1.0}, row, nu, p);
            to_groups<1>(p.data(), mean.data());
            to_groups<2>(p.data(), square.data());
            rows_->each(row, [&](std::size_t column, double x) {
                const double factor = sample_weights_[row] * x * x;
                for (std::size_t g = 0; g < n_groups_; ++g)
                    sums[column * n_groups_ + g] += factor * std::max(0.0, square[g] - mean[g] * mean[g]);
            });
            return 0.0;
        };
    });
}

std::unique_ptr<WorkingWeights> LabelOracle::working_weights() const {
    return std::make_unique<DenseWeights>(n_weights());
}

double LabelOracle::descend(WorkingWeights& weights, std::span<const std::uint32_t> examples, double step,
                            double nu) const {
    auto& working = dynamic_cast<DenseWeights&>(weights);
    std::vector<double> p(n_labels_), q(examples.size() * n_groups_);
    double total = 0.0;
    for (std::size_t i = 0; i < examples.size(); ++i) {
        total += infer(working.view(), examples[i], nu, p);
        p[gold_[examples[i]]] -= 1.0;
        to_groups<1>(p.data(), &q[i * n_groups_]);
    }
    const double stored_step = step / working.scale();
    for (std::size_t i = 0; i < examples.size(); ++i) {
        const double* of_row = &q[i * n_groups_];
        rows_->each(examples[i], [&](std::size_t column, double x) {
            const double factor = stored_step * sample_weights_[examples[i]] * x;
            for (std::size_t g = 0; g < n_groups_; ++g) working.stored()[column * n_groups_ + g] -= factor * of_row[g];
        });
    }
    return total;
}

}  // namespace tw::label
