// OWL-QN (Andrew & Gao 2007): L-BFGS for objectives with an L1 penalty. Within one orthant that penalty is linear; a
// direction is found from the pseudo-gradient, and no step leaves the orthant it points into. Weights that must not be
// negative have one orthant: at zero, only what falls to its side counts.
#pragma once

#include "quasi_newton.hpp"

namespace tw::learners {

class Owlqn : public QuasiNewton {
public:
    Owlqn(Oracle& oracle, const Objective& terms, const QuasiNewtonSettings& settings, std::span<const double> weights);
    std::string_view phase() const override { return "owlqn"; }

protected:
    void steepest(const std::vector<double>& weights, const std::vector<double>& gradient, std::size_t begin,
                  std::size_t end, double* out) const override;
    void restrict_direction(const double* steepest, std::size_t size, double* direction) const override;
    void move(double step, std::size_t begin, std::size_t end) override;
    bool smooth() const override { return false; }
    double absolutes(std::size_t begin, std::size_t end) const override;
    double promised(std::size_t begin, std::size_t end) const override;
    bool search(double slope, std::size_t n_jobs, Trial& found) override;
    // The minimum of  (x - w)^2 / 2 + threshold |x|  for weight j, which may have to be positive.
    double nearest(std::size_t j, double w, double threshold) const {
        if (w > threshold) return w - threshold;
        return w < -threshold && (bounded_.empty() || !bounded_[j]) ? w + threshold : 0.0;
    }

private:
    std::vector<std::uint8_t> bounded_;  // by weight: whether it must not be negative; empty: none
};

}  // namespace tw::learners
