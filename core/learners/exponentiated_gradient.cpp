#include "exponentiated_gradient.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "../base/parallel.hpp"
#include "hinge.hpp"

namespace tw::learners {
namespace {

constexpr double kTrustInGold = 10.0;   // the first theta: how much a unit of cost is held against a part
constexpr double kLonger = 1.05;        // what eta_i is multiplied with after a success
constexpr std::size_t kMostTries = 12;  // in one visit
constexpr double kLongest = 1e6;        // of eta_i, for max-margin; a CRF's step of 1 already forgets theta
constexpr double kNoChange = 1e-13;     // of a marginal

}  // namespace

ExponentiatedGradient::ExponentiatedGradient(Oracle& oracle, const OnlineSettings& order,
                                             const ExponentiatedGradientSettings& settings,
                                             std::span<const double> start)
    : Online(oracle, {order.seed, order.shuffle, order.averaged}, start),
      parts_(required(oracle.parts(), "parts")),
      how_(settings),
      unit_(settings.loss == DualLoss::kCrf ? 1.0 / settings.kappa : 1.0),
      centre_(start),
      theta_(oracle.n_examples()),
      marginals_(oracle.n_examples()),
      eta_(oracle.n_examples(), settings.step),
      values_(oracle.n_examples(), 0.0),
      gap_(std::numeric_limits<double>::infinity()) {}

double ExponentiatedGradient::gap() const { return exact_ ? gap_ : std::numeric_limits<double>::infinity(); }

// The marginals under theta, and the example's part of the dual.
double ExponentiatedGradient::infer(std::size_t example, const std::vector<double>& theta,
                                    const std::vector<double>& costs, std::vector<double>& marginals) const {
    const double log_z = parts_.marginals(example, theta, marginals);
    double value = 0.0;
    if (how_.loss == DualLoss::kCrf) {
        value = log_z;
        for (std::size_t r = 0; r < theta.size(); ++r)
            if (marginals[r] > 0.0) value -= marginals[r] * theta[r];
    } else {
        for (std::size_t r = 0; r < theta.size(); ++r) value += marginals[r] * costs[r];
    }
    return value;
}

// f(gold) - sum of marginals * f(part), without weights that are new: every output has some probability, so all weights
// there could be would come, and the sums of a CRF would not know of them.
void ExponentiatedGradient::expect(std::size_t example, const std::vector<double>& marginals, SparseVector& out) {
    parts_.difference_of_marginals(example, marginals, out);
    if (oracle_.n_weights() != w_.size())
        throw std::invalid_argument(
            "exponentiated gradient cannot take weights that grow: give the oracle those seen in gold, or all of them, "
            "from the start");
    places_.grow(w_.size());
}

// Every example begins near its gold structure, which most are at in the end.
void ExponentiatedGradient::begin(std::size_t n_jobs) {
    const std::size_t n = oracle_.n_examples();
    parallel_for(n, n_jobs, [&](std::size_t i, std::size_t) {
        std::vector<double> costs;
        parts_.part_costs(i, costs);
        theta_[i] = costs;
        for (double& x : theta_[i]) x *= -kTrustInGold;
        values_[i] = infer(i, theta_[i], costs, marginals_[i]);
    });
    AveragedWeights w = w_;
    InterruptCheck check;
    for (std::size_t i = 0; i < n; ++i) {
        check();
        expect(i, marginals_[i], change_);
        w.add(change_, how_.kappa * oracle_.example_weight(i));
    }
    w_ = std::move(w);
    begun_ = true;
}

void ExponentiatedGradient::before_pass(std::size_t n_jobs) {
    halvings_ = 0;
    if (!begun_) begin(n_jobs);
}

void ExponentiatedGradient::visit(std::size_t example) {
    if (oracle_.example_weight(example) == 0.0) return;
    parts_.part_scores(w_.view(), example, scores_);
    if (how_.loss == DualLoss::kMaxMargin) {
        parts_.part_costs(example, costs_);
        for (std::size_t r = 0; r < scores_.size(); ++r) scores_[r] += costs_[r];
    }
    const double longest = how_.loss == DualLoss::kCrf ? 1.0 : kLongest;
    double& eta = eta_[example];
    for (std::size_t tries = 0; tries < kMostTries; ++tries) {
        if (advance(example, eta)) {
            eta = std::min(longest, eta * kLonger);
            changed();
            return;
        }
        eta *= 0.5;
        ++halvings_;
    }
}

// One step of the given length, unless the dual falls.
bool ExponentiatedGradient::advance(std::size_t example, double eta) {
    const auto& theta = theta_[example];
    const double kept = how_.loss == DualLoss::kCrf ? 1.0 - eta : 1.0;
    moved_.resize(theta.size());
    for (std::size_t r = 0; r < theta.size(); ++r) moved_[r] = kept * theta[r] + eta * scores_[r];
    const double value = infer(example, moved_, costs_, next_);
    change_in_features(example);
    const double factor = how_.kappa * oracle_.example_weight(example);
    const double rise =
        factor * (value - values_[example]) - factor * w_.dot(change_) - 0.5 * factor * factor * change_.squared_norm();
    if (!(rise >= 0.0)) return false;
    w_.add(change_, factor);
    theta_[example].swap(moved_);
    marginals_[example].swap(next_);
    values_[example] = value;
    return true;
}

// What changes in f(gold) - expected features: that of the changes in the marginals, less f(gold). Oracles leave out
// what is zero, so changes that are nothing but rounding are made zero.
void ExponentiatedGradient::change_in_features(std::size_t example) {
    const auto& before = marginals_[example];
    differences_.resize(before.size());
    for (std::size_t r = 0; r < before.size(); ++r) {
        const double change = next_[r] - before[r];
        differences_[r] = std::abs(change) < kNoChange ? 0.0 : change;
    }
    expect(example, differences_, change_);
    std::ranges::fill(differences_, 0.0);
    expect(example, differences_, gold_);
    places_.add(change_, gold_, -1.0);
}

double ExponentiatedGradient::dual() const {
    double sum = 0.0;
    for (std::size_t i = 0; i < values_.size(); ++i) sum += oracle_.example_weight(i) * values_[i];
    const auto w = w_.current();
    return unit_ * (how_.kappa * sum - centre_.dot_of_distance(w) - 0.5 * centre_.squared_distance(w));
}

void ExponentiatedGradient::after_pass(std::size_t n_jobs) {
    dual_ = dual();
    exact_ = false;
    objective_ = dual_;
    if (epochs_ == 1 || epochs_ % how_.gap_every == 0 || updates_ == 0) evaluate(n_jobs);
    if (updates_ == 0 && outcome_ == Outcome::kRunning) outcome_ = Outcome::kRounding;
}

void ExponentiatedGradient::evaluate(std::size_t n_jobs) {
    if (exact_) return;
    const auto at = weights();
    const double penalty = 0.5 * centre_.squared_distance(at);
    if (how_.loss == DualLoss::kCrf) {
        std::vector<double> gradient(at.size());
        Sums& sums = required(oracle_.sums(), "expectations");
        objective_ = unit_ * penalty + sums.loss(at, gradient, 0.0, n_jobs, true);
    } else {
        AveragedWeights w(at);
        objective_ = penalty + how_.kappa * hinge_sum(examples_, w, n_jobs);
    }
    gap_ = std::max(0.0, objective_ - dual_);
    exact_ = true;
    if (gap_ <= how_.tol * objective_) outcome_ = Outcome::kConverged;
}

std::size_t ExponentiatedGradient::memory_bytes() const {
    std::size_t total =
        theta_.capacity() * sizeof(theta_[0]) +
        (eta_.capacity() + values_.capacity() + (settings_.averaged ? 2 : 1) * w_.size()) * sizeof(double) +
        centre_.memory_bytes();
    for (const auto* parts : {&theta_, &marginals_})
        for (const auto& one : *parts) total += one.capacity() * sizeof(double);
    return total;
}

Facts ExponentiatedGradient::facts() const {
    double eta = 0.0;
    for (const double x : eta_) eta += x;
    return {{"updates", static_cast<double>(updates_)},
            {"halvings", static_cast<double>(halvings_)},
            {"mean_step", eta / static_cast<double>(std::max<std::size_t>(eta_.size(), 1))},
            {"dual", dual_},
            {"gap", exact_ ? gap_ : std::numeric_limits<double>::quiet_NaN()},
            {"memory_bytes", static_cast<double>(memory_bytes())}};
}

void ExponentiatedGradient::save(State& state) const {
    std::vector<double> sizes, theta;
    for (const auto& one : theta_) {
        sizes.push_back(static_cast<double>(one.size()));
        theta.insert(theta.end(), one.begin(), one.end());
    }
    state["theta_sizes"] = std::move(sizes);
    state["theta"] = std::move(theta);
    state["eta"] = eta_;
    state["values"] = values_;
    state["centre"] = centre_.values();
    state["exponentiated_gradient"] =
        std::vector<double>{begun_ ? 1.0 : 0.0, exact_ ? 1.0 : 0.0, dual_, gap_, static_cast<double>(halvings_)};
}

void ExponentiatedGradient::load(const State& state) {
    const auto& rest = numbers(state, "exponentiated_gradient", 5);
    const auto& sizes = numbers(state, "theta_sizes", theta_.size());
    const auto& theta = any_numbers(state, "theta");
    eta_ = numbers(state, "eta", eta_.size());
    values_ = numbers(state, "values", values_.size());
    centre_.restore(state, w_.size());
    begun_ = rest[0] != 0.0;
    std::vector<double> costs;
    std::size_t from = 0;
    for (std::size_t i = 0; i < theta_.size(); ++i) {
        if (begun_) parts_.part_costs(i, costs);
        if (sizes[i] != static_cast<double>(costs.size()) || theta.size() - from < costs.size())
            throw std::invalid_argument("state['theta'] is of another training set");
        const auto first = theta.begin() + static_cast<std::ptrdiff_t>(from);
        theta_[i].assign(first, first + static_cast<std::ptrdiff_t>(costs.size()));
        from += costs.size();
        if (begun_) infer(i, theta_[i], costs, marginals_[i]);
    }
    exact_ = rest[1] != 0.0;
    dual_ = rest[2];
    gap_ = rest[3];
    halvings_ = static_cast<std::size_t>(rest[4]);
}

}  // namespace tw::learners
