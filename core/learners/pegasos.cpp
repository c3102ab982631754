#include "pegasos.hpp"

#include <cmath>

namespace tw::learners {

void Pegasos::before_pass(std::size_t n_jobs) {
    Subgradient::before_pass(n_jobs);
    if (projection_) squared_norm_ = w_.squared_norm();
}

// w := (1 - eta lam) w + eta * pushes, and back into the ball.
void Pegasos::move(const Step& step, const Pushes& pushes) {
    const double kept = 1.0 - step.shrink;
    w_.multiply(kept);
    squared_norm_ *= kept * kept;
    for (std::size_t i = 0; i < pushes.size(); ++i) {
        const SparseVector& difference = pushes[i].difference;
        const double size = step.size * pushes[i].factor;
        if (projection_) squared_norm_ += size * (2.0 * w_.dot(difference) + size * difference.squared_norm());
        w_.add(difference, size);
    }
    // First the cone, then the ball: together they are the projection onto what both share.
    squared_norm_ -= Subgradient::project(pushes, kept);
    if (projection_) project_to_ball();
}

// eq. 6.8: the minimum lies in the ball of radius 1 / sqrt(lam), if no cost is above 1.
void Pegasos::project_to_ball() {
    const double most = 1.0 / descent_.step.lam;
    if (!(squared_norm_ > most)) return;
    w_.multiply(std::sqrt(most / squared_norm_));
    squared_norm_ = most;
}

void Pegasos::save(State& state) const {
    Subgradient::save(state);
    state["squared_norm"] = std::vector<double>{squared_norm_};
}

void Pegasos::load(const State& state) {
    Subgradient::load(state);
    squared_norm_ = numbers(state, "squared_norm", 1)[0];
}

}  // namespace tw::learners
