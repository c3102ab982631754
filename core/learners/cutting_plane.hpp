// The 1-slack cutting-plane method (Joachims, Finley & Yu 2009, algorithm 3) for
//     |w|^2 / 2 + C R(w),     R(w) = sum_i c_i max_y [cost_i(y) - w . (f(gold) - f(y))],
// or with rescaled slack, where cost_i(y) multiplies f(gold) - f(y).
//
// The most violated structures of all examples at some w give one plane below R: R(w') >= b - w' . a for every w', with
// a and b the sums of their differences and costs. The planes found so far make a small quadratic program, whose
// solution is the next w and whose value is below the minimum; what the best w so far has above that value is a certain
// bound on its distance from the minimum.
//
// Where gold is known only in part, that is a round: the best allowed outputs at the best w become gold, and as planes
// of an earlier gold say nothing about R, the next round begins without any. At zero weights all allowed outputs are
// equally good: a pass of the perceptron says which of them are gold in the first round.
#pragma once

#include <algorithm>
#include <vector>

#include "centre.hpp"
#include "hinge.hpp"
#include "solver.hpp"

namespace tw::learners {

class CuttingPlane final : public Solver {
public:
    // `epsilon`: how much less than at the end the mean of the losses may be at the optimum, penalty and all: training
    // ends when the objective is within C * (sum of c_i) * epsilon of its minimum.
    CuttingPlane(Oracle& oracle, double C, double epsilon, Rescaling rescaling, std::span<const double> start);

    void step(std::size_t n_jobs) override;  // solves, and finds one more plane
    std::string_view phase() const override { return "cutting-plane"; }
    std::span<const double> weights() const override { return best_; }
    double objective() const override { return objective_; }
    double gradient_norm() const override;
    double gap() const override { return std::max(0.0, objective_ - dual_); }
    double passes() const override { return static_cast<double>(passes_); }
    std::size_t iterations() const override { return iterations_; }
    Outcome outcome() const override { return outcome_; }
    Facts facts() const override;
    State state() const override;
    void restore(const State& state) override;

private:
    struct Plane {
        std::vector<double> slope;  // a; shorter than the weights when those have grown since
        double offset = 0.0;        // b - centre . a
        std::size_t idle = 0;       // iterations since it last carried any of C
    };
    void solve();
    double find_plane(std::size_t n_jobs);  // at w_; returns R(w_)
    void keep_best(double loss);
    void drop_idle();
    void begin_round();  // with the gold of the best weights so far
    void find_first_gold();
    std::size_t memory_bytes() const;

    Oracle& oracle_;
    RankedExamples examples_;
    const Rescaling rescaling_;
    const double C_, epsilon_;
    Centre centre_;
    AveragedWeights w_;
    std::vector<Plane> planes_;
    std::vector<double> gram_, alpha_;  // a_i . a_j of the planes, row by row; their share of C
    std::vector<double> best_;
    double objective_, dual_;
    std::size_t iterations_ = 0, passes_ = 0;
    Outcome outcome_ = Outcome::kRunning;
    bool round_is_over_ = false;  // the next begins with the next step, so that no one sees it without a plane
};

}  // namespace tw::learners
