// Frank-Wolfe, cutting planes and exponentiated gradient, bound.
#include "../learners/cutting_plane.hpp"
#include "../learners/exponentiated_gradient.hpp"
#include "../learners/frank_wolfe.hpp"
#include "learner_arguments.hpp"

namespace tw::bind {
namespace {

using learners::Averaging;
using learners::CuttingPlane;
using learners::ExponentiatedGradient;
using learners::FrankWolfe;
using learners::OnlineSettings;
using learners::Rescaling;

Averaging averaging_named(const std::string& name) {
    if (name == "none") return Averaging::kNone;
    if (name == "uniform") return Averaging::kUniform;
    if (name == "weighted") return Averaging::kWeighted;
    throw std::invalid_argument("averaged must be 'none', 'uniform' or 'weighted'");
}

Rescaling rescaling_named(const std::string& name) {
    if (name == "margin") return Rescaling::kMargin;
    if (name == "slack") return Rescaling::kSlack;
    throw std::invalid_argument("rescaling must be 'margin' or 'slack'");
}

learners::DualLoss loss_named(const std::string& name) {
    if (name == "crf") return learners::DualLoss::kCrf;
    if (name == "max-margin") return learners::DualLoss::kMaxMargin;
    throw std::invalid_argument("loss must be 'crf' or 'max-margin'");
}

void require_tolerance(double tol, std::size_t gap_every) {
    require(tol >= 0.0, "tol must be a number >= 0");
    require(gap_every >= 1, "gap_every must be at least 1");
}

void make_frank_wolfe(FrankWolfe* self, Oracle& oracle, const Vector& weights, double C, double tol,
                      const std::string& rescaling, const std::string& averaged, bool line_search,
                      std::size_t gap_every, bool shuffle, std::uint64_t seed) {
    require_positive(C, "C must be a number above 0");
    require_tolerance(tol, gap_every);
    const learners::FrankWolfeSettings how{
        C, tol, gap_every, line_search, averaging_named(averaged), rescaling_named(rescaling)};
    new (self) FrankWolfe(oracle, OnlineSettings{seed, shuffle, false}, how, start_of(oracle, weights));
}

void make_exponentiated_gradient(ExponentiatedGradient* self, Oracle& oracle, const Vector& weights,
                                 const std::string& loss, double kappa, double tol, double step, std::size_t gap_every,
                                 bool averaged, bool shuffle, std::uint64_t seed) {
    require_positive(kappa, "kappa must be a number above 0");
    require_positive(step, "step must be a number above 0");
    require_tolerance(tol, gap_every);
    const learners::DualLoss named = loss_named(loss);
    require(named == learners::DualLoss::kMaxMargin || step <= 1.0, "step must be at most 1 for a CRF");
    new (self) ExponentiatedGradient(oracle, OnlineSettings{seed, shuffle, averaged},
                                     {named, kappa, tol, step, gap_every}, start_of(oracle, weights));
}

template <class Learner>
void evaluate(Learner& learner, std::size_t n_jobs) {
    const Unlocked unlocked;
    learner.evaluate(n_jobs);
}

double hinge_sum(Oracle& oracle, const Vector& weights, std::size_t n_jobs, const std::string& rescaling) {
    const Rescaling how = rescaling_named(rescaling);
    learners::AveragedWeights w(start_of(oracle, weights, {Variables::kScaled}, true));
    learners::RankedExamples examples(oracle);
    const Unlocked unlocked;
    return learners::hinge_sum(examples, w, n_jobs, how);
}

}  // namespace

void bind_batch(nb::module_& m) {
    nb::class_<FrankWolfe, learners::Solver>(m, "FrankWolfe", "Block-coordinate Frank-Wolfe for max-margin.")
        .def("__init__", make_frank_wolfe, nb::arg("oracle"), nb::arg("weights"), nb::kw_only(), nb::arg("C"),
             nb::arg("tol"), nb::arg("rescaling"), nb::arg("averaged"), nb::arg("line_search"), nb::arg("gap_every"),
             nb::arg("shuffle"), nb::arg("seed"), nb::keep_alive<1, 2>())
        .def("evaluate", evaluate<FrankWolfe>, nb::arg("n_jobs") = 1, "Make objective and gap exact.");
    nb::class_<CuttingPlane, learners::Solver>(m, "CuttingPlane", "1-slack cutting planes for max-margin.")
        .def(
            "__init__",
            [](CuttingPlane* self, Oracle& oracle, const Vector& weights, double C, double tol,
               const std::string& rescaling) {
                require_positive(C, "C must be a number above 0");
                require_tolerance(tol, 1);
                new (self) CuttingPlane(oracle, C, tol, rescaling_named(rescaling), start_of(oracle, weights));
            },
            nb::arg("oracle"), nb::arg("weights"), nb::kw_only(), nb::arg("C"), nb::arg("tol"), nb::arg("rescaling"),
            nb::keep_alive<1, 2>());
    nb::class_<ExponentiatedGradient, learners::Solver>(m, "ExponentiatedGradient", "Online EG on the dual.")
        .def("__init__", make_exponentiated_gradient, nb::arg("oracle"), nb::arg("weights"), nb::kw_only(),
             nb::arg("loss"), nb::arg("kappa"), nb::arg("tol"), nb::arg("step"), nb::arg("gap_every"),
             nb::arg("averaged"), nb::arg("shuffle"), nb::arg("seed"), nb::keep_alive<1, 2>())
        .def("evaluate", evaluate<ExponentiatedGradient>, nb::arg("n_jobs") = 1, "Make objective and gap exact.");
    m.def("hinge_sum", hinge_sum, nb::arg("oracle"), nb::arg("weights"), nb::arg("n_jobs") = 1,
          nb::arg("rescaling") = "margin",
          "Sum over the examples of weight * max over y of cost(y) - w . d, or of cost(y) * (1 - w . d) with rescaled "
          "slack; d = f(gold) - f(y).");
}

}  // namespace tw::bind
