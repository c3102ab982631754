#include "dual_method.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace tw::learners {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint8_t kLongestRest = 3;  // an example is decoded at least every 2^3 passes

bool between(double value, double most) { return value >= 0.0 && value <= most; }

}  // namespace

DualMethod::DualMethod(Oracle& oracle, const OnlineSettings& settings, const DualSettings& dual,
                       std::span<const double> start)
    : Online(oracle, settings, start),
      dual_settings_(dual),
      sets_(oracle.n_examples()),
      dual_(kUnknown),
      primal_(kUnknown),
      gap_(std::numeric_limits<double>::infinity()),
      centre_(start),
      due_(oracle.n_examples(), 0),
      quiet_(oracle.n_examples(), 0) {
    for (std::size_t n = 0; n < sets_.size(); ++n) sets_[n].gold = C_of(n);
}

void DualMethod::before_pass(std::size_t) { skipped_ = 0; }

void DualMethod::visit(std::size_t example) {
    if (!worth_decoding(example)) {
        ++skipped_;
        process(example, 0);
        return;
    }
    const Processed done = process(example, dual_settings_.k);
    met(C_of(example) * loss(done.loss));
    if (!dual_settings_.skip) return;
    std::uint8_t& quiet = quiet_[example];
    quiet = done.violation > dual_settings_.tau ? std::uint8_t{0} : std::min<std::uint8_t>(quiet + 1, kLongestRest);
    due_[example] = static_cast<std::uint32_t>(epochs_ + (std::size_t{1} << quiet));
}

DualMethod::Processed DualMethod::process(std::size_t example, std::size_t k) {
    WorkingSet& set = sets_[example];
    if (C_of(example) == 0.0 || (k == 0 && set.members.empty())) return {};
    const double extra = ridge(example), of_sum = extra > 0.0 ? extra * set.sum() : 0.0;
    block_.gradient.clear();
    for (const Member& member : set.members)
        block_.gradient.push_back(member.difference.dot(w_.view()) - member.cost + of_sum);
    const std::size_t n_old = set.members.size();
    Processed done;
    if (k > 0) {
        const std::vector<Rival>& found = violators(example, k);
        for (const Rival& rival : found) {
            const double margin = violation(rival);
            done.loss = std::max(done.loss, margin);
            block_.gradient.push_back(of_sum - margin);
        }
        // Nothing is stored or multiplied for an example that is satisfied as it is.
        done.violation = violation_of(block_.gradient, set, extra == 0.0);
        if (!(done.violation > dual_settings_.tau)) return done;
        block_.gradient.resize(n_old);
        for (const Rival& rival : found) {
            if (set.contains(rival.cost, rival.difference)) continue;
            set.add(rival.cost, rival.difference);
            block_.gradient.push_back(of_sum - violation(rival));
        }
    } else {
        done.violation = violation_of(block_.gradient, set, extra == 0.0);
        if (!(done.violation > dual_settings_.tau)) return done;
    }
    if (optimise(set, extra)) changed();
    return done;
}

void DualMethod::gold_changed(std::size_t example) {
    WorkingSet& set = sets_[example];
    for (const Member& member : set.members) {
        if (member.lambda == 0.0) continue;
        member.difference.unpack(unpacked_);
        w_.add(unpacked_, -member.lambda);
    }
    set.members.clear();
    set.gold = C_of(example);
    due_[example] = 0;
    quiet_[example] = 0;
    changed();
}

const std::vector<Rival>& DualMethod::violators(std::size_t example, std::size_t k) {
    if (dual_settings_.rescaling == Rescaling::kMargin) return rivals(example, k, 1.0);
    with_slack_.resize(1);
    Rival& rival = with_slack_.front();
    rival.cost = most_violated(examples_, w_, example, Rescaling::kSlack, rival.difference);
    if (rival.cost == 0.0) with_slack_.clear();
    return with_slack_;
}

// Gradients may outnumber the members: those are rivals that have no lambda yet.
double DualMethod::violation_of(std::span<const double> gradient, const WorkingSet& set, bool with_gold) const {
    std::vector<double> lambda(gradient.size(), 0.0);
    for (std::size_t i = 0; i < set.members.size(); ++i) lambda[i] = set.members[i].lambda;
    return with_gold ? pair_violation(gradient, lambda, set.gold) : single_violation(gradient, lambda);
}

bool DualMethod::optimise(WorkingSet& set, double extra) {
    block_.n = set.members.size();
    set.gram(products_, w_.size(), block_.K);
    if (extra > 0.0)
        for (double& product : block_.K) product += extra;
    block_.lambda.clear();
    for (const Member& member : set.members) block_.lambda.push_back(member.lambda);
    if (extra > 0.0)
        coordinate_ascent(block_, dual_settings_.tau);
    else
        smo(block_, set.gold, dual_settings_.tau);
    bool moved = false;
    for (std::size_t i = 0; i < block_.n; ++i) {
        Member& member = set.members[i];
        const double alpha = block_.lambda[i] - member.lambda;
        if (alpha == 0.0) continue;
        member.lambda = block_.lambda[i];
        member.difference.unpack(unpacked_);
        w_.add(unpacked_, alpha);
        moved = true;
    }
    set.remove_inactive();
    if (dual_settings_.growth > 0) set.merge(dual_settings_.growth, products_, w_.size());
    return moved;
}

void DualMethod::after_pass(std::size_t n_jobs) {
    const bool at_rest = updates_ == 0, solved = at_rest && skipped_ == 0;
    if (at_rest && skipped_ > 0) decode_all_again();
    count_memory();
    primal_ = kUnknown;
    gap_ = std::numeric_limits<double>::infinity();
    dual_ = dual();
    objective_ = penalty() + loss_;  // the losses as they were met: good enough to tell when a closer look is due
    const std::size_t every = dual_settings_.gap_every;
    const bool close = objective_ - dual_ <= dual_settings_.tol * std::abs(objective_);
    if (solved || (every > 0 && (close || epochs_ % every == 0))) measure(n_jobs);
    if (!std::isfinite(objective_) || !std::isfinite(dual_))
        outcome_ = Outcome::kNotFinite;
    else if ((solved || gap_ <= dual_settings_.tol * std::abs(objective_)) && finished(n_jobs))
        outcome_ = Outcome::kConverged;
}

void DualMethod::measure(std::size_t n_jobs) {
    objective_ = penalty();
    const auto add = [&](std::size_t example, double cost, const SparseVector& difference) {
        objective_ += C_of(example) * loss(std::max(0.0, cost - w_.dot(difference)));
    };
    each_most_violated(examples_, w_, n_jobs, dual_settings_.rescaling, add);
    primal_ = objective_;
    gap_ = objective_ - dual_;
}

double DualMethod::dual() const {
    const std::vector<double>& centre = centre_.values();
    double sum = 0.5 * centre_.dot(centre) - 0.5 * w_.squared_norm();
    for (std::size_t n = 0; n < sets_.size(); ++n) {
        if (sets_[n].members.empty()) continue;
        for (const Member& member : sets_[n].members) sum += member.lambda * member.cost;
        if (const double extra = ridge(n); extra > 0.0) sum -= 0.5 * extra * sets_[n].sum() * sets_[n].sum();
    }
    return sum;
}

double DualMethod::penalty() const { return 0.5 * centre_.squared_distance(w_.view().stored); }

Facts DualMethod::facts() const {
    Facts out = Online::facts();
    out["dual"] = dual_;
    out["primal"] = primal_;
    out["gap"] = gap_;
    out["working_set"] = static_cast<double>(n_members_);
    out["memory_bytes"] = static_cast<double>(memory_bytes_);
    out["skipped"] = static_cast<double>(skipped_);
    return out;
}

void DualMethod::count_memory() {
    n_members_ = 0;
    memory_bytes_ = sets_.capacity() * sizeof(WorkingSet) + products_.memory_bytes() + centre_.memory_bytes();
    for (const WorkingSet& set : sets_) {
        n_members_ += set.members.size();
        memory_bytes_ += set.memory_bytes();
    }
}

void DualMethod::save(State& state) const {
    std::vector<double> examples;  // each: lambda of gold, number of members, when it is due, how often quiet
    std::vector<Member> members;
    for (std::size_t n = 0; n < sets_.size(); ++n) {
        examples.insert(examples.end(), {sets_[n].gold, static_cast<double>(sets_[n].members.size()),
                                         static_cast<double>(due_[n]), static_cast<double>(quiet_[n])});
        members.insert(members.end(), sets_[n].members.begin(), sets_[n].members.end());
    }
    state["examples"] = std::move(examples);
    save_members(members, "member", state);
    state["centre"] = centre_.values();
    state["gap"] = std::vector<double>{dual_, primal_, gap_};
}

void DualMethod::load(const State& state) {
    const auto &examples = numbers(state, "examples", 4 * sets_.size()), &gap = numbers(state, "gap", 3);
    const std::invalid_argument wrong("state does not fit together: it is damaged or of another training set");
    std::vector<Member> members = load_members(state, "member", w_.size());
    std::size_t m = 0;
    for (std::size_t n = 0; n < sets_.size(); ++n) {
        const double *of_example = &examples[4 * n], left = static_cast<double>(members.size() - m);
        if (!between(of_example[1], left) || !between(of_example[2], 4e9) || !between(of_example[3], kLongestRest))
            throw wrong;
        const std::size_t end = m + static_cast<std::size_t>(of_example[1]);
        sets_[n].gold = of_example[0];
        sets_[n].members.clear();
        for (; m < end; ++m) sets_[n].members.push_back(std::move(members[m]));
        due_[n] = static_cast<std::uint32_t>(of_example[2]);
        quiet_[n] = static_cast<std::uint8_t>(of_example[3]);
    }
    if (m != members.size()) throw wrong;
    centre_.restore(state, w_.size());
    dual_ = gap[0];
    primal_ = gap[1];
    gap_ = gap[2];
    count_memory();
}

}  // namespace tw::learners
