// Pegasos, subgradient descent and AROW, bound; and what they are made of, for the tests.
#include "../learners/arow.hpp"
#include "../learners/pegasos.hpp"
#include "../learners/slack.hpp"
#include "learner_arguments.hpp"

namespace tw::bind {
namespace {

using learners::AveragedWeights;
using learners::OnlineSettings;

learners::StepRule step_rule(const std::string& name) {
    using learners::StepRule;
    if (name == "pegasos") return StepRule::kPegasos;
    if (name == "power") return StepRule::kPower;
    if (name == "asgd") return StepRule::kAsgd;
    if (name == "constant") return StepRule::kConstant;
    require(name == "root", "step must be pegasos, power, asgd, constant or root");
    return StepRule::kRoot;
}

struct Descent {
    double lam;
    const std::string& step;
    double gamma, alpha;
    std::size_t batch_size;
    std::uint64_t average_after;

    learners::DescentSettings settings() const {
        require_positive(lam, "lam must be a finite number above 0");
        require_positive(gamma, "gamma must be a finite number above 0");
        require(alpha > 0.0 && alpha <= 1.0, "alpha must be above 0 and at most 1");
        return {{step_rule(step), lam, gamma, alpha}, batch_size, average_after};
    }
};

std::unique_ptr<learners::Loss> make_loss(Oracle& oracle, const std::string& name, std::size_t k, bool restricted,
                                          std::size_t cccp, double epsilon, double decay) {
    if (name == "max-margin") return std::make_unique<learners::HingeLoss>(1, false);
    if (name == "slack") return std::make_unique<learners::SlackLoss>();
    if (name == "ramp" || name == "ramp-do") {
        require(cccp >= 1, "cccp must be at least 1");
        return std::make_unique<learners::RampLoss>(name == "ramp" ? -1.0 : 0.0, cccp);
    }
    if (name == "direct") {
        require(std::isfinite(epsilon) && epsilon != 0.0, "epsilon must be a finite number other than 0");
        require(decay >= 0.0 && decay <= 100.0, "epsilon_decay must be from 0 to 100");
        return std::make_unique<learners::DirectLoss>(epsilon, decay);
    }
    require(name == "k-best" || name == "averaged-sum", "there is no such loss");
    require(k < (std::size_t{1} << 31), "k is too large");
    require_kbest(oracle, k);
    return std::make_unique<learners::HingeLoss>(k, restricted);
}

void bind_descent(nb::module_& m) {
    nb::class_<learners::Subgradient, learners::Solver>(m, "Subgradient", "Subgradient descent with shrinking.")
        .def(
            "__init__",
            [](learners::Subgradient* self, Oracle& oracle, const Vector& weights, double lam, const std::string& loss,
               double epsilon, double epsilon_decay, const std::string& step, double gamma, std::size_t batch_size,
               std::uint64_t average_after, bool averaged, bool shuffle, std::uint64_t seed) {
                const Descent descent{lam, step, gamma, 0.75, batch_size, average_after};
                new (self) learners::Subgradient(oracle, OnlineSettings{seed, shuffle, averaged}, descent.settings(),
                                                 make_loss(oracle, loss, 1, false, 1, epsilon, epsilon_decay),
                                                 start_of(oracle, weights, {Variables::kScaled}, true));
            },
            nb::arg("oracle"), nb::arg("weights"), nb::kw_only(), nb::arg("lam"), nb::arg("loss"), nb::arg("epsilon"),
            nb::arg("epsilon_decay"), nb::arg("step"), nb::arg("gamma"), nb::arg("batch_size"),
            nb::arg("average_after"), nb::arg("averaged"), nb::arg("shuffle"), nb::arg("seed"), nb::keep_alive<1, 2>());
    nb::class_<learners::Pegasos, learners::Solver>(m, "Pegasos", "Structured Pegasos, in mini-batches.")
        .def(
            "__init__",
            [](learners::Pegasos* self, Oracle& oracle, const Vector& weights, double lam, const std::string& loss,
               std::size_t k, bool restricted, std::size_t cccp, const std::string& step, double gamma, double alpha,
               std::size_t batch_size, bool projection, std::uint64_t average_after, bool averaged, bool shuffle,
               std::uint64_t seed) {
                const Descent descent{lam, step, gamma, alpha, batch_size, average_after};
                new (self) learners::Pegasos(oracle, OnlineSettings{seed, shuffle, averaged}, descent.settings(),
                                             projection, make_loss(oracle, loss, k, restricted, cccp, 1.0, 0.0),
                                             start_of(oracle, weights, {Variables::kScaled}, true));
            },
            nb::arg("oracle"), nb::arg("weights"), nb::kw_only(), nb::arg("lam"), nb::arg("loss"), nb::arg("k"),
            nb::arg("restricted"), nb::arg("cccp"), nb::arg("step"), nb::arg("gamma"), nb::arg("alpha"),
            nb::arg("batch_size"), nb::arg("projection"), nb::arg("average_after"), nb::arg("averaged"),
            nb::arg("shuffle"), nb::arg("seed"), nb::keep_alive<1, 2>());
}

void bind_arow(nb::module_& m) {
    nb::class_<learners::Arow, learners::Solver>(m, "Arow", "AROW and confidence-weighted learning.")
        .def(
            "__init__",
            [](learners::Arow* self, Oracle& oracle, const Vector& weights, const std::string& variant, double r,
               double phi, double C, double variance, std::size_t k, bool averaged, bool shuffle, std::uint64_t seed,
               bool augmented, bool inverse, bool until_settled) {
                using learners::Confidence;
                require(variant == "arow" || variant == "cw" || variant == "scw", "variant must be arow, cw or scw");
                require_positive(r, "r must be a finite number above 0");
                require_positive(phi, "phi must be a finite number above 0");
                require_positive(C, "C must be a finite number above 0");
                require_positive(variance, "variance must be a finite number above 0");
                require_kbest(oracle, k);
                const Confidence kind = variant == "arow" ? Confidence::kArow
                                        : variant == "cw" ? Confidence::kCw
                                                          : Confidence::kScw;
                new (self) learners::Arow(oracle, OnlineSettings{seed, shuffle, averaged, until_settled},
                                          {kind, r, phi, C, variance, k, augmented, inverse},
                                          start_of(oracle, weights, {Variables::kByMember}));
            },
            nb::arg("oracle"), nb::arg("weights"), nb::kw_only(), nb::arg("variant"), nb::arg("r"), nb::arg("phi"),
            nb::arg("C"), nb::arg("variance"), nb::arg("k"), nb::arg("averaged"), nb::arg("shuffle"), nb::arg("seed"),
            nb::arg("augmented") = true, nb::arg("inverse") = false, nb::arg("until_settled") = true,
            nb::keep_alive<1, 2>());
}

SparseVector sparse_of(const AveragedWeights& weights, const Indices& indices, const Vector& values) {
    require(indices.size() == values.size(), "indices and values must have the same length");
    SparseVector out;
    for (std::size_t i = 0; i < indices.size(); ++i) {
        const std::int64_t index = indices.data()[i];
        require(index >= 0 && static_cast<std::size_t>(index) < weights.size(),
                "indices holds one outside the weights");
        out.indices.push_back(static_cast<std::uint32_t>(index));
        out.values.push_back(values.data()[i]);
    }
    return out;
}

auto copied(const std::vector<double>& values) { return to_numpy(values, {values.size()}); }

void bind_averaged_weights(nb::module_& m) {
    nb::class_<AveragedWeights>(m, "AveragedWeights", "Weights that scale for free, and their lazy average.")
        .def(
            "__init__",
            [](AveragedWeights* self, const Vector& start) {
                new (self) AveragedWeights(std::span<const double>(start.data(), start.size()));
            },
            nb::arg("start"))
        .def(
            "add",
            [](AveragedWeights& self, const Indices& indices, const Vector& values, double step) {
                self.add(sparse_of(self, indices, values), step);
            },
            nb::arg("indices"), nb::arg("values"), nb::arg("step"), "w += step * x")
        .def("multiply", &AveragedWeights::multiply, nb::arg("factor"), "w *= factor")
        .def(
            "grow", [](AveragedWeights& self, std::uint32_t n) { self.grow(n); }, nb::arg("n"),
            "Zeros up to n weights.")
        .def("count", &AveragedWeights::count, nb::arg("times") = 1.0, "The weights as they are enter the average.")
        .def_prop_ro("scale", &AveragedWeights::scale)
        .def_prop_ro("squared_norm", &AveragedWeights::squared_norm)
        .def(
            "current", [](const AveragedWeights& self) { return copied(self.current()); }, "w")
        .def(
            "average", [](const AveragedWeights& self) { return copied(self.average()); },
            "The mean of the weights counted; w when none were.");
}

// (code, cost, loss, exact, indices, values of f(gold) - f(y)), or None when nothing is violated.
nb::object slack_rival(Oracle& oracle, const Vector& weights, std::size_t example, bool search) {
    AveragedWeights w(start_of(oracle, weights, {Variables::kScaled}, true));
    require(example < oracle.n_examples(), "there is no such example");
    learners::RankedExamples examples(oracle);
    const learners::SlackRival rival =
        search ? learners::slack_search(examples, w, example) : learners::slack_rival(examples, w, example);
    if (!(rival.loss > 0.0)) return nb::none();
    return nb::make_tuple(rival.found.code, rival.found.cost, rival.loss, rival.exact,
                          to_numpy(rival.difference.indices, {rival.difference.size()}),
                          copied(rival.difference.values));
}

}  // namespace

void bind_primal(nb::module_& m) {
    bind_descent(m);
    bind_arow(m);
    bind_averaged_weights(m);
    m.def("slack_rival", slack_rival, nb::arg("oracle"), nb::arg("weights"), nb::arg("example"),
          nb::arg("search") = false,
          nb::sig("def slack_rival(oracle: Oracle, weights: numpy.typing.NDArray[numpy.float64], example: int, "
                  "search: bool = False) -> tuple | None"),
          "The structure most violated with rescaled slack, or None; with `search`, by kbest alone.");
}

}  // namespace tw::bind
