#include "cutting_plane.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "simplex_qp.hpp"
#include "vectors.hpp"

namespace tw::learners {
namespace {

constexpr std::size_t kIdleTooLong = 50;  // iterations, as in the paper
constexpr double kSolverShare = 1e-3;     // of epsilon: how exactly the quadratic program is solved
constexpr double kRounding = 1e-12;       // of the largest offset: its gradients are not told apart below

double dot_of_common(const std::vector<double>& x, const std::vector<double>& y) {
    return dot(x.data(), y.data(), std::min(x.size(), y.size()));
}

double total_weight(const Oracle& oracle) {
    double sum = 0.0;
    for (std::size_t i = 0; i < oracle.n_examples(); ++i) sum += oracle.example_weight(i);
    return sum;
}

}  // namespace

CuttingPlane::CuttingPlane(Oracle& oracle, double C, double epsilon, Rescaling rescaling, std::span<const double> start)
    : oracle_(oracle),
      examples_(oracle),
      rescaling_(rescaling),
      C_(C),
      epsilon_(epsilon * total_weight(oracle)),
      centre_(start),
      w_(start),
      best_(start.begin(), start.end()),
      objective_(std::numeric_limits<double>::infinity()),
      dual_(0.0) {
    if (start.size() > 0xffffffffu) throw std::invalid_argument("there are more weights than 2**32");
}

double CuttingPlane::gradient_norm() const { return std::numeric_limits<double>::quiet_NaN(); }

void CuttingPlane::step(std::size_t n_jobs) {
    if (outcome_ != Outcome::kRunning) return;
    if (round_is_over_) begin_round();
    if (passes_ == 0 && examples_.partly_known()) find_first_gold();
    if (planes_.empty()) keep_best(find_plane(n_jobs));
    const double dual = dual_, objective = objective_;
    solve();
    keep_best(find_plane(n_jobs));
    ++iterations_;
    drop_idle();
    Outcome end = Outcome::kRunning;
    if (objective_ - dual_ <= C_ * epsilon_)
        end = Outcome::kConverged;
    else if (dual_ <= dual && objective_ >= objective && iterations_ > 1)
        end = Outcome::kRounding;
    if (end == Outcome::kRunning) return;
    round_is_over_ = !examples_.stale(AveragedWeights(best_), n_jobs).empty();
    if (!round_is_over_) outcome_ = end;
}

void CuttingPlane::find_first_gold() {
    AveragedWeights w(best_);
    SparseVector difference;
    InterruptCheck check;
    for (std::size_t i = 0; centre_.values().empty() && i < oracle_.n_examples(); ++i) {
        check();
        if (oracle_.example_weight(i) == 0.0) continue;
        examples_.complete(w, i);
        examples_.difference(w, i, examples_.kbest(w, i, 1, 0.0).at(0), difference);
        w.add(difference, oracle_.example_weight(i));
    }
    for (std::size_t i = 0; i < oracle_.n_examples(); ++i) examples_.complete(w, i);
    w_.grow(oracle_.n_weights());
}

void CuttingPlane::begin_round() {
    w_ = AveragedWeights(best_);
    for (std::size_t i = 0; i < oracle_.n_examples(); ++i)
        if (oracle_.example_weight(i) != 0.0) examples_.complete(w_, i);
    planes_.clear();
    gram_.clear();
    alpha_.clear();
    objective_ = std::numeric_limits<double>::infinity();
    dual_ = 0.0;
    round_is_over_ = false;
}

void CuttingPlane::keep_best(double loss) {
    auto at = w_.current();
    const double objective = 0.5 * centre_.squared_distance(at) + C_ * loss;
    if (objective < objective_) {
        objective_ = objective;
        best_ = std::move(at);
    } else {
        best_.resize(at.size(), 0.0);
    }
}

double CuttingPlane::find_plane(std::size_t n_jobs) {
    Plane plane;
    double loss = 0.0;
    const auto add = [&](std::size_t example, double cost, const SparseVector& difference) {
        const double weight = oracle_.example_weight(example), violation = cost - w_.dot(difference);
        if (!(violation > 0.0)) return;
        loss += weight * violation;
        plane.offset += weight * cost;
        if (plane.slope.size() < w_.size()) plane.slope.resize(w_.size(), 0.0);
        for (std::size_t i = 0; i < difference.size(); ++i)
            plane.slope[difference.indices[i]] += weight * difference.values[i];
    };
    each_most_violated(examples_, w_, n_jobs, rescaling_, add);
    ++passes_;
    plane.offset -= centre_.dot(plane.slope);
    const std::size_t n = planes_.size();
    std::vector<double> products(n + 1);
    parallel_for(n + 1, plane.slope.size() < kWorthThreads ? 1 : n_jobs, [&](std::size_t i, std::size_t) {
        products[i] = dot_of_common(i < n ? planes_[i].slope : plane.slope, plane.slope);
    });
    planes_.push_back(std::move(plane));
    std::vector<double> gram;
    gram.reserve((n + 1) * (n + 1));
    for (std::size_t i = 0; i < n; ++i) {
        gram.insert(gram.end(), gram_.begin() + static_cast<std::ptrdiff_t>(i * n),
                    gram_.begin() + static_cast<std::ptrdiff_t>((i + 1) * n));
        gram.push_back(products[i]);
    }
    gram.insert(gram.end(), products.begin(), products.end());
    gram_ = std::move(gram);
    alpha_.push_back(0.0);
    return loss;
}

void CuttingPlane::solve() {
    const std::size_t n = planes_.size();
    std::vector<double> offsets(n);
    double largest = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        offsets[i] = planes_[i].offset;
        largest = std::max(largest, std::abs(offsets[i]));
    }
    solve_on_simplex(gram_, offsets, C_, std::max(kSolverShare * epsilon_, kRounding * largest), alpha_);
    std::vector<double> w(w_.size());
    for (std::size_t j = 0; j < w.size(); ++j) w[j] = centre_.at(j);
    double value = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        if (alpha_[i] == 0.0) continue;
        value += alpha_[i] * offsets[i];
        for (std::size_t j = 0; j < n; ++j) value -= 0.5 * alpha_[i] * alpha_[j] * gram_[i * n + j];
        const auto& slope = planes_[i].slope;
        for (std::size_t j = 0; j < slope.size(); ++j) w[j] += alpha_[i] * slope[j];
    }
    dual_ = std::max(dual_, value);
    w_ = AveragedWeights(w);
}

void CuttingPlane::drop_idle() {
    const std::size_t n = planes_.size();
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < n; ++i) {
        planes_[i].idle = alpha_[i] > 0.0 ? 0 : planes_[i].idle + 1;
        if (planes_[i].idle <= kIdleTooLong) kept.push_back(i);
    }
    if (kept.size() == n) return;
    std::vector<double> gram;
    for (const std::size_t i : kept)
        for (const std::size_t j : kept) gram.push_back(gram_[i * n + j]);
    gram_ = std::move(gram);
    for (std::size_t k = 0; k < kept.size(); ++k) {
        if (kept[k] == k) continue;
        planes_[k] = std::move(planes_[kept[k]]);
        alpha_[k] = alpha_[kept[k]];
    }
    planes_.resize(kept.size());
    alpha_.resize(kept.size());
}

std::size_t CuttingPlane::memory_bytes() const {
    std::size_t numbers = gram_.capacity() + best_.capacity() + w_.size();
    for (const Plane& plane : planes_) numbers += plane.slope.capacity();
    return numbers * sizeof(double) + centre_.memory_bytes();
}

Facts CuttingPlane::facts() const {
    double active = 0.0;
    for (const double a : alpha_) active += a > 0.0 ? 1.0 : 0.0;
    return {{"dual", dual_},
            {"gap", gap()},
            {"planes", static_cast<double>(planes_.size())},
            {"active_planes", active},
            {"memory_bytes", static_cast<double>(memory_bytes())}};
}

State CuttingPlane::state() const {
    std::vector<double> sizes, offsets, idle, slopes;
    for (const Plane& plane : planes_) {
        sizes.push_back(static_cast<double>(plane.slope.size()));
        offsets.push_back(plane.offset);
        idle.push_back(static_cast<double>(plane.idle));
        slopes.insert(slopes.end(), plane.slope.begin(), plane.slope.end());
    }
    State out{{"weights", w_.state()},
              {"grown", grown(oracle_)},
              {"centre", centre_.values()},
              {"best", best_},
              {"plane_sizes", std::move(sizes)},
              {"plane_offsets", std::move(offsets)},
              {"plane_idle", std::move(idle)},
              {"plane_slopes", std::move(slopes)},
              {"gram", gram_},
              {"alpha", alpha_},
              {"run", std::vector<double>{objective_, dual_, static_cast<double>(iterations_),
                                          static_cast<double>(passes_), static_cast<double>(outcome_)}}};
    examples_.save(out);
    if (examples_.partly_known()) out["round_is_over"] = std::vector<double>{round_is_over_ ? 1.0 : 0.0};
    return out;
}

void CuttingPlane::restore(const State& state) {
    const auto& run = numbers(state, "run", 5);
    grow_again(oracle_, any_numbers(state, "grown"));
    w_.restore(any_numbers(state, "weights"));
    if (w_.size() > oracle_.n_weights()) throw std::invalid_argument("state is of another training set");
    w_.grow(oracle_.n_weights());
    centre_.restore(state, w_.size());
    best_ = any_numbers(state, "best");
    if (best_.size() > w_.size()) throw std::invalid_argument("state is of another training set");
    examples_.load(state);
    if (examples_.partly_known()) round_is_over_ = numbers(state, "round_is_over", 1)[0] != 0.0;
    const auto& sizes = any_numbers(state, "plane_sizes");
    const std::size_t n = sizes.size();
    const auto& offsets = numbers(state, "plane_offsets", n);
    const auto& idle = numbers(state, "plane_idle", n);
    const auto& slopes = any_numbers(state, "plane_slopes");
    std::vector<Plane> planes(n);
    std::size_t from = 0;
    for (std::size_t i = 0; i < n; ++i) {
        if (!(sizes[i] >= 0.0 && sizes[i] <= static_cast<double>(w_.size()) &&
              sizes[i] <= static_cast<double>(slopes.size() - from)))
            throw std::invalid_argument("state['plane_sizes'] does not fit");
        const auto first = slopes.begin() + static_cast<std::ptrdiff_t>(from);
        planes[i].slope.assign(first, first + static_cast<std::ptrdiff_t>(sizes[i]));
        planes[i].offset = offsets[i];
        planes[i].idle = static_cast<std::size_t>(std::clamp(idle[i], 0.0, static_cast<double>(kIdleTooLong)));
        from += planes[i].slope.size();
    }
    gram_ = numbers(state, "gram", n * n);
    alpha_ = numbers(state, "alpha", n);
    planes_ = std::move(planes);
    objective_ = run[0];
    dual_ = run[1];
    iterations_ = static_cast<std::size_t>(run[2]);
    passes_ = static_cast<std::size_t>(run[3]);
    outcome_ = static_cast<Outcome>(static_cast<int>(run[4]));
}

}  // namespace tw::learners
