// What L-BFGS and OWL-QN share: the objective and its gradient, the remembered steps, when to stop.
//
// A derived class says what the steepest direction is, how a point is moved along a direction, and how long a step
// should be. All passes over the weights are here.
#pragma once

#include <cstddef>
#include <vector>

#include "gap.hpp"
#include "history.hpp"
#include "solver.hpp"

namespace tw::learners {

// The diagonal ignores that features go together, so a full step along it is too long: that many are active at once.
constexpr double kFirstScaledStep = 0.1;

struct QuasiNewtonSettings {
    std::size_t memory = 6;
    double tol = 1e-3;  // stop when the objective is believed to be within tol * objective of its minimum
    // Scale by the diagonal of the Hessian at the start: the variance of each feature there, plus l2. It pays near the
    // solution and hurts far from it, where everything is uncertain.
    bool scaled = false;
    // Stop, too, when the objective has fallen by less than delta * objective in the last `period` iterations.
    std::size_t period = 10;
    double delta = 0.0;
};

class QuasiNewton : public Solver {
public:
    QuasiNewton(Oracle& oracle, const Objective& terms, const QuasiNewtonSettings& settings,
                std::span<const double> weights);

    void step(std::size_t n_jobs) final;
    std::span<const double> weights() const final { return weights_; }
    double objective() const final { return objective_; }
    double gradient_norm() const final { return gradient_norm_; }
    double gap() const final;
    double passes() const final { return passes_; }
    std::size_t iterations() const final { return iterations_; }
    Outcome outcome() const final { return outcome_; }
    State state() const final;
    void restore(const State& state) final;

protected:
    // A point on the line that is being searched.
    struct Trial {
        double step = 0.0;
        double value = 0.0;      // objective there
        double slope = 0.0;      // of the smooth part along the direction, there
        double predicted = 0.0;  // change that the slope at the start promises for the move actually made
    };

    // The direction in which the objective rises fastest, for weights [begin, end), given the smooth gradient.
    virtual void steepest(const std::vector<double>& weights, const std::vector<double>& gradient, std::size_t begin,
                          std::size_t end, double* out) const = 0;
    // Takes out of a direction what may not be followed.
    virtual void restrict_direction(const double* steepest, std::size_t size, double* direction) const = 0;
    // trial_weights_ = weights_ moved by step along direction_.
    virtual void move(double step, std::size_t begin, std::size_t end) = 0;
    // The part of the penalty that is not smooth, if there is one.
    virtual bool smooth() const = 0;
    virtual double absolutes(std::size_t begin, std::size_t end) const = 0;
    // How much less the objective would be at trial_weights_ if the smooth part were linear; only if not smooth().
    virtual double promised(std::size_t begin, std::size_t end) const = 0;
    // Finds an acceptable trial, left in trial_weights_ and trial_gradient_; false when there is none.
    virtual bool search(double slope, std::size_t n_jobs, Trial& found) = 0;

    // Finds where to go; returns the slope there.
    virtual double find_direction(std::size_t n_jobs);
    void take_scaling(std::size_t n_jobs);
    // Moves by a step along direction_; 0 stays.
    Trial try_step(double step, std::size_t n_jobs);
    virtual double first_step(double slope) const;  // length of the first trial
    double value_rounding() const;                  // differences of the objective below this mean nothing

    Sums& sums_;
    const Objective terms_;
    const QuasiNewtonSettings settings_;
    std::vector<double> weights_, gradient_, trial_weights_, trial_gradient_;
    std::vector<float> direction_, h_;
    History history_;
    GapGuess guess_;
    double objective_ = 0.0;

private:
    void start(std::size_t n_jobs);
    void accept(const Trial& trial, std::size_t n_jobs);
    void give_up(double slope, std::size_t n_jobs);
    void judge(std::size_t n_jobs);
    void become_precise(std::size_t n_jobs);

    double gradient_norm_;
    double passes_ = 0.0;
    std::size_t iterations_ = 0;
    Outcome outcome_ = Outcome::kRunning;
    bool started_ = false, precise_ = false;
};

}  // namespace tw::learners
