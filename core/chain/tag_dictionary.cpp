#include "tag_dictionary.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>
#include <unordered_map>

#include "../base/interrupt.hpp"

namespace tw::chain {
namespace {

constexpr std::uint32_t kNone = Candidates::kAll;
constexpr std::size_t kMostBlocks = 100;
// Words seen no more often take all labels while learning: from them a model learns what new words are like, which take
// all labels too (Brants 2000 takes as many for his suffixes).
constexpr std::size_t kRare = 10;

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

// How often a word has a label in a block.
struct Count {
    std::uint32_t word;
    std::uint16_t label, block;
    std::uint32_t n;
};

// Counts by word, then label, then block; `word_of`: each token's word, or kNone.
std::vector<Count> counted(const Examples& examples, std::span<const std::int32_t> order, std::size_t n_labels,
                           std::string_view word, std::vector<std::uint32_t>& word_of) {
    const ChannelExamples& channel = examples.channel(kTokenChannel);
    const Occurrences& o = channel.occurrences;
    const std::vector<std::uint8_t> is_word = words_among(channel, word);
    const std::size_t n_sequences = examples.n_sequences(), n_blocks = std::min(kMostBlocks, n_sequences);
    std::vector<std::uint64_t> tokens;
    word_of.assign(examples.n_tokens(), kNone);
    InterruptCheck check;
    for (std::size_t s = 0; s < n_sequences; ++s) {
        const std::uint64_t block = s * n_blocks / n_sequences;
        for (std::size_t t = examples.sequence_starts[s]; t < examples.sequence_starts[s + 1]; ++t) {
            check();
            const std::int32_t code = examples.codes[t];
            require(code >= 0 && static_cast<std::size_t>(code) < order.size() && order[code] >= 0 &&
                        static_cast<std::size_t>(order[code]) < n_labels,
                    "order holds a label out of range");
            for (std::size_t i = o.starts[t]; i < o.starts[t + 1] && word_of[t] == kNone; ++i)
                if (is_word[o.numbers[i]]) word_of[t] = o.numbers[i];
            if (word_of[t] != kNone)
                tokens.push_back(std::uint64_t{word_of[t]} << 32 | static_cast<std::uint64_t>(order[code]) << 16 |
                                 block);
        }
    }
    std::ranges::sort(tokens);
    std::vector<Count> out;
    for (std::size_t i = 0; i < tokens.size();) {
        const std::size_t begin = i;
        while (i < tokens.size() && tokens[i] == tokens[begin]) ++i;
        out.push_back({static_cast<std::uint32_t>(tokens[begin] >> 32), static_cast<std::uint16_t>(tokens[begin] >> 16),
                       static_cast<std::uint16_t>(tokens[begin]), static_cast<std::uint32_t>(i - begin)});
    }
    return out;
}

struct LabelCount {
    std::uint32_t label, n;
};

// The counts of one word.
struct Word {
    std::vector<LabelCount> labels;
    std::size_t total = 0;

    explicit Word(std::span<const Count> counts) {
        for (const Count& count : counts) {
            if (labels.empty() || labels.back().label != count.label) labels.push_back({count.label, 0});
            labels.back().n += count.n;
            total += count.n;
        }
    }
};

// visit(counts) for every word.
template <class Visit>
void each_word(std::span<const Count> counts, Visit visit) {
    InterruptCheck check;
    for (std::size_t i = 0; i < counts.size();) {
        check();
        const std::size_t begin = i;
        while (i < counts.size() && counts[i].word == counts[begin].word) ++i;
        visit(counts.subspan(begin, i - begin));
    }
}

// new(a, b) of some blocks, by a.
struct NewLabels {
    struct Row {
        double total = 0.0;
        std::map<std::uint32_t, double> to;
    };
    std::map<std::uint32_t, Row> from;
    std::map<std::uint32_t, double> all;  // by b, whatever the label elsewhere
    double total = 0.0;

    // `n` tokens with a label that was new to their word, which has these labels elsewhere, `elsewhere` times in all.
    void add(std::span<const LabelCount> others, std::size_t elsewhere, std::uint32_t label, std::uint32_t n) {
        for (const LabelCount& other : others) {
            const double share = static_cast<double>(n) * other.n / static_cast<double>(elsewhere);
            from[other.label].to[label] += share;
            from[other.label].total += share;
        }
        all[label] += n;
        total += n;
    }
};

// Where a label was new to a word: what the word has in other blocks.
struct New {
    std::vector<LabelCount> others;
    std::size_t total;  // of these
    std::uint32_t label, n;
    std::uint16_t block;
};

// What words tell about each other.
class Likely {
public:
    Likely(std::span<const Count> counts, std::size_t n_labels, std::size_t n_blocks)
        : by_block_(n_blocks), n_labels_(n_labels) {
        each_word(counts, [&](std::span<const Count> of_word) { add_word(of_word); });
        for (const New& one : found_) {
            all_.add(one.others, one.total, one.label, one.n);
            by_block_[one.block].add(one.others, one.total, one.label, one.n);
        }
    }

    // p of all labels for a word with these counts, `total` in all. `block`: is left out, as it is of the counts.
    void put(std::span<const LabelCount> word, std::size_t total, const NewLabels* block,
             std::vector<double>& out) const {
        out.assign(n_labels_, 0.0);
        double of_shares = 0.0;
        for (const LabelCount& one : word) {
            const auto row = all_.from.find(one.label);
            const NewLabels::Row* left_out = nullptr;
            if (block)
                if (const auto found = block->from.find(one.label); found != block->from.end())
                    left_out = &found->second;
            const double from = row == all_.from.end() ? 0.0 : row->second.total - (left_out ? left_out->total : 0.0);
            const double factor = one.n / (static_cast<double>(total) * (from + 1.0));
            of_shares += factor;
            if (row == all_.from.end()) continue;
            for (const auto& [label, n] : row->second.to) out[label] += factor * n;
            if (left_out)
                for (const auto& [label, n] : left_out->to) out[label] -= factor * n;
        }
        const double n_new = all_.total - (block ? block->total : 0.0), unseen = 0.5;
        of_shares /= n_new + unseen * static_cast<double>(n_labels_);
        for (double& p : out) p += of_shares * unseen;
        for (const auto& [label, n] : all_.all) out[label] += of_shares * n;
        if (block)
            for (const auto& [label, n] : block->all) out[label] -= of_shares * n;
        for (double& p : out) p *= rate(total);
    }

    // The largest threshold that loses so few tokens, and how many it loses.
    struct Threshold {
        double p;
        std::size_t n_lost;
    };
    Threshold threshold(double most) const {
        std::vector<std::pair<double, std::uint32_t>> scored;
        std::vector<double> p_of;
        std::size_t left = 0;
        InterruptCheck check;
        for (const New& one : found_) {
            check();
            put(one.others, one.total, &by_block_[one.block], p_of);
            scored.emplace_back(p_of[one.label], one.n);
            left += one.n;
        }
        std::ranges::sort(scored, std::greater());
        double p = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < scored.size() && static_cast<double>(left) > most;) {
            p = scored[i].first;
            for (; i < scored.size() && scored[i].first == p; ++i) left -= scored[i].second;
        }
        return {p, left};
    }

private:
    static std::size_t size_class(std::size_t n) { return static_cast<std::size_t>(std::bit_width(n)); }
    double rate(std::size_t n) const {
        const std::size_t c = size_class(n);
        return static_cast<double>(n_new_[c] + 1) / static_cast<double>(n_tokens_[c] + 1);
    }
    void add_word(std::span<const Count> counts) {
        std::unordered_map<std::uint16_t, std::size_t> by_block;
        std::vector<LabelCount> others;
        const auto [labels, total] = Word(counts);
        for (const Count& count : counts) by_block[count.block] += count.n;
        for (const auto& [block, n] : by_block)
            if (total > n) n_tokens_[size_class(total - n)] += n;
        for (std::size_t i = 0, l = 0; i < counts.size(); ++i) {
            while (labels[l].label != counts[i].label) ++l;
            const std::size_t elsewhere = total - by_block[counts[i].block];
            if (counts[i].n != labels[l].n || elsewhere == 0) continue;
            others.clear();
            for (const LabelCount& label : labels) {
                std::uint32_t n = label.n;
                for (const Count& count : counts)
                    if (count.label == label.label && count.block == counts[i].block) n -= count.n;
                if (n > 0) others.push_back({label.label, n});
            }
            n_new_[size_class(elsewhere)] += counts[i].n;
            found_.push_back({others, elsewhere, counts[i].label, counts[i].n, counts[i].block});
        }
    }

    std::vector<New> found_;
    std::array<std::size_t, 65> n_new_{}, n_tokens_{};
    NewLabels all_;
    std::vector<NewLabels> by_block_;
    std::size_t n_labels_;
};

}  // namespace

MadeDictionary tag_dictionary(const Examples& examples, std::span<const std::int32_t> order, std::size_t n_labels,
                              std::string_view word, double loss) {
    require(examples.usable, "these examples were already made into an oracle");
    require(!examples.partly_labelled(), "a tag dictionary needs one label for every token");
    require(examples.hash_bits == 0, "a tag dictionary needs attributes that have names");
    MadeDictionary out;
    Candidates& candidates = out.candidates;
    const std::vector<Count> counts = counted(examples, order, n_labels, word, candidates.of_token);
    check_interrupt();
    const Likely likely(counts, n_labels, std::min(kMostBlocks, examples.n_sequences()));
    const auto threshold = likely.threshold(loss * static_cast<double>(examples.n_tokens()));
    out.n_lost = threshold.n_lost;

    const ChannelExamples& channel = examples.channel(kTokenChannel);
    std::vector<std::uint32_t> set_of(channel.index.size(), kNone);
    std::vector<Key> keys;
    std::vector<double> p;
    each_word(counts, [&](std::span<const Count> of_word) {
        const auto [labels, total] = Word(of_word);
        const std::uint32_t a = of_word.front().word;
        if (total > kRare) set_of[a] = static_cast<std::uint32_t>(keys.size());
        keys.push_back(channel.index.keys()[a]);
        likely.put(labels, total, nullptr, p);
        auto seen = labels.begin();
        for (std::uint32_t y = 0; y < n_labels; ++y) {
            const bool was_seen = seen != labels.end() && seen->label == y;
            seen += was_seen;
            if (was_seen || p[y] >= threshold.p) candidates.labels.push_back(static_cast<std::uint16_t>(y));
        }
        candidates.starts.push_back(static_cast<std::uint32_t>(candidates.labels.size()));
    });
    for (std::uint32_t& a : candidates.of_token)
        if (a != kNone) a = set_of[a];

    std::vector<std::uint32_t> by_key(keys.size());
    std::iota(by_key.begin(), by_key.end(), 0U);
    std::ranges::sort(by_key, {}, [&](std::uint32_t i) { return keys[i]; });
    for (const std::uint32_t i : by_key) {
        out.keys.push_back(keys[i]);
        for (std::size_t j = candidates.starts[i]; j < candidates.starts[i + 1]; ++j)
            out.labels.push_back(candidates.labels[j]);
        out.starts.push_back(static_cast<std::uint32_t>(out.labels.size()));
    }
    return out;
}

}  // namespace tw::chain
