#include "unit_rows.hpp"

#include "../base/prefetch.hpp"
#include "../kernels/rounded.hpp"

namespace tw::linear {
namespace {

constexpr std::size_t kMost = std::size_t{1} << 21;  // numbers in all rows
constexpr std::size_t kNear = std::size_t{1} << 17;  // numbers that stay in the cache

std::size_t padded_size(std::size_t n_codes) {
    const std::size_t w = rounded_loops().width;
    return (n_codes + w - 1) / w * w;
}

}  // namespace

bool UnitRows::fits(const WeightIndex& index, std::size_t n_units, std::size_t n_codes) {
    return !index.grows() && n_codes <= kMostCodes && n_units * padded_size(n_codes) <= kMost;
}

UnitRows::UnitRows(const WeightIndex& index, std::size_t n_codes, std::span<const std::uint32_t> n_members,
                   bool by_member)
    : by_member_(by_member), padded_(padded_size(n_codes)), units_(n_members.size()), places_(index.n_weights()) {
    const std::span<const std::uint32_t> codes = index.codes(0);
    for (std::uint32_t u = 0; u < units_.size(); ++u) {
        const std::uint32_t begin = index.begin(0, u), end = index.begin(0, u + 1), g = n_members[u];
        const double factor = by_member ? g : std::sqrt(static_cast<double>(g));
        units_[u] = {begin, 0, g};
        for (std::uint32_t w = begin; w < end; ++w) {
            const std::uint32_t code = index.full(0) ? w - begin : codes[w];
            units_[u].codes |= std::uint32_t{1} << code;
            places_[w] = {static_cast<std::uint32_t>(u * padded_ + code), static_cast<float>(factor)};
        }
    }
    const std::uint32_t last = index.begin(0, units_.size());
    for (std::uint32_t w = last; w < places_.size(); ++w)
        places_[w] = {static_cast<std::uint32_t>(behind() + w - last), 1.0f};
    size_ = behind() + places_.size() - last;
}

void UnitRows::scores(std::span<const float> rounded, const std::uint32_t* starts, const std::uint32_t* numbers,
                      std::size_t first, std::size_t last, float* out) const {
    rounded_loops().add_rows(rounded.data(), starts, numbers, first, last, padded_, out);
}

void UnitRows::fetch(std::span<const float> rounded, std::span<const std::uint32_t> units) const {
    if (size_ <= kNear) return;
    for (const std::uint32_t u : units) fetch_to_read(row(rounded, u));
}

}  // namespace tw::linear
