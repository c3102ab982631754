#include "sdm.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "hinge.hpp"

namespace tw::learners {

Sdm::Sdm(Oracle& oracle, const OnlineSettings& settings, const DualSettings& dual, Ramp ramp, std::size_t inner,
         std::span<const double> start)
    : DualMethod(oracle, settings, dual, start),
      ramp_(ramp),
      inner_(inner),
      tangents_(ramp == Ramp::kNone ? 0 : oracle.n_examples()),
      bound_(std::numeric_limits<double>::quiet_NaN()) {}

void Sdm::before_pass(std::size_t n_jobs) {
    DualMethod::before_pass(n_jobs);
    if (ramp_ == Ramp::kNone || !round_is_over_) return;
    if (std::vector<Member> tangents = new_tangents(n_jobs); !tangents.empty()) shift(std::move(tangents));
    ++rounds_;
    passes_in_round_ = 0;
    round_is_over_ = false;
}

void Sdm::after_pass(std::size_t n_jobs) {
    bound_ = std::numeric_limits<double>::quiet_NaN();
    DualMethod::after_pass(n_jobs);
    if (++passes_in_round_ >= inner_) round_is_over_ = true;
}

// With the tangents' own constants, so that dual and bound are about the ramp and not only about where it is least.
double Sdm::dual() const {
    double sum = DualMethod::dual();
    for (const Member& tangent : tangents_) sum -= tangent.lambda * nu() * tangent.cost;
    return sum;
}

void Sdm::measure(std::size_t n_jobs) {
    DualMethod::measure(n_jobs);
    if (ramp_ == Ramp::kNone) return;
    bound_ = objective_;
    for (const Member& tangent : tangents_)
        if (tangent.lambda != 0.0) bound_ += tangent.lambda * (tangent.difference.dot(w_.view()) - nu() * tangent.cost);
    const auto subtract = [&](std::size_t example, double cost, const SparseVector& difference) {
        objective_ -= C_of(example) * concave(cost, w_.dot(difference));
    };
    each_best(examples_, w_, n_jobs, nu(), subtract);
    primal_ = objective_;
    gap_ = bound_ - dual_;
}

bool Sdm::finished(std::size_t n_jobs) {
    if (ramp_ == Ramp::kNone) return DualMethod::finished(n_jobs);
    if (new_tangents(n_jobs).empty()) return true;
    round_is_over_ = true;
    return false;
}

std::vector<Member> Sdm::new_tangents(std::size_t n_jobs) {
    std::vector<Member> tangents(tangents_.size());
    bool moved = false;
    const auto take = [&](std::size_t n, double cost, const SparseVector& difference) {
        if (!(concave(cost, w_.dot(difference)) > 0.0)) {
            moved |= tangents_[n].lambda != 0.0;
            return;
        }
        moved |= tangents_[n].lambda == 0.0 || !tangents_[n].difference.same(difference);
        tangents[n] = {PackedVector(difference), cost, C_of(n), {}};
    };
    each_best(examples_, w_, n_jobs, nu(), take);
    if (!moved) tangents.clear();
    return tangents;
}

void Sdm::shift(std::vector<Member> tangents) {
    for (const auto& [members, sign] : {std::pair(&tangents_, 1.0), std::pair(&tangents, -1.0)})
        for (const Member& tangent : *members) {
            if (tangent.lambda == 0.0) continue;
            tangent.difference.unpack(unpacked_);
            w_.add(unpacked_, sign * tangent.lambda);
        }
    tangents_ = std::move(tangents);
    decode_all_again();
}

Facts Sdm::facts() const {
    Facts out = DualMethod::facts();
    if (ramp_ == Ramp::kNone) return out;
    out["bound"] = bound_;
    out["round"] = static_cast<double>(rounds_);
    out["tangents"] = static_cast<double>(
        std::count_if(tangents_.begin(), tangents_.end(), [](const Member& member) { return member.lambda != 0.0; }));
    return out;
}

void Sdm::save(State& state) const {
    DualMethod::save(state);
    if (ramp_ == Ramp::kNone) return;
    state["round"] = std::vector<double>{static_cast<double>(rounds_), static_cast<double>(passes_in_round_),
                                         round_is_over_ ? 1.0 : 0.0, bound_};
    save_members(tangents_, "tangent", state);
}

void Sdm::load(const State& state) {
    DualMethod::load(state);
    if (ramp_ == Ramp::kNone) return;
    const auto& round = numbers(state, "round", 4);
    rounds_ = static_cast<std::size_t>(round[0]);
    passes_in_round_ = static_cast<std::size_t>(round[1]);
    round_is_over_ = round[2] != 0.0;
    bound_ = round[3];
    std::vector<Member> tangents = load_members(state, "tangent", w_.size());
    if (tangents.size() != tangents_.size()) throw std::invalid_argument("state is of another training set");
    tangents_ = std::move(tangents);
}

}  // namespace tw::learners
