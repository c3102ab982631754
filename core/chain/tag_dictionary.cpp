#include "tag_dictionary.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "../base/interrupt.hpp"

namespace tw::chain {
namespace {

constexpr std::uint32_t kNone = Candidates::kAll;

void require(bool holds, const char* message) {
    if (!holds) throw std::invalid_argument(message);
}

std::vector<std::uint8_t> words_among(const ChannelExamples& channel, std::string_view word) {
    const std::size_t n = channel.index.size();
    require(channel.names.ends.size() == n, "a tag dictionary needs attributes that have names");
    std::vector<std::uint8_t> out(n, 0);
    for (std::size_t a = 0; a < n; ++a) {
        const std::size_t begin = a == 0 ? 0 : channel.names.ends[a - 1];
        out[a] = std::string_view(channel.names.text.data() + begin, channel.names.ends[a] - begin).starts_with(word);
    }
    return out;
}

}  // namespace

MadeDictionary tag_dictionary(const Examples& examples, std::span<const std::int32_t> order, std::size_t n_labels,
                              std::string_view word, std::size_t min_count) {
    require(examples.usable, "these examples were already made into an oracle");
    require(!examples.partly_labelled(), "a tag dictionary needs one label for every token");
    require(examples.hash_bits == 0, "a tag dictionary needs attributes that have names");
    const ChannelExamples& channel = examples.channel(kTokenChannel);
    const Occurrences& o = channel.occurrences;
    const std::vector<std::uint8_t> is_word = words_among(channel, word);
    const std::size_t n_tokens = examples.n_tokens();
    std::vector<std::uint32_t> word_of(n_tokens, kNone), counts(is_word.size(), 0);
    std::vector<std::uint64_t> pairs;  // of words and labels
    InterruptCheck check;
    for (std::size_t t = 0; t < n_tokens; ++t) {
        check();
        const std::int32_t code = examples.codes[t];
        require(code >= 0 && static_cast<std::size_t>(code) < order.size() && order[code] >= 0 &&
                    static_cast<std::size_t>(order[code]) < n_labels,
                "order holds a label out of range");
        for (std::size_t i = o.starts[t]; i < o.starts[t + 1] && word_of[t] == kNone; ++i)
            if (is_word[o.numbers[i]]) word_of[t] = o.numbers[i];
        if (word_of[t] == kNone) continue;
        ++counts[word_of[t]];
        pairs.push_back(std::uint64_t{word_of[t]} << 16 | static_cast<std::uint64_t>(order[code]));
    }
    std::ranges::sort(pairs);
    check_interrupt();

    MadeDictionary out;
    std::vector<std::uint32_t> set_of(is_word.size(), kNone);
    std::vector<Key> keys;
    for (std::size_t i = 0; i < pairs.size();) {
        const auto a = static_cast<std::uint32_t>(pairs[i] >> 16);
        std::size_t next = i;
        while (next < pairs.size() && pairs[next] == pairs[i]) ++next;
        if (counts[a] >= min_count) {
            if (set_of[a] == kNone) {
                set_of[a] = static_cast<std::uint32_t>(keys.size());
                keys.push_back(channel.index.keys()[a]);
                out.candidates.starts.push_back(out.candidates.starts.back());
                out.n_limited += counts[a];
            }
            out.candidates.labels.push_back(static_cast<std::uint16_t>(pairs[i] & 0xffff));
            ++out.candidates.starts.back();
            out.n_alone += next == i + 1;
        }
        i = next;
    }
    for (std::uint32_t& a : word_of) a = a == kNone ? kNone : set_of[a];
    out.candidates.of_token = std::move(word_of);

    std::vector<std::uint32_t> by_key(keys.size());
    std::iota(by_key.begin(), by_key.end(), 0U);
    std::ranges::sort(by_key, {}, [&](std::uint32_t i) { return keys[i]; });
    for (const std::uint32_t i : by_key) {
        out.keys.push_back(keys[i]);
        for (std::size_t j = out.candidates.starts[i]; j < out.candidates.starts[i + 1]; ++j)
            out.labels.push_back(out.candidates.labels[j]);
        out.starts.push_back(static_cast<std::uint32_t>(out.labels.size()));
    }
    return out;
}

}  // namespace tw::chain
