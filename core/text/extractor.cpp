#include "extractor.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>

#include "../base/interrupt.hpp"

namespace tw {

namespace {

constexpr char kPlaceholder = '\1';  // in a template's text: here stands the value of the next part
constexpr char kNamed = '\2';        // at its beginning: values stand in these places or nowhere
constexpr std::size_t kChunk = 32;   // tokens whose keys are made together: they stay in the first cache

std::int64_t leading_integer(std::string_view text) {  // as C's atoi
    std::size_t at = 0;
    while (at < text.size() && (text[at] == ' ' || (text[at] >= '\t' && text[at] <= '\r'))) ++at;
    const bool negative = at < text.size() && text[at] == '-';
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    std::int64_t value = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
        value = std::min<std::int64_t>(value * 10 + (text[at] - '0'), 1'000'000'000);
    return negative ? -value : value;
}

}  // namespace

// The attributes of the tokens of one sequence after the other.
class Extractor::Runner {
public:
    Runner(const Extractor& extractor, const Columns& columns)
        : extractor_(extractor), columns_(columns), table_(extractor.views_, columns), width_(table_.width()) {}

    const ViewTable& table() const { return table_; }
    void fill(std::size_t sequence) {
        table_.fill(sequence);
        length_ = table_.length();
    }

    // Appends the attributes of all tokens of the sequence to a list whose arrays are large enough.
    void run(const std::vector<Compiled>& templates, bool skip_first, AttributeList& out, std::size_t& n_keys) {
        const std::size_t n_templates = templates.size();
        scratch_.resize(kChunk * n_templates);
        const bool valued = extractor_.views_.has_numbers();
        const std::size_t first = out.starts.size();
        out.starts.resize(first + length_);
        std::uint32_t* ends = out.starts.data() + first;
        Key* const target = out.keys.data();
        std::size_t n = n_keys;
        InterruptCheck check;
        for (std::size_t from = 0; from < length_; from += kChunk) {
            check();
            const std::size_t to = std::min(from + kChunk, length_);
            for (std::size_t j = 0; j < n_templates; ++j)
                run_template(templates[j], from, to, scratch_.data() + j, n_templates);
            for (std::size_t t = from; t < to; ++t) {
                const Key* keys = scratch_.data() + (t - from) * n_templates;
                if (!(skip_first && t == 0)) {
                    const std::size_t begin = n;
                    for (std::size_t j = 0; j < n_templates; ++j) {  // leaves out what is 0
                        target[n] = keys[j];
                        n += keys[j] != 0;
                    }
                    if (valued) put_values(templates, t, keys, out.values.data() + begin);
                }
                ends[t] = static_cast<std::uint32_t>(n);
            }
            if (n > std::numeric_limits<std::uint32_t>::max())
                throw std::invalid_argument("more than 4,294,967,295 attributes at once. Hand over fewer sequences.");
        }
        n_keys = n;
    }

private:
    // Keys of a template for some tokens, `stride` apart; 0 where it gives nothing.
    void run_template(const Compiled& t, std::size_t from, std::size_t to, Key* out, std::size_t stride) {
        const Key* at = table_.row(static_cast<std::ptrdiff_t>(from));
        const std::size_t n = to - from, n_parts = t.places.size();
        const Key seed = t.seed;
        if (!t.relative) {
            for (std::size_t i = 0; i < n; ++i) out[i * stride] = general_key(t, from + i);
        } else if (n_parts == 1) {
            const std::ptrdiff_t a = t.places[0];
            for (std::size_t i = 0; i < n; ++i, at += width_, out += stride) *out = at[a] ? combine(seed, at[a]) : 0;
        } else if (n_parts == 2) {
            const std::ptrdiff_t a = t.places[0], b = t.places[1];
            for (std::size_t i = 0; i < n; ++i, at += width_, out += stride)
                *out = at[a] && at[b] ? combine(combine(seed, at[a]), at[b]) : 0;
        } else if (n_parts == 3) {
            const std::ptrdiff_t a = t.places[0], b = t.places[1], c = t.places[2];
            for (std::size_t i = 0; i < n; ++i, at += width_, out += stride)
                *out = at[a] && at[b] && at[c] ? combine(combine(combine(seed, at[a]), at[b]), at[c]) : 0;
        } else {
            for (std::size_t i = 0; i < n; ++i, at += width_, out += stride) {
                Key key = seed;
                bool some = true;
                for (const std::ptrdiff_t place : t.places) {
                    some &= at[place] != 0;
                    key = combine(key, at[place]);
                }
                *out = some ? key : 0;
            }
        }
    }

    Key general_key(const Compiled& t, std::size_t token) {
        Key key = t.seed;
        for (const Part& part : t.source->parts) {
            const Key value = key_at(part, token);
            if (value == 0) return 0;
            key = combine(key, value);
        }
        return key;
    }

    Key key_at(const Part& part, std::size_t token) {
        return table_.key(extractor_.position(part, columns_, table_.first() + token, token, length_), part.view);
    }

    void put_values(const std::vector<Compiled>& templates, std::size_t token, const Key* keys, float* values) {
        for (std::size_t j = 0; j < templates.size(); ++j) {
            if (keys[j] == 0) continue;
            float value = 1.0f;
            for (const std::uint32_t i : templates[j].numbers) {
                const Part& part = templates[j].source->parts[i];
                const auto at = extractor_.position(part, columns_, table_.first() + token, token, length_);
                value *= table_.number(static_cast<std::size_t>(at), part.view);
            }
            *values++ = value;
        }
    }

    const Extractor& extractor_;
    const Columns& columns_;
    ViewTable table_;
    std::size_t width_, length_ = 0;
    std::vector<Key> scratch_;
};

namespace {

void check_template(const Template& t, const ViewSet& views) {
    const std::size_t n_views = views.size();
    if (std::ranges::none_of(t.in, std::identity())) throw std::invalid_argument("a template belongs to no channel");
    if (t.parts.size() > Extractor::kMaxParts)
        throw std::invalid_argument("a template joins more than " + std::to_string(Extractor::kMaxParts) + " parts");
    const auto n_places = static_cast<std::size_t>(std::ranges::count(t.text, kPlaceholder));
    std::size_t n_values = 0;
    for (const Part& part : t.parts) {
        if (part.view >= n_views) throw std::invalid_argument("a template names a view that does not exist");
        n_values += views[views.place(part.view)].of_values();
        const bool indirect = part.mode == Part::Mode::kIndirect;
        const std::int32_t least = indirect ? 0 : -Extractor::kMaxOffset,
                           most = indirect ? 0xffff : Extractor::kMaxOffset;
        if (part.offset < least || part.offset > most)
            throw std::invalid_argument("offsets go from -" + std::to_string(Extractor::kMaxOffset) + " to " +
                                        std::to_string(Extractor::kMaxOffset) + ", found " +
                                        std::to_string(part.offset));
    }
    if (n_places != n_values && (n_places != 0 || t.text.starts_with(kNamed)))
        throw std::invalid_argument("a template's text must have a place for each of its values");
}

}  // namespace

Extractor::Extractor(std::vector<View> views, std::vector<Template> templates)
    : views_(std::move(views)), templates_(std::move(templates)) {
    if (templates_.size() > kMaxTemplates)
        throw std::invalid_argument("there are more than " + std::to_string(kMaxTemplates) + " templates");
    for (Template& t : templates_) {
        check_template(t, views_);
        for (Part& part : t.parts) part.view = views_.place(part.view);
    }
    n_columns_ = views_.n_columns();
    compile_templates();
    collect_runs();
}

void Extractor::compile_templates() {
    std::size_t padding = 0;
    for (const Template& t : templates_) {
        Compiled compiled{hash_bytes(t.text), &t, true, {}, {}};
        for (std::uint32_t i = 0; i < t.parts.size(); ++i) {
            const Part& part = t.parts[i];
            const bool relative = part.mode == Part::Mode::kRelative;
            compiled.relative &= relative;
            compiled.places.push_back(
                static_cast<std::ptrdiff_t>(part.offset) * static_cast<std::ptrdiff_t>(views_.size()) + part.view);
            if (views_[part.view].kind == View::Kind::kNumber) compiled.numbers.push_back(i);
            padding = std::max<std::size_t>(
                padding, relative ? static_cast<std::size_t>(std::abs(part.offset)) : ViewSet::kFarOutside);
            if (part.mode == Part::Mode::kIndirect) n_columns_ = std::max<std::size_t>(n_columns_, part.offset + 1);
        }
        for (std::size_t channel = 0; channel < compiled_.size(); ++channel)
            if (t.in[channel]) compiled_[channel].push_back(compiled);
    }
    views_.look_outside(padding);
}

namespace {

constexpr std::size_t kLongestRun = 3;     // cells
constexpr std::int32_t kFarthestRun = 16;  // from its token
constexpr std::size_t kFewTemplates = 3;   // about longer runs of a column: fewer are looked up as fast one by one

// What templates see: the cells lo .. hi of a column.
struct Seen {
    std::size_t group = kNoChannel;  // none: other things than the cells of one column
    std::int32_t lo = 0, hi = 0;
    std::size_t width() const { return static_cast<std::size_t>(hi - lo) + 1; }
    bool inside(const Seen& other) const { return group == other.group && lo >= other.lo && hi <= other.hi; }
};

Seen seen(const Template& t, const ViewSet& views) {
    if (t.parts.empty()) return {};
    Seen out{views.group_of(t.parts[0].view), t.parts[0].offset, t.parts[0].offset};
    for (const Part& part : t.parts) {
        if (part.mode != Part::Mode::kRelative || views[part.view].kind != View::Kind::kCell) return {};
        if (std::abs(part.offset) > kFarthestRun || views.group_of(part.view) != out.group) return {};
        out.lo = std::min(out.lo, part.offset);
        out.hi = std::max(out.hi, part.offset);
    }
    return out.width() <= kLongestRun ? out : Seen{};
}

// The run that each template is taken with: the widest that sees all of its cells.
std::vector<Seen> windows(std::vector<Seen> of_template, const ViewSet& views) {
    const auto widen = [&](Seen& some) {
        for (const Seen& other : of_template)
            if (some.inside(other) && other.width() > some.width()) some = other;
    };
    const auto longer = [](const Seen& some) { return some.group != kNoChannel && some.width() > 1; };
    for (Seen& some : of_template)
        if (longer(some)) widen(some);
    std::vector<Seen> out = of_template;
    for (Seen& some : out) {
        const auto alike = [&](const Seen& other) {
            return other.group == some.group && other.width() == some.width();
        };
        if (longer(some) && static_cast<std::size_t>(std::ranges::count_if(of_template, alike)) < kFewTemplates)
            some = {};
    }
    of_template = out;
    // Single cells of the first column stay alone: words are known where the words beside them are not.
    for (Seen& some : of_template)
        if (some.group != kNoChannel && views[views.group_begin(some.group)].column > 0) widen(some);
    return of_template;
}

}  // namespace

void Extractor::collect_runs() {
    std::vector<Seen> of_template;
    for (const Compiled& c : compiled_[0]) of_template.push_back(seen(*c.source, views_));
    of_template = windows(std::move(of_template), views_);
    for (std::size_t group = 0; group < views_.n_groups(); ++group)
        for (std::size_t width = 1; width <= kLongestRun; ++width) {
            RunTemplates runs{group, width, {}};
            for (std::size_t j = 0; j < of_template.size(); ++j) {
                const Seen& window = of_template[j];
                if (window.group != group || window.width() != width) continue;
                auto found = std::ranges::find(runs.windows, window.lo, &RunTemplates::Window::offset);
                if (found == runs.windows.end()) found = runs.windows.insert(found, {window.lo, {}});
                RunTemplate& added = found->templates.emplace_back(compiled_[0][j].seed);
                for (const Part& part : compiled_[0][j].source->parts)
                    added.parts.push_back(
                        {static_cast<std::uint32_t>(part.offset - window.lo), part.view - views_.group_begin(group)});
            }
            const bool some = std::ranges::find(of_template, group, &Seen::group) != of_template.end();
            if (some && (width == 1 || !runs.windows.empty())) runs_.push_back(std::move(runs));
        }
    for (std::size_t j = 0; j < of_template.size(); ++j)
        if (of_template[j].group == kNoChannel) rest_.push_back(compiled_[0][j]);
}

void Extractor::extract(const Columns& columns, std::size_t first, std::size_t last, Attributes& out) const {
    extract(columns, first, last, out, nullptr);
}

void Extractor::extract_rest(const Columns& columns, std::size_t first, std::size_t last, Attributes& out,
                             SequenceVisitor& visitor) const {
    extract(columns, first, last, out, &visitor);
}

void Extractor::extract(const Columns& columns, std::size_t first, std::size_t last, Attributes& out,
                        SequenceVisitor* visitor) const {
    static_assert(kTokenChannels[0] == kTokenChannel);
    const auto templates = [&](std::size_t channel) -> const std::vector<Compiled>& {
        return visitor && channel == 0 ? rest_ : compiled_[channel];
    };
    const std::size_t n_rows = columns.starts[last] - columns.starts[first], n_channels = channels().size();
    const bool valued = views_.has_numbers();
    std::array<std::size_t, kTokenChannels.size()> n_keys{};
    out.resize(n_channels);
    for (std::size_t channel = 0; channel < n_channels; ++channel) {
        // One place more than can be filled: leaving out writes behind the end.
        const std::size_t most = n_rows * templates(channel).size() + 1;
        out[channel].clear();
        out[channel].keys.resize(most);
        if (valued) out[channel].values.resize(most);
        out[channel].starts.reserve(n_rows + 1);
    }
    Runner runner(*this, columns);
    for (std::size_t sequence = first; sequence < last; ++sequence) {
        runner.fill(sequence);
        if (visitor) visitor->visit(runner.table());
        for (std::size_t channel = 0; channel < n_channels; ++channel)
            runner.run(templates(channel), kTokenChannels[channel] == kPairChannel, out[channel], n_keys[channel]);
    }
    for (std::size_t channel = 0; channel < n_channels; ++channel) {
        out[channel].keys.resize(n_keys[channel]);
        if (valued) out[channel].values.resize(n_keys[channel]);
    }
}

std::ptrdiff_t Extractor::position(const Part& part, const Columns& columns, std::size_t row, std::size_t token,
                                   std::size_t length) const {
    const auto at = static_cast<std::ptrdiff_t>(token), n = static_cast<std::ptrdiff_t>(length);
    switch (part.mode) {
        case Part::Mode::kRelative:
            return at + part.offset;
        case Part::Mode::kAbsolute:
            return part.offset < 0 ? n + part.offset : part.offset - 1;
        case Part::Mode::kIndirect:
            return at + static_cast<std::ptrdiff_t>(
                            leading_integer(columns.cell(row, static_cast<std::size_t>(part.offset))));
    }
    return at;
}

std::string Extractor::name(const Columns& columns, std::size_t sequence, std::size_t token, std::size_t i,
                            std::size_t channel) const {
    const std::size_t length = columns.starts[sequence + 1] - columns.starts[sequence];
    for (const Compiled& compiled : compiled_[channel]) {
        const Template& t = *compiled.source;
        if (!gives(columns, sequence, token, t) || i-- > 0) continue;
        std::string out = t.text;
        const bool named = out.starts_with(kNamed), own = !named && out.find(kPlaceholder) == std::string::npos;
        if (named) out.erase(0, 1);
        bool first = true;
        std::size_t place = 0;
        for (const Part& part : t.parts) {
            if (own ? !views_[part.view].of_text() : !views_[part.view].of_values()) continue;
            const std::ptrdiff_t at = position(part, columns, columns.starts[sequence] + token, token, length);
            const std::string shown = views_.value(columns, sequence, at, part.view).value_or("");
            if (own) {
                out += (first ? '=' : '|') + shown;
                first = false;
            } else {
                place = out.find(kPlaceholder, place);
                out.replace(place, 1, shown);
                place += shown.size();
            }
        }
        return out;
    }
    throw std::invalid_argument("the token has no such attribute");
}

bool Extractor::gives(const Columns& columns, std::size_t sequence, std::size_t token, const Template& t) const {
    const std::size_t first = columns.starts[sequence], length = columns.starts[sequence + 1] - first;
    return std::ranges::all_of(t.parts, [&](const Part& part) {
        return views_.gives(columns, sequence, position(part, columns, first + token, token, length), part.view);
    });
}

ColumnSource::ColumnSource(std::shared_ptr<const Columns> columns, std::shared_ptr<const Extractor> extractor)
    : columns_(std::move(columns)), extractor_(std::move(extractor)) {
    columns_->require_columns(extractor_->n_columns());
}

}  // namespace tw
