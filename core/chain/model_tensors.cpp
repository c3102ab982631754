#include "model_tensors.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tw::chain {
namespace {

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
    ModelTensors out;
    const bool by_member = set.settings.by_member;
    out.attribute = linear::tensors_of(set.units, set.keys, set.names, set.hash_bits, index, TrainingSet::kUnits,
                                       weights, by_member, true);
    if (set.has_pair_attributes())
        out.pair = linear::tensors_of(set.pair_units, set.pair_keys, set.pair_names, set.hash_bits, index,
                                      TrainingSet::kPairs, weights, by_member, true);
    out.transitions.assign(set.n_labels() * set.n_labels(), 0.0f);
    for (std::size_t i = 0; i < set.transition_pairs.size(); ++i)
        out.transitions[set.transition_pairs[i]] = static_cast<float>(weights[set.first_transition() + i]);
    out.allowed = set.settings.constraints;
    return out;
}

std::string crfsuite_bytes(const TrainingSet& set, const WeightIndex& index, std::span<const double> weights,
                           std::vector<std::string> labels, linear::CrfsuiteCounts& counts) {
    const std::size_t K = set.n_labels();
    if (labels.size() != K || set.has_pair_attributes() || set.constrained() || index.grows() ||
        set.names.ends.size() != set.n_attributes)
        throw std::invalid_argument("this cannot be written as a model of CRFsuite");
    linear::CrfsuiteContents contents;
    contents.labels = std::move(labels);
    for (std::size_t a = 0; a < set.units.of_attribute.size(); ++a) {
        const std::size_t begin = a == 0 ? 0 : set.names.ends[a - 1];
        contents.attributes.emplace_back(set.names.text.data() + begin, set.names.ends[a] - begin);
        const std::uint32_t unit = set.units.of_attribute[a];
        if (unit != kNoAttribute)
            for (std::size_t w = set.unit_weights.starts[unit]; w < set.unit_weights.starts[unit + 1]; ++w) {
                contents.codes.push_back(set.unit_weights.labels[w]);
                contents.weights.push_back(set.share(unit) * weights[w]);
            }
        contents.starts.push_back(static_cast<std::uint32_t>(contents.codes.size()));
    }
    contents.transitions.assign(K * K, 0.0);
    for (std::size_t i = 0; i < set.transition_pairs.size(); ++i)
        contents.transitions[set.transition_pairs[i]] = weights[set.first_transition() + i];
    return linear::crfsuite_bytes(contents, counts);
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
