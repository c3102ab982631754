// Array types at the border with Python, and the checks that every one passes before the core sees it.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../kernels/kernels.hpp"
#include "casters.hpp"
#include "unlocked.hpp"

namespace nb = nanobind;

namespace tw::bind {

using Scores = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;  // any number of dimensions
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Cube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Labels = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Flags = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<double, nb::c_contig, nb::device::cpu>;
using LabelOutput = nb::ndarray<std::int32_t, nb::c_contig, nb::device::cpu>;

inline void require(bool holds, const char* message) {
    if (!holds) throw std::invalid_argument(message);
}

// Of a beam; none is an exact search.
inline std::size_t width_of(std::optional<std::size_t> beam) {
    require(!beam || *beam > 0, "the width of a beam must be at least 1");
    return beam.value_or(0);
}

inline void require_size(const Output& out, std::size_t size) {
    require(out.size() == size, "the output array has the wrong size");
}

template <class Array>
void require_scores(const Array& scores, const char* message) {
    require(kernels().first_invalid(scores.data(), scores.size()) == scores.size(), message);
}

// Hands memory over to NumPy without copying.
template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::unique_ptr<T[]>&& values, std::initializer_list<std::size_t> shape) {
    static T nothing{};
    T* data = values.release();
    const nb::capsule owner(data ? static_cast<void*>(data) : &nothing, [](void* p) noexcept {
        if (p != &nothing) delete[] static_cast<T*>(p);
    });
    return nb::ndarray<nb::numpy, T>(data ? data : &nothing, shape, owner);
}

template <class T>
nb::ndarray<nb::numpy, T> to_numpy(const std::vector<T>& values, std::initializer_list<std::size_t> shape) {
    auto copy = std::make_unique_for_overwrite<T[]>(values.size());
    std::copy(values.begin(), values.end(), copy.get());
    return to_numpy(std::move(copy), shape);
}

void bind_unlocked(nb::module_& m);  // how threads are told to end
void bind_chain(nb::module_& m);
void bind_padded_losses(nb::module_& m);  // losses of padded chains, for networks
void bind_semirings(nb::module_& m);
void bind_sources(nb::module_& m);       // where attributes come from; before those that take them
void bind_features(nb::module_& m);      // columns of text and templates over them
void bind_treebanks(nb::module_& m);     // trees over columns of text
void bind_oracle(nb::module_& m);        // what learners see; before those that take it
void bind_training(nb::module_& m);      // examples and the oracle of chains
void bind_learners(nb::module_& m);      // what all learners are, and those that minimise a smooth loss
void bind_online(nb::module_& m);        // perceptron, passive-aggressive
void bind_dual(nb::module_& m);          // MIRA, SDM, LaRank, dual coordinate descent
void bind_primal(nb::module_& m);        // Pegasos, subgradient, AROW
void bind_batch(nb::module_& m);         // Frank-Wolfe, cutting planes, exponentiated gradient
void bind_linear(nb::module_& m);        // structures of parts, and the oracle of any of them
void bind_factor_graph(nb::module_& m);  // one factor graph, and searches of it
void bind_one_of(nb::module_& m);        // single labels and listed outputs as oracles
void bind_user(nb::module_& m);          // structures written in Python
void bind_summed(nb::module_& m);        // sums that are added up elsewhere
void bind_arcs(nb::module_& m);          // attributes of arcs made when they are asked for: parsers
void bind_part_models(nb::module_& m);   // models of any structure, from examples to answers
void bind_score_tables(nb::module_& m);  // losses of batches of trees in padded tables
void bind_tagging(nb::module_& m);       // a trained model at work
void bind_grids(nb::module_& m);         // cuts on grids of cells
void bind_crfsuite(nb::module_& m);      // items, training sets and model files of CRFsuite
void bind_arrow(nb::module_& m);         // tables of other libraries in, answers out

}  // namespace tw::bind
