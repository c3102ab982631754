// A trained chain as the arrays that a model file holds, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "../linear/channel_tensors.hpp"
#include "../linear/crfsuite_file.hpp"
#include "earlier_model.hpp"
#include "training_set.hpp"

namespace tw::chain {

struct ModelTensors {
    linear::ChannelTensors attribute, pair;  // pair.starts is empty when there are no pair attributes
    std::vector<float> transitions;          // [n_labels][n_labels], 0 where there is no weight
    Constraints allowed;
};

// The weights of a training set; those that were added are among them.
ModelTensors tensors(const TrainingSet& set, const WeightIndex& index, std::span<const double> weights);

// The same in double precision, as a model file of CRFsuite; the labels in the order of their numbers. There must be no
// pair attributes and no constraints, and the names of attributes must have been kept.
std::string crfsuite_bytes(const TrainingSet& set, const WeightIndex& index, std::span<const double> weights,
                           std::vector<std::string> labels, linear::CrfsuiteCounts& counts);

// The weights of a model as a starting point: attributes are matched by key, those it does not know get 0.
// Where weights may be added, those of the model are.
std::vector<double> weights_from(const TrainingSet& set, WeightIndex& index, const ModelView& model);

}  // namespace tw::chain
