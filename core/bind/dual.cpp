// MIRA, SDM, LaRank and dual coordinate ascent, bound.
#include "../learners/dual_coordinate.hpp"
#include "../learners/larank.hpp"
#include "../learners/mira.hpp"
#include "../learners/sdm.hpp"
#include "learner_arguments.hpp"

namespace tw::bind {
namespace {

using learners::DualSettings;
using learners::OnlineSettings;

// What all of them take, after their own arguments.
DualSettings checked_settings(Oracle& oracle, double C, std::size_t k, double tau, double tol, std::size_t growth,
                              bool skip, std::size_t gap_every) {
    require_kbest(oracle, k);
    require_positive(C, "C must be a finite number above 0");
    require(std::isfinite(tau) && tau >= 0.0, "tau must be a finite number of at least 0");
    require(std::isfinite(tol) && tol >= 0.0, "tol must be a finite number of at least 0");
    return {C, k, tau, tol, growth, skip, gap_every, learners::Rescaling::kMargin};
}

// The three ways to solve the problem inside an example, for the tests that compare them with other solvers.
nb::tuple solve_block(const Matrix& K, const Vector& violations, const std::string& constraints, double C, double tau) {
    const std::size_t n = violations.size();
    require(K.shape(0) == n && K.shape(1) == n, "K must have one row and one column per violation");
    learners::Block block{n, std::vector<double>(K.data(), K.data() + n * n), std::vector<double>(n),
                          std::vector<double>(n, 0.0)};
    for (std::size_t i = 0; i < n; ++i) block.gradient[i] = -violations.data()[i];
    double gold = C;
    if (constraints == "sum")
        learners::smo(block, gold, tau);
    else if (constraints == "positive")
        learners::coordinate_ascent(block, tau);
    else if (constraints == "box")
        learners::active_set(block, C);
    else
        throw std::invalid_argument("constraints must be 'sum', 'positive' or 'box'");
    return nb::make_tuple(to_numpy(block.lambda, {n}), to_numpy(block.gradient, {n}), gold);
}

}  // namespace

void bind_dual(nb::module_& m) {
    m.def("solve_block", solve_block, nb::arg("K"), nb::arg("violations"), nb::arg("constraints"), nb::arg("C"),
          nb::arg("tau") = 0.0, "The dual problem inside one example: lambda, gradient, lambda of gold.");
    nb::class_<learners::Mira, learners::Solver>(m, "MIRA", "k-best MIRA, separable or with slack.")
        .def(
            "__init__",
            [](learners::Mira* self, Oracle& oracle, const Vector& weights, double C, std::size_t k, bool averaged,
               bool shuffle, std::uint64_t seed) {
                require_kbest(oracle, k);
                require(C > 0.0, "C must be above 0");
                new (self)
                    learners::Mira(oracle, OnlineSettings{seed, shuffle, averaged}, C, k, start_of(oracle, weights));
            },
            nb::arg("oracle"), nb::arg("weights"), nb::kw_only(), nb::arg("C"), nb::arg("k"), nb::arg("averaged"),
            nb::arg("shuffle"), nb::arg("seed"), nb::keep_alive<1, 2>());
    nb::class_<learners::Sdm, learners::Solver>(m, "SDM", "The k-best sequential dual method, hinge or ramp.")
        .def(
            "__init__",
            [](learners::Sdm* self, Oracle& oracle, const Vector& weights, double C, std::size_t k,
               const std::string& loss, std::size_t inner, double tau, double tol, std::size_t growth, bool skip,
               std::size_t gap_every, bool averaged, bool shuffle, std::uint64_t seed) {
                DualSettings dual = checked_settings(oracle, C, k, tau, tol, growth, skip, gap_every);
                require(inner >= 1, "inner must be at least 1");
                require(loss == "hinge" || loss == "slack" || loss == "ramp" || loss == "ramp-do",
                        "loss must be 'hinge', 'slack', 'ramp' or 'ramp-do'");
                require(loss != "slack" || k == 1, "k must be 1 with loss='slack'");
                if (loss == "slack") dual.rescaling = learners::Rescaling::kSlack;
                const learners::Ramp ramp = loss == "ramp"      ? learners::Ramp::kRamp
                                            : loss == "ramp-do" ? learners::Ramp::kDo
                                                                : learners::Ramp::kNone;
                new (self) learners::Sdm(oracle, OnlineSettings{seed, shuffle, averaged}, dual, ramp, inner,
                                         start_of(oracle, weights));
            },
            nb::arg("oracle"), nb::arg("weights"), nb::kw_only(), nb::arg("C"), nb::arg("k"), nb::arg("loss"),
            nb::arg("inner"), nb::arg("tau"), nb::arg("tol"), nb::arg("growth"), nb::arg("skip"), nb::arg("gap_every"),
            nb::arg("averaged"), nb::arg("shuffle"), nb::arg("seed"), nb::keep_alive<1, 2>());
    nb::class_<learners::LaRank, learners::Solver>(m, "LaRank", "k-best LaRank.")
        .def(
            "__init__",
            [](learners::LaRank* self, Oracle& oracle, const Vector& weights, double C, std::size_t k,
               std::size_t reprocess, double tau, double tol, std::size_t growth, std::size_t gap_every, bool averaged,
               bool shuffle, std::uint64_t seed) {
                const DualSettings dual = checked_settings(oracle, C, k, tau, tol, growth, false, gap_every);
                new (self) learners::LaRank(oracle, OnlineSettings{seed, shuffle, averaged}, dual, reprocess,
                                            start_of(oracle, weights));
            },
            nb::arg("oracle"), nb::arg("weights"), nb::kw_only(), nb::arg("C"), nb::arg("k"), nb::arg("reprocess"),
            nb::arg("tau"), nb::arg("tol"), nb::arg("growth"), nb::arg("gap_every"), nb::arg("averaged"),
            nb::arg("shuffle"), nb::arg("seed"), nb::keep_alive<1, 2>());
    nb::class_<learners::DualCoordinate, learners::Solver>(m, "DualCoordinate",
                                                           "Dual coordinate ascent for the squared hinge.")
        .def(
            "__init__",
            [](learners::DualCoordinate* self, Oracle& oracle, const Vector& weights, double C, std::size_t k,
               double tau, double tol, std::size_t growth, bool skip, std::size_t gap_every, bool averaged,
               bool shuffle, std::uint64_t seed) {
                const DualSettings dual = checked_settings(oracle, C, k, tau, tol, growth, skip, gap_every);
                new (self) learners::DualCoordinate(oracle, OnlineSettings{seed, shuffle, averaged}, dual,
                                                    start_of(oracle, weights));
            },
            nb::arg("oracle"), nb::arg("weights"), nb::kw_only(), nb::arg("C"), nb::arg("k"), nb::arg("tau"),
            nb::arg("tol"), nb::arg("growth"), nb::arg("skip"), nb::arg("gap_every"), nb::arg("averaged"),
            nb::arg("shuffle"), nb::arg("seed"), nb::keep_alive<1, 2>());
}

}  // namespace tw::bind
