// Rounded weights in rows, one for each unit of a channel, with room for every code: where there are so few units that
// all rows stay near, a row is added at once, and the lists of ListedUnits are not needed.
//
//     [unit 0: codes 0 .. n_codes - 1, padding][unit 1: ...] ... [all weights behind the channel, as they are numbered]
//
// What a unit of several members is multiplied with in a score is already in its row (see Variables in oracle.hpp).
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../oracle.hpp"
#include "weight_index.hpp"

namespace tw::linear {

class UnitRows {
public:
    static constexpr std::size_t kMostCodes = 32;
    // Whether the first channel of an index that does not grow has so few units and codes.
    static bool fits(const WeightIndex& index, std::size_t n_units, std::size_t n_codes);

    // Of the first channel; `n_members` of each unit.
    UnitRows(const WeightIndex& index, std::size_t n_codes, std::span<const std::uint32_t> n_members, bool by_member);

    std::span<const RoundedPlace> places() const { return places_; }  // of each weight
    std::size_t size() const { return size_; }
    std::size_t behind() const { return units_.size() * padded_; }  // where the weights behind the channel begin

    // Overwrites [last - first][padded] with the scores of sites that have these units.
    void scores(std::span<const float> rounded, const std::uint32_t* starts, const std::uint32_t* numbers,
                std::size_t first, std::size_t last, float* out) const;
    const float* row(std::span<const float> rounded, std::uint32_t unit) const {
        return rounded.data() + unit * padded_;
    }
    // Brings near what scores() will read.
    void fetch(std::span<const float> rounded, std::span<const std::uint32_t> units) const;

    // visit(x, count, weight_of) as ListedUnits::each_unit.
    template <class Visit>
    [[gnu::always_inline]] void each_unit(std::span<const std::uint32_t> units, Visit visit) const {
        for (const std::uint32_t u : units) {
            const Unit& unit = units_[u];
            const auto weight_of = [&](std::uint32_t code) {
                const std::uint32_t bit = std::uint32_t{1} << code;
                if (!(unit.codes & bit)) return kNoWeight;
                return unit.begin + static_cast<std::uint32_t>(std::popcount(unit.codes & (bit - 1)));
            };
            if (unit.members == 1)
                visit(1.0, 1.0, weight_of);
            else if (by_member_)
                visit(1.0, static_cast<double>(unit.members), weight_of);
            else
                visit(std::sqrt(static_cast<double>(unit.members)), 1.0, weight_of);
        }
    }

private:
    struct Unit {
        std::uint32_t begin, codes, members;  // codes: a bit for each that has a weight
    };

    bool by_member_;
    std::size_t padded_, size_;
    std::vector<Unit> units_;
    std::vector<RoundedPlace> places_;
};

}  // namespace tw::linear
