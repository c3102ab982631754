#include "online.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "../base/interrupt.hpp"
#include "random.hpp"
#include "read_ahead.hpp"

namespace tw::learners {

Online::Online(Oracle& oracle, const OnlineSettings& settings, std::span<const double> start, bool rounded)
    : oracle_(oracle),
      examples_(oracle),
      settings_(settings),
      w_(start, rounded && oracle.hints() && oracle.hints()->reads_rounded(),
         oracle.hints() ? oracle.hints()->rounded_layout() : RoundedLayout{}),
      objective_(std::numeric_limits<double>::quiet_NaN()) {
    if (start.size() != oracle.n_weights()) throw std::invalid_argument("weights has the wrong size");
    if (start.size() > 0xffffffffu) throw std::invalid_argument("there are more weights than 2**32");
    if (oracle.nonnegative().empty()) return;
    bounded_.resize(start.size(), 0);
    for (const std::uint32_t j : oracle.nonnegative()) bounded_[j] = 1;
    keep_nonnegative();
}

double Online::keep_nonnegative(const SparseVector& touched) {
    double fallen = 0.0;
    if (bounded_.empty()) return fallen;
    for (const std::uint32_t j : touched.indices)
        if (j < bounded_.size() && bounded_[j]) {
            const double was = std::min(w_.raise_to_zero(j), 0.0);
            fallen += was * was;
        }
    return fallen;
}

double Online::keep_nonnegative() {
    double fallen = 0.0;
    for (const std::uint32_t j : oracle_.nonnegative()) {
        const double was = std::min(w_.raise_to_zero(j), 0.0);
        fallen += was * was;
    }
    return fallen;
}

void Online::step(std::size_t n_jobs) {
    if (outcome_ != Outcome::kRunning) return;
    fresh_ = false;
    loss_ = 0.0;
    updates_ = 0;
    before_pass(n_jobs);
    const std::vector<std::uint32_t> visits = order();
    ReadAhead ahead(oracle_.hints(), visits);
    InterruptCheck check;
    for (std::size_t i = 0; settled_ && settings_.averaged && i < visits.size(); ++i)
        if (oracle_.example_weight(i) != 0.0) count();
    for (std::size_t i = 0; !settled_ && i < visits.size(); ++i) {
        check();
        ahead.at(i);
        if (i + 2 < visits.size()) examples_.prefetch(w_, visits[i + 1], visits[i + 2]);
        look_for_gold(visits[i]);
        visit(visits[i]);
        if (settings_.averaged && oracle_.example_weight(visits[i]) != 0.0) count();
    }
    ++epochs_;
    after_pass(n_jobs);
}

void Online::look_for_gold(std::size_t example) {
    if (!examples_.partly_known() || !compares_with_gold() || oracle_.example_weight(example) == 0.0) return;
    if (examples_.complete(w_, example)) gold_changed(example);
}

void Online::before_pass(std::size_t) {}

void Online::after_pass(std::size_t) {
    objective_ = loss_;
    settled_ = updates_ == 0 && !settings_.until_settled;
    if (updates_ == 0 && settings_.until_settled) outcome_ = Outcome::kConverged;
}

std::span<const double> Online::weights() const {
    if (!fresh_) {
        result_ = settings_.averaged ? w_.average() : w_.current();
        for (const std::uint32_t j : oracle_.nonnegative()) result_[j] = std::max(result_[j], 0.0);  // rounding
    }
    fresh_ = true;
    return result_;
}

double Online::gradient_norm() const { return std::numeric_limits<double>::quiet_NaN(); }

double Online::gap() const { return std::numeric_limits<double>::infinity(); }

Facts Online::facts() const { return {{"updates", static_cast<double>(updates_)}}; }

std::vector<std::uint32_t> Online::order() const {
    std::vector<std::uint32_t> order(oracle_.n_examples());
    std::iota(order.begin(), order.end(), 0U);
    if (!settings_.shuffle) return order;
    Random random(settings_.seed, epochs_);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    return order;
}

const SparseVector& Online::difference(std::size_t example, const Output& found) {
    examples_.prefetch_update(w_);
    examples_.difference(w_, example, found, difference_);
    return difference_;
}

const std::vector<Rival>& Online::rivals(std::size_t example, std::size_t k, double nu) {
    const std::vector<Output> found = examples_.kbest(w_, example, k, nu);
    std::size_t n = 0;
    for (const Output& one : found) {
        if (rivals_.size() == n) rivals_.emplace_back();
        examples_.difference(w_, example, one, rivals_[n].difference);
        rivals_[n].cost = one.cost;
        if (!rivals_[n].difference.empty() || one.cost != 0.0) ++n;
    }
    rivals_.resize(n);
    return rivals_;
}

State Online::state() const {
    State out{{"weights", w_.state()},
              {"grown", grown(oracle_)},
              {"pass", std::vector<double>{static_cast<double>(epochs_), objective_, loss_,
                                           static_cast<double>(updates_), static_cast<double>(outcome_)}}};
    examples_.save(out);
    save(out);
    return out;
}

void Online::restore(const State& state) {
    const auto& pass = numbers(state, "pass", 5);
    const auto grown = state.find("grown");
    const auto weights = state.find("weights");
    const auto* added = grown == state.end() ? nullptr : std::get_if<std::vector<double>>(&grown->second);
    const auto* values = weights == state.end() ? nullptr : std::get_if<std::vector<double>>(&weights->second);
    if (added == nullptr || values == nullptr) throw std::invalid_argument("state is of another learner");
    grow_again(oracle_, *added);
    w_.restore(*values);
    if (w_.size() > oracle_.n_weights()) throw std::invalid_argument("state is of another training set");
    w_.grow(oracle_.n_weights());
    epochs_ = static_cast<std::size_t>(pass[0]);
    objective_ = pass[1];
    loss_ = pass[2];
    updates_ = static_cast<std::size_t>(pass[3]);
    outcome_ = static_cast<Outcome>(static_cast<int>(pass[4]));
    fresh_ = false;
    examples_.load(state);
    load(state);
}

}  // namespace tw::learners
