// What learners see of a training set, bound for the tests that compare it with brute force.
#include "../oracle.hpp"

#include <cmath>

#include <nanobind/stl/unique_ptr.h>

#include "arrays.hpp"

namespace tw::bind {
namespace {

ScaledWeights weights_of(const Oracle& oracle, const Vector& weights, std::size_t example) {
    require(weights.size() == oracle.n_weights(), "weights has the wrong size");
    require_scores(weights, "weights must be finite numbers");
    require(example < oracle.n_examples(), "there is no such example");
    return {{weights.data(), weights.size()}, 1.0};
}

nb::tuple sparse(const SparseVector& from) {
    std::vector<double> values(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) values[i] = from.values[i] * from.count(i);
    return nb::make_tuple(to_numpy(from.indices, {from.size()}), to_numpy(values, {from.size()}));
}

// What learners see of structures, one tuple each: (code, score, cost, indices, values), the last two of the
// difference to gold.
nb::list kbest(Oracle& oracle, const Vector& weights, std::size_t example, std::size_t k, double nu) {
    const ScaledWeights w = weights_of(oracle, weights, example);
    require(std::isfinite(nu), "nu must be a finite number");
    nb::list out;
    SparseVector difference;
    for (const Found& found : oracle.kbest(w, example, k, nu)) {
        oracle.difference(example, found, difference);
        const nb::tuple vector = sparse(difference);
        out.append(nb::make_tuple(found.code, found.score, found.cost, vector[0], vector[1]));
    }
    return out;
}

// The k best structures' scores of gold less their own, at other weights; NaN each where the oracle has no quick way.
nb::list margins(Oracle& oracle, const Vector& weights, std::size_t example, std::size_t k, const Vector& others) {
    const ScaledWeights w = weights_of(oracle, weights, example), at = weights_of(oracle, others, example);
    nb::list out;
    for (const Found& found : oracle.kbest(w, example, k, 0.0)) out.append(oracle.margin(at, example, found));
    return out;
}

// (code, score, cost) of the structure that maximises cost * (1 + score - score of gold); None without an exact way.
nb::object slack_argmax(const Oracle& oracle, const Vector& weights, std::size_t example) {
    Found found;
    if (!oracle.slack_argmax(weights_of(oracle, weights, example), example, found)) return nb::none();
    return nb::make_tuple(found.code, found.score, found.cost);
}

auto part_scores(const Oracle& oracle, const Vector& weights, std::size_t example) {
    std::vector<double> out;
    oracle.part_scores(weights_of(oracle, weights, example), example, out);
    return to_numpy(out, {out.size()});
}

auto part_costs(const Oracle& oracle, std::size_t example) {
    require(example < oracle.n_examples(), "there is no such example");
    std::vector<double> out;
    oracle.part_costs(example, out);
    return to_numpy(out, {out.size()});
}

nb::tuple marginals(Oracle& oracle, const Vector& scores, std::size_t example) {
    require(example < oracle.n_examples(), "there is no such example");
    require_scores(scores, "scores must be finite numbers");
    std::vector<double> out;
    const double total = oracle.marginals(example, {scores.data(), scores.size()}, out);
    SparseVector difference;
    oracle.difference_of_marginals(example, out, difference);
    const nb::tuple vector = sparse(difference);
    return nb::make_tuple(total, to_numpy(out, {out.size()}), vector[0], vector[1]);
}

}  // namespace

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
        .def("kbest", kbest, nb::arg("weights"), nb::arg("example"), nb::arg("k") = 1, nb::arg("nu") = 0.0,
             "The k best structures under score + nu * cost: (code, score, cost, indices, values of f(gold) - f(y)).")
        .def("margins", margins, nb::arg("weights"), nb::arg("example"), nb::arg("k"), nb::arg("others"),
             "Of the k best structures at `weights`: the score of gold less theirs at `others`; NaN without a quick "
             "way.")
        .def("slack_argmax", slack_argmax, nb::arg("weights"), nb::arg("example"),
             "(code, score, cost) of the structure with the highest cost * (1 + score - score of gold), or None.")
        .def("part_scores", part_scores, nb::arg("weights"), nb::arg("example"), "Scores of the parts of an example.")
        .def("part_costs", part_costs, nb::arg("example"), "Costs of the parts of an example.")
        .def("marginals", marginals, nb::arg("scores"), nb::arg("example"),
             "Under these part scores: log Z, marginals of the parts, indices and values of f(gold) - expectation.")
        .def("local", &Oracle::local, "The same examples as single decisions given the gold ones before; or None.")
        .def(
            "loss",
            [](Oracle& oracle, const Vector& weights, Output gradient, std::size_t n_jobs, bool precise) {
                require(weights.size() == oracle.n_weights(), "weights has the wrong size");
                require_size(gradient, oracle.n_weights());
                require_scores(weights, "weights must be finite numbers");
                const Unlocked unlocked;
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
                const Unlocked unlocked;
                oracle.curvature({weights.data(), weights.size()}, {diagonal.data(), diagonal.size()}, n_jobs);
            },
            nb::arg("weights"), nb::arg("diagonal"), nb::arg("n_jobs") = 1,
            "A diagonal estimate of the second derivative, written into `diagonal`.");
}

}  // namespace tw::bind
