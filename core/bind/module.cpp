// The module trelliswork._core: checked arrays in, arrays out. See the other files of this folder.
#include <cmath>

#include "arrays.hpp"

NB_MODULE(_core, m) {
    nb::set_leak_warnings(false);  // objects that outlive the interpreter's shutdown are no concern of a user's
    m.doc() = "The compiled core of trelliswork; use the public names of the package instead.";
    tw::bind::bind_unlocked(m);
    tw::bind::bind_chain(m);
    tw::bind::bind_padded_losses(m);
    tw::bind::bind_semirings(m);
    tw::bind::bind_sources(m);
    tw::bind::bind_features(m);
    tw::bind::bind_treebanks(m);
    tw::bind::bind_oracle(m);
    tw::bind::bind_linear(m);
    tw::bind::bind_factor_graph(m);
    tw::bind::bind_training(m);
    tw::bind::bind_one_of(m);
    tw::bind::bind_learners(m);
    tw::bind::bind_online(m);
    tw::bind::bind_dual(m);
    tw::bind::bind_primal(m);
    tw::bind::bind_batch(m);
    tw::bind::bind_user(m);
    tw::bind::bind_summed(m);
    tw::bind::bind_part_models(m);
    tw::bind::bind_score_tables(m);
    tw::bind::bind_arcs(m);
    tw::bind::bind_tagging(m);
    tw::bind::bind_grids(m);
    tw::bind::bind_crfsuite(m);
    tw::bind::bind_arrow(m);

    m.def("kernels", [] { return std::string(tw::kernels().name); }, "Instruction set of the kernels in use.");
    m.def("kernel_width", [] { return tw::kernels().width; }, "Doubles in one vector of the kernels in use.");
    m.def(
        "first_invalid",
        [](const tw::bind::Scores& scores) { return tw::kernels().first_invalid(scores.data(), scores.size()); },
        "Flat index of the first NaN, +inf or value beyond 1e300; the size when there is none.");
    m.def(
        "mask_arcs",
        [](tw::bind::Output arcs, std::size_t n) {
            if (n == 0 || arcs.size() % (n * n) != 0) throw std::invalid_argument("arcs are not squares of this size");
            for (std::size_t first = 0; first < arcs.size(); first += n * n)
                for (std::size_t i = 0; i < n; ++i)
                    arcs.data()[first + i * n] = arcs.data()[first + i * (n + 1)] = -HUGE_VAL;
            return tw::kernels().first_invalid(arcs.data(), arcs.size());
        },
        nb::arg("arcs"), nb::arg("n"),
        "Forbid the first column and the diagonal of squares of n rows; then as first_invalid.");
    m.def(
        "exponentials",
        [](const tw::bind::Vector& values, tw::bind::Output out) {
            tw::bind::require_size(out, values.size());
            tw::kernels().exponentials(values.data(), values.size(), out.data());
        },
        "e**x of each value (x <= 700), as the kernels compute it.");
    m.def(
        "probe",
        [](const std::string& what, std::size_t rounds) {
            const tw::bind::Unlocked unlocked;
            if (what == "multiply-add") return tw::kernels().probe_multiply_add(rounds);
            if (what == "exponential") return tw::kernels().probe_exponential(rounds);
            if (what == "max-plus") return tw::kernels().probe_max_plus(rounds);
            throw std::invalid_argument("unknown probe: " + what);
        },
        nb::arg("what"), nb::arg("rounds"), "Run a throughput probe; returns how many operations were done.");
}
