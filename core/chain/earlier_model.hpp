// The model that training goes on from: its tensors, checked, and which attributes it gives equal weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../linear/key_table.hpp"

namespace tw::chain {

// The weights of attribute number a are weights[starts[a]] .. weights[starts[a + 1] - 1], of these labels (or pairs of
// labels, previous * n_labels + current).
struct AttributeView {
    std::span<const Key> keys;
    std::span<const std::uint32_t> slots, starts, labels;
    std::span<const float> weights;

    // The number of an attribute; kNoAttribute when the model does not know it. Hashed ones have their own number.
    std::size_t find(std::size_t attribute, std::span<const Key> of_attributes) const {
        if (starts.empty()) return kNoAttribute;
        return slots.empty() ? attribute : KeyTable{keys, slots}.find(of_attributes[attribute]);
    }
    // visit(code, weight) for the weights of an attribute that are not zero.
    template <class Visit>
    void each(std::size_t number, std::size_t n_codes, Visit visit) const {
        for (std::size_t i = starts[number]; i < starts[number + 1]; ++i)
            if (labels[i] < n_codes && weights[i] != 0.0f) visit(labels[i], weights[i]);
    }
};

struct ModelView {
    AttributeView attribute, pair;
    std::span<const float> transitions;
};

// Throws std::invalid_argument when the tensors do not fit together, or not these attributes. `n_hashed`: places that
// attributes are hashed to, or 0.
void check(const ModelView& model, std::size_t n_labels, std::size_t n_hashed);

// For each attribute a number: equal ones where the model has equal weights, 0 where it has none.
std::vector<std::uint32_t> kinds_of_weights(const AttributeView& view, std::span<const Key> keys,
                                            std::size_t n_attributes, std::size_t n_codes);

}  // namespace tw::chain
