#include "arow.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace tw::learners {

std::string_view Arow::phase() const {
    switch (confidence_.variant) {
        case Confidence::kCw:
            return "cw";
        case Confidence::kScw:
            return "scw";
        default:
            return "arow";
    }
}

void Arow::visit(std::size_t example) {
    const double weight = oracle_.example_weight(example);
    if (weight == 0.0) return;
    const std::vector<Rival>& rivals_now = rivals(example, confidence_.k, confidence_.augmented ? 1.0 : 0.0);
    variances_.resize(w_.size(), confidence_.variance);
    for (const Rival& rival : rivals_now) {
        const SparseVector& d = rival.difference;
        double variance = 0.0;
        for (std::size_t i = 0; i < d.size(); ++i)
            variance += d.count(i) * variances_[d.indices[i]] * d.values[i] * d.values[i];
        const double margin = w_.dot(d) - rival.cost;
        if (margin < 0.0) met(-weight * margin);
        if (!(variance > 0.0)) continue;
        const Change now = change(margin, variance, weight);
        if (!(now.alpha > 0.0)) continue;
        scaled_ = d;
        for (std::size_t i = 0; i < d.size(); ++i) {
            double& s = variances_[d.indices[i]];
            scaled_.values[i] *= s;
            s = now.inverse ? 1.0 / (1.0 / s + now.beta * d.values[i] * d.values[i])
                            : s - now.beta * scaled_.values[i] * scaled_.values[i];
        }
        w_.add(scaled_, now.alpha);
        changed();
    }
}

Arow::Change Arow::change(double m, double v, double weight) const {
    const double phi = confidence_.phi;
    switch (confidence_.variant) {
        case Confidence::kCw: {  // eq. 9 of Dredze et al.; the covariance is projected onto its diagonal, eq. 15
            if (m >= phi * v) return {};
            const double b = 1.0 + 2.0 * phi * m;
            const double alpha = (std::sqrt(b * b - 8.0 * phi * (m - phi * v)) - b) / (4.0 * phi * v);
            return {alpha, 2.0 * alpha * phi, true};
        }
        case Confidence::kScw: {  // Proposition 1 of Wang et al.
            if (m >= phi * std::sqrt(v)) return {};
            const double square = phi * phi, psi = 1.0 + 0.5 * square, zeta = 1.0 + square;
            const double free = (std::sqrt(0.25 * m * m * square * square + v * square * zeta) - m * psi) / (v * zeta);
            const double alpha = std::clamp(free, 0.0, confidence_.C * weight);
            const double root = 0.5 * (std::sqrt(alpha * alpha * v * v * square + 4.0 * v) - alpha * v * phi);
            return {alpha, alpha * phi / (root + v * alpha * phi), false};
        }
        default: {  // eq. 7 and 9 of Crammer et al.; a weight on the loss divides r
            if (m >= 0.0) return {};
            const double beta = 1.0 / (v + confidence_.r / weight);
            if (confidence_.inverse) return {-m * beta, weight / confidence_.r, true};
            return {-m * beta, beta, false};
        }
    }
}

Facts Arow::facts() const {
    Facts facts = Online::facts();
    const double n = std::max<double>(static_cast<double>(variances_.size()), 1.0);
    facts["mean_variance"] = std::accumulate(variances_.begin(), variances_.end(), 0.0) / n;
    return facts;
}

void Arow::save(State& state) const { state["variances"] = variances_; }

void Arow::load(const State& state) {
    const auto found = state.find("variances");
    const auto* values = found == state.end() ? nullptr : std::get_if<std::vector<double>>(&found->second);
    if (values == nullptr || values->size() > w_.size())
        throw std::invalid_argument("state['variances'] is not of this training set");
    variances_ = *values;
    variances_.resize(w_.size(), confidence_.variance);
}

}  // namespace tw::learners
