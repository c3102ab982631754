// What features say about sites: attributes, each a 64-bit key and a value, and where they come from.
//
//     source     sequences of sites (tokens; spans of tokens)
//     channel    attributes of each site, by name: a template's attributes of a token meet its label ("token") or the
//                labels of it and its neighbour ("pair"); each channel has numbers and weights of its own
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "hashing.hpp"

namespace tw {

// Attributes of a run of sites, site by site: those of site s are keys[starts[s]] .. keys[starts[s + 1] - 1].
struct AttributeList {
    std::vector<std::uint32_t> starts{0};
    std::vector<Key> keys;
    std::vector<float> values;  // one per key, or empty when every value is 1

    std::size_t n_sites() const { return starts.size() - 1; }
    void clear() {
        starts.assign(1, 0);
        keys.clear();
        values.clear();
    }
};

using Attributes = std::vector<AttributeList>;  // a list for each channel; all have the same sites

// The names of channels that sequences of tokens have: what meets a label, two neighbouring ones, the longest n-gram.
inline constexpr std::string_view kTokenChannel = "token", kPairChannel = "pair", kNgramChannel = "ngram";
inline constexpr std::array<std::string_view, 3> kTokenChannels{kTokenChannel, kPairChannel, kNgramChannel};
inline constexpr std::string_view kSpanChannel = "span";  // the one of spans
inline constexpr std::size_t kNoChannel = ~std::size_t{0};

// Sequences of sites whose attributes can be asked for. Immutable: any number of threads may ask.
class Source {
public:
    virtual ~Source() = default;
    virtual std::size_t n_sequences() const = 0;
    virtual std::size_t length(std::size_t sequence) const = 0;  // in sites
    virtual std::span<const std::string_view> channels() const { return {&kTokenChannel, 1}; }
    // Writes the attributes of sequences first .. last - 1, one after the other, over what `out` held.
    virtual void attributes(std::size_t first, std::size_t last, Attributes& out) const = 0;
    // The readable name of the i-th attribute of a site in a channel, as `attributes` orders them.
    virtual std::string name(std::size_t sequence, std::size_t site, std::size_t i, std::size_t channel) const = 0;

    std::size_t n_sites() const {
        std::size_t total = 0;
        for (std::size_t i = 0; i < n_sequences(); ++i) total += length(i);
        return total;
    }
    // The place of a channel in `channels`, or kNoChannel.
    std::size_t find(std::string_view channel) const {
        const auto all = channels();
        const auto found = std::ranges::find(all, channel);
        return found == all.end() ? kNoChannel : static_cast<std::size_t>(found - all.begin());
    }
    // The same, but throws std::invalid_argument when there is none.
    std::size_t channel(std::string_view name) const {
        const std::size_t found = find(name);
        if (found == kNoChannel) throw std::invalid_argument("the source has no channel " + std::string(name));
        return found;
    }
};

}  // namespace tw
