#include "growth.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tw::chain {

Growth::Growth(const TrainingSet& set)
    : set_(set),
      grows_(set.settings.combinations == Combinations::kGrown),
      n_weights_(set.n_weights()),
      units_(set.units.size()),
      pairs_(set.pair_units.size()),
      transition_(set.n_labels() * set.n_labels(), kNoWeight) {
    for (std::size_t i = 0; i < set.transition_pairs.size(); ++i)
        transition_[set.transition_pairs[i]] = static_cast<std::uint32_t>(set.first_transition() + i);
}

std::uint32_t Growth::of_unit(std::uint32_t unit, std::uint32_t label) {
    return weight(set_.unit_weights, 0, set_.n_labels(), units_, unit, label);
}

std::uint32_t Growth::of_pair(std::uint32_t unit, std::uint32_t pair) {
    return weight(set_.pair_weights, set_.n_unit_weights(), set_.n_labels() * set_.n_labels(), pairs_, unit, pair);
}

// The labels of a unit rise; when all are there, no search is needed.
std::uint32_t Growth::weight(const WeightTable& table, std::size_t offset, std::size_t full, Additions& added,
                             std::uint32_t unit, std::uint32_t code) {
    const std::uint32_t begin = table.starts[unit], end = table.starts[unit + 1];
    if (end - begin == full) return static_cast<std::uint32_t>(offset + begin + code);
    const auto first = table.labels.begin() + begin, last = table.labels.begin() + end;
    const auto found = std::lower_bound(first, last, code);
    if (found != last && *found == code)
        return static_cast<std::uint32_t>(offset) + begin + static_cast<std::uint32_t>(found - first);
    return find_or_add(added, unit, code);
}

std::uint32_t Growth::find_or_add(Additions& added, std::uint32_t unit, std::uint32_t code) {
    const std::uint32_t known = added.find(unit, code);
    return known != kNoWeight ? known : add(added, unit, code);
}

std::uint32_t Growth::add(Additions& added, std::uint32_t unit, std::uint32_t code) {
    if (!grows_) return kNoWeight;
    if (n_weights_ >= 0xfffffff0u) throw std::invalid_argument("more than 4,294,967,280 weights: raise min_count");
    added.add(unit, code, static_cast<std::uint32_t>(n_weights_));
    return static_cast<std::uint32_t>(n_weights_++);
}

std::vector<double> Growth::list() const {
    std::vector<double> out(3 * (n_weights_ - set_.n_weights()));
    const auto put = [&](const Additions& from, double kind) {
        for (const auto& entry : from.entries()) {
            double* at = out.data() + 3 * (entry.weight - set_.n_weights());
            at[0] = kind;
            at[1] = entry.unit;
            at[2] = entry.code;
        }
    };
    put(units_, 0.0);
    put(pairs_, 1.0);
    return out;
}

void Growth::set_to(std::span<const double> list) {
    const auto refuse = [] { throw std::invalid_argument("the added weights are of another training set"); };
    units_ = Additions(units_.n_units());
    pairs_ = Additions(pairs_.n_units());
    n_weights_ = set_.n_weights();
    if (list.size() % 3 != 0 || (!list.empty() && !grows_)) refuse();
    for (std::size_t i = 0; i < list.size(); i += 3) {
        const bool pair = list[i] == 1.0;
        const std::size_t n_units = pair ? pairs_.n_units() : units_.n_units();
        const std::size_t n_codes = pair ? set_.n_labels() * set_.n_labels() : set_.n_labels();
        if ((!pair && list[i] != 0.0) || !(list[i + 1] >= 0.0 && list[i + 1] < static_cast<double>(n_units)) ||
            !(list[i + 2] >= 0.0 && list[i + 2] < static_cast<double>(n_codes)))
            refuse();
        const auto unit = static_cast<std::uint32_t>(list[i + 1]), code = static_cast<std::uint32_t>(list[i + 2]);
        const std::size_t before = n_weights_;
        if (pair)
            of_pair(unit, code);
        else
            of_unit(unit, code);
        if (n_weights_ != before + 1) refuse();
    }
}

}  // namespace tw::chain
