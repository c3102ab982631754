// The perceptron and passive-aggressive learners, bound.
#include "../learners/passive_aggressive.hpp"
#include "../learners/perceptron.hpp"
#include "learner_arguments.hpp"

namespace tw::bind {

void bind_online(nb::module_& m) {
    using learners::OnlineSettings;
    nb::class_<learners::Perceptron, learners::Solver>(m, "Perceptron", "The k-best structured perceptron.")
        .def(
            "__init__",
            [](learners::Perceptron* self, Oracle& oracle, const Vector& weights, std::size_t k, bool averaged,
               bool shuffle, std::uint64_t seed) {
                require_kbest(oracle, k);
                new (self)
                    learners::Perceptron(oracle, OnlineSettings{seed, shuffle, averaged}, k,
                                         start_of(oracle, weights, {Variables::kScaled, Variables::kByMember}, true));
            },
            nb::arg("oracle"), nb::arg("weights"), nb::kw_only(), nb::arg("k"), nb::arg("averaged"), nb::arg("shuffle"),
            nb::arg("seed"), nb::keep_alive<1, 2>());
    nb::class_<learners::PassiveAggressive, learners::Solver>(
        m, "PassiveAggressive", "k-best PA, by score and cost or by score alone, and restricted.")
        .def(
            "__init__",
            [](learners::PassiveAggressive* self, Oracle& oracle, const Vector& weights, double C, std::size_t k,
               bool augmented, bool restricted, bool averaged, bool shuffle, std::uint64_t seed) {
                require_kbest(oracle, k);
                require(C > 0.0, "C must be above 0");
                new (self) learners::PassiveAggressive(
                    oracle, OnlineSettings{seed, shuffle, averaged}, C, k, augmented, restricted,
                    start_of(oracle, weights, {Variables::kScaled, Variables::kByMember}, true));
            },
            nb::arg("oracle"), nb::arg("weights"), nb::kw_only(), nb::arg("C"), nb::arg("k"), nb::arg("augmented"),
            nb::arg("restricted"), nb::arg("averaged"), nb::arg("shuffle"), nb::arg("seed"), nb::keep_alive<1, 2>());
}

}  // namespace tw::bind
