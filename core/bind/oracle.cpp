// What learners see of a training set, bound for the tests that compare it with brute force.
#include "../oracle.hpp"

#include <cmath>

#include "arrays.hpp"

namespace tw::bind {

void bind_oracle(nb::module_& m) {
    nb::class_<Oracle>(m, "Oracle", "Examples with gold structures, and questions about them at given weights.")
        .def_prop_ro("n_examples", &Oracle::n_examples)
        .def_prop_ro("n_weights", &Oracle::n_weights)
        .def(
            "set_cost_scale",
            [](Oracle& oracle, double nu) {
                require(std::isfinite(nu), "the scale of the cost must be a finite number");
                oracle.set_cost_scale(nu);
            },
            nb::arg("nu"), "The factor of the cost added to wrong structures; 0 for none.")
        .def_prop_ro(
            "l1_factors",
            [](const Oracle& oracle) {
                const auto factors = oracle.l1_factors();
                return to_numpy(std::vector<double>(factors.begin(), factors.end()), {factors.size()});
            },
            "How much each weight counts in |w|_1.")
        .def(
            "loss",
            [](Oracle& oracle, const Vector& weights, Output gradient, std::size_t n_jobs, bool precise) {
                require(weights.size() == oracle.n_weights(), "weights has the wrong size");
                require_size(gradient, oracle.n_weights());
                require_scores(weights, "weights must be finite numbers");
                nb::gil_scoped_release unlocked;
                return oracle.loss({weights.data(), weights.size()}, {gradient.data(), gradient.size()}, n_jobs,
                                   precise);
            },
            nb::arg("weights"), nb::arg("gradient"), nb::arg("n_jobs") = 1, nb::arg("precise") = true,
            "The loss of all examples; its gradient is written into `gradient`.")
        .def(
            "curvature",
            [](Oracle& oracle, const Vector& weights, Output diagonal, std::size_t n_jobs) {
                require(weights.size() == oracle.n_weights(), "weights has the wrong size");
                require_size(diagonal, oracle.n_weights());
                nb::gil_scoped_release unlocked;
                oracle.curvature({weights.data(), weights.size()}, {diagonal.data(), diagonal.size()}, n_jobs);
            },
            nb::arg("weights"), nb::arg("diagonal"), nb::arg("n_jobs") = 1,
            "A diagonal estimate of the second derivative, written into `diagonal`.");
}

}  // namespace tw::bind
