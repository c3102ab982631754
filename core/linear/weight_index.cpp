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

void WeightIndex::add_channel(std::size_t n_codes, std::vector<std::uint32_t> starts,
                              std::vector<std::uint32_t> codes) {
    check_count(n_weights_ + codes.size());
    Channel channel{n_codes, static_cast<std::uint32_t>(n_weights_), std::move(starts), std::move(codes), {}};
    channel.first_added.assign(channel.starts.size() - 1, kNoWeight);
    n_own_ = n_weights_ += channel.codes.size();
    channels_.push_back(std::move(channel));
}

std::uint32_t WeightIndex::find(std::size_t channel, std::uint32_t unit, std::uint32_t code) const {
    const Channel& c = channels_[channel];
    const std::uint32_t begin = c.starts[unit], end = c.starts[unit + 1];
    if (end - begin == c.n_codes) return c.offset + begin + code;
    const auto first = c.codes.begin() + begin, last = c.codes.begin() + end;
    const auto found = std::lower_bound(first, last, code);
    if (found != last && *found == code) return c.offset + begin + static_cast<std::uint32_t>(found - first);
    for (std::uint32_t i = c.first_added[unit]; i != kNoWeight; i = added_[i].next)
        if (added_[i].code == code) return added_[i].weight;
    return kNoWeight;
}

std::uint32_t WeightIndex::find_or_add(std::size_t channel, std::uint32_t unit, std::uint32_t code) {
    const std::uint32_t known = find(channel, unit, code);
    if (known != kNoWeight || !grows_) return known;
    check_count(n_weights_ + 1);
    std::uint32_t& first = channels_[channel].first_added[unit];
    const auto weight = static_cast<std::uint32_t>(n_weights_++);
    added_.push_back({static_cast<std::uint32_t>(channel), unit, code, weight, first});
    first = static_cast<std::uint32_t>(added_.size() - 1);
    return weight;
}

std::vector<double> WeightIndex::list() const {
    std::vector<double> out;
    for (const Added& one : added_)
        out.insert(out.end(),
                   {static_cast<double>(one.channel), static_cast<double>(one.unit), static_cast<double>(one.code)});
    return out;
}

void WeightIndex::set_to(std::span<const double> list) {
    const auto require = [](bool holds) {
        if (!holds) throw std::invalid_argument("the added weights are of another training set");
    };
    for (const Added& one : added_) channels_[one.channel].first_added[one.unit] = kNoWeight;
    added_.clear();
    n_weights_ = n_own_;
    require(list.size() % 3 == 0 && (list.empty() || grows_));
    const auto below = [&](double x, std::size_t limit) { return x >= 0.0 && x < static_cast<double>(limit); };
    for (std::size_t i = 0; i < list.size(); i += 3) {
        require(below(list[i], channels_.size()));
        const Channel& c = channels_[static_cast<std::size_t>(list[i])];
        require(below(list[i + 1], c.first_added.size()) && below(list[i + 2], c.n_codes));
        const std::size_t before = n_weights_;
        find_or_add(static_cast<std::size_t>(list[i]), static_cast<std::uint32_t>(list[i + 1]),
                    static_cast<std::uint32_t>(list[i + 2]));
        require(n_weights_ == before + 1);
    }
}

}  // namespace tw::linear
