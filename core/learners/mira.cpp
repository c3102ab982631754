#include "mira.hpp"

#include <algorithm>
#include <cmath>

namespace tw::learners {
namespace {

constexpr double kRounding = 1e-13;  // what constraints that are met exactly are still violated by

}  // namespace

void Mira::visit(std::size_t example) {
    const double weight = oracle_.example_weight(example);
    if (weight == 0.0) return;
    const std::vector<Rival>& found = rivals(example, k_, 1.0);
    const std::size_t n = block_.n = found.size();
    block_.gradient.resize(n);
    double worst = 0.0, scale = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        const double loss = violation(found[i]);
        block_.gradient[i] = -loss;
        worst = std::max(worst, loss);
        scale = std::max(scale, found[i].cost + std::abs(found[i].cost - loss));
    }
    if (!(worst > kRounding * scale)) return;
    met(weight * worst);
    block_.lambda.assign(n, 0.0);
    block_.K.resize(n * n);
    for (std::size_t i = 0; i < n; ++i) {
        products_.spread(found[i].difference, w_.size());
        for (std::size_t j = 0; j <= i; ++j)
            block_.K[i * n + j] = block_.K[j * n + i] = products_.with(found[j].difference);
        products_.clear(found[i].difference);
    }
    active_set(block_, C_ * weight);
    bool moved = false;
    for (std::size_t i = 0; i < n; ++i) {
        if (block_.lambda[i] == 0.0 || found[i].difference.empty()) continue;
        w_.add(found[i].difference, block_.lambda[i]);
        moved = true;
    }
    if (moved) changed();
}

}  // namespace tw::learners
