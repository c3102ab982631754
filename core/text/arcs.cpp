#include "arcs.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <stdexcept>

#include "../base/interrupt.hpp"

namespace tw {
namespace {

using Kind = ArcPart::Kind;

bool of_word(const ArcPart& part) { return part.kind <= Kind::kThird; }
bool of_view(const ArcPart& part) { return part.kind <= Kind::kCount; }

// The bin of a distance: from its beginning to that of the next. The first begins at 1 whatever is said.
std::string distance_text(const std::vector<std::uint32_t>& bins, std::size_t distance) {
    if (bins.empty()) return std::to_string(distance);
    const auto above = std::ranges::upper_bound(bins, distance);
    const std::size_t from = above == bins.begin() ? 1 : above[-1];
    if (above == bins.end()) return std::to_string(from) + '+';
    return *above - 1 == from ? std::to_string(from) : std::to_string(from) + ".." + std::to_string(*above - 1);
}

std::string direction_text(std::size_t direction, bool two) {
    const char* of_modifier = direction % 2 ? "right" : "left";
    return two ? std::string(direction / 2 ? "right " : "left ") + of_modifier : of_modifier;
}

// What a view makes of a text that stands for a whole word; nothing for what is no column.
Key key_of(const View& view, std::string_view text) {
    std::string scratch[2];
    return view.kind == View::Kind::kCell && apply_steps(view.steps, text, scratch) ? value_key(text) : 0;
}

}  // namespace

ArcExtractor::ArcExtractor(std::vector<View> views, std::vector<ArcTemplate> templates)
    : templates_(std::move(templates)) {
    if (templates_.empty()) throw std::invalid_argument("there are no templates about arcs");
    if (templates_.size() > kMaxTemplates)
        throw std::invalid_argument("there are more than " + std::to_string(kMaxTemplates) + " templates");
    for (const ArcTemplate& t : templates_) check(t, views);
    views_ = ViewSet(std::move(views));
    for (std::size_t n = 0; n <= static_cast<std::size_t>(kMaxOffset); ++n)
        count_keys_.push_back(value_key(std::to_string(n)));
    for (std::size_t v = 0; v < views_.size(); ++v) {
        root_.push_back(key_of(views_[v], "ROOT"));
        none_.push_back(key_of(views_[v], "NONE"));
    }
    for (std::uint32_t i = 0; i < templates_.size(); ++i) {
        for (ArcPart& part : templates_[i].parts)
            if (of_view(part)) part.view = views_.place(part.view);
        compile(i);
    }
    for (OfChannel& channel : channels_) fill_tails(channel);
    for (const auto& chain : chains_) {
        Key key = 0;
        for (std::size_t i = 0; i < chain.size(); ++i) {
            const Key value = chain[i].offset == 0 ? none_[chain[i].view] : 0;
            key = value == 0 ? 0 : i == 0 ? value : key == 0 ? 0 : combine(key, value);
        }
        missing_.push_back(key);
    }
}

void ArcExtractor::check(const ArcTemplate& t, const std::vector<View>& views) const {
    const auto require = [&](bool holds, const char* what) {
        if (!holds) throw std::invalid_argument(t.text + ": " + what);
    };
    require(t.channel < kGivenChannels, "there is no such channel");
    require(t.parts.size() <= kMaxParts, "more parts are joined than there may be");
    std::size_t n_between = 0;
    for (const ArcPart& part : t.parts) {
        n_between += part.kind == Kind::kBetween;
        require(part.kind != Kind::kThird || t.channel == kSibling || t.channel == kGrandparent,
                "an arc has no third word");
        require(std::ranges::is_sorted(part.bins, std::less_equal()) && (part.bins.empty() || part.bins[0] > 0) &&
                    (part.bins.empty() || part.bins.back() <= kMaxBin),
                "the bins of distances must rise from 1");
        require(part.kind != Kind::kCount || (part.offset >= 1 && part.offset <= kMaxOffset),
                "a count is capped at a number from 1 to 100");
        require(!of_word(part) || std::abs(part.offset) <= kMaxOffset, "an offset is out of range");
        if (!of_view(part)) continue;
        require(part.view < views.size(), "a template names a view that does not exist");
        const View::Kind kind = views[part.view].kind;
        require(kind == View::Kind::kCell || (kind == View::Kind::kGazetteer && of_word(part)),
                "only columns can be asked about");
    }
    require(n_between <= 1, "only one part can look between head and modifier");
}

std::uint32_t ArcExtractor::number_of_chain(const std::vector<Spot>& chain) {
    const auto found = std::ranges::find(chains_, chain);
    if (found != chains_.end()) return static_cast<std::uint32_t>(found - chains_.begin());
    chains_.push_back(chain);
    return static_cast<std::uint32_t>(chains_.size() - 1);
}

std::uint32_t ArcExtractor::number_between(std::uint32_t view) {
    const auto found = std::ranges::find(between_, view);
    if (found != between_.end()) return static_cast<std::uint32_t>(found - between_.begin());
    between_.push_back(view);
    return static_cast<std::uint32_t>(between_.size() - 1);
}

std::size_t ArcExtractor::channel_of(const ArcTemplate& t, const Core& core) {
    const bool of_head = core.chains[0] != kNone, of_modifier = core.chains[1] != kNone;
    const bool others = core.between != kNone || !core.counts.empty() ||
                        std::ranges::any_of(t.parts, [](const ArcPart& p) { return p.kind == Kind::kDistance; });
    if (t.channel != kLabel || others || of_head == of_modifier) return t.channel;
    return of_head ? kLabelHead : kLabelModifier;
}

void ArcExtractor::compile(std::uint32_t number) {
    const ArcTemplate& t = templates_[number];
    Core core;
    std::array<std::vector<Spot>, 3> words;
    for (const ArcPart& part : t.parts) {
        if (of_word(part)) {
            words[static_cast<std::size_t>(part.kind)].push_back({part.view, part.offset});
            padding_ = std::max(padding_, static_cast<std::size_t>(std::abs(part.offset)));
        } else if (part.kind == Kind::kBetween) {
            core.between = number_between(part.view);
        } else if (part.kind == Kind::kCount) {
            core.counts.push_back({number_between(part.view), part.offset, value_key(part.value)});
        }
    }
    for (std::size_t a = 0; a < 3; ++a)
        if (!words[a].empty()) core.chains[a] = number_of_chain(words[a]);
    OfChannel& channel = channels_[channel_of(t, core)];
    for (const ArcPart& part : t.parts)
        if (part.kind == Kind::kDistance)
            channel.n_distances = std::max(channel.n_distances, (part.bins.empty() ? kMaxBin : part.bins.back()) + 1);
    const auto found = std::ranges::find_if(channel.cores, [&](const Core& c) { return c.same(core); });
    Core& own = found == channel.cores.end() ? channel.cores.emplace_back(std::move(core)) : *found;
    own.templates.push_back(number);
}

Key ArcExtractor::tail(const ArcTemplate& t, std::size_t direction, std::size_t distance) const {
    Key key = hash_bytes(t.text);
    for (const ArcPart& part : t.parts) {
        if (part.kind == Kind::kDirection)
            key = combine(key, value_key(direction_text(direction, t.channel == kGrandparent)));
        else if (part.kind == Kind::kDistance)
            key = combine(key, value_key(distance_text(part.bins, distance)));
    }
    return key;
}

void ArcExtractor::fill_tails(OfChannel& channel) const {
    const auto others = std::ranges::stable_partition(channel.cores, [](const Core& core) { return core.is_pair(); });
    channel.n_pairs = channel.cores.size() - others.size();
    for (Core& core : channel.cores) {
        core.first_tail = static_cast<std::uint32_t>(channel.n_tails);
        core.n_tails = static_cast<std::uint32_t>(core.templates.size());
        channel.n_tails += core.n_tails;
        if (core.between != kNone) channel.n_between_tails += core.n_tails;
    }
    for (std::size_t direction = 0; direction < 4; ++direction)
        for (std::size_t distance = 0; distance < channel.n_distances; ++distance)
            for (const Core& core : channel.cores)
                for (const std::uint32_t t : core.templates)
                    channel.tails.push_back(tail(templates_[t], direction, distance));
}

ArcTable ArcExtractor::table(const Columns& columns) const {
    columns.require_columns(columns.n_rows() > 0 ? n_columns() : 0);
    ArcTable out;
    const std::size_t n_rows = columns.n_rows() + columns.n_sequences(), width = views_.size();
    out.chains.reserve(n_rows * chains_.size());
    out.between.reserve(n_rows * between_.size());
    ViewTable views(views_, columns);
    InterruptCheck check;
    std::vector<Key> keys;  // [word and what lies outside][view]
    const auto pad = static_cast<std::ptrdiff_t>(padding_);
    for (std::size_t i = 0; i < columns.n_sequences(); ++i) {
        check();
        views.fill(i);
        const auto n = static_cast<std::ptrdiff_t>(views.length());
        keys.assign(static_cast<std::size_t>(n + 1 + 2 * pad) * width, 0);
        const auto row = [&](std::ptrdiff_t word) {
            return keys.data() + (word + pad) * static_cast<std::ptrdiff_t>(width);
        };
        std::ranges::copy(root_, row(0));
        for (std::ptrdiff_t t = 0; t < n; ++t) std::copy_n(views.row(t), width, row(t + 1));
        for (std::ptrdiff_t word = 0; word <= n; ++word) {
            for (const auto& chain : chains_) {
                Key key = 0;
                for (std::size_t j = 0; j < chain.size(); ++j) {
                    const Key value = row(word + chain[j].offset)[chain[j].view];
                    if (value == 0) {
                        key = 0;
                        break;
                    }
                    key = j == 0 ? value : combine(key, value);
                }
                out.chains.push_back(key);
            }
            for (const std::uint32_t view : between_) out.between.push_back(row(word)[view]);
        }
        out.starts.push_back(out.starts.back() + static_cast<std::size_t>(n) + 1);
    }
    return out;
}

// From the modifier outwards, to the end of the sentence; the root is never between.
const ArcExtractor::Scratch::Seen& ArcExtractor::seen_between(const ArcTable& table, std::size_t sentence,
                                                              const WordTuple& words, std::size_t view,
                                                              Scratch& space) const {
    const bool right = words.head > words.modifier;
    const std::size_t n_sides = 2 * (table.n_words(sentence) + 1);
    if (space.table != &table || space.sentence != sentence || space.seen.size() < between_.size() * n_sides) {
        space.table = &table;
        space.sentence = sentence;
        space.seen.resize(std::max(space.seen.size(), between_.size() * n_sides));
        for (Scratch::Seen& seen : space.seen) seen.known = false;
    }
    Scratch::Seen& seen = space.seen[view * n_sides + 2 * words.modifier + right];
    if (seen.known) return seen;
    seen.known = true;
    seen.values.clear();
    const std::size_t first = table.starts[sentence], n = table.n_words(sentence), width = between_.size();
    const std::size_t most = right ? n - words.modifier : words.modifier - 1;
    for (std::uint32_t d = 1; d <= most; ++d) {
        const std::size_t word = right ? words.modifier + d : words.modifier - d;
        const Key value = table.between[(first + word) * width + view];
        if (value != 0 &&
            std::ranges::find(seen.values, value, &std::pair<Key, std::uint32_t>::first) == seen.values.end())
            seen.values.emplace_back(value, d);
    }
    return seen;
}

std::uint32_t ArcExtractor::count_of(const ArcTable& table, std::size_t sentence, const WordTuple& words,
                                     const Count& count) const {
    const auto [low, high] = std::minmax(words.head, words.modifier);
    const Key* row = table.between.data() + (table.starts[sentence] + low + 1) * between_.size() + count.view;
    std::uint32_t n = 0;
    for (std::uint32_t word = low + 1; word < high && n < static_cast<std::uint32_t>(count.most);
         ++word, row += between_.size())
        n += *row == count.value;
    return n;
}

std::string ArcExtractor::text_of(const Columns& columns, std::size_t sentence, std::uint32_t word,
                                  const ArcPart& part) const {
    const auto at = static_cast<std::ptrdiff_t>(word) + part.offset;
    if (word == kNoWord || at == 0) {
        std::string_view text = word == kNoWord ? "NONE" : "ROOT";
        std::string scratch[2];
        apply_steps(views_[part.view].steps, text, scratch);
        return std::string(text);
    }
    return views_.value(columns, sentence, at - 1, part.view).value_or("");
}

std::string ArcExtractor::site_text(const ArcTable& table, std::size_t sentence, const WordTuple& words,
                                    const ArcPart& part, std::size_t channel) const {
    const std::size_t apart = words.head > words.modifier ? words.head - words.modifier : words.modifier - words.head;
    if (part.kind == Kind::kDirection) return direction_text(direction_of(words, channel), channel == kGrandparent);
    if (part.kind == Kind::kDistance) return distance_text(part.bins, std::min<std::size_t>(apart, kMaxBin));
    const auto view = static_cast<std::uint32_t>(std::ranges::find(between_, part.view) - between_.begin());
    return std::to_string(count_of(table, sentence, words, {view, part.offset, value_key(part.value)}));
}

std::vector<std::string> ArcExtractor::names(const Columns& columns, const ArcTable& table, std::size_t sentence,
                                             const WordTuple& words, std::size_t channel) const {
    std::vector<std::string> out;
    Scratch space;
    const std::size_t n_chains = chains_.size(), first = table.starts[sentence];
    const std::uint32_t of[3] = {words.head, words.modifier, words.third};
    const std::uint32_t apart = words.head > words.modifier ? words.head - words.modifier : words.modifier - words.head;
    for (const Core& core : channels_[channel].cores) {
        bool given = true;
        for (std::size_t a = 0; a < 3; ++a)
            if (core.chains[a] != kNone)
                given &= (of[a] == kNoWord ? missing_[core.chains[a]]
                                           : table.chains[(first + of[a]) * n_chains + core.chains[a]]) != 0;
        if (!given) continue;
        std::vector<std::string> values{""};  // of what is between
        if (core.between != kNone) {
            values.clear();
            for (const auto& [value, from] : seen_between(table, sentence, words, core.between, space).values) {
                if (from >= apart) break;
                const std::uint32_t word = words.head > words.modifier ? words.modifier + from : words.modifier - from;
                values.push_back(
                    views_.value(columns, sentence, static_cast<std::ptrdiff_t>(word) - 1, between_[core.between])
                        .value_or(""));
            }
        }
        for (const std::string& value : values)
            for (const std::uint32_t t : core.templates) {
                std::string name = templates_[t].text;
                bool begun = false;
                for (const ArcPart& part : templates_[t].parts) {
                    name += begun ? '|' : '=';
                    begun = true;
                    if (of_word(part))
                        name += text_of(columns, sentence, of[static_cast<std::size_t>(part.kind)], part);
                    else
                        name += part.kind == Kind::kBetween ? value : site_text(table, sentence, words, part, channel);
                }
                out.push_back(std::move(name));
            }
    }
    return out;
}

}  // namespace tw
