// Templates about arcs at work: attributes of a head and its modifier, perhaps with a third word (a sibling of the
// modifier, or the head of the head).
//
//     word     0 is the root, whose cells all read ROOT; 1 .. n are the tokens. A third word may be missing: its cells
//              then read NONE. Further out there is nothing.
//     table    [word][chain], one key each: a chain is what templates say of one word, such as its tag and the next
//     key      combine(core, tail)
//              core   the chains of head, modifier and third word, then a value between them and counts, each combined
//                     with what came before; 1 where a template has none of these
//              tail   the hash of the template's text, combined with direction and distance
//
// So what is said of one word is hashed once per word, templates that differ only in direction and distance share a
// core, and an attribute costs one multiplication. Keys stand in models: they must never change.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "columns.hpp"
#include "hashing.hpp"
#include "view_table.hpp"

namespace tw {

inline constexpr std::uint32_t kNoWord = ~std::uint32_t{0};

// The words of a site. Of arcs, `third` is not looked at.
struct WordTuple {
    std::uint32_t head = 0, modifier = 0, third = kNoWord;
};

struct ArcPart {
    enum class Kind : std::uint8_t {
        kHead,       // the view at the head and `offset` behind it
        kModifier,   // at the modifier
        kThird,      // at the sibling or the grandparent
        kBetween,    // at every word between head and modifier: an attribute for each different value
        kCount,      // how many words between them have this value, `offset` at most
        kDirection,  // on which side of the head the modifier stands, and of the grandparent the head
        kDistance,   // how far apart head and modifier are, or in which bin that is
    };
    Kind kind = Kind::kHead;
    std::uint32_t view = 0;
    std::int32_t offset = 0;
    std::vector<std::uint32_t> bins{};  // where the bins of distances begin, rising; none: each distance is one
    std::string value{};                // that is counted
};

struct ArcTemplate {
    std::string text;            // what names begin with
    std::size_t channel = 0;     // one of ArcExtractor::Channel
    std::vector<ArcPart> parts;  // none: the same attribute everywhere
};

// What is known of the words of sentences: chains, and the views that are looked at between words.
struct ArcTable {
    std::vector<std::size_t> starts{0};  // rows of sentence i: starts[i] .. starts[i + 1] - 1, the root first
    std::vector<Key> chains;             // [row][chain]
    std::vector<Key> between;            // [row][view that is looked at between words]

    std::size_t size() const { return starts.size() - 1; }
    std::size_t n_words(std::size_t sentence) const { return starts[sentence + 1] - starts[sentence] - 1; }
};

class ArcExtractor {
public:
    static constexpr std::int32_t kMaxOffset = 100;
    static constexpr std::size_t kMaxTemplates = 10'000, kMaxParts = 32, kMaxBin = 1000;
    // What an attribute meets: an arc, its label, an arc and a third word. Attributes of labels that depend on one word
    // and the direction alone have channels of their own, in which a site is a word and a direction (1: right).
    enum Channel : std::size_t { kArc, kLabel, kSibling, kGrandparent, kLabelHead, kLabelModifier };
    static constexpr std::size_t kGivenChannels = 4;  // those that a template may ask for
    static constexpr std::array<std::string_view, 6> kChannels{"arc",         "label",      "sibling",
                                                               "grandparent", "label.head", "label.modifier"};

    ArcExtractor(std::vector<View> views, std::vector<ArcTemplate> templates);  // throws std::invalid_argument
    ArcExtractor(const ArcExtractor&) = delete;
    ArcExtractor& operator=(const ArcExtractor&) = delete;

    ArcTable table(const Columns& columns) const;

    // What one thread computes in.
    struct Scratch {
        struct Seen {  // on one side of a modifier: the different values of a view, and how far away each is first
            bool known = false;
            std::vector<std::pair<Key, std::uint32_t>> values;
        };
        const ArcTable* table = nullptr;
        std::size_t sentence = 0;
        std::vector<Seen> seen;  // [view that is looked at between words][modifier][side]
    };
    // How many attributes a tuple of a sentence with so many words has at most.
    std::size_t most(std::size_t channel, std::size_t n_words) const {
        return channels_[channel].n_tails + channels_[channel].n_between_tails * n_words;
    }
    // visit(key) for the attributes of a tuple in a channel, in order.
    template <class Visit>
    void each(const ArcTable& table, std::size_t sentence, const WordTuple& words, std::size_t channel, Scratch& space,
              Visit visit) const;
    // Their names, in the same order.
    std::vector<std::string> names(const Columns& columns, const ArcTable& table, std::size_t sentence,
                                   const WordTuple& words, std::size_t channel) const;

    bool has(std::size_t channel) const { return !channels_[channel].cores.empty(); }
    std::size_t n_columns() const { return views_.n_columns(); }
    std::size_t n_templates() const { return templates_.size(); }

private:
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};
    struct Spot {  // a view at an offset
        std::uint32_t view;
        std::int32_t offset;
        bool operator==(const Spot&) const = default;
    };
    struct Count {
        std::uint32_t view;  // of those looked at between words
        std::int32_t most;
        Key value;
        bool operator==(const Count&) const = default;
    };
    struct Core {
        std::array<std::uint32_t, 3> chains{kNone, kNone, kNone};  // of head, modifier, third
        std::uint32_t between = kNone;
        std::vector<Count> counts{};
        std::vector<std::uint32_t> templates{};  // that have it
        std::uint32_t first_tail = 0, n_tails = 0;
        bool is_pair() const {
            return chains[0] != kNone && chains[1] != kNone && chains[2] == kNone && between == kNone && counts.empty();
        }
        bool same(const Core& other) const {
            return chains == other.chains && between == other.between && counts == other.counts;
        }
    };
    struct OfChannel {
        std::vector<Core> cores;  // first those that are a chain of the head and one of the modifier, and no more
        std::size_t n_pairs = 0;  // how many these are
        std::size_t n_tails = 0, n_between_tails = 0;
        std::size_t n_distances = 1;  // distances from here on are the same: the last
        std::vector<Key> tails;       // [direction][distance][tail]
    };

    void check(const ArcTemplate& t, const std::vector<View>& views) const;
    void compile(std::uint32_t number);
    static std::size_t channel_of(const ArcTemplate& t, const Core& core);
    void fill_tails(OfChannel& channel) const;
    Key tail(const ArcTemplate& t, std::size_t direction, std::size_t distance) const;
    std::uint32_t number_of_chain(const std::vector<Spot>& chain);
    std::uint32_t number_between(std::uint32_t view);
    static std::size_t direction_of(const WordTuple& words, std::size_t channel);
    const Scratch::Seen& seen_between(const ArcTable& table, std::size_t sentence, const WordTuple& words,
                                      std::size_t view, Scratch& space) const;
    std::uint32_t count_of(const ArcTable& table, std::size_t sentence, const WordTuple& words,
                           const Count& count) const;
    std::string text_of(const Columns& columns, std::size_t sentence, std::uint32_t word, const ArcPart& part) const;
    std::string site_text(const ArcTable& table, std::size_t sentence, const WordTuple& words, const ArcPart& part,
                          std::size_t channel) const;

    ViewSet views_;
    std::vector<Key> root_, none_;  // [view]: what they give at the root, and where a word is missing
    std::vector<ArcTemplate> templates_;
    std::vector<std::vector<Spot>> chains_;
    std::vector<std::uint32_t> between_;  // views
    std::array<OfChannel, kChannels.size()> channels_;
    std::vector<Key> missing_;  // [chain]: of a third word that is missing
    std::size_t padding_ = 0;
    std::vector<Key> count_keys_;  // of 0, 1, ...
};

inline std::size_t ArcExtractor::direction_of(const WordTuple& words, std::size_t channel) {
    const std::size_t right = words.modifier > words.head;
    return channel == kGrandparent && words.third != kNoWord ? 2 * (words.head > words.third) + right : right;
}

template <class Visit>
[[gnu::always_inline]] inline void ArcExtractor::each(const ArcTable& table, std::size_t sentence,
                                                      const WordTuple& words, std::size_t channel, Scratch& space,
                                                      Visit visit) const {
    const OfChannel& own = channels_[channel];
    const std::size_t first = table.starts[sentence], n_chains = chains_.size();
    const std::uint32_t apart = words.head > words.modifier ? words.head - words.modifier : words.modifier - words.head;
    const std::size_t distance = apart < own.n_distances ? apart : own.n_distances - 1;
    const Key* tails = own.tails.data() + (direction_of(words, channel) * own.n_distances + distance) * own.n_tails;
    const Key* of[3] = {
        table.chains.data() + (first + words.head) * n_chains,
        table.chains.data() + (first + words.modifier) * n_chains,
        words.third == kNoWord ? missing_.data() : table.chains.data() + (first + words.third) * n_chains};
    for (std::size_t c = 0; c < own.n_pairs; ++c) {
        const Core& core = own.cores[c];
        const Key a = of[0][core.chains[0]], b = of[1][core.chains[1]];
        if (a == 0 || b == 0) continue;
        const Key key = combine(a, b);
        const Key* tail = tails + core.first_tail;
        for (std::uint32_t t = 0; t < core.n_tails; ++t) visit(combine(key, tail[t]));
    }
    for (std::size_t c = own.n_pairs; c < own.cores.size(); ++c) {
        const Core& core = own.cores[c];
        Key key = 0;
        bool given = true, any = false;
        for (std::size_t a = 0; a < 3; ++a) {
            if (core.chains[a] == kNone) continue;
            const Key value = of[a][core.chains[a]];
            given = given && value != 0;
            key = any ? combine(key, value) : value;
            any = true;
        }
        if (!given) continue;
        const Key* tail = tails + core.first_tail;
        const auto finish = [&](Key all, bool some) {
            for (const Count& count : core.counts) {
                const Key value = count_keys_[count_of(table, sentence, words, count)];
                all = some ? combine(all, value) : value;
                some = true;
            }
            if (!some) all = 1;
            for (std::uint32_t t = 0; t < core.n_tails; ++t) visit(combine(all, tail[t]));
        };
        if (core.between == kNone) {
            finish(key, any);
            continue;
        }
        for (const auto& [value, from] : seen_between(table, sentence, words, core.between, space).values) {
            if (from >= apart) break;
            finish(any ? combine(key, value) : value, true);
        }
    }
}

}  // namespace tw
