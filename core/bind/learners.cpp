// Solvers as stepping objects.

#include <cmath>
#include <string>

#include "../learners/lbfgs.hpp"
#include "../learners/owlqn.hpp"
#include "../learners/proximal.hpp"
#include "../learners/sgd.hpp"
#include "learner_arguments.hpp"

namespace tw::bind {
namespace {

using learners::Objective;
using learners::Solver;
using learners::State;
using Singles = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
nb::ndarray<nb::numpy, T> copied(std::span<const T> values) {
    auto copy = std::make_unique_for_overwrite<T[]>(values.size());
    std::copy(values.begin(), values.end(), copy.get());
    return to_numpy(std::move(copy), {values.size()});
}

nb::dict to_dict(const State& state) {
    nb::dict out;
    for (const auto& [name, part] : state) {
        nb::str key(name.c_str());
        if (const auto* numbers = std::get_if<std::vector<double>>(&part))
            out[key] = copied<double>(*numbers);
        else
            out[key] = copied<float>(std::get<std::vector<float>>(part));
    }
    return out;
}

State from_dict(const nb::dict& parts) {
    State state;
    for (const auto& [key, value] : parts) {
        const std::string name = nb::cast<std::string>(key);
        if (Vector numbers; nb::try_cast(value, numbers, false))
            state[name] = std::vector<double>(numbers.data(), numbers.data() + numbers.size());
        else if (Singles singles; nb::try_cast(value, singles, false))
            state[name] = std::vector<float>(singles.data(), singles.data() + singles.size());
        else
            throw std::invalid_argument("state['" + name + "'] must be a vector of float64 or float32 numbers");
    }
    return state;
}

Objective checked_objective(double l2, double l1, double nu) {
    require(std::isfinite(l2) && l2 >= 0.0, "l2 must be a number >= 0");
    require(std::isfinite(l1) && l1 >= 0.0, "l1 must be a number >= 0");
    require(std::isfinite(nu), "nu must be a finite number");
    return {l2, l1, nu};
}

const char* outcome_name(learners::Outcome outcome) {
    switch (outcome) {
        case learners::Outcome::kRunning:
            return "running";
        case learners::Outcome::kConverged:
            return "converged";
        case learners::Outcome::kRounding:
            return "rounding";
        case learners::Outcome::kNoLowerPoint:
            return "no lower point";
        case learners::Outcome::kNotFinite:
            return "not finite";
        case learners::Outcome::kSlow:
            return "slow";
    }
    return "unknown";
}

template <class T>
void bind_quasi_newton(nb::module_& m, const char* name, const char* doc) {
    nb::class_<T, Solver>(m, name, doc)
        .def(
            "__init__",
            [](T* self, Oracle& oracle, const Vector& weights, double l2, double l1, double nu, std::size_t memory,
               double tol, bool scaled, std::size_t period, double delta) {
                const bool bounded = std::is_base_of_v<learners::Owlqn, T>;
                const auto start = start_of(oracle, weights, {Variables::kScaled}, bounded);
                require(memory <= 1000, "memory must be at most 1000");
                require(tol >= 0.0, "tol must be a number >= 0");
                require(period >= 1, "period must be at least 1");
                require(delta >= 0.0, "delta must be a number >= 0");
                new (self) T(oracle, checked_objective(l2, l1, nu), {memory, tol, scaled, period, delta}, start);
            },
            nb::arg("oracle"), nb::arg("weights"), nb::kw_only(), nb::arg("l2"), nb::arg("l1"), nb::arg("nu"),
            nb::arg("memory"), nb::arg("tol"), nb::arg("scaled"), nb::arg("period"), nb::arg("delta"),
            nb::keep_alive<1, 2>());
}

}  // namespace

void bind_learners(nb::module_& m) {
    nb::class_<Solver>(m, "Solver", "Minimises the penalised loss of an oracle, one iteration a call.")
        .def(
            "step",
            [](Solver& solver, std::size_t n_jobs) {
                const Unlocked unlocked;
                solver.step(n_jobs);
            },
            nb::arg("n_jobs") = 1, "One iteration; nothing happens once the outcome is known.")
        .def_prop_ro("phase", [](const Solver& solver) { return std::string(solver.phase()); })
        .def_prop_ro("objective", &Solver::objective)
        .def_prop_ro("gradient_norm", &Solver::gradient_norm)
        .def_prop_ro("gap", &Solver::gap, "A guess of how far the objective is above its minimum.")
        .def_prop_ro("passes", &Solver::passes, "Passes over the data so far.")
        .def_prop_ro("iterations", &Solver::iterations)
        .def_prop_ro("facts", &Solver::facts, "Further numbers worth a line in a log.")
        .def_prop_ro("outcome", [](const Solver& solver) { return outcome_name(solver.outcome()); })
        .def(
            "weights", [](const Solver& solver) { return copied(solver.weights()); }, "A copy of the weights.")
        .def(
            "state", [](const Solver& solver) { return to_dict(solver.state()); }, "All that `restore` needs.")
        .def(
            "restore", [](Solver& solver, const nb::dict& state) { solver.restore(from_dict(state)); },
            nb::arg("state"), "Go on from where `state` was taken, to the identical result.");

    bind_quasi_newton<learners::Lbfgs>(m, "Lbfgs", "Limited-memory BFGS, for objectives without L1.");
    bind_quasi_newton<learners::Owlqn>(m, "Owlqn", "Orthant-wise L-BFGS, for objectives with L1.");
    bind_quasi_newton<learners::Proximal>(m, "Proximal", "A proximal quasi-Newton method, for objectives with L1.");
    nb::class_<learners::Sgd, Solver>(m, "Sgd", "Stochastic gradient descent; an iteration is a pass over the data.")
        .def(
            "__init__",
            [](learners::Sgd* self, Oracle& oracle, const Vector& weights, double l2, double l1, double nu,
               std::size_t batch, std::size_t shards, double decay, double step, double tol, std::uint64_t seed,
               std::size_t passes) {
                const auto start = start_of(oracle, weights);
                require(decay > 0.0 && decay <= 1.0, "decay must be above 0 and at most 1");
                require(std::isfinite(step) && step >= 0.0, "step must be a number >= 0");
                require(tol >= 0.0, "tol must be a number >= 0");
                new (self) learners::Sgd(oracle, checked_objective(l2, l1, nu),
                                         {batch, shards, decay, step, tol, seed, passes}, start);
            },
            nb::arg("oracle"), nb::arg("weights"), nb::kw_only(), nb::arg("l2"), nb::arg("l1"), nb::arg("nu"),
            nb::arg("batch"), nb::arg("shards"), nb::arg("decay"), nb::arg("step"), nb::arg("tol"), nb::arg("seed"),
            nb::arg("passes") = 0, nb::keep_alive<1, 2>())
        .def_prop_ro("first_step_size", &learners::Sgd::first_step_size, "eta_0, given or found.");
    m.def(
        "exact_objective",
        [](Oracle& oracle, const Vector& weights, double l2, double l1, std::size_t n_jobs, double nu) {
            const auto at = start_of(oracle, weights, {Variables::kScaled}, true);
            const Objective objective = checked_objective(l2, l1, nu);
            Sums& sums = required(oracle.sums(), "expectations");
            const Unlocked unlocked;
            return learners::exact_objective(sums, objective, at, n_jobs);
        },
        nb::arg("oracle"), nb::arg("weights"), nb::arg("l2"), nb::arg("l1") = 0.0, nb::arg("n_jobs") = 1,
        nb::arg("nu") = 0.0, "The penalised loss in double precision.");
}

}  // namespace tw::bind
