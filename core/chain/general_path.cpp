// Loss and gradient of any training set, sequence by sequence in double precision.
#include <algorithm>
#include <vector>

#include "../base/semiring.hpp"
#include "../linear/dense_weights.hpp"
#include "path.hpp"
#include "sequence_loss.hpp"
#include "shards.hpp"

namespace tw::chain {
namespace {

// Scores of one sequence, what is allowed in it, and the derivatives that come back. Reused from one to the next.
struct Workspace {
    std::vector<double> unary, transitions, start, end, coefficients, nodes;
    std::vector<std::uint8_t> allowed;
    std::vector<double> ones;
    SequenceLoss loss;
};

class GeneralPath : public Path {
public:
    explicit GeneralPath(const TrainingSet& set) : set_(set), K_(set.n_labels()) {}

    double loss(std::span<const double> weights, std::span<double> gradient, double cost_scale, std::size_t n_jobs,
                bool precise) override;
    void curvature(std::span<const double> weights, std::span<double> diagonal, double cost_scale,
                   std::size_t n_jobs) override;
    std::unique_ptr<WorkingWeights> working_weights() const override {
        return std::make_unique<DenseWeights>(set_.n_weights());
    }
    double descend(WorkingWeights& weights, std::span<const std::uint32_t> sequences, double step,
                   double cost_scale) const override;
    std::size_t memory_bytes() const override { return 0; }

private:
    SequenceScores scores(Workspace& space, std::size_t sequence, const double* weights, double scale,
                          double cost_scale) const;
    void add_plain_scores(Workspace& space, std::size_t sequence, const double* weights, double scale) const;
    void add_pair_scores(Workspace& space, std::size_t sequence, const double* weights, double scale) const;
    void allow(Workspace& space, std::size_t sequence, double cost_scale) const;
    double sequence_loss(Workspace& space, std::size_t sequence, const double* weights, double scale, double cost_scale,
                         EdgeSink& edges) const;
    void add_nodes(std::size_t sequence, const double* nodes, double factor, double* gradient) const;

    const TrainingSet& set_;
    std::size_t K_;
};

// Derivatives by the weights of transitions and pair attributes, added to a gradient.
class EdgeWeights : public EdgeSink {
public:
    // gradient[0] belongs to weight number `offset`.
    EdgeWeights(const TrainingSet& set, double* gradient, std::size_t offset = 0)
        : set_(set), gradient_(gradient), offset_(offset) {}
    void begin(std::size_t sequence, double factor) {
        first_ = set_.starts[sequence];
        factor_ = factor;
    }
    void add(std::size_t step, const double* edges) override {
        const std::size_t first = set_.first_transition() - offset_, first_pair = set_.n_unit_weights() - offset_;
        for (std::size_t i = 0; i < set_.transition_pairs.size(); ++i)
            gradient_[first + i] += factor_ * edges[set_.transition_pairs[i]];
        if (!set_.has_pairs()) return;
        const Occurrences& o = set_.pair_occurrences;
        const WeightTable& table = set_.pair_weights;
        const std::size_t token = first_ + step + 1;
        for (std::size_t i = o.starts[token]; i < o.starts[token + 1]; ++i)
            for (std::size_t w = table.starts[o.numbers[i]]; w < table.starts[o.numbers[i] + 1]; ++w)
                gradient_[first_pair + w] += factor_ * static_cast<double>(o.value(i)) * edges[table.labels[w]];
    }

private:
    const TrainingSet& set_;
    double* gradient_;
    std::size_t offset_;
    std::size_t first_ = 0;
    double factor_ = 1.0;
};

// The same for p (1 - p): squares of values, and of probabilities.
class EdgeVariances : public EdgeSink {
public:
    EdgeVariances(const TrainingSet& set, double* diagonal) : set_(set), diagonal_(diagonal) {}
    void begin(std::size_t sequence) {
        first_ = set_.starts[sequence];
        weight_ = set_.weight(sequence);
    }
    void add(std::size_t step, const double* p) override {
        const std::size_t token = first_ + step + 1;
        const double weight = weight_ * (set_.token_weights.empty() ? 1.0 : set_.token_weights[token]);
        const std::size_t first = set_.first_transition();
        for (std::size_t i = 0; i < set_.transition_pairs.size(); ++i) {
            const double q = p[set_.transition_pairs[i]];
            diagonal_[first + i] += weight * q * (1.0 - q);
        }
        if (!set_.has_pairs()) return;
        const Occurrences& o = set_.pair_occurrences;
        const WeightTable& table = set_.pair_weights;
        for (std::size_t i = o.starts[token]; i < o.starts[token + 1]; ++i) {
            const double value = o.value(i);
            for (std::size_t w = table.starts[o.numbers[i]]; w < table.starts[o.numbers[i] + 1]; ++w) {
                const double q = p[table.labels[w]];
                diagonal_[set_.n_unit_weights() + w] += weight * value * value * q * (1.0 - q);
            }
        }
    }

private:
    const TrainingSet& set_;
    double* diagonal_;
    std::size_t first_ = 0;
    double weight_ = 1.0;
};

double GeneralPath::loss(std::span<const double> weights, std::span<double> gradient, double cost_scale,
                         std::size_t n_jobs, bool) {
    return over_shards<Workspace>(set_, gradient, n_jobs, [&](std::size_t s, Workspace& space, double* sums) {
        EdgeWeights edges(set_, sums);
        edges.begin(s, set_.weight(s));
        const double loss = sequence_loss(space, s, weights.data(), 1.0, cost_scale, edges);
        add_nodes(s, space.nodes.data(), set_.weight(s), sums);
        return set_.weight(s) * loss;
    });
}

void GeneralPath::curvature(std::span<const double> weights, std::span<double> diagonal, double cost_scale,
                            std::size_t n_jobs) {
    over_shards<Workspace>(set_, diagonal, n_jobs, [&](std::size_t s, Workspace& space, double* sums) {
        const SequenceScores sequence = scores(space, s, weights.data(), 1.0, cost_scale);
        space.coefficients.assign(sequence.length + 1, 0.0);
        space.coefficients[0] = 1.0;  // log Z alone: the derivatives are probabilities
        EdgeVariances edges(set_, sums);
        edges.begin(s);
        space.loss(sequence, space.coefficients, space.nodes.data(), edges);
        const Occurrences& o = set_.occurrences;
        for (std::size_t t = 0; t < sequence.length; ++t) {
            const std::size_t token = set_.starts[s] + t;
            const double weight = set_.weight(s) * (set_.token_weights.empty() ? 1.0 : set_.token_weights[token]);
            for (std::size_t i = o.starts[token]; i < o.starts[token + 1]; ++i) {
                const double value = set_.factor(o.numbers[i]) * static_cast<double>(o.value(i));
                const WeightTable& table = set_.unit_weights;
                for (std::size_t w = table.starts[o.numbers[i]]; w < table.starts[o.numbers[i] + 1]; ++w) {
                    const double p = space.nodes[t * K_ + table.labels[w]];
                    sums[w] += weight * value * value * p * (1.0 - p);
                }
            }
        }
        return 0.0;
    });
}

// All at the same weights: derivatives are kept until every sequence has been seen.
double GeneralPath::descend(WorkingWeights& working, std::span<const std::uint32_t> sequences, double step,
                            double cost_scale) const {
    auto& weights = dynamic_cast<DenseWeights&>(working);
    Workspace space;
    std::vector<std::vector<double>> nodes;
    std::vector<double> edge_sums(set_.n_weights() - set_.n_unit_weights(), 0.0);
    EdgeWeights edges(set_, edge_sums.data(), set_.n_unit_weights());
    double total = 0.0;
    for (const std::uint32_t s : sequences) {
        edges.begin(s, set_.weight(s));
        total += set_.weight(s) * sequence_loss(space, s, weights.stored(), weights.scale(), cost_scale, edges);
        nodes.push_back(space.nodes);
    }
    const double factor = -step / weights.scale();
    for (std::size_t i = 0; i < sequences.size(); ++i)
        add_nodes(sequences[i], nodes[i].data(), factor * set_.weight(sequences[i]), weights.stored());
    for (std::size_t i = 0; i < edge_sums.size(); ++i)
        weights.stored()[set_.n_unit_weights() + i] += factor * edge_sums[i];
    return total;
}

double GeneralPath::sequence_loss(Workspace& space, std::size_t s, const double* weights, double scale,
                                  double cost_scale, EdgeSink& edges) const {
    const SequenceScores sequence = scores(space, s, weights, scale, cost_scale);
    space.coefficients.resize(sequence.length + 1);
    if (set_.token_weights.empty()) {
        space.ones.assign(sequence.length, 1.0);
        loss_coefficients(space.ones, space.coefficients);
    } else {
        loss_coefficients({set_.token_weights.data() + set_.starts[s], sequence.length}, space.coefficients);
    }
    return space.loss(sequence, space.coefficients, space.nodes.data(), edges);
}

SequenceScores GeneralPath::scores(Workspace& space, std::size_t s, const double* weights, double scale,
                                   double cost_scale) const {
    const std::size_t length = set_.length(s);
    space.unary.assign(length * K_, 0.0);
    space.nodes.resize(length * K_);
    space.start.assign(K_, 0.0);
    space.end.assign(K_, 0.0);
    if (set_.constrained())
        for (std::size_t y = 0; y < K_; ++y) {
            space.start[y] = set_.settings.constraints.start[y] ? 0.0 : kLogZero;
            space.end[y] = set_.settings.constraints.end[y] ? 0.0 : kLogZero;
        }
    add_plain_scores(space, s, weights, scale);
    if (set_.has_pairs()) add_pair_scores(space, s, weights, scale);
    allow(space, s, cost_scale);
    return {K_,
            length,
            space.unary.data(),
            space.transitions.data(),
            set_.has_pairs(),
            space.start.data(),
            space.end.data(),
            space.allowed.data()};
}

void GeneralPath::add_plain_scores(Workspace& space, std::size_t s, const double* weights, double scale) const {
    const Occurrences& o = set_.occurrences;
    const WeightTable& table = set_.unit_weights;
    for (std::size_t t = 0; t < set_.length(s); ++t) {
        const std::size_t token = set_.starts[s] + t;
        for (std::size_t i = o.starts[token]; i < o.starts[token + 1]; ++i) {
            const double factor = scale * set_.factor(o.numbers[i]) * static_cast<double>(o.value(i));
            for (std::size_t w = table.starts[o.numbers[i]]; w < table.starts[o.numbers[i] + 1]; ++w)
                space.unary[t * K_ + table.labels[w]] += factor * weights[w];
        }
    }
    space.transitions.assign(K_ * K_, 0.0);
    for (std::size_t i = 0; i < set_.transition_pairs.size(); ++i)
        space.transitions[set_.transition_pairs[i]] = scale * weights[set_.first_transition() + i];
    if (set_.constrained())
        for (std::size_t i = 0; i < K_ * K_; ++i)
            if (!set_.settings.constraints.transitions[i]) space.transitions[i] = kLogZero;
}

// One matrix per step: the plain transitions and what the attributes of the later token add.
void GeneralPath::add_pair_scores(Workspace& space, std::size_t s, const double* weights, double scale) const {
    const std::size_t length = set_.length(s), size = K_ * K_;
    const std::vector<double> plain(space.transitions.begin(),
                                    space.transitions.begin() + static_cast<std::ptrdiff_t>(size));
    space.transitions.resize(std::max<std::size_t>(length - 1, 1) * size);
    const Occurrences& o = set_.pair_occurrences;
    const WeightTable& table = set_.pair_weights;
    for (std::size_t t = 1; t < length; ++t) {
        double* step = space.transitions.data() + (t - 1) * size;
        std::ranges::copy(plain, step);
        const std::size_t token = set_.starts[s] + t;
        for (std::size_t i = o.starts[token]; i < o.starts[token + 1]; ++i)
            for (std::size_t w = table.starts[o.numbers[i]]; w < table.starts[o.numbers[i] + 1]; ++w)
                step[table.labels[w]] += scale * static_cast<double>(o.value(i)) * weights[set_.n_unit_weights() + w];
    }
}

// Which labels are allowed, and the cost of those that are not: the least to any allowed one (softmax-margin).
void GeneralPath::allow(Workspace& space, std::size_t s, double cost_scale) const {
    space.allowed.assign(set_.length(s) * K_, 0);
    for (std::size_t t = 0; t < set_.length(s); ++t) {
        const auto labels = set_.allowed(set_.starts[s] + t);
        std::uint8_t* row = space.allowed.data() + t * K_;
        for (const std::uint16_t y : labels) row[y] = 1;
        if (labels.empty()) std::fill(row, row + K_, std::uint8_t{1});
        if (cost_scale == 0.0) continue;
        for (std::size_t y = 0; y < K_; ++y) {
            if (row[y]) continue;
            double cost = set_.cost(labels[0], y);
            for (const std::uint16_t gold : labels) cost = std::min(cost, set_.cost(gold, y));
            space.unary[t * K_ + y] += cost_scale * cost;
        }
    }
}

void GeneralPath::add_nodes(std::size_t s, const double* nodes, double factor, double* gradient) const {
    const Occurrences& o = set_.occurrences;
    const WeightTable& table = set_.unit_weights;
    for (std::size_t t = 0; t < set_.length(s); ++t) {
        const std::size_t token = set_.starts[s] + t;
        for (std::size_t i = o.starts[token]; i < o.starts[token + 1]; ++i) {
            const double value = factor * set_.factor(o.numbers[i]) * static_cast<double>(o.value(i));
            for (std::size_t w = table.starts[o.numbers[i]]; w < table.starts[o.numbers[i] + 1]; ++w)
                gradient[w] += value * nodes[t * K_ + table.labels[w]];
        }
    }
}

}  // namespace

std::unique_ptr<Path> general_path(const TrainingSet& set) { return std::make_unique<GeneralPath>(set); }

}  // namespace tw::chain
