#include "model_tensors.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "../base/interrupt.hpp"
#include "../linear/key_table.hpp"

namespace tw::chain {
namespace {

AttributeTensors expand(const Units& units, const WeightTable& table, const std::vector<Key>& keys, const Names& names,
                        std::span<const double> weights, bool hashed, bool by_member) {
    AttributeTensors out;
    out.starts.push_back(0);
    std::vector<Key> kept;
    InterruptCheck check;
    for (std::size_t a = 0; a < units.of_attribute.size(); ++a) {
        check();
        const std::uint32_t unit = units.of_attribute[a];
        if (unit == kNoAttribute) {
            if (hashed) out.starts.push_back(static_cast<std::uint32_t>(out.labels.size()));
            continue;
        }
        const double factor = by_member ? 1.0 : 1.0 / std::sqrt(static_cast<double>(units.n_members[unit]));
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

Merged merged(const WeightTable& own, std::size_t offset, const linear::Additions& added,
              std::span<const double> weights) {
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

// Adds up the weights of the members of each unit. Members that the model gives different weights get their mean, the
// nearest that are equal: so whoever wants to go on from the very weights has to keep such members apart.
template <class Weight>
void read(const Units& units, const std::vector<Key>& keys, const AttributeView& view, std::size_t n_codes,
          Weight weight_of, std::vector<double>& out) {
    for (std::size_t a = 0; a < units.of_attribute.size(); ++a) {
        const std::uint32_t unit = units.of_attribute[a];
        const std::size_t number = unit == kNoAttribute ? kNoAttribute : view.find(a, keys);
        if (number == kNoAttribute) continue;
        view.each(number, n_codes, [&](std::uint32_t code, float weight) {
            const std::uint32_t w = weight_of(unit, code);
            if (w == kNoWeight) return;
            if (w >= out.size()) out.resize(w + std::size_t{1}, 0.0);
            out[w] += static_cast<double>(weight);
        });
    }
}

}  // namespace

ModelTensors tensors(const TrainingSet& set, const WeightIndex& index, std::span<const double> weights) {
    const bool hashed = set.hash_bits != 0;
    const auto of = [&](const Units& units, const WeightTable& table, std::size_t offset,
                        const linear::Additions& added, const std::vector<Key>& keys, const Names& names) {
        const bool by_member = set.settings.by_member;
        if (!index.grows()) return expand(units, table, keys, names, weights.subspan(offset), hashed, by_member);
        const Merged all = merged(table, offset, added, weights);
        return expand(units, all.table, keys, names, all.weights, hashed, by_member);
    };
    ModelTensors out;
    out.attribute = of(set.units, set.unit_weights, 0, index.added(TrainingSet::kUnits), set.keys, set.names);
    if (set.has_pair_attributes())
        out.pair = of(set.pair_units, set.pair_weights, set.n_unit_weights(), index.added(TrainingSet::kPairs),
                      set.pair_keys, set.pair_names);
    out.transitions.assign(set.n_labels() * set.n_labels(), 0.0f);
    for (std::size_t i = 0; i < set.transition_pairs.size(); ++i)
        out.transitions[set.transition_pairs[i]] = static_cast<float>(weights[set.first_transition() + i]);
    out.allowed = set.settings.constraints;
    return out;
}

std::vector<double> weights_from(const TrainingSet& set, WeightIndex& index, const ModelView& model) {
    const std::size_t K = set.n_labels();
    check(model, K, set.hash_bits ? set.n_attributes : 0);
    std::vector<double> out(index.n_weights(), 0.0);
    read(
        set.units, set.keys, model.attribute, K,
        [&](std::uint32_t unit, std::uint32_t label) { return index.find_or_add(TrainingSet::kUnits, unit, label); },
        out);
    // The sum of g equal weights is exact, and so is v, its g-th part; z is sqrt(g) v.
    for (std::size_t unit = 0; unit < set.units.size(); ++unit) {
        const double divisor =
            set.settings.by_member ? static_cast<double>(set.units.n_members[unit]) : set.factor(unit);
        if (divisor == 1.0) continue;
        for (std::size_t w = set.unit_weights.starts[unit]; w < set.unit_weights.starts[unit + 1]; ++w)
            out[w] /= divisor;
        index.added(TrainingSet::kUnits).each(unit, [&](std::uint32_t, std::uint32_t w) {
            if (w < out.size()) out[w] /= divisor;
        });
    }
    read(
        set.pair_units, set.pair_keys, model.pair, K * K,
        [&](std::uint32_t unit, std::uint32_t pair) { return index.find_or_add(TrainingSet::kPairs, unit, pair); },
        out);
    for (std::size_t i = 0; i < set.transition_pairs.size(); ++i)
        out[set.first_transition() + i] = model.transitions[set.transition_pairs[i]];
    return out;
}

}  // namespace tw::chain
