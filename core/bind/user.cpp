// Structures written in Python that are asked, as oracles. Those that list their outputs are in one_of.cpp.
#include <bit>

#include "../linear/dense_weights.hpp"
#include "learner_arguments.hpp"
#include "sparse_arguments.hpp"

namespace tw::bind {
namespace {

std::vector<double> numbers_of(const Vector& from, std::size_t size, const char* message) {
    require(from.size() == size, message);
    for (std::size_t i = 0; i < size; ++i) require(std::isfinite(from.data()[i]) && from.data()[i] >= 0.0, message);
    return {from.data(), from.data() + size};
}

// Asks a Python object (trelliswork.structures.custom.adapter.Asked), which has checked whatever it answers. Learners
// ask without the interpreter's lock and from any thread: every question takes it. What Python raises passes through
// the learner as it is.
class AskedOracle final : public Oracle, public BestOutputs, public Sums, public PartMarginals {
public:
    AskedOracle(nb::object asked, std::size_t n_features, SparseRows gold, std::vector<double> sample_weights,
                bool kbest, bool expectations, bool parts)
        : asked_(std::move(asked)),
          n_features_(n_features),
          gold_(std::move(gold)),
          sample_weights_(std::move(sample_weights)),
          kbest_(kbest),
          expectations_(expectations),
          parts_(parts),
          l1_factors_(n_features, 1.0) {}

    std::size_t n_examples() const override { return sample_weights_.size(); }
    std::size_t n_weights() const override { return n_features_; }
    double example_weight(std::size_t example) const override { return sample_weights_[example]; }
    std::span<const double> l1_factors() const override { return l1_factors_; }

    BestOutputs* best() override { return this; }
    bool lists() const override { return kbest_; }
    Sums* sums() override { return expectations_ ? this : nullptr; }
    PartMarginals* parts() override { return parts_ ? this : nullptr; }

    void part_scores(const ScaledWeights& weights, std::size_t example, std::vector<double>& out) const override {
        const nb::gil_scoped_acquire locked;
        copy_to(asked_.attr("part_scores")(array_of(weights), example), out);
    }
    void part_costs(std::size_t example, std::vector<double>& out) const override {
        const nb::gil_scoped_acquire locked;
        copy_to(asked_.attr("part_costs")(example), out);
    }
    double marginals(std::size_t example, std::span<const double> scores, std::vector<double>& out) const override {
        const nb::gil_scoped_acquire locked;
        const nb::tuple answer = nb::cast<nb::tuple>(asked_.attr("marginals")(array_of({scores, 1.0}), example));
        copy_to(answer[1], out);
        return nb::cast<double>(answer[0]);
    }
    void difference_of_marginals(std::size_t example, std::span<const double> marginals, SparseVector& out) override {
        const nb::gil_scoped_acquire locked;
        const nb::tuple expected = nb::cast<nb::tuple>(asked_.attr("features_of")(array_of({marginals, 1.0}), example));
        difference_to(example, nb::cast<Indices>(expected[0]), nb::cast<Vector>(expected[1]), out);
    }

    std::vector<tw::Output> kbest(const ScaledWeights& weights, std::size_t example, std::size_t k,
                                  double nu) const override {
        const nb::gil_scoped_acquire locked;
        std::vector<tw::Output> found;
        for (nb::handle one : asked_.attr("kbest")(array_of(weights), example, k, nu)) {
            const nb::tuple parts = nb::cast<nb::tuple>(one);
            auto difference = std::make_shared<SparseVector>();
            difference_to(example, nb::cast<Indices>(parts[0]), nb::cast<Vector>(parts[1]), *difference);
            const double score = nb::cast<double>(parts[2]), cost = nb::cast<double>(parts[3]);
            found.push_back({code_of(*difference, cost), difference, score, cost});
        }
        return found;
    }

    void difference(std::size_t, const tw::Output& found, SparseVector& out) override {
        out = *static_cast<const SparseVector*>(found.held.get());
    }

    double loss(std::span<const double> weights, std::span<double> gradient, double nu, std::size_t, bool) override {
        std::ranges::fill(gradient, 0.0);
        double total = 0.0;
        SparseVector difference;
        for (std::size_t example = 0; example < n_examples(); ++example) {
            total += expect({weights, 1.0}, example, nu, difference);
            for (std::size_t i = 0; i < difference.size(); ++i)
                gradient[difference.indices[i]] -= sample_weights_[example] * difference.values[i];
        }
        return total;
    }

    // The squares of the gradients of the examples: what they are on average, in the places where the model is right,
    // is the second derivative (the Fisher information), and expectations say no more about it.
    void curvature(std::span<const double> weights, std::span<double> diagonal, double nu, std::size_t) override {
        std::ranges::fill(diagonal, 0.0);
        SparseVector difference;
        for (std::size_t example = 0; example < n_examples(); ++example) {
            expect({weights, 1.0}, example, nu, difference);
            for (std::size_t i = 0; i < difference.size(); ++i)
                diagonal[difference.indices[i]] +=
                    sample_weights_[example] * difference.values[i] * difference.values[i];
        }
    }

    std::unique_ptr<WorkingWeights> working_weights() const override {
        return std::make_unique<DenseWeights>(n_features_);
    }

    double descend(WorkingWeights& weights, std::span<const std::uint32_t> examples, double step,
                   double nu) const override {
        auto& working = dynamic_cast<DenseWeights&>(weights);
        std::vector<SparseVector> differences(examples.size());
        double total = 0.0;
        for (std::size_t i = 0; i < examples.size(); ++i)
            total += expect(working.view(), examples[i], nu, differences[i]);
        for (std::size_t i = 0; i < examples.size(); ++i) {
            const double factor = step / working.scale() * sample_weights_[examples[i]];
            for (std::size_t j = 0; j < differences[i].size(); ++j)
                working.stored()[differences[i].indices[j]] += factor * differences[i].values[j];
        }
        return total;
    }

private:
    static void copy_to(nb::handle from, std::vector<double>& out) {
        const auto numbers = nb::cast<Vector>(from);
        out.assign(numbers.data(), numbers.data() + numbers.size());
    }

    // A copy that only Python owns: whoever keeps it keeps these weights, and no one can write to it.
    static nb::ndarray<nb::numpy, const double> array_of(const ScaledWeights& weights) {
        auto copy = std::make_unique_for_overwrite<double[]>(std::max<std::size_t>(weights.stored.size(), 1));
        for (std::size_t j = 0; j < weights.stored.size(); ++j) copy[j] = weights.scale * weights.stored[j];
        double* data = copy.release();
        const nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
        return nb::ndarray<nb::numpy, const double>(data, {weights.stored.size()}, owner);
    }

    // f(gold) - f, of features whose indices rise.
    void difference_to(std::size_t example, const Indices& indices, const Vector& values, SparseVector& out) const {
        require(indices.size() == values.size(), "features have as many indices as values");
        for (std::size_t i = 0; i < indices.size(); ++i)
            require(indices.data()[i] >= 0 && static_cast<std::size_t>(indices.data()[i]) < n_features_,
                    "features have an index that is out of range");
        subtract<std::int64_t>(gold_.columns_of(example), gold_.values_of(example), {indices.data(), indices.size()},
                               {values.data(), values.size()}, out);
    }

    // The weighted loss of an example at these weights, and f(gold) - expected features.
    double expect(const ScaledWeights& weights, std::size_t example, double nu, SparseVector& difference) const {
        const nb::gil_scoped_acquire locked;
        const nb::tuple answer = nb::cast<nb::tuple>(asked_.attr("expectations")(array_of(weights), example, nu));
        difference_to(example, nb::cast<Indices>(answer[2]), nb::cast<Vector>(answer[3]), difference);
        return sample_weights_[example] * (nb::cast<double>(answer[0]) - nb::cast<double>(answer[1]));
    }

    // Learners that keep structures may tell them apart by their code: here, a hash of all that they see of one.
    static std::vector<std::uint32_t> code_of(const SparseVector& difference, double cost) {
        std::uint64_t hash = 0x9e3779b97f4a7c15u;
        const auto mix = [&hash](std::uint64_t word) {
            hash = (hash ^ word) * 0xbf58476d1ce4e5b9u;
            hash ^= hash >> 29;
        };
        for (std::size_t i = 0; i < difference.size(); ++i) {
            mix(difference.indices[i]);
            mix(std::bit_cast<std::uint64_t>(difference.values[i]));
        }
        mix(std::bit_cast<std::uint64_t>(cost));
        return {static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(hash >> 32)};
    }

    nb::object asked_;
    std::size_t n_features_;
    SparseRows gold_;
    std::vector<double> sample_weights_;
    bool kbest_, expectations_, parts_;
    std::vector<double> l1_factors_;
};

}  // namespace

void bind_user(nb::module_& m) {
    nb::class_<AskedOracle, Oracle>(m, "AskedOracle", "Examples about which a Python object is asked.")
        .def(
            "__init__",
            [](AskedOracle* self, nb::object asked, std::size_t n_features, const Indices& indptr,
               const Indices& indices, const Vector& data, const Vector& sample_weight, bool kbest, bool expectations,
               bool parts) {
                SparseRows gold = rows_of(indptr, indices, data, n_features);
                const std::size_t n = gold.size();
                new (self) AskedOracle(
                    std::move(asked), n_features, std::move(gold),
                    numbers_of(sample_weight, n, "sample_weight must be one finite number >= 0 per example"), kbest,
                    expectations, parts);
            },
            nb::arg("asked"), nb::arg("n_features"), nb::arg("indptr"), nb::arg("indices"), nb::arg("data"),
            nb::arg("sample_weight"), nb::arg("kbest"), nb::arg("expectations"), nb::arg("parts"));
}

}  // namespace tw::bind
