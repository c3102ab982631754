// A trained chain as the arrays that a model file holds, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "earlier_model.hpp"
#include "training_set.hpp"

namespace tw::chain {

// Attributes, or pair attributes: where each one's weights are, and what label (or previous * n_labels + current) each
// weight belongs to.
struct AttributeTensors {
    std::vector<Key> keys;  // a table as in key_table.hpp; empty when hashed
    std::vector<std::uint32_t> slots;
    std::vector<std::uint32_t> starts, labels;
    std::vector<float> weights;
    std::vector<char> names;  // empty when there are none
    std::vector<std::uint32_t> name_ends;
};

struct ModelTensors {
    AttributeTensors attribute, pair;  // pair.starts is empty when there are no pair attributes
    std::vector<float> transitions;    // [n_labels][n_labels], 0 where there is no weight
    Constraints allowed;
};

// The weights of a training set with every unit taken apart again: each of g members has z / sqrt(g), or v.
// Added weights are among them; where there may be such, zeros are left out.
ModelTensors tensors(const TrainingSet& set, const WeightIndex& index, std::span<const double> weights);

// The weights of a model as a starting point: attributes are matched by key, those it does not know get 0.
// Where weights may be added, those of the model are.
std::vector<double> weights_from(const TrainingSet& set, WeightIndex& index, const ModelView& model);

}  // namespace tw::chain
