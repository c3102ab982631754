#include "sgd.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "../base/interrupt.hpp"
#include "random.hpp"
#include "read_ahead.hpp"
#include "vectors.hpp"

namespace tw::learners {
namespace {

constexpr std::size_t kSample = 500;  // examples on which step lengths are tried
constexpr double kFirstGuess = 0.1;
constexpr double kWide = 4.0, kFine = 2.0;  // ratios of neighbouring steps, first and last
constexpr int kMostWaves = 12;              // steps from 1e-29 to 1e27 can be found
constexpr int kMostHalvings = 40;
constexpr double kTruncations = 32.0;    // in a pass
constexpr std::size_t kFewPasses = 4;    // in which the losses met must fall by enough
constexpr std::size_t kShardWorth = 64;  // batches that make a shard worth having
constexpr std::size_t kPoints = 8;       // whose mean ends the last pass
constexpr double kMeanPart = 0.2;        // of all passes, but within the last one, from which they are taken

// The L1 penalty of the examples since the last time, taken from all weights at once: truncated gradient (Langford, Li
// & Zhang 2009). Once an example would be nearer to their Algorithm, but costs a pass over the weights each time.
class Truncation {
public:
    Truncation(double l1, std::span<const double> factors, double period)
        : l1_(l1), factors_(factors), period_(period), buffer_(l1 > 0.0 ? factors.size() : 0) {}

    void add(WorkingWeights& weights, double eta, std::size_t n_examples) {
        owed_ += eta * l1_ * static_cast<double>(n_examples);
        n_since_ += static_cast<double>(n_examples);
        if (n_since_ >= period_) settle(weights);
    }
    void settle(WorkingWeights& weights) {
        n_since_ = 0.0;
        if (owed_ == 0.0) return;
        weights.store(buffer_);
        for (std::size_t j = 0; j < buffer_.size(); ++j)
            buffer_[j] = std::copysign(std::max(std::abs(buffer_[j]) - owed_ * factors_[j], 0.0), buffer_[j]);
        weights.load(buffer_);
        owed_ = 0.0;
    }

private:
    double l1_;  // of one example
    std::span<const double> factors_;
    double period_, n_since_ = 0.0;  // in examples
    double owed_ = 0.0;
    std::vector<double> buffer_;
};

}  // namespace

// The mean of points on the way through a pass over n examples, evenly spaced in the last part of it.
class Sgd::PointsMean {
public:
    PointsMean(std::vector<double>& mean, std::size_t n, double part)
        : mean_(mean), point_(mean.size()), n_(static_cast<double>(n)), part_(part) {
        std::ranges::fill(mean_, 0.0);
    }

    // To be called after every step, with the examples seen so far.
    void see(const WorkingWeights& weights, std::size_t n_seen) {
        std::size_t n_here = 0;
        while (n_met_ < kPoints && static_cast<double>(n_seen) >= next()) ++n_here, ++n_met_;
        if (n_here == 0) return;
        weights.store(point_);
        const double share = static_cast<double>(n_here) / kPoints;
        for (std::size_t j = 0; j < point_.size(); ++j) mean_[j] += share * point_[j];
    }

private:
    // Where the next point is: rounded down, so that the last one is met.
    double next() const {
        const double left = 1.0 - static_cast<double>(n_met_ + 1) / kPoints;
        return std::floor(n_ * (1.0 - part_ * left));
    }

    std::vector<double>& mean_;
    std::vector<double> point_;
    const double n_, part_;
    std::size_t n_met_ = 0;
};

Sgd::Sgd(Oracle& oracle, const Objective& terms, const SgdSettings& settings, std::span<const double> weights)
    : oracle_(oracle),
      sums_(required(oracle.sums(), "expectations")),
      terms_(terms),
      settings_(settings),
      weights_(weights.begin(), weights.end()),
      objective_(std::numeric_limits<double>::quiet_NaN()),
      step_(settings.step) {
    if (settings.batch == 0 || settings.shards == 0) throw std::invalid_argument("batch and shards must be positive");
    const std::size_t n_batches = (oracle.n_examples() + settings.batch - 1) / settings.batch;
    of_shard_.resize(std::clamp(n_batches / kShardWorth, std::size_t{1}, settings.shards));
}

void Sgd::step(std::size_t n_jobs) {
    if (outcome_ != Outcome::kRunning) return;
    if (step_ == 0.0) calibrate(n_jobs);
    for (int halving = 0; !epoch(n_jobs); ++halving) {  // it ran away: the same again in shorter steps
        step_ *= 0.5;
        if (halving == kMostHalvings) {
            outcome_ = Outcome::kNotFinite;
            return;
        }
    }
    guess_.add(objective_);
    if (guess_.fall(kFewPasses) <= settings_.tol * std::abs(objective_)) outcome_ = Outcome::kConverged;
}

double Sgd::gradient_norm() const { return std::numeric_limits<double>::quiet_NaN(); }

// Batches of similar examples, in random order.
Sgd::Order Sgd::shuffled(std::uint64_t epoch) const {
    const auto similar = oracle_.hints() ? oracle_.hints()->similar_order() : std::span<const std::uint32_t>{};
    const std::size_t n = similar.empty() ? oracle_.n_examples() : similar.size();
    const std::size_t b = settings_.batch, n_batches = (n + b - 1) / b;
    Order batches(n_batches), order;
    std::iota(batches.begin(), batches.end(), 0U);
    Random random(settings_.seed, epoch);
    for (std::size_t i = n_batches; i > 1; --i) std::swap(batches[i - 1], batches[random.below(i)]);
    order.reserve(n);
    for (const std::size_t batch : batches)
        for (std::size_t i = batch * b; i < std::min(n, (batch + 1) * b); ++i)
            order.push_back(similar.empty() ? static_cast<std::uint32_t>(i) : similar[i]);
    return order;
}

double Sgd::descend(WorkingWeights& weights, std::span<const std::uint32_t> order, double step, double n_seen,
                    double n_examples, PointsMean* mean) const {
    const double lambda = terms_.l2 / n_examples;
    double loss = 0.0;
    Truncation truncation(terms_.l1 / n_examples, sums_.l1_factors(), n_examples / kTruncations);
    InterruptCheck check;
    ReadAhead ahead(oracle_.hints(), order);
    for (std::size_t begin = 0; begin < order.size(); begin += settings_.batch) {
        check();
        ahead.at(begin);
        const auto batch = order.subspan(begin, std::min(settings_.batch, order.size() - begin));
        const double eta = settings_.decay < 1.0 ? step * std::pow(settings_.decay, n_seen / n_examples)
                                                 : step / (1.0 + step * lambda * n_seen);
        const double shrink = 1.0 - eta * lambda * static_cast<double>(batch.size());
        if (shrink != 1.0) weights.multiply(std::max(shrink, 0.5));
        loss += sums_.descend(weights, batch, eta, terms_.nu);
        n_seen += static_cast<double>(batch.size() * of_shard_.size());  // the others go on as well
        truncation.add(weights, eta, batch.size());
        if (mean != nullptr) mean->see(weights, begin + batch.size());
        if (!std::isfinite(loss)) break;
    }
    truncation.settle(weights);
    return loss;
}

// The step with which one pass over a sample meets the least loss on its way (Bottou's calibration, except that the
// losses met are judged, not those afterwards: each is of an example not yet seen, and costs nothing more).
void Sgd::calibrate(std::size_t n_jobs) {
    const Order order = shuffled(0);
    const std::span<const std::uint32_t> sample(order.data(), std::min(order.size(), kSample));
    std::vector<double> steps, losses;
    const auto add = [&](std::vector<double> more) {
        const auto found = try_steps(more, sample, n_jobs);
        steps.insert(steps.end(), more.begin(), more.end());
        losses.insert(losses.end(), found.begin(), found.end());
    };
    const auto best = [&] { return steps[std::min_element(losses.begin(), losses.end()) - losses.begin()]; };
    double lowest = kFirstGuess, highest = kFirstGuess * kWide;
    add({lowest, highest});
    for (int wave = 0; wave < kMostWaves; ++wave) {
        if (best() == lowest)
            add({lowest / kWide, lowest / kWide / kWide}), lowest /= kWide * kWide;
        else if (best() == highest)
            add({highest * kWide, highest * kWide * kWide}), highest *= kWide * kWide;
        else
            break;
    }
    const double middle = best();
    add({middle / kFine, middle * kFine});
    step_ = best();
}

std::vector<double> Sgd::try_steps(std::span<const double> steps, std::span<const std::uint32_t> sample,
                                   std::size_t n_jobs) {
    std::vector<double> losses(steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) working(i);
    const double n = static_cast<double>(oracle_.n_examples());
    parallel_for(steps.size(), n_jobs, [&](std::size_t i, std::size_t) {
        working_[i]->load(weights_);
        const double loss = descend(*working_[i], sample, steps[i], 0.0, n);
        losses[i] = std::isfinite(loss) ? loss : std::numeric_limits<double>::infinity();
    });
    passes_ += static_cast<double>(steps.size() * sample.size()) / n;
    return losses;
}

// Returns false, with nothing changed, when the weights ran away.
bool Sgd::epoch(std::size_t n_jobs) {
    const Order order = shuffled(epochs_ + 1);
    const std::size_t n_shards = of_shard_.size(), n = order.size();
    std::vector<double> losses(n_shards);
    const bool ends_at_mean = epochs_ + 1 == settings_.passes;
    const double mean_part = std::min(1.0, kMeanPart * static_cast<double>(settings_.passes));
    for (std::size_t shard = 0; shard < n_shards; ++shard) working(shard);
    parallel_for(n_shards, n_jobs, [&](std::size_t shard, std::size_t) {
        // Shards begin at a batch, so that batches stay what the oracle likes.
        const auto begin_of = [&](std::size_t i) {
            return i == n_shards ? n : i * n / n_shards / settings_.batch * settings_.batch;
        };
        const auto part = std::span(order).subspan(begin_of(shard), begin_of(shard + 1) - begin_of(shard));
        of_shard_[shard].resize(weights_.size());
        working_[shard]->load(weights_);
        std::optional<PointsMean> mean;
        if (ends_at_mean && !part.empty()) mean.emplace(of_shard_[shard], part.size(), mean_part);
        losses[shard] =
            descend(*working_[shard], part, step_, n_seen_, static_cast<double>(n), mean ? &*mean : nullptr);
        if (!mean) working_[shard]->store(of_shard_[shard]);
    });
    passes_ += 1.0;
    const double loss = std::accumulate(losses.begin(), losses.end(), 0.0);
    if (!std::isfinite(loss)) return false;
    const Uninterrupted whole;
    mix(n_jobs);
    const auto factors = sums_.l1_factors();
    const auto norms = over_blocks(weights_.size(), 2, n_jobs, [&](std::size_t begin, std::size_t end, double* out) {
        out[0] += dot(&weights_[begin], &weights_[begin], end - begin);
        for (std::size_t j = begin; j < end && terms_.l1 > 0.0; ++j) out[1] += factors[j] * std::abs(weights_[j]);
    });
    objective_ = loss + 0.5 * terms_.l2 * norms[0] + terms_.l1 * norms[1];
    n_seen_ += static_cast<double>(n);
    ++epochs_;
    return true;
}

void Sgd::mix(std::size_t n_jobs) {
    const double part = 1.0 / static_cast<double>(of_shard_.size());
    over_blocks(weights_.size(), 0, n_jobs, [&](std::size_t begin, std::size_t end, double*) {
        for (std::size_t j = begin; j < end; ++j) {
            double sum = 0.0;
            for (const auto& shard : of_shard_) sum += shard[j];
            weights_[j] = part * sum;
        }
    });
}

WorkingWeights& Sgd::working(std::size_t i) {
    check_interrupt();
    while (working_.size() <= i) working_.push_back(sums_.working_weights());
    return *working_[i];
}

State Sgd::state() const {
    State state;
    state["weights"] = weights_;
    state["counters"] = std::vector<double>{
        objective_, step_, n_seen_, passes_, static_cast<double>(epochs_), static_cast<double>(outcome_)};
    state["values"] = guess_.values();
    return state;
}

void Sgd::restore(const State& state) {
    const auto& counters = numbers(state, "counters", 6);
    const auto within = [](double x, double limit) { return x >= 0.0 && x <= limit && x == std::floor(x); };
    if (!within(counters[4], 1e15) || !within(counters[5], 4) || !(counters[1] >= 0.0))
        throw std::invalid_argument("state['counters'] makes no sense for sgd");
    const auto& values = numbers(state, "values", static_cast<std::size_t>(counters[4]));
    weights_ = numbers(state, "weights", weights_.size());
    objective_ = counters[0];
    step_ = counters[1];
    n_seen_ = counters[2];
    passes_ = counters[3];
    epochs_ = static_cast<std::size_t>(counters[4]);
    outcome_ = static_cast<Outcome>(static_cast<int>(counters[5]));
    guess_.assign(values);
}

}  // namespace tw::learners
