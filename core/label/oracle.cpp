#include "oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "../parallel.hpp"
#include "../plain_weights.hpp"

namespace tw::label {
namespace {

constexpr std::size_t kShards = 8;            // sums are made per shard, whatever the number of threads
constexpr std::size_t kRowsWorthAShard = 64;  // below this a thread costs more than it saves

}  // namespace

LabelOracle::LabelOracle(Rows rows, std::vector<std::uint32_t> gold, std::size_t n_labels,
                         std::vector<double> sample_weights, std::vector<double> cost)
    : rows_(std::move(rows)),
      gold_(std::move(gold)),
      n_labels_(n_labels),
      sample_weights_(std::move(sample_weights)),
      cost_(std::move(cost)) {
    if (gold_.size() != rows_.n_rows) throw std::invalid_argument("y must have one label per row of X");
    if (sample_weights_.empty()) sample_weights_.assign(rows_.n_rows, 1.0);
    if (sample_weights_.size() != rows_.n_rows)
        throw std::invalid_argument("sample_weight must have one number per row of X");
    if (cost_.empty()) {
        cost_.assign(n_labels_ * n_labels_, 1.0);
        for (std::size_t k = 0; k < n_labels_; ++k) cost_[k * n_labels_ + k] = 0.0;
    }
    if (cost_.size() != n_labels_ * n_labels_)
        throw std::invalid_argument("cost must have one row and one column per label");
    for (const std::uint32_t label : gold_)
        if (label >= n_labels_) throw std::invalid_argument("y holds a label that is not below n_labels");
    l1_factors_.assign(n_weights(), 1.0);
}

void LabelOracle::require_example(std::size_t example) const {
    if (example >= rows_.n_rows) throw std::invalid_argument("there is no example " + std::to_string(example));
}

void LabelOracle::part_scores(const ScaledWeights& weights, std::size_t example, std::vector<double>& out) const {
    require_example(example);
    out.assign(n_labels_, 0.0);
    each_value(example, [&](std::size_t column, double x) {
        const double factor = weights.scale * x;
        for (std::size_t k = 0; k < n_labels_; ++k) out[k] += factor * weights.stored[column * n_labels_ + k];
    });
}

void LabelOracle::part_costs(std::size_t example, std::vector<double>& out) const {
    require_example(example);
    out.resize(n_labels_);
    for (std::size_t k = 0; k < n_labels_; ++k) out[k] = cost(example, k);
}

std::vector<Found> LabelOracle::kbest(const ScaledWeights& weights, std::size_t example, std::size_t k,
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
    std::vector<Found> found(k);
    for (std::size_t i = 0; i < k; ++i) found[i] = {{order[i]}, nullptr, scores[order[i]], cost(example, order[i])};
    return found;
}

void LabelOracle::difference(std::size_t example, const Found& found, SparseVector& out) {
    out.clear();
    const std::size_t gold = gold_[example], label = found.code.at(0);
    if (gold == label) return;
    each_value(example, [&](std::size_t column, double x) {
        if (x == 0.0) return;
        out.indices.push_back(static_cast<std::uint32_t>(column * n_labels_ + gold));
        out.values.push_back(x);
        out.indices.push_back(static_cast<std::uint32_t>(column * n_labels_ + label));
        out.values.push_back(-x);
    });
}

bool LabelOracle::slack_argmax(const ScaledWeights& weights, std::size_t example, Found& best) const {
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
    const double highest = *std::ranges::max_element(scores);
    double sum = 0.0;
    out.resize(n_labels_);
    for (std::size_t k = 0; k < n_labels_; ++k) sum += out[k] = std::exp(scores[k] - highest);
    for (double& p : out) p /= sum;
    return highest + std::log(sum);
}

void LabelOracle::difference_of_marginals(std::size_t example, std::span<const double> marginals, SparseVector& out) {
    require_example(example);
    if (marginals.size() != n_labels_) throw std::invalid_argument("marginals have the wrong size");
    out.clear();
    each_value(example, [&](std::size_t column, double x) {
        if (x == 0.0) return;
        for (std::size_t k = 0; k < n_labels_; ++k) {
            out.indices.push_back(static_cast<std::uint32_t>(column * n_labels_ + k));
            out.values.push_back(x * ((k == gold_[example] ? 1.0 : 0.0) - marginals[k]));
        }
    });
}

double LabelOracle::loss(std::span<const double> weights, std::span<double> gradient, std::size_t n_jobs, bool) {
    return over_shards(weights, gradient, n_jobs, [this](std::size_t row, double* p, double* sums) {
        p[gold_[row]] -= 1.0;
        each_value(row, [&](std::size_t column, double x) {
            const double factor = sample_weights_[row] * x;
            for (std::size_t k = 0; k < n_labels_; ++k) sums[column * n_labels_ + k] += factor * p[k];
        });
    });
}

void LabelOracle::curvature(std::span<const double> weights, std::span<double> diagonal, std::size_t n_jobs) {
    over_shards(weights, diagonal, n_jobs, [this](std::size_t row, const double* p, double* sums) {
        each_value(row, [&](std::size_t column, double x) {
            const double factor = sample_weights_[row] * x * x;
            for (std::size_t k = 0; k < n_labels_; ++k) sums[column * n_labels_ + k] += factor * p[k] * (1.0 - p[k]);
        });
    });
}

std::unique_ptr<WorkingWeights> LabelOracle::working_weights() const {
    return std::make_unique<PlainWeights>(n_weights());
}

double LabelOracle::descend(WorkingWeights& weights, std::span<const std::uint32_t> examples, double step) const {
    auto& working = dynamic_cast<PlainWeights&>(weights);
    std::vector<double> p(examples.size() * n_labels_);
    double total = 0.0;
    for (std::size_t i = 0; i < examples.size(); ++i)
        total += infer(examples[i], working.stored.data(), working.scale(), &p[i * n_labels_]);
    const double stored_step = step / working.scale();
    for (std::size_t i = 0; i < examples.size(); ++i) {
        const std::size_t row = examples[i];
        double* of_row = &p[i * n_labels_];
        of_row[gold_[row]] -= 1.0;
        each_value(row, [&](std::size_t column, double x) {
            const double factor = stored_step * sample_weights_[row] * x;
            for (std::size_t k = 0; k < n_labels_; ++k) working.stored[column * n_labels_ + k] -= factor * of_row[k];
        });
    }
    return total;
}

template <class Visit>
void LabelOracle::each_value(std::size_t row, Visit visit) const {
    if (rows_.starts.empty()) {
        const double* values = &rows_.values[row * rows_.n_columns];
        for (std::size_t column = 0; column < rows_.n_columns; ++column) visit(column, values[column]);
    } else {
        for (std::size_t i = rows_.starts[row]; i < rows_.starts[row + 1]; ++i)
            visit(rows_.columns[i], rows_.values[i]);
    }
}

double LabelOracle::infer(std::size_t row, const double* weights, double scale, double* probabilities) const {
    const std::size_t gold = gold_[row];
    std::fill_n(probabilities, n_labels_, 0.0);
    each_value(row, [&](std::size_t column, double x) {
        const double factor = scale * x;
        for (std::size_t k = 0; k < n_labels_; ++k) probabilities[k] += factor * weights[column * n_labels_ + k];
    });
    const double gold_score = probabilities[gold];
    if (cost_scale_ != 0.0)
        for (std::size_t k = 0; k < n_labels_; ++k) probabilities[k] += cost_scale_ * cost_[gold * n_labels_ + k];
    const double highest = *std::max_element(probabilities, probabilities + n_labels_);
    double sum = 0.0;
    for (std::size_t k = 0; k < n_labels_; ++k) sum += probabilities[k] = std::exp(probabilities[k] - highest);
    for (std::size_t k = 0; k < n_labels_; ++k) probabilities[k] /= sum;
    return sample_weights_[row] * (highest + std::log(sum) - gold_score);
}

template <class Add>
double LabelOracle::over_shards(std::span<const double> weights, std::span<double> sums, std::size_t n_jobs,
                                Add add) const {
    const std::size_t n = rows_.n_rows;
    const std::size_t n_shards = std::clamp(n / kRowsWorthAShard, std::size_t{1}, kShards);
    std::vector<std::vector<double>> of_shard(n_shards);
    std::vector<double> losses(n_shards, 0.0);
    parallel_for(n_shards, n_jobs, [&](std::size_t shard, std::size_t) {
        of_shard[shard].assign(weights.size(), 0.0);
        std::vector<double> probabilities(n_labels_);
        for (std::size_t row = shard * n / n_shards; row < (shard + 1) * n / n_shards; ++row) {
            losses[shard] += infer(row, weights.data(), 1.0, probabilities.data());
            add(row, probabilities.data(), of_shard[shard].data());
        }
    });
    std::fill(sums.begin(), sums.end(), 0.0);
    double total = 0.0;
    for (std::size_t shard = 0; shard < n_shards; ++shard) {
        total += losses[shard];
        for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += of_shard[shard][j];
    }
    return total;
}

}  // namespace tw::label
