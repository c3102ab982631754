#include "frank_wolfe.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

namespace tw::learners {
namespace {

constexpr double kSmallestScale = 1e-100;

}  // namespace

FrankWolfe::FrankWolfe(Oracle& oracle, const OnlineSettings& order, const FrankWolfeSettings& settings,
                       std::span<const double> start)
    : Online(oracle, {order.seed, order.shuffle, false}, start),
      how_(settings),
      centre_(start),
      blocks_(oracle.n_examples()),
      gap_(std::numeric_limits<double>::infinity()),
      estimate_(gap_) {}

std::span<const double> FrankWolfe::weights() const {
    result_ = how_.averaging == Averaging::kNone ? w_.current() : w_.average();
    return result_;
}

void FrankWolfe::visit(std::size_t example) {
    visits_ += 1.0;
    const double C = how_.C * oracle_.example_weight(example);
    if (C > 0.0) {
        const double cost = most_violated(examples_, w_, example, how_.rescaling, difference_);
        places_.grow(w_.size());
        Block& block = blocks_[example];
        // The slope of the dual towards the corner: what this example has in the duality gap.
        const double rise = C * cost - block.linear;
        const double slope = rise - C * w_.dot(difference_) + block.scale * w_.dot(block.stored);
        if (slope > 0.0) {
            estimate_ += slope;
            const double gamma = step_size(block, C, slope);
            move(block, C, gamma);
            block.linear += gamma * rise;
            changed();
        }
    }
    if (how_.averaging == Averaging::kUniform) w_.count();
    if (how_.averaging == Averaging::kWeighted) w_.count(visits_);
}

void FrankWolfe::gold_changed(std::size_t example) {
    Block& block = blocks_[example];
    w_.add(block.stored, -block.scale);
    block = {};
    changed();
}

double FrankWolfe::step_size(const Block& block, double C, double slope) {
    if (!how_.line_search) {
        const auto n = static_cast<double>(oracle_.n_examples());
        return 2.0 * n / (visits_ - 1.0 + 2.0 * n);
    }
    const double distance = C * C * difference_.squared_norm() -
                            2.0 * C * block.scale * places_.dot(block.stored, difference_) +
                            block.scale * block.scale * block.stored.squared_norm();
    return distance > slope ? slope / distance : 1.0;
}

// block <- (1 - gamma) block + gamma * corner, and the weights by as much
void FrankWolfe::move(Block& block, double C, double gamma) {
    w_.add(block.stored, -gamma * block.scale);
    w_.add(difference_, gamma * C);
    block.scale *= 1.0 - gamma;
    if (block.scale < kSmallestScale) {
        block.stored.clear();
        block.scale = 1.0;
    }
    places_.add(block.stored, difference_, gamma * C / block.scale);
}

void FrankWolfe::before_pass(std::size_t) { estimate_ = 0.0; }

void FrankWolfe::after_pass(std::size_t n_jobs) {
    dual_ = dual();
    exact_ = false;
    objective_ = dual_ + estimate_;
    if (epochs_ % how_.gap_every == 0 || estimate_ <= how_.tol * objective_) evaluate(n_jobs);
    // No block can rise: only an average that still remembers where it came from is away from the optimum.
    if (updates_ == 0 && how_.averaging == Averaging::kNone && examples_.stale(w_, n_jobs).empty())
        outcome_ = Outcome::kConverged;
}

void FrankWolfe::evaluate(std::size_t n_jobs) {
    if (exact_) return;
    const auto at = weights();
    const double distance = centre_.squared_distance(at);
    AveragedWeights w(at);
    objective_ = 0.5 * distance + how_.C * hinge_sum(examples_, w, n_jobs, how_.rescaling);
    w_.grow(oracle_.n_weights());
    gap_ = std::max(0.0, objective_ - dual_);
    exact_ = true;
    if (gap_ <= how_.tol * objective_ && examples_.stale(w_, n_jobs).empty()) outcome_ = Outcome::kConverged;
}

double FrankWolfe::dual() const {
    double linear = 0.0;
    for (const Block& block : blocks_) linear += block.linear;
    const auto w = w_.current();
    return linear - centre_.dot_of_distance(w) - 0.5 * centre_.squared_distance(w);
}

std::size_t FrankWolfe::memory_bytes() const {
    std::size_t total = blocks_.capacity() * sizeof(Block) + places_.memory_bytes() + centre_.memory_bytes() +
                        (how_.averaging == Averaging::kNone ? 1 : 2) * w_.size() * sizeof(double);
    for (const Block& block : blocks_)
        total += block.stored.indices.capacity() * sizeof(block.stored.indices[0]) +
                 block.stored.values.capacity() * sizeof(double);
    return total;
}

Facts FrankWolfe::facts() const {
    double nonzeros = 0.0;
    for (const Block& block : blocks_) nonzeros += static_cast<double>(block.stored.indices.size());
    return {{"updates", static_cast<double>(updates_)},
            {"dual", dual_},
            {"gap", exact_ ? gap_ : std::numeric_limits<double>::quiet_NaN()},
            {"gap_estimate", estimate_},
            {"nonzeros", nonzeros},
            {"memory_bytes", static_cast<double>(memory_bytes())}};
}

void FrankWolfe::save(State& state) const {
    std::vector<double> sizes, scales, linear, indices, values;
    for (const Block& block : blocks_) {
        sizes.push_back(static_cast<double>(block.stored.indices.size()));
        scales.push_back(block.scale);
        linear.push_back(block.linear);
        indices.insert(indices.end(), block.stored.indices.begin(), block.stored.indices.end());
        values.insert(values.end(), block.stored.values.begin(), block.stored.values.end());
    }
    state["centre"] = centre_.values();
    state["block_sizes"] = std::move(sizes);
    state["block_scales"] = std::move(scales);
    state["block_linear"] = std::move(linear);
    state["block_indices"] = std::move(indices);
    state["block_values"] = std::move(values);
    state["frank_wolfe"] = std::vector<double>{visits_, dual_, gap_, estimate_, exact_ ? 1.0 : 0.0};
}

void FrankWolfe::load(const State& state) {
    centre_.restore(state, w_.size());
    const auto& sizes = numbers(state, "block_sizes", blocks_.size());
    const auto& scales = numbers(state, "block_scales", blocks_.size());
    const auto& linear = numbers(state, "block_linear", blocks_.size());
    double total = 0.0;
    for (const double size : sizes) {
        if (!(size >= 0.0 && size <= static_cast<double>(w_.size())))
            throw std::invalid_argument("state['block_sizes'] does not fit this training set");
        total += size;
    }
    const auto& indices = numbers(state, "block_indices", static_cast<std::size_t>(total));
    const auto& values = numbers(state, "block_values", static_cast<std::size_t>(total));
    for (const double index : indices)
        if (!(index >= 0.0 && index < static_cast<double>(w_.size())))
            throw std::invalid_argument("state['block_indices'] does not fit this training set");
    std::size_t from = 0;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        Block& block = blocks_[i];
        const auto n = static_cast<std::size_t>(sizes[i]);
        block.stored.indices.resize(n);
        for (std::size_t k = 0; k < n; ++k) block.stored.indices[k] = static_cast<std::uint32_t>(indices[from + k]);
        const auto first = values.begin() + static_cast<std::ptrdiff_t>(from);
        block.stored.values.assign(first, first + static_cast<std::ptrdiff_t>(n));
        block.scale = scales[i];
        block.linear = linear[i];
        from += n;
    }
    const auto& rest = numbers(state, "frank_wolfe", 5);
    visits_ = rest[0];
    dual_ = rest[1];
    gap_ = rest[2];
    estimate_ = rest[3];
    exact_ = rest[4] != 0.0;
}

}  // namespace tw::learners
