// The perceptron and passive-aggressive learners, bound.
#include "../learners/beam_perceptron.hpp"
#include "../learners/passive_aggressive.hpp"
#include "../learners/perceptron.hpp"
#include "learner_arguments.hpp"

namespace tw::bind {
namespace {

learners::Aggressiveness aggressiveness_named(const std::string& name) {
    using learners::Aggressiveness;
    require(name == "any" || name == "at most" || name == "shortened",
            "aggressiveness must be 'any', 'at most' or 'shortened'");
    return name == "any"       ? Aggressiveness::kAny
           : name == "at most" ? Aggressiveness::kAtMost
                               : Aggressiveness::kShortened;
}

learners::MarginOf margin_named(const std::string& name) {
    using learners::MarginOf;
    require(name == "cost" || name == "root" || name == "one", "margin must be 'cost', 'root' or 'one'");
    return name == "cost" ? MarginOf::kCost : name == "root" ? MarginOf::kRoot : MarginOf::kOne;
}

}  // namespace

void bind_online(nb::module_& m) {
    using learners::OnlineSettings;
    nb::class_<learners::Perceptron, learners::Solver>(m, "Perceptron", "The k-best structured perceptron.")
        .def(
            "__init__",
            [](learners::Perceptron* self, Oracle& oracle, const Vector& weights, std::size_t k, bool averaged,
               bool shuffle, std::uint64_t seed, bool until_settled) {
                require_kbest(oracle, k);
                new (self)
                    learners::Perceptron(oracle, OnlineSettings{seed, shuffle, averaged, until_settled}, k,
                                         start_of(oracle, weights, {Variables::kScaled, Variables::kByMember}, true));
            },
            nb::arg("oracle"), nb::arg("weights"), nb::kw_only(), nb::arg("k"), nb::arg("averaged"), nb::arg("shuffle"),
            nb::arg("seed"), nb::arg("until_settled") = true, nb::keep_alive<1, 2>());
    nb::class_<learners::BeamPerceptron, learners::Solver>(m, "BeamPerceptron",
                                                           "The perceptron with max-violation updates in a beam.")
        .def(
            "__init__",
            [](learners::BeamPerceptron* self, Oracle& oracle, const Vector& weights, std::size_t beam, bool averaged,
               bool shuffle, std::uint64_t seed) {
                require(beam > 0, "beam must be at least 1");
                required(oracle.beam(), "beam");
                new (self) learners::BeamPerceptron(
                    oracle, OnlineSettings{seed, shuffle, averaged}, beam,
                    start_of(oracle, weights, {Variables::kScaled, Variables::kByMember}, true));
            },
            nb::arg("oracle"), nb::arg("weights"), nb::kw_only(), nb::arg("beam"), nb::arg("averaged"),
            nb::arg("shuffle"), nb::arg("seed"), nb::keep_alive<1, 2>());
    nb::class_<learners::PassiveAggressive, learners::Solver>(
        m, "PassiveAggressive", "k-best PA, by score and cost or by score alone, and restricted.")
        .def(
            "__init__",
            [](learners::PassiveAggressive* self, Oracle& oracle, const Vector& weights, double C, std::size_t k,
               bool augmented, bool restricted, bool averaged, bool shuffle, std::uint64_t seed,
               const std::string& aggressiveness, const std::string& margin, bool until_settled) {
                require_kbest(oracle, k);
                require(C > 0.0, "C must be above 0");
                new (self) learners::PassiveAggressive(
                    oracle, OnlineSettings{seed, shuffle, averaged, until_settled},
                    {C, k, augmented, restricted, aggressiveness_named(aggressiveness), margin_named(margin)},
                    start_of(oracle, weights, {Variables::kScaled, Variables::kByMember}, true));
            },
            nb::arg("oracle"), nb::arg("weights"), nb::kw_only(), nb::arg("C"), nb::arg("k"), nb::arg("augmented"),
            nb::arg("restricted"), nb::arg("averaged"), nb::arg("shuffle"), nb::arg("seed"),
            nb::arg("aggressiveness") = "at most", nb::arg("margin") = "cost", nb::arg("until_settled") = true,
            nb::keep_alive<1, 2>());
}

}  // namespace tw::bind
