#include "model_tensors.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "../features/key_table.hpp"

namespace tw::chain {
namespace {

AttributeTensors expand(const Units& units, const WeightTable& table, const std::vector<Key>& keys, const Names& names,
                        std::span<const double> weights, bool hashed) {
    AttributeTensors out;
    out.starts.push_back(0);
    std::vector<Key> kept;
    for (std::size_t a = 0; a < units.of_attribute.size(); ++a) {
        const std::uint32_t unit = units.of_attribute[a];
        if (unit == kNoAttribute) {
            if (hashed) out.starts.push_back(static_cast<std::uint32_t>(out.labels.size()));
            continue;
        }
        const double factor = 1.0 / std::sqrt(static_cast<double>(units.n_members[unit]));
        for (std::size_t w = table.starts[unit]; w < table.starts[unit + 1]; ++w) {
            out.labels.push_back(table.labels[w]);
            out.weights.push_back(static_cast<float>(factor * weights[w]));
        }
        if (out.labels.size() > 0xffffffffu) throw std::invalid_argument("more than 4,294,967,295 weights");
        out.starts.push_back(static_cast<std::uint32_t>(out.labels.size()));
        if (hashed) continue;
        kept.push_back(keys[a]);
        if (names.ends.empty()) continue;
        const std::size_t begin = a == 0 ? 0 : names.ends[a - 1];
        out.names.insert(out.names.end(), names.text.begin() + static_cast<std::ptrdiff_t>(begin),
                         names.text.begin() + names.ends[a]);
        out.name_ends.push_back(static_cast<std::uint32_t>(out.names.size()));
    }
    if (hashed) return out;
    out.keys.resize(table_capacity(kept.size()));
    out.slots.resize(out.keys.size());
    fill_table(kept, out.keys, out.slots);
    return out;
}

// The weights of units with the added ones among them, and their labels; without zeros.
struct Merged {
    WeightTable table;
    std::vector<double> weights;
};

Merged merged(const WeightTable& own, std::size_t offset, const Additions& added, std::span<const double> weights) {
    Merged out;
    std::vector<std::pair<std::uint32_t, double>> row;
    for (std::size_t unit = 0; unit < added.n_units(); ++unit) {
        row.clear();
        for (std::size_t w = own.starts[unit]; w < own.starts[unit + 1]; ++w)
            row.emplace_back(own.labels[w], weights[offset + w]);
        added.each(unit, [&](std::uint32_t code, std::uint32_t w) {
            if (w < weights.size()) row.emplace_back(code, weights[w]);
        });
        std::ranges::sort(row);
        for (const auto& [code, weight] : row) {
            if (weight == 0.0) continue;
            out.table.labels.push_back(code);
            out.weights.push_back(weight);
        }
        out.table.starts.push_back(static_cast<std::uint32_t>(out.table.labels.size()));
    }
    return out;
}

void check(const AttributeView& view, bool hashed) {
    const auto require = [](bool holds) {
        if (!holds) throw std::invalid_argument("the tensors of the earlier model do not fit together");
    };
    require(!view.starts.empty() && view.starts.front() == 0 && std::ranges::is_sorted(view.starts));
    require(view.starts.back() == view.labels.size() && view.labels.size() == view.weights.size());
    if (!hashed) require(valid({view.keys, view.slots}, view.starts.size() - 1));
    for (const float w : view.weights) require(w >= -1e30f && w <= 1e30f);
}

// Members of a unit that the model gives different weights: the nearest equal ones are their mean, z = sum / sqrt(g).
template <class Weight>
void read(const Units& units, const std::vector<Key>& keys, const AttributeView& view, bool hashed, std::size_t n_codes,
          Weight weight_of, std::vector<double>& out) {
    if (view.starts.empty()) return;
    check(view, hashed);
    if (hashed && view.starts.size() != units.of_attribute.size() + 1)
        throw std::invalid_argument("the earlier model was hashed to another size");
    for (std::size_t a = 0; a < units.of_attribute.size(); ++a) {
        const std::uint32_t unit = units.of_attribute[a];
        if (unit == kNoAttribute) continue;
        const std::size_t number = hashed ? a : KeyTable{view.keys, view.slots}.find(keys[a]);
        if (number == kNoAttribute) continue;
        const double factor = 1.0 / std::sqrt(static_cast<double>(units.n_members[unit]));
        for (std::size_t i = view.starts[number]; i < view.starts[number + 1]; ++i) {
            if (view.labels[i] >= n_codes || view.weights[i] == 0.0f) continue;
            const std::uint32_t w = weight_of(unit, view.labels[i]);
            if (w == kNoWeight) continue;
            if (w >= out.size()) out.resize(w + std::size_t{1}, 0.0);
            out[w] += factor * static_cast<double>(view.weights[i]);
        }
    }
}

}  // namespace

ModelTensors tensors(const TrainingSet& set, const Growth& growth, std::span<const double> weights) {
    const bool hashed = set.hash_bits != 0;
    const auto of = [&](const Units& units, const WeightTable& table, std::size_t offset, const Additions& added,
                        const std::vector<Key>& keys, const Names& names) {
        if (!growth.grows()) return expand(units, table, keys, names, weights.subspan(offset), hashed);
        const Merged all = merged(table, offset, added, weights);
        return expand(units, all.table, keys, names, all.weights, hashed);
    };
    ModelTensors out;
    out.attribute = of(set.units, set.unit_weights, 0, growth.units(), set.keys, set.names);
    if (set.has_pair_attributes())
        out.pair =
            of(set.pair_units, set.pair_weights, set.n_unit_weights(), growth.pairs(), set.pair_keys, set.pair_names);
    out.transitions.assign(set.n_labels() * set.n_labels(), 0.0f);
    for (std::size_t i = 0; i < set.transition_pairs.size(); ++i)
        out.transitions[set.transition_pairs[i]] = static_cast<float>(weights[set.first_transition() + i]);
    out.allowed = set.settings.constraints;
    return out;
}

std::vector<double> weights_from(const TrainingSet& set, Growth& growth, const ModelView& model) {
    const bool hashed = set.hash_bits != 0;
    const std::size_t K = set.n_labels();
    if (model.transitions.size() != K * K)
        throw std::invalid_argument("the earlier model has another number of labels");
    std::vector<double> out(growth.n_weights(), 0.0);
    read(
        set.units, set.keys, model.attribute, hashed, K,
        [&](std::uint32_t unit, std::uint32_t label) { return growth.of_unit(unit, label); }, out);
    read(
        set.pair_units, set.pair_keys, model.pair, hashed, K * K,
        [&](std::uint32_t unit, std::uint32_t pair) { return growth.of_pair(unit, pair); }, out);
    for (std::size_t i = 0; i < set.transition_pairs.size(); ++i)
        out[set.first_transition() + i] = model.transitions[set.transition_pairs[i]];
    return out;
}

}  // namespace tw::chain
