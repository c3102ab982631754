#include "history.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "../kernels/vectors.hpp"
#include "vectors.hpp"

namespace tw::learners {
namespace {

// A step counts only when s.y > kLeastCurvature |s| |y|: below that its curvature is rounding, or negative.
constexpr double kLeastCurvature = 1e-10;
enum Own : std::size_t { kSS, kYY, kGG, kOwnSums };  // sums of the new step itself

struct Buffers {  // of one block
    std::array<double, kBlock> g, y, hg, hy;
};

// Where vectors of some slots go on from `begin`.
std::vector<const float*> rows(const std::vector<std::vector<float>>& of_slot, const std::vector<std::size_t>& slots,
                               std::size_t begin) {
    std::vector<const float*> out;
    out.reserve(slots.size());
    for (const std::size_t slot : slots) out.push_back(of_slot[slot].data() + begin);
    return out;
}

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
    std::vector<std::size_t> slots = order_;  // the new step is the last
    slots.push_back(slot);
    const std::size_t n_dots = 2 * slots.size();
    const auto sums =
        over_blocks(n_, kOwnSums + 2 * n_dots, n_jobs, [&](std::size_t begin, std::size_t end, double* out) {
            Buffers block;
            const std::size_t size = end - begin;
            move.steepest(begin, end, block.g.data());
            const VectorMove here{&move.point[begin],        &move.new_point[begin], &move.gradient[begin],
                                  &move.new_gradient[begin], block.g.data(),         &move.h[begin]};
            VectorSums own{out[kSS], out[kYY], out[kGG]};
            vector_loops().change(here, size, s_[slot].data() + begin, y_[slot].data() + begin, block.y.data(),
                                  block.hy.data(), block.hg.data(), own);
            out[kSS] = own.ss;
            out[kYY] = own.yy;
            out[kGG] = own.gg;
            const std::vector<const float*> s = rows(s_, slots, begin), y = rows(y_, slots, begin);
            double* dots = out + kOwnSums;
            vector_loops().two_dots(s.data(), s.size(), block.y.data(), block.g.data(), size, dots);
            vector_loops().two_dots(y.data(), y.size(), block.hy.data(), block.hg.data(), size, dots + n_dots);
        });
    const double *of_s = sums.data() + kOwnSums, *of_y = of_s + n_dots;
    for (const std::size_t i : order_) {
        at(sy_, i, slot) = of_s[0];
        sg_[i] = of_s[1];
        at(yhy_, i, slot) = at(yhy_, slot, i) = of_y[0];
        yhg_[i] = of_y[1];
        of_s += 2;
        of_y += 2;
    }
    if (memory_ > 0 && of_s[0] > kLeastCurvature * std::sqrt(sums[kSS] * sums[kYY])) {
        at(sy_, slot, slot) = of_s[0];
        at(yhy_, slot, slot) = of_y[0];
        sg_[slot] = of_s[1];
        yhg_[slot] = of_y[1];
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
    const std::vector<const float*> s = rows(s_, order_, begin), y = rows(y_, order_, begin);
    vector_loops().combine(y.data(), s.data(), s.size(), c.a.data(), c.b.data(), c.gamma, &h[begin], steepest,
                           end - begin, out);
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
