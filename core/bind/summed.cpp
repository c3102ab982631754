// An oracle whose sums are added up elsewhere, by other processes perhaps: Python is asked for them as a whole.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "../learners/vectors.hpp"
#include "../oracle.hpp"
#include "arrays.hpp"

namespace tw::bind {
namespace {

// Asks a Python object for loss(weights, gradient, nu, precise) -> loss and curvature(weights, diagonal, nu), which
// fill their second argument. What Python raises passes through the learner as it is. There are no examples to visit
// one by one, so no stochastic steps.
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
        return nb::cast<double>(asked_.attr("loss")(array_of(weights), array_of(gradient), nu, precise));
    }
    void curvature(std::span<const double> weights, std::span<double> diagonal, double nu, std::size_t) override {
        const nb::gil_scoped_acquire locked;
        asked_.attr("curvature")(array_of(weights), array_of(diagonal), nu);
    }
    std::unique_ptr<WorkingWeights> working_weights() const override { refuse(); }
    double descend(WorkingWeights&, std::span<const std::uint32_t>, double, double) const override { refuse(); }

private:
    [[noreturn]] static void refuse() {
        throw std::invalid_argument("these examples are summed as a whole: there are no stochastic steps");
    }
    // Only for the call: the numbers are the learner's.
    template <class T>
    static nb::object array_of(std::span<T> numbers) {
        const nb::ndarray<nb::numpy, T> array(numbers.data(), {numbers.size()}, nb::handle());
        return nb::cast(array, nb::rv_policy::reference);
    }

    nb::object asked_;
    std::size_t n_examples_;
    std::vector<double> l1_factors_;
    bool merged_;
};

// Which weights of the whole a shard has. Each stands there once, so threads may share out a shard's numbers.
//
//     whole      w0 w1 w2 w3 w4 w5 w6 w7         to_shard: shard[j] = whole[places[j]]
//     places        1  6  2                      add_to_whole: whole[places[j]] += shard[j]
//     shard        w1 w6 w2
class Places {
public:
    Places(const Indices& places, std::size_t n_weights) : n_weights_(n_weights), places_(places.size()) {
        require(n_weights <= std::numeric_limits<std::uint32_t>::max(), "there are too many weights");
        std::vector<bool> taken(n_weights, false);
        for (std::size_t j = 0; j < places_.size(); ++j) {
            const auto place = static_cast<std::size_t>(places.data()[j]);  // what is negative becomes too large
            require(place < n_weights && !taken[place], "places are outside of the whole, or there twice");
            taken[place] = true;
            places_[j] = static_cast<std::uint32_t>(place);
        }
    }

    std::size_t size() const { return places_.size(); }

    void to_shard(const Vector& whole, const Output& shard, std::size_t n_jobs) const {
        check(whole.size(), shard.size());
        const double* from = whole.data();
        double* to = shard.data();
        for_each(n_jobs, [=, this](std::size_t j) { to[j] = from[places_[j]]; });
    }

    void add_to_whole(const Vector& shard, const Output& whole, std::size_t n_jobs) const {
        check(whole.size(), shard.size());
        const double* from = shard.data();
        double* to = whole.data();
        for_each(n_jobs, [=, this](std::size_t j) { to[places_[j]] += from[j]; });
    }

private:
    void check(std::size_t whole, std::size_t shard) const {
        require(whole == n_weights_ && shard == places_.size(), "weights of another number than there are places");
    }

    template <class Body>
    void for_each(std::size_t n_jobs, Body body) const {
        const Unlocked unlocked;
        learners::over_blocks(places_.size(), 0, n_jobs, [&](std::size_t begin, std::size_t end, double*) {
            for (std::size_t j = begin; j < end; ++j) body(j);
        });
    }

    std::size_t n_weights_;
    std::vector<std::uint32_t> places_;
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
    nb::class_<Places>(m, "Places", "Which weights of the whole a shard has, each of them once.")
        .def(nb::init<const Indices&, std::size_t>(), nb::arg("places"), nb::arg("n_weights"))
        .def("__len__", &Places::size)
        .def("to_shard", &Places::to_shard, nb::arg("whole"), nb::arg("shard"), nb::arg("n_jobs"),
             "Fills `shard` with its weights.")
        .def("add_to_whole", &Places::add_to_whole, nb::arg("shard"), nb::arg("whole"), nb::arg("n_jobs"),
             "Adds numbers of the shard to those of the whole; the same bits for any `n_jobs`.");
}

}  // namespace tw::bind
