#include "listed_units.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "../base/prefetch.hpp"

namespace tw::linear {
namespace {

constexpr std::size_t kFetched = 64;                 // sites whose lists and weights are fetched ahead
constexpr std::size_t kLines = 4;                    // of a list; the processor sees by then where it goes on
constexpr std::size_t kMostInPart = 64;              // codes; more have no bit in a word
constexpr std::size_t kNear = std::size_t{1} << 18;  // weights that stay in the cache

}  // namespace

ListedUnits::ListedUnits(std::shared_ptr<WeightIndex> index, std::size_t channel, std::size_t n_codes,
                         std::span<const std::uint32_t> n_members, bool by_member, bool valued)
    : index_(std::move(index)),
      channel_(channel),
      n_codes_(n_codes),
      first_weight_(index_->offset(channel)),
      in_parts_(!index_->grows() && !index_->full(channel) && n_codes <= kMostInPart),
      together_(in_parts_ ? kernels().parts_together : 1),
      valued_(valued) {
    std::map<std::uint32_t, std::uint16_t> known;  // there are few sizes of units
    const auto number_of = [&](std::uint32_t members) {
        const auto [at, fresh] = known.emplace(members, static_cast<std::uint16_t>(factors_.size()));
        if (fresh) {
            const double g = members, factor = by_member ? g : std::sqrt(g);
            factors_.push_back(factor);
            steps_.push_back(by_member ? 1.0 : factor);
            counts_.push_back(by_member ? g : 1.0);
        }
        if (factors_.size() > 0xffff) throw std::invalid_argument("too many different units of attributes");
        return at->second;
    };
    number_of(1);
    for (const std::uint32_t members : n_members) factor_of_.push_back(number_of(members));
    if (!index_->full(channel)) {
        codes_.assign(index_->codes(channel).begin(), index_->codes(channel).end());
        codes_.resize(codes_.size() + 1);  // fetched ahead even where a unit has no weights
    }
    see_all_added();
}

// Where units are numbered by count, the rows that come first are those used most.
void ListedUnits::add(std::uint32_t unit, double value) {
    const std::uint32_t begin = index_->begin(channel_, unit), size = index_->begin(channel_, unit + 1) - begin;
    const std::uint16_t factor = factor_of_.empty() ? std::uint16_t{0} : factor_of_[unit];
    const bool row = size == n_codes_;
    if (in_parts_ && factors_[factor] == 1.0 && size > 0 && (together_ > 1 || (size > 1 && !row))) {
        std::uint64_t codes = row ? ~std::uint64_t{0} >> (64 - n_codes_) : 0;
        for (std::uint32_t w = begin; w < begin + size && !row; ++w) codes |= std::uint64_t{1} << code(w);
        add_part({codes, begin}, value);
    } else if (row && factors_[factor] == 1.0) {
        rows_.push_back(begin);
        last_ = std::max(last_, begin);
        if (valued_) row_values_.push_back(value);
        if (begin > kNear) far_.push_back(begin);
    } else {
        const auto first = static_cast<std::uint16_t>(row || size == 0 ? 0 : code(begin));
        rare_.push_back({unit, static_cast<std::uint32_t>(row_starts_.size() - 1), begin,
                         row ? RareUnit::kRow : static_cast<std::uint16_t>(size), factor, first});
        if (valued_) rare_values_.push_back(value);
    }
}

void ListedUnits::add_part(const Part& part, double value) {
    parts_.push_back({part.begin, static_cast<std::uint32_t>(part.codes)});
    if (n_codes_ > 32) part_codes_above_.push_back(static_cast<std::uint32_t>(part.codes >> 32));
    last_ = std::max(last_, part.begin);
    if (valued_) part_values_.push_back(value);
}

void ListedUnits::end_site() {
    while ((parts_.size() - part_starts_.back()) % together_ != 0) add_part({0, first_weight_}, 0.0);
    if (std::max({rows_.size(), parts_.size(), rare_.size(), row_starts_.size()}) > 0xffffffffu)
        throw std::invalid_argument("there are more than 4,294,967,295 attributes of sites");
    row_starts_.push_back(static_cast<std::uint32_t>(rows_.size()));
    far_starts_.push_back(static_cast<std::uint32_t>(far_.size()));
    part_starts_.push_back(static_cast<std::uint32_t>(parts_.size()));
    rare_starts_.push_back(static_cast<std::uint32_t>(rare_.size()));
}

void ListedUnits::see_added() {
    const auto& entries = index_->added(channel_).entries();
    for (; seen_added_ < entries.size(); ++seen_added_) {
        const std::uint32_t unit = entries[seen_added_].unit;
        has_added_[unit / 64] |= std::uint64_t{1} << unit % 64;
    }
}

void ListedUnits::see_all_added() {
    has_added_.assign(index_->added(channel_).n_units() / 64 + 1, 0);
    seen_added_ = 0;
    see_added();
}

void ListedUnits::scores(const ScaledWeights& weights, std::size_t first, std::size_t last, double* out) const {
    const TokenUnits sites{row_starts_.data(),
                           rows_.data(),
                           last_,
                           valued_ ? row_values_.data() : nullptr,
                           far_starts_.data(),
                           far_.data(),
                           part_starts_.data(),
                           parts_.data(),
                           part_codes_above_.empty() ? nullptr : part_codes_above_.data(),
                           valued_ ? part_values_.data() : nullptr,
                           rare_starts_.data(),
                           rare_.data(),
                           valued_ ? rare_values_.data() : nullptr};
    const Additions& added = index_->added(channel_);
    const auto gather = [&](auto kernel, auto values) {
        kernel({codes_.data(), first_weight_, has_added_.data(), added.first().data(), added.entries().data(),
                factors_.data(), values.data(), values.size()},
               sites, first, last, n_codes_, out);
    };
    if (weights.rounded.empty())
        gather(kernels().gather, weights.stored);
    else
        gather(kernels().gather_rounded, weights.rounded);
}

void ListedUnits::fetch_lists(std::size_t first, std::size_t last) const {
    last = std::min(last, first + kFetched);
    const auto fetch = [](const auto& list, std::size_t begin, std::size_t end) {
        const std::size_t stop = std::min(end, begin + kLines * 64 / sizeof(list[0]));
        for (std::size_t i = begin; i < stop; i += 64 / sizeof(list[0])) fetch_to_read(&list[i]);
    };
    fetch(row_starts_, first, last + 1);
    fetch(far_starts_, first, last + 1);
    fetch(part_starts_, first, last + 1);
    fetch(rare_starts_, first, last + 1);
    fetch(rows_, row_starts_[first], row_starts_[last]);
    fetch(far_, far_starts_[first], far_starts_[last]);
    fetch(parts_, part_starts_[first], part_starts_[last]);
    fetch(rare_, rare_starts_[first], rare_starts_[last]);
}

void ListedUnits::fetch_weights(const ScaledWeights& weights, std::size_t first, std::size_t last) const {
    if (weights.size() <= kNear) return;
    last = std::min(last, first + kFetched);
    const auto fetch = [&](const auto* v) {
        for (std::size_t i = far_starts_[first]; i < far_starts_[last]; ++i)
            for (std::size_t y = 0; y < n_codes_; y += 64 / sizeof(*v)) fetch_to_read(v + far_[i] + y);
        for (std::size_t i = part_starts_[first]; i < part_starts_[last]; ++i)
            if (parts_[i].begin > kNear) fetch_to_read(v + parts_[i].begin);
        for (std::size_t i = rare_starts_[first]; i < rare_starts_[last]; ++i) fetch_to_read(v + rare_[i].begin);
    };
    if (weights.rounded.empty())
        fetch(weights.stored.data());
    else
        fetch(weights.rounded.data());
}

std::uint32_t ListedUnits::weight_of(const RareUnit& rare, std::uint32_t of) {
    if (rare.size == RareUnit::kRow) return rare.begin + of;
    if (rare.size > 0 && rare.label == of) return rare.begin;
    for (std::uint32_t w = rare.begin + 1; w < rare.begin + rare.size; ++w)
        if (code(w) == of) return w;
    const bool first = !(has_added_[rare.unit / 64] >> rare.unit % 64 & 1);
    const std::uint32_t weight = index_->find_or_add_later(channel_, rare.unit, of, first);
    see_added();
    return weight;
}

std::size_t ListedUnits::memory_bytes() const {
    return (row_starts_.capacity() + far_starts_.capacity() + part_starts_.capacity() + rare_starts_.capacity() +
            far_.capacity() + rows_.capacity() + part_codes_above_.capacity()) *
               sizeof(std::uint32_t) +
           parts_.capacity() * sizeof(PartRow) + rare_.capacity() * sizeof(RareUnit) +
           (row_values_.capacity() + part_values_.capacity() + rare_values_.capacity()) * sizeof(double) +
           (codes_.capacity() + factor_of_.capacity()) * sizeof(std::uint16_t);
}

}  // namespace tw::linear
