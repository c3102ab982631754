// L-BFGS (Liu & Nocedal 1989; Nocedal & Wright 2006, ch. 7.2) for objectives without L1.
#pragma once

#include "quasi_newton.hpp"

namespace tw::learners {

class Lbfgs final : public QuasiNewton {
public:
    using QuasiNewton::QuasiNewton;
    std::string_view phase() const override { return "lbfgs"; }

protected:
    void steepest(const std::vector<double>& weights, const std::vector<double>& gradient, std::size_t begin,
                  std::size_t end, double* out) const override;
    void restrict_direction(const double*, std::size_t, double*) const override {}
    void move(double step, std::size_t begin, std::size_t end) override;
    bool smooth() const override { return true; }
    double promised(std::size_t, std::size_t) const override { return 0.0; }
    double absolutes(std::size_t, std::size_t) const override { return 0.0; }
    bool search(double slope, std::size_t n_jobs, Trial& found) override;
};

}  // namespace tw::learners
