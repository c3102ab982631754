#include "channel_tensors.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "../base/interrupt.hpp"
#include "key_table.hpp"
#include "listed_units.hpp"

namespace tw::linear {
namespace {

std::vector<std::uint32_t> counts_of(const Occurrences& occurrences, std::size_t n_attributes) {
    std::vector<std::uint32_t> counts(n_attributes, 0);
    for (const std::uint32_t number : occurrences.numbers) counts[number] += counts[number] != 0xffffffffu;
    return counts;
}

void take_rows(Channel& channel, const Occurrences& occurrences) {
    SparseRows& rows = channel.rows;
    rows.starts.assign(occurrences.starts.begin(), occurrences.starts.end());
    rows.columns.assign(occurrences.numbers.begin(), occurrences.numbers.end());
    rows.values.assign(occurrences.values.begin(), occurrences.values.end());
    if (rows.values.empty())  // each unit is there once
        for (std::size_t s = 0; s < rows.size(); ++s)
            std::sort(rows.columns.begin() + static_cast<std::ptrdiff_t>(rows.starts[s]),
                      rows.columns.begin() + static_cast<std::ptrdiff_t>(rows.starts[s + 1]));
    else
        tidy(rows);
}

// Values become what multiplies the weights of units.
void share_weights(Channel& channel, const std::vector<std::uint32_t>& n_members, bool by_member) {
    SparseRows& rows = channel.rows;
    channel.n_members = n_members;
    rows.values.resize(rows.columns.size(), 1.0);
    for (std::size_t i = 0; i < rows.columns.size(); ++i) {
        const auto g = static_cast<double>(n_members[rows.columns[i]]);
        rows.values[i] *= by_member ? g : std::sqrt(g);
    }
}

// visit(code, number of the weight) for the weights of a unit, codes rising; `row` is scratch space.
template <class Visit>
void each_weight(const WeightIndex& index, std::size_t channel, std::size_t unit,
                 std::vector<std::pair<std::uint32_t, std::uint32_t>>& row, Visit visit) {
    const std::uint32_t begin = index.begin(channel, unit), end = index.begin(channel, unit + 1);
    const auto code = [&](std::uint32_t w) {
        return index.full(channel) ? w - begin : index.codes(channel)[w - index.offset(channel)];
    };
    if (!index.grows()) {
        for (std::uint32_t w = begin; w < end; ++w) visit(code(w), w);
        return;
    }
    row.clear();
    for (std::uint32_t w = begin; w < end; ++w) row.emplace_back(code(w), w);
    index.added(channel).each(unit, [&](std::uint32_t of, std::uint32_t w) { row.emplace_back(of, w); });
    std::ranges::sort(row);
    for (const auto& [of, w] : row) visit(of, w);
}

}  // namespace

ChannelUnits take_units(Channel& channel, const SiteExamples& examples, std::size_t min_count, Variables variables) {
    ChannelUnits out;
    out.by_member = variables == Variables::kByMember;
    const std::size_t n = examples.n_sequences();
    channel.first.resize(n + 1);
    if (channel.sites == Channel::Sites::kTied) {
        out.tied = true;
        std::iota(channel.first.begin(), channel.first.end(), std::size_t{0});
        channel.n_units = 1;
        channel.rows.starts = channel.first;
        channel.rows.columns.assign(n, 0);
        return out;
    }
    std::ranges::copy(examples.sequence_starts, channel.first.begin());
    const ChannelExamples& from = examples.channel(channel.name);
    out.hash_bits = examples.hash_bits;
    out.keys.assign(from.index.keys().begin(), from.index.keys().end());
    out.names = from.names;
    const auto counts = counts_of(from.occurrences, examples.n_attributes(from));
    const Candidates candidates{counts, min_count, {}, false};
    const bool merges = variables != Variables::kPlain && channel.n_codes <= ListedUnits::kMostCodes;
    out.units = merges ? merge(from.occurrences, candidates) : apart(candidates);
    check_interrupt();
    std::vector<std::uint32_t> all(n);
    std::iota(all.begin(), all.end(), 0u);
    take_rows(channel, unit_occurrences(from.occurrences, out.units, examples.sequence_starts, all));
    channel.n_units = out.units.size();
    if (std::ranges::any_of(out.units.n_members, [](std::uint32_t g) { return g > 1; }))
        share_weights(channel, out.units.n_members, out.by_member);
    return out;
}

ChannelTensors tensors_of(const Units& units, std::span<const Key> keys, const Names& names, unsigned hash_bits,
                          const WeightIndex& index, std::size_t channel, std::span<const double> weights,
                          bool by_member, bool keep_all) {
    ChannelTensors out;
    out.starts.push_back(0);
    std::vector<Key> kept;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> row;
    InterruptCheck check;
    for (std::size_t a = 0; a < units.of_attribute.size(); ++a) {
        check();
        const std::uint32_t unit = units.of_attribute[a];
        const std::size_t before = out.codes.size();
        if (unit != kNoAttribute) {
            const double share = by_member ? 1.0 : 1.0 / std::sqrt(static_cast<double>(units.n_members[unit]));
            each_weight(index, channel, unit, row, [&](std::uint32_t code, std::uint32_t w) {
                const double weight = w < weights.size() ? weights[w] : 0.0;
                if (index.grows() && weight == 0.0) return;
                out.codes.push_back(code);
                out.weights.push_back(static_cast<float>(share * weight));
            });
        }
        if (out.codes.size() > 0xffffffffu) throw std::invalid_argument("more than 4,294,967,295 weights");
        if (hash_bits == 0 && (unit == kNoAttribute || (out.codes.size() == before && !keep_all))) continue;
        out.starts.push_back(static_cast<std::uint32_t>(out.codes.size()));
        if (hash_bits) continue;
        kept.push_back(keys[a]);
        if (names.ends.empty()) continue;
        const std::size_t begin = a == 0 ? 0 : names.ends[a - 1];
        out.names.add({names.text.data() + begin, names.ends[a] - begin});
    }
    if (hash_bits) return out;
    out.keys.resize(table_capacity(kept.size()));
    out.slots.resize(out.keys.size());
    fill_table(kept, out.keys, out.slots);
    return out;
}

ChannelTensors tensors_of(const ChannelUnits& units, const WeightIndex& index, std::size_t channel, std::size_t n_codes,
                          std::span<const double> weights) {
    if (!units.tied)
        return tensors_of(units.units, units.keys, units.names, units.hash_bits, index, channel, weights,
                          units.by_member, false);
    ChannelTensors out;
    out.weights.assign(n_codes, 0.0f);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> row;
    each_weight(index, channel, 0, row, [&](std::uint32_t code, std::uint32_t w) {
        if (w < weights.size()) out.weights[code] = static_cast<float>(weights[w]);
    });
    return out;
}

}  // namespace tw::linear
