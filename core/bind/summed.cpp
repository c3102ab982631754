// An oracle whose sums are added up elsewhere, by other processes perhaps: Python is asked for them as a whole.
#include <algorithm>
#include <stdexcept>

#include "../oracle.hpp"
#include "arrays.hpp"

namespace tw::bind {
namespace {

// Asks a Python object for loss(weights, nu, precise) -> (loss, gradient) and curvature(weights, nu) -> diagonal. What
// Python raises passes through the learner as it is. There are no examples to visit one by one, so no stochastic steps.
class SummedOracle final : public Oracle, public Sums {
public:
    SummedOracle(nb::object asked, std::size_t n_examples, std::vector<double> l1_factors)
        : asked_(std::move(asked)), n_examples_(n_examples), l1_factors_(std::move(l1_factors)) {
        merged_ = std::ranges::any_of(l1_factors_, [](double factor) { return factor != 1.0; });
    }

    std::size_t n_examples() const override { return n_examples_; }
    std::size_t n_weights() const override { return l1_factors_.size(); }
    Variables variables() const override { return merged_ ? Variables::kScaled : Variables::kPlain; }
    Sums* sums() override { return this; }
    std::span<const double> l1_factors() const override { return l1_factors_; }

    double loss(std::span<const double> weights, std::span<double> gradient, double nu, std::size_t,
                bool precise) override {
        const nb::gil_scoped_acquire locked;
        const nb::tuple answer = nb::cast<nb::tuple>(asked_.attr("loss")(array_of(weights), nu, precise));
        copy_to(answer[1], gradient);
        return nb::cast<double>(answer[0]);
    }
    void curvature(std::span<const double> weights, std::span<double> diagonal, double nu, std::size_t) override {
        const nb::gil_scoped_acquire locked;
        copy_to(asked_.attr("curvature")(array_of(weights), nu), diagonal);
    }
    std::unique_ptr<WorkingWeights> working_weights() const override { refuse(); }
    double descend(WorkingWeights&, std::span<const std::uint32_t>, double, double) const override { refuse(); }

private:
    [[noreturn]] static void refuse() {
        throw std::invalid_argument("these examples are summed as a whole: there are no stochastic steps");
    }
    // Only for the call: the weights are the learner's.
    static nb::ndarray<nb::numpy, const double> array_of(std::span<const double> weights) {
        return nb::ndarray<nb::numpy, const double>(weights.data(), {weights.size()}, nb::handle());
    }
    static void copy_to(nb::handle from, std::span<double> out) {
        const auto numbers = nb::cast<Vector>(from);
        require(numbers.size() == out.size(), "a sum has the wrong size");
        std::copy(numbers.data(), numbers.data() + numbers.size(), out.begin());
    }

    nb::object asked_;
    std::size_t n_examples_;
    std::vector<double> l1_factors_;
    bool merged_;
};

}  // namespace

void bind_summed(nb::module_& m) {
    nb::class_<SummedOracle, Oracle>(m, "SummedOracle", "Examples whose sums a Python object has added up.")
        .def(
            "__init__",
            [](SummedOracle* self, nb::object asked, std::size_t n_examples, const Vector& l1_factors) {
                new (self) SummedOracle(std::move(asked), n_examples,
                                        {l1_factors.data(), l1_factors.data() + l1_factors.size()});
            },
            nb::arg("asked"), nb::arg("n_examples"), nb::arg("l1_factors"));
}

}  // namespace tw::bind
