#include "history.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "vectors.hpp"

namespace tw::learners {
namespace {

// A step counts only when s.y > kLeastCurvature |s| |y|: below that its curvature is rounding, or negative.
constexpr double kLeastCurvature = 1e-10;
enum Own : std::size_t { kSY, kYHY, kSG, kYHG, kSS, kYY, kGG, kOwnSums };  // sums of the new step itself
constexpr std::size_t kSumsPerSlot = 4;

struct Buffers {  // of one block
    std::array<double, kBlock> g, y, hg, hy;
};

}  // namespace

History::History(std::size_t n, std::size_t memory)
    : n_(n),
      memory_(memory),
      n_slots_(memory + 1),
      s_(n_slots_),
      y_(n_slots_),
      sy_(n_slots_ * n_slots_, 0.0),
      yhy_(n_slots_ * n_slots_, 0.0),
      sg_(n_slots_, 0.0),
      yhg_(n_slots_, 0.0) {}

double History::take(const Move& move, std::size_t n_jobs) {
    const std::size_t slot = free_slot();
    s_[slot].resize(n_);
    y_[slot].resize(n_);
    const std::size_t n_sums = kOwnSums + kSumsPerSlot * order_.size();
    const auto sums = over_blocks(n_, n_sums, n_jobs, [&](std::size_t begin, std::size_t end, double* out) {
        Buffers block;
        const std::size_t size = end - begin;
        float* s = s_[slot].data() + begin;
        float* y = y_[slot].data() + begin;
        move.steepest(begin, end, block.g.data());
        for (std::size_t j = 0; j < size; ++j) {
            const std::size_t i = begin + j;
            const double h = move.h[i];
            s[j] = static_cast<float>(move.new_point[i] - move.point[i]);
            y[j] = static_cast<float>(move.new_gradient[i] - move.gradient[i]);
            block.y[j] = y[j];
            block.hy[j] = h * block.y[j];
            block.hg[j] = h * block.g[j];
        }
        out[kGG] += dot(block.g.data(), block.g.data(), size);
        out[kYY] += dot(block.y.data(), block.y.data(), size);
        add_two_dots(s, block.y.data(), block.g.data(), size, &out[kSY], &out[kSG]);
        add_two_dots(y, block.hy.data(), block.hg.data(), size, &out[kYHY], &out[kYHG]);
        for (std::size_t j = 0; j < size; ++j) out[kSS] += static_cast<double>(s[j]) * s[j];
        double* of_slot = out + kOwnSums;
        for (const std::size_t i : order_) {
            add_two_dots(s_[i].data() + begin, block.y.data(), block.g.data(), size, of_slot, of_slot + 1);
            add_two_dots(y_[i].data() + begin, block.hy.data(), block.hg.data(), size, of_slot + 2, of_slot + 3);
            of_slot += kSumsPerSlot;
        }
    });
    const double* of_slot = sums.data() + kOwnSums;
    for (const std::size_t i : order_) {
        at(sy_, i, slot) = of_slot[0];
        sg_[i] = of_slot[1];
        at(yhy_, i, slot) = at(yhy_, slot, i) = of_slot[2];
        yhg_[i] = of_slot[3];
        of_slot += kSumsPerSlot;
    }
    if (memory_ > 0 && sums[kSY] > kLeastCurvature * std::sqrt(sums[kSS] * sums[kYY])) {
        at(sy_, slot, slot) = sums[kSY];
        at(yhy_, slot, slot) = sums[kYHY];
        sg_[slot] = sums[kSG];
        yhg_[slot] = sums[kYHG];
        if (order_.size() == memory_) order_.erase(order_.begin());
        order_.push_back(slot);
    }
    return sums[kGG];
}

History::Combination History::direction() const {
    Combination c;
    const std::size_t m = order_.size();
    c.a.resize(m);
    c.b.resize(m);
    if (m == 0) return c;
    const std::size_t newest = order_.back();
    c.gamma = at(sy_, newest, newest) / at(yhy_, newest, newest);
    for (std::size_t i = m; i-- > 0;) {  // newest first
        const std::size_t p = order_[i];
        double sq = sg_[p];
        for (std::size_t j = i + 1; j < m; ++j) sq -= c.a[j] * at(sy_, p, order_[j]);
        c.a[i] = sq / at(sy_, p, p);
    }
    for (std::size_t i = 0; i < m; ++i) {  // oldest first
        const std::size_t p = order_[i];
        double yr = yhg_[p];
        for (std::size_t j = 0; j < m; ++j) yr -= c.a[j] * at(yhy_, p, order_[j]);
        yr *= c.gamma;
        for (std::size_t j = 0; j < i; ++j) yr += c.b[j] * at(sy_, order_[j], p);
        c.b[i] = c.a[i] - yr / at(sy_, p, p);
    }
    return c;
}

void History::combine(const Combination& c, std::size_t begin, std::size_t end, const double* steepest,
                      std::span<const float> h, double* out) const {
    const std::size_t size = end - begin;
    std::copy_n(steepest, size, out);
    for (std::size_t i = 0; i < order_.size(); ++i) {
        const float* y = y_[order_[i]].data() + begin;
        for (std::size_t j = 0; j < size; ++j) out[j] -= c.a[i] * y[j];
    }
    for (std::size_t j = 0; j < size; ++j) out[j] *= -c.gamma * h[begin + j];
    for (std::size_t i = 0; i < order_.size(); ++i) {
        const float* s = s_[order_[i]].data() + begin;
        for (std::size_t j = 0; j < size; ++j) out[j] -= c.b[i] * s[j];
    }
}

void History::save(State& state) const {
    std::vector<float> s, y;
    std::vector<double> products;
    for (const std::size_t i : order_) {
        s.insert(s.end(), s_[i].begin(), s_[i].end());
        y.insert(y.end(), y_[i].begin(), y_[i].end());
        products.push_back(sg_[i]);
        products.push_back(yhg_[i]);
        for (const std::size_t j : order_) {
            products.push_back(at(sy_, i, j));
            products.push_back(at(yhy_, i, j));
        }
    }
    state["steps"] = std::move(s);
    state["changes"] = std::move(y);
    state["products"] = std::move(products);
}

void History::restore(const State& state, std::size_t size) {
    if (size > memory_) throw std::invalid_argument("state remembers more steps than `memory` allows");
    const auto& s = singles(state, "steps", size * n_);
    const auto& y = singles(state, "changes", size * n_);
    const auto& products = numbers(state, "products", size * (2 + 2 * size));
    order_.clear();
    const double* next = products.data();
    for (std::size_t i = 0; i < size; ++i) {
        order_.push_back(i);
        s_[i].assign(s.begin() + static_cast<std::ptrdiff_t>(i * n_),
                     s.begin() + static_cast<std::ptrdiff_t>((i + 1) * n_));
        y_[i].assign(y.begin() + static_cast<std::ptrdiff_t>(i * n_),
                     y.begin() + static_cast<std::ptrdiff_t>((i + 1) * n_));
        sg_[i] = *next++;
        yhg_[i] = *next++;
        for (std::size_t j = 0; j < size; ++j) {
            at(sy_, i, j) = *next++;
            at(yhy_, i, j) = *next++;
        }
    }
}

std::size_t History::free_slot() const {
    std::size_t slot = 0;
    while (std::find(order_.begin(), order_.end(), slot) != order_.end()) ++slot;
    return slot;
}

}  // namespace tw::learners
