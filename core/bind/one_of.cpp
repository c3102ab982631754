// Single labels and listed outputs as oracles.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>

#include <cmath>
#include <numeric>
#include <optional>
#include <string>

#include "../linear/oracle.hpp"
#include "../structures/families.hpp"
#include "learner_arguments.hpp"
#include "sparse_arguments.hpp"

namespace tw::bind {
namespace {

using linear::LinearOracle;

std::vector<double> numbers_of(const Vector& from, std::size_t size, const char* message) {
    require(from.size() == size, message);
    for (std::size_t i = 0; i < size; ++i) require(std::isfinite(from.data()[i]) && from.data()[i] >= 0.0, message);
    return {from.data(), from.data() + size};
}

SparseRows sparse(const Matrix& x) {
    SparseRows rows;
    for (std::size_t i = 0; i < x.shape(0); ++i) {
        for (std::size_t j = 0; j < x.shape(1); ++j) {
            const double value = x.data()[i * x.shape(1) + j];
            if (value == 0.0) continue;
            rows.columns.push_back(static_cast<std::uint32_t>(j));
            rows.values.push_back(value);
        }
        rows.starts.push_back(rows.columns.size());
    }
    return rows;
}

std::vector<double> cost_of(const Matrix& from, std::size_t n_labels) {
    std::vector<double> cost(from.data(), from.data() + from.size());
    require(cost.empty() || cost.size() == n_labels * n_labels, "cost must have one row and one column per label");
    for (const double value : cost) {
        require(std::isfinite(value), "cost must hold finite numbers");
        require(value >= 0.0, "cost holds a number below 0");
    }
    for (std::size_t k = 0; k < n_labels && !cost.empty(); ++k)
        if (cost[k * n_labels + k] != 0.0)
            throw std::invalid_argument("cost[" + std::to_string(k) + "][" + std::to_string(k) +
                                        "] must be 0: the right label costs nothing");
    return cost;
}

// One label for each row. `expansion`, labels x groups: a copy of the attributes for every group that a label belongs
// to, times its share in it. As a rule every label is alone in a group of its own; labels that share one learn from
// each other's examples.
std::unique_ptr<LinearOracle> labels(SparseRows rows, std::size_t n_columns, const Labels& y, std::size_t n_labels,
                                     const Vector& sample_weight, const Matrix& cost,
                                     const std::optional<Matrix>& expansion) {
    const std::size_t n = rows.size();
    require(n_labels >= 1 && n_labels < (std::size_t{1} << 31),
            "there must be at least one label, and fewer than 2**31");
    require(n < (std::size_t{1} << 32), "there are more examples than 2**32");
    for (const double value : rows.values) require(std::isfinite(value), "X must hold finite numbers");
    require(y.size() == n, "y must have one label per row of X");
    linear::Examples examples;
    examples.shapes.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
        require(y.data()[i] >= 0, "y holds a label below 0");
        require(static_cast<std::size_t>(y.data()[i]) < n_labels, "y holds a label that is not below n_labels");
        examples.outputs.push_back({static_cast<std::uint32_t>(y.data()[i])});
    }
    require(sample_weight.size() == 0 || sample_weight.size() == n, "sample_weight must have one number per row of X");
    examples.weights = numbers_of(sample_weight, sample_weight.size(), "sample_weight must hold finite numbers >= 0");
    if (examples.weights.empty()) examples.weights.assign(n, 1.0);
    examples.cost = cost_of(cost, n_labels);
    linear::Channel channel{.name = "attributes", .n_codes = n_labels, .n_units = n_columns};
    if (expansion && expansion->size() > 0) {
        require(expansion->shape(0) == n_labels, "expansion must have one row per label");
        for (std::size_t i = 0; i < expansion->size(); ++i)
            require(std::isfinite(expansion->data()[i]), "expansion must hold finite numbers");
        channel.n_codes = expansion->shape(1);
        channel.shares = sparse(*expansion);
    }
    require(n_columns < (std::size_t{1} << 32) / std::max(channel.n_codes, n_labels),
            "there are more weights than 2**32");
    channel.first.resize(n + 1);
    std::iota(channel.first.begin(), channel.first.end(), std::size_t{0});
    channel.rows = std::move(rows);
    examples.channels.push_back(std::move(channel));
    return std::make_unique<LinearOracle>(one_of_structure(n_labels), std::move(examples), linear::Combinations::kAll);
}

// Outputs starts[i] .. starts[i + 1] - 1 are those of example i.
std::unique_ptr<LinearOracle> enumerated(const Indices& starts, const Indices& gold, const Indices& indptr,
                                         const Indices& indices, const Vector& data, std::size_t n_features,
                                         const Vector& costs, const Vector& sample_weight) {
    linear::Channel channel{.name = "features", .n_codes = 1, .n_units = n_features};
    channel.rows = rows_of(indptr, indices, data, n_features);
    for (const double value : channel.rows.values) require(std::isfinite(value), "features must be finite");
    const std::size_t n = gold.size();
    channel.first = starts_of(starts, channel.rows.size());
    require(channel.first.size() == n + 1, "outputs, costs, gold and sample_weight do not fit each other");
    linear::Examples examples;
    examples.part_costs = numbers_of(costs, channel.rows.size(), "costs must be one finite number >= 0 per output");
    examples.weights = numbers_of(sample_weight, n, "sample_weight must be one finite number >= 0 per example");
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t count = channel.first[i + 1] - channel.first[i];
        require(gold.data()[i] >= 0, "gold must not be below 0");
        if (static_cast<std::size_t>(gold.data()[i]) >= count)
            throw std::invalid_argument("the gold output of example " + std::to_string(i) +
                                        " is not among its outputs");
        examples.shapes.push_back({static_cast<std::uint32_t>(count)});
        examples.outputs.push_back({static_cast<std::uint32_t>(gold.data()[i])});
    }
    examples.channels.push_back(std::move(channel));
    return std::make_unique<LinearOracle>(one_of_structure(0), std::move(examples), linear::Combinations::kAll);
}

struct LabelOracle {};
struct EnumeratedOracle {};

}  // namespace

void bind_one_of(nb::module_& m) {
    nb::class_<LabelOracle>(m, "LabelOracle", "Makes oracles of single labels: one for each row of X.")
        .def_static(
            "dense",
            [](const Matrix& x, const Labels& y, std::size_t n_labels, const Vector& sample_weight, const Matrix& cost,
               const std::optional<Matrix>& expansion) {
                return labels(sparse(x), x.shape(1), y, n_labels, sample_weight, cost, expansion);
            },
            nb::arg("x"), nb::arg("y"), nb::arg("n_labels"), nb::arg("sample_weight"), nb::arg("cost"),
            nb::arg("expansion") = nb::none(),
            "From a matrix. `sample_weight` and `cost` may be empty: ones, and 0/1 cost; `expansion` is labels x "
            "groups. Weights are [column][label], or [column][group].")
        .def_static(
            "sparse",
            [](const Indices& indptr, const Indices& indices, const Vector& data, std::size_t n_columns,
               const Labels& y, std::size_t n_labels, const Vector& sample_weight, const Matrix& cost,
               const std::optional<Matrix>& expansion) {
                return labels(rows_of(indptr, indices, data, n_columns), n_columns, y, n_labels, sample_weight, cost,
                              expansion);
            },
            nb::arg("indptr"), nb::arg("indices"), nb::arg("data"), nb::arg("n_columns"), nb::arg("y"),
            nb::arg("n_labels"), nb::arg("sample_weight"), nb::arg("cost"), nb::arg("expansion") = nb::none(),
            "From the parts of a CSR matrix; what occurs twice in a row is added up.");
    nb::class_<EnumeratedOracle>(m, "EnumeratedOracle", "Makes oracles of outputs that are all written down.")
        .def_static("make", enumerated, nb::arg("starts"), nb::arg("gold"), nb::arg("indptr"), nb::arg("indices"),
                    nb::arg("data"), nb::arg("n_features"), nb::arg("costs"), nb::arg("sample_weight"),
                    "Outputs starts[i]:starts[i + 1] are those of example i; their features are rows of a CSR matrix.");
}

}  // namespace tw::bind
