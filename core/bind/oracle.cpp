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
    for (const tw::Output& found : required(oracle.best(), "argmax").kbest(w, example, k, nu)) {
        if (PartialGold* partial = oracle.partial())
            partial->difference_to(example, partial->best_allowed(w, example), found, difference);
        else
            oracle.best()->difference(example, found, difference);
        const nb::tuple vector = sparse(difference);
        out.append(nb::make_tuple(found.code, found.score, found.cost, vector[0], vector[1]));
    }
    return out;
}

// The k best structures' scores of gold less their own, at other weights; NaN each where the oracle has no quick way.
nb::list margins(Oracle& oracle, const Vector& weights, std::size_t example, std::size_t k, const Vector& others) {
    const ScaledWeights w = weights_of(oracle, weights, example), at = weights_of(oracle, others, example);
    nb::list out;
    for (const tw::Output& found : required(oracle.best(), "argmax").kbest(w, example, k, 0.0))
        out.append(oracle.best()->margin(at, example, found));
    return out;
}

// (code, score, cost) of the structure that maximises cost * (1 + score - score of gold); None without an exact way.
nb::object slack_argmax(Oracle& oracle, const Vector& weights, std::size_t example) {
    tw::Output found;
    if (!required(oracle.best(), "argmax").slack_argmax(weights_of(oracle, weights, example), example, found))
        return nb::none();
    return nb::make_tuple(found.code, found.score, found.cost);
}

PartMarginals& parts_of(Oracle& oracle) { return required(oracle.parts(), "parts"); }

Sums& sums_of(Oracle& oracle) { return required(oracle.sums(), "expectations"); }

auto part_scores(Oracle& oracle, const Vector& weights, std::size_t example) {
    std::vector<double> out;
    parts_of(oracle).part_scores(weights_of(oracle, weights, example), example, out);
    return to_numpy(out, {out.size()});
}

auto part_costs(Oracle& oracle, std::size_t example) {
    require(example < oracle.n_examples(), "there is no such example");
    std::vector<double> out;
    parts_of(oracle).part_costs(example, out);
    return to_numpy(out, {out.size()});
}

nb::tuple marginals(Oracle& oracle, const Vector& scores, std::size_t example) {
    require(example < oracle.n_examples(), "there is no such example");
    require_scores(scores, "scores must be finite numbers");
    std::vector<double> out;
    const double total = parts_of(oracle).marginals(example, {scores.data(), scores.size()}, out);
    SparseVector difference;
    parts_of(oracle).difference_of_marginals(example, out, difference);
    const nb::tuple vector = sparse(difference);
    return nb::make_tuple(total, to_numpy(out, {out.size()}), vector[0], vector[1]);
}

}  // namespace

void bind_oracle(nb::module_& m) {
    nb::class_<Oracle>(m, "Oracle", "Examples with gold structures, and questions about them at given weights.")
        .def_prop_ro("n_examples", &Oracle::n_examples)
        .def_prop_ro("n_weights", &Oracle::n_weights)
        .def_prop_ro(
            "answers",
            [](Oracle& oracle) {
                nb::list out;
                for (const std::string& question : answers(oracle)) out.append(nb::str(question.c_str()));
                return nb::tuple(out);
            },
            nb::sig("def answers(self) -> tuple[str, ...]"), "The questions that learners may ask.")
        .def_prop_ro(
            "l1_factors",
            [](Oracle& oracle) {
                const auto factors = sums_of(oracle).l1_factors();
                return to_numpy(std::vector<double>(factors.begin(), factors.end()), {factors.size()});
            },
            nb::rv_policy::move, "How much each weight counts in |w|_1.")
        .def_prop_ro(
            "nonnegative",
            [](const Oracle& oracle) {
                const auto found = oracle.nonnegative();
                return to_numpy(std::vector<std::uint32_t>(found.begin(), found.end()), {found.size()});
            },
            nb::rv_policy::move, "The numbers of weights that must never be negative.")
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
            [](Oracle& oracle, const Vector& weights, Output gradient, std::size_t n_jobs, bool precise, double nu) {
                require(weights.size() == oracle.n_weights(), "weights has the wrong size");
                require_size(gradient, oracle.n_weights());
                require_scores(weights, "weights must be finite numbers");
                require(std::isfinite(nu), "nu must be a finite number");
                const Unlocked unlocked;
                return sums_of(oracle).loss({weights.data(), weights.size()}, {gradient.data(), gradient.size()}, nu,
                                            n_jobs, precise);
            },
            nb::arg("weights"), nb::arg("gradient"), nb::arg("n_jobs") = 1, nb::arg("precise") = true,
            nb::arg("nu") = 0.0, "The loss of all examples; its gradient is written into `gradient`.")
        .def(
            "curvature",
            [](Oracle& oracle, const Vector& weights, Output diagonal, std::size_t n_jobs, double nu) {
                require(weights.size() == oracle.n_weights(), "weights has the wrong size");
                require_size(diagonal, oracle.n_weights());
                const Unlocked unlocked;
                sums_of(oracle).curvature({weights.data(), weights.size()}, {diagonal.data(), diagonal.size()}, nu,
                                          n_jobs);
            },
            nb::arg("weights"), nb::arg("diagonal"), nb::arg("n_jobs") = 1, nb::arg("nu") = 0.0,
            "A diagonal estimate of the second derivative, written into `diagonal`.");
}

}  // namespace tw::bind
