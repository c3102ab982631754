#include "subgradient.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "../base/parallel.hpp"

namespace tw::learners {

Subgradient::Subgradient(Oracle& oracle, const OnlineSettings& settings, const DescentSettings& descent,
                         std::unique_ptr<Loss> loss, std::span<const double> start)
    : Online(oracle, settings, start), descent_(descent), loss_of_(std::move(loss)) {
    // The first steps are long enough to forget where they began: weights that are worth starting from have had a pass.
    const bool warm = std::ranges::any_of(start, [](double w) { return w != 0.0; });
    const std::size_t n = oracle.n_examples(), size = descent.batch_size == 0 ? n : std::min(descent.batch_size, n);
    if (warm && size > 0) head_start_ = (n + size - 1) / size;
}

void Subgradient::before_pass(std::size_t n_jobs) {
    n_jobs_ = n_jobs;
    loss_of_->begin(examples_, w_, epochs_, n_jobs);
}

void Subgradient::visit(std::size_t example) {
    batch_.push_back(static_cast<std::uint32_t>(example));
    if (batch_.size() == descent_.batch_size) descend();
}

void Subgradient::descend() {
    if (sought_.size() < batch_.size()) sought_.resize(batch_.size());
    parallel_for(batch_.size(), n_jobs_, [this](std::size_t i, std::size_t) {
        if (oracle_.example_weight(batch_[i]) != 0.0) loss_of_->seek(examples_, w_, batch_[i], sought_[i]);
    });
    pushes_.clear();
    for (std::size_t i = 0; i < batch_.size(); ++i) {
        const double weight = oracle_.example_weight(batch_[i]);
        if (weight == 0.0) continue;
        const double factor = weight / static_cast<double>(batch_.size());
        met(weight * loss_of_->settle(examples_, w_, batch_[i], sought_[i], factor, pushes_));
    }
    batch_.clear();
    ++steps_;
    move(descent_.step.at(head_start_ + steps_), pushes_);
    if (pushes_.size() > 0) changed();
    if (settings_.averaged && steps_ > descent_.average_after) w_.count();
}

void Subgradient::move(const Step& step, const Pushes& pushes) {
    for (std::size_t i = 0; i < pushes.size(); ++i) w_.add(pushes[i].difference, step.size * pushes[i].factor);
    w_.multiply(1.0 - step.shrink);
    project(pushes, 1.0 - step.shrink);
}

double Subgradient::project(const Pushes& pushes, double kept) {
    double fallen = 0.0;
    for (std::size_t i = 0; i < pushes.size(); ++i) fallen += keep_nonnegative(pushes[i].difference);
    return kept < 0.0 ? fallen + keep_nonnegative() : fallen;  // a step so long turned all signs
}

void Subgradient::after_pass(std::size_t) {
    if (!batch_.empty()) descend();
    const double n = std::max(static_cast<double>(oracle_.n_examples()), 1.0);
    objective_ = 0.5 * descent_.step.lam * w_.squared_norm() + loss_ / n;
    if (!std::isfinite(objective_)) outcome_ = Outcome::kNotFinite;
}

Facts Subgradient::facts() const {
    Facts facts = Online::facts();
    facts["mean_loss"] = loss_ / std::max(static_cast<double>(oracle_.n_examples()), 1.0);
    facts["norm"] = std::sqrt(w_.squared_norm());
    return facts;
}

void Subgradient::save(State& state) const {
    state["steps"] = std::vector<double>{static_cast<double>(steps_), static_cast<double>(head_start_)};
    loss_of_->save(state);
}

void Subgradient::load(const State& state) {
    const std::vector<double>& steps = numbers(state, "steps", 2);
    for (const double count : steps)
        if (!(count >= 0.0 && count < 9e15)) throw std::invalid_argument("state['steps'] is no number of steps");
    steps_ = static_cast<std::uint64_t>(steps[0]);
    head_start_ = static_cast<std::uint64_t>(steps[1]);
    loss_of_->load(state, oracle_.n_examples(), w_.size());
}

}  // namespace tw::learners
