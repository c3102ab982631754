#include "weight_index.hpp"

#include <algorithm>
#include <stdexcept>

namespace tw::linear {
namespace {

constexpr std::size_t kMostWeights = 4294967280;

void check_count(std::size_t n) {
    if (n > kMostWeights)
        throw std::invalid_argument("more than 4,294,967,280 weights: raise min_count, or hash the attributes");
}

}  // namespace

void WeightIndex::add_channel(std::size_t n_codes, std::size_t n_units, std::span<const std::uint32_t> starts,
                              std::span<const std::uint32_t> codes) {
    if (n_codes > 0 && n_units > kMostWeights / n_codes && starts.empty()) check_count(kMostWeights + 1);
    const std::size_t n = starts.empty() ? n_units * n_codes : codes.size();
    check_count(n_weights_ + n);
    // Nothing is ever added where all codes are there.
    channels_.push_back(
        {n_codes, static_cast<std::uint32_t>(n_weights_), starts, codes, Additions(starts.empty() ? 0 : n_units)});
    n_own_ = n_weights_ += n;
}

std::uint32_t WeightIndex::find_own(const Channel& c, std::uint32_t unit, std::uint32_t code) const {
    if (c.starts.empty()) return c.offset + static_cast<std::uint32_t>(unit * c.n_codes + code);
    const std::uint32_t begin = c.starts[unit], end = c.starts[unit + 1];
    if (end - begin == c.n_codes) return c.offset + begin + code;
    const auto first = c.codes.begin() + begin, last = c.codes.begin() + end;
    const auto found = std::lower_bound(first, last, code);
    if (found == last || *found != code) return kNoWeight;
    return c.offset + begin + static_cast<std::uint32_t>(found - first);
}

std::uint32_t WeightIndex::find(std::size_t channel, std::uint32_t unit, std::uint32_t code) const {
    const std::uint32_t own = find_own(channels_[channel], unit, code);
    return own != kNoWeight ? own : channels_[channel].added.find(unit, code);
}

std::uint32_t WeightIndex::find_or_add(std::size_t channel, std::uint32_t unit, std::uint32_t code) {
    const std::uint32_t own = find_own(channels_[channel], unit, code);
    return own != kNoWeight || !grows_ ? own : find_or_add_later(channel, unit, code, false);
}

std::uint32_t WeightIndex::find_or_add_later(std::size_t channel, std::uint32_t unit, std::uint32_t code, bool first) {
    Additions& added = channels_[channel].added;
    const std::uint32_t known = first ? kNoWeight : added.find(unit, code);
    if (known != kNoWeight || !grows_) return known;
    check_count(n_weights_ + 1);
    added.add(unit, code, static_cast<std::uint32_t>(n_weights_));
    return static_cast<std::uint32_t>(n_weights_++);
}

std::vector<double> WeightIndex::list() const {
    std::vector<double> out(3 * (n_weights_ - n_own_));
    for (std::size_t c = 0; c < channels_.size(); ++c)
        for (const AddedWeight& entry : channels_[c].added.entries()) {
            double* at = out.data() + 3 * (entry.weight - n_own_);
            at[0] = static_cast<double>(c);
            at[1] = entry.unit;
            at[2] = entry.code;
        }
    return out;
}

void WeightIndex::set_to(std::span<const double> list) {
    const auto require = [](bool holds) {
        if (!holds) throw std::invalid_argument("the added weights are of another training set");
    };
    for (Channel& c : channels_) c.added = Additions(c.added.n_units());
    n_weights_ = n_own_;
    require(list.size() % 3 == 0 && (list.empty() || grows_));
    const auto below = [&](double x, std::size_t limit) { return x >= 0.0 && x < static_cast<double>(limit); };
    for (std::size_t i = 0; i < list.size(); i += 3) {
        require(below(list[i], channels_.size()));
        const Channel& c = channels_[static_cast<std::size_t>(list[i])];
        require(below(list[i + 1], c.added.n_units()) && below(list[i + 2], c.n_codes));
        const std::size_t before = n_weights_;
        find_or_add(static_cast<std::size_t>(list[i]), static_cast<std::uint32_t>(list[i + 1]),
                    static_cast<std::uint32_t>(list[i + 2]));
        require(n_weights_ == before + 1);
    }
}

std::size_t WeightIndex::memory_bytes() const {
    std::size_t total = 0;
    for (const Channel& c : channels_) total += c.added.memory_bytes();
    return total;
}

}  // namespace tw::linear
