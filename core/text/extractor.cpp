#include "extractor.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "../base/interrupt.hpp"

namespace tw {

namespace {

constexpr char kPlaceholder = '\1';           // in a template's text: here stands the value of the next part
constexpr std::size_t kChunk = 32;            // tokens whose keys are made together: they stay in the first cache
constexpr std::size_t kMaxCached = 1u << 15;  // distinct texts of a column that are remembered
constexpr std::size_t kFarOutside = 5;        // from this distance on Wapiti writes _x-#
constexpr char kGazetteerPlaces[] = {'B', 'I', 'E', 'S'};

std::size_t gazetteer_place(std::size_t inside, std::size_t size) {
    return size == 1 ? 3 : inside == 0 ? 0 : inside + 1 == size ? 2 : 1;
}

std::string gazetteer_value(std::size_t place, const std::string& cls) {
    return cls.empty() ? std::string(1, kGazetteerPlaces[place]) : std::string(1, kGazetteerPlaces[place]) + '-' + cls;
}

// The number in a cell; false when there is none: an empty cell or "_".
bool parse_number(std::string_view cell, float& out) {
    if (cell.empty() || cell == "_") return false;
    double value = 0.0;
    const char *from = cell.data() + (cell[0] == '+' && cell.size() > 1 && cell[1] != '-'),
               *end = cell.data() + cell.size();
    const auto [stopped, error] = std::from_chars(from, end, value);
    out = static_cast<float>(value);
    if (error != std::errc() || stopped != end || !std::isfinite(out))
        throw std::invalid_argument("expected a number, found " + quoted(cell));
    return true;
}

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

std::string outside_text(View::Outside outside, bool after, std::size_t distance) {
    const bool far = outside == View::Outside::kWapiti && distance >= kFarOutside;
    return std::string(outside == View::Outside::kWapiti ? "_x" : "_B") + (after ? '+' : '-') +
           (far ? "#" : std::to_string(distance));
}

// The keys of all views of a cell, remembered by the hash of its text.
class CellCache {
public:
    void start(std::size_t width) {
        width_ = width;
        reset(256);
    }
    // Where the keys of this text are; `fill` writes them when it is new.
    template <class Fill>
    const Key* find(Key text, Fill fill) {
        if (2 * (n_ + 1) > slots_.size()) n_ >= kMaxCached ? reset(256) : grow();
        std::size_t i = home(text);
        for (; slots_[i] != kFree; i = (i + 1) & (slots_.size() - 1))
            if (texts_[i] == text) return values_.data() + slots_[i] * width_;
        texts_[i] = text;
        slots_[i] = static_cast<std::uint32_t>(n_++);
        values_.resize(n_ * width_);
        Key* values = values_.data() + slots_[i] * width_;
        fill(values);
        return values;
    }

private:
    static constexpr std::uint32_t kFree = 0xffffffffu;
    std::size_t home(Key text) const { return text & (slots_.size() - 1); }
    void reset(std::size_t capacity) {
        n_ = 0;
        values_.clear();
        texts_.assign(capacity, 0);
        slots_.assign(capacity, kFree);
    }
    void grow() {
        std::vector<Key> texts(2 * slots_.size(), 0);
        std::vector<std::uint32_t> slots(2 * slots_.size(), kFree);
        std::swap(texts, texts_), std::swap(slots, slots_);
        for (std::size_t i = 0; i < slots.size(); ++i) {
            if (slots[i] == kFree) continue;
            std::size_t to = home(texts[i]);
            while (slots_[to] != kFree) to = (to + 1) & (slots_.size() - 1);
            texts_[to] = texts[i], slots_[to] = slots[i];
        }
    }
    std::size_t width_ = 0, n_ = 0;
    std::vector<Key> texts_, values_;
    std::vector<std::uint32_t> slots_;
};

}  // namespace

// The views of one sequence after the other: a row of keys per token, and rows for what lies outside on both sides.
class Extractor::Table {
public:
    Table(const Extractor& extractor, const Columns& columns)
        : extractor_(extractor),
          columns_(columns),
          width_(extractor.views_.size()),
          caches_(extractor.column_views_.size()) {
        for (std::size_t i = 0; i < caches_.size(); ++i)
            caches_[i].start(extractor.column_views_[i].end - extractor.column_views_[i].begin);
    }

    void fill(std::size_t sequence) {
        first_ = columns_.starts[sequence];
        length_ = columns_.starts[sequence + 1] - first_;
        const std::size_t padding = extractor_.padding_;
        keys_.resize((length_ + 2 * padding) * width_);
        for (std::size_t d = 1; d <= padding; ++d) {
            std::copy_n(extractor_.before_.data() + (d - 1) * width_, width_, row(-static_cast<std::ptrdiff_t>(d)));
            std::copy_n(extractor_.after_.data() + (d - 1) * width_, width_,
                        row(static_cast<std::ptrdiff_t>(length_ + d - 1)));
        }
        for (std::size_t i = 0; i < caches_.size(); ++i) fill_cells(extractor_.column_views_[i], caches_[i]);
        for (std::size_t view = 0; view < width_; ++view) fill_special(view);
    }

    // Appends the attributes of all tokens of the sequence to a list whose arrays are large enough.
    void run(const std::vector<Compiled>& templates, bool skip_first, AttributeList& out, std::size_t& n_keys) {
        const std::size_t n_templates = templates.size();
        scratch_.resize(kChunk * n_templates);
        InterruptCheck check;
        for (std::size_t from = 0; from < length_; from += kChunk) {
            check();
            const std::size_t to = std::min(from + kChunk, length_);
            for (std::size_t j = 0; j < n_templates; ++j)
                run_template(templates[j], from, to, scratch_.data() + j, n_templates);
            for (std::size_t t = from; t < to; ++t) {
                const Key* keys = scratch_.data() + (t - from) * n_templates;
                if (!(skip_first && t == 0)) {
                    const std::size_t begin = n_keys;
                    Key* target = out.keys.data();
                    for (std::size_t j = 0; j < n_templates; ++j) {  // leaves out what is 0
                        target[n_keys] = keys[j];
                        n_keys += keys[j] != 0;
                    }
                    if (extractor_.has_numbers_) put_values(templates, t, keys, out.values.data() + begin);
                }
                if (n_keys > std::numeric_limits<std::uint32_t>::max())
                    throw std::invalid_argument(
                        "more than 4,294,967,295 attributes at once. Hand over fewer sequences.");
                out.starts.push_back(static_cast<std::uint32_t>(n_keys));
            }
        }
    }

private:
    Key* row(std::ptrdiff_t token) {
        return keys_.data() +
               (token + static_cast<std::ptrdiff_t>(extractor_.padding_)) * static_cast<std::ptrdiff_t>(width_);
    }

    void fill_cells(const ColumnViews& views, CellCache& cache) {
        const std::size_t n_views = views.end - views.begin;
        Key* to = row(0) + views.begin;
        for (std::size_t t = 0; t < length_; ++t, to += width_) {
            const std::string_view text = columns_.cell(first_ + t, views.column);
            const Key key = value_key(text);
            if (views.plain) {
                for (std::size_t v = 0; v < n_views; ++v) to[v] = key;
            } else {
                const Key* from = cache.find(key, [&](Key* keys) { fill_views(views, text, key, keys); });
                for (std::size_t v = 0; v < n_views; ++v) to[v] = from[v];
            }
        }
    }

    void fill_views(const ColumnViews& views, std::string_view text, Key key, Key* keys) {
        for (std::uint32_t v = views.begin; v < views.end; ++v) {
            std::string_view value = text;
            const bool some = apply_steps(extractor_.views_[v].steps, value, texts_);
            *keys++ = !some ? 0 : extractor_.views_[v].steps.empty() ? key : value_key(value);
        }
    }

    // What depends on the place in the sequence.
    void fill_special(std::size_t view) {
        const View& v = extractor_.views_[view];
        if (v.kind == View::Kind::kCell) return;
        if (v.kind == View::Kind::kGazetteer) return fill_gazetteer(view);
        if (v.kind == View::Kind::kNumber) return fill_numbers(view);
        for (std::size_t t = 0; t < length_; ++t) row(static_cast<std::ptrdiff_t>(t))[view] = 0;
        if (length_ > 0) row(v.kind == View::Kind::kBegin ? 0 : static_cast<std::ptrdiff_t>(length_) - 1)[view] = 1;
    }

    void fill_gazetteer(std::size_t view) {
        const Gazetteer& gazetteer = *extractor_.gazetteers_[view];
        Key* at = row(0) + view;
        for (std::size_t t = 0; t < length_;) {
            const Gazetteer::Hit hit = gazetteer.longest(at + t * width_, width_, length_ - t);
            for (std::size_t i = 0; i < hit.size; ++i)
                at[(t + i) * width_] = extractor_.gazetteer_keys_[view][hit.cls][gazetteer_place(i, hit.size)];
            if (hit.size == 0) at[t * width_] = 0;
            t += std::max<std::size_t>(hit.size, 1);
        }
    }

    void fill_numbers(std::size_t view) {
        numbers_.resize(length_ * width_);
        for (std::size_t t = 0; t < length_; ++t) {
            const std::string_view cell = columns_.cell(first_ + t, extractor_.views_[view].column);
            try {
                row(static_cast<std::ptrdiff_t>(t))[view] = parse_number(cell, numbers_[t * width_ + view]);
            } catch (const std::invalid_argument& error) {
                throw std::invalid_argument(columns_.where(first_ + t) + ": " + error.what() + " in column " +
                                            std::to_string(extractor_.views_[view].column) +
                                            ". Numbers are finite decimals; _ stands for none.");
            }
        }
    }

    // Keys of a template for some tokens, `stride` apart; 0 where it gives nothing.
    void run_template(const Compiled& t, std::size_t from, std::size_t to, Key* out, std::size_t stride) {
        const Key* at = row(static_cast<std::ptrdiff_t>(from));
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
        const auto length = static_cast<std::ptrdiff_t>(length_),
                   padding = static_cast<std::ptrdiff_t>(extractor_.padding_);
        const std::ptrdiff_t at = extractor_.position(part, columns_, first_ + token, token, length_);
        return row(std::clamp(at, -padding, length + padding - 1))[part.view];
    }

    void put_values(const std::vector<Compiled>& templates, std::size_t token, const Key* keys, float* values) {
        for (std::size_t j = 0; j < templates.size(); ++j) {
            if (keys[j] == 0) continue;
            float value = 1.0f;
            for (const std::uint32_t i : templates[j].numbers) {
                const Part& part = templates[j].source->parts[i];
                const auto at = extractor_.position(part, columns_, first_ + token, token, length_);
                value *= numbers_[static_cast<std::size_t>(at) * width_ + part.view];
            }
            *values++ = value;
        }
    }

    const Extractor& extractor_;
    const Columns& columns_;
    std::size_t width_, first_ = 0, length_ = 0;
    std::vector<CellCache> caches_;
    std::vector<Key> keys_, scratch_;
    std::vector<float> numbers_;
    std::string texts_[2];
};

namespace {

void check_template(const Template& t, std::size_t n_views) {
    if (!t.label && !t.pair) throw std::invalid_argument("a template must give attributes of labels or of pairs");
    if (t.parts.size() > Extractor::kMaxParts)
        throw std::invalid_argument("a template joins more than " + std::to_string(Extractor::kMaxParts) + " parts");
    const auto n_places = static_cast<std::size_t>(std::ranges::count(t.text, kPlaceholder));
    if (n_places != 0 && n_places != t.parts.size())
        throw std::invalid_argument("a template's text must have a place for each of its parts");
    for (const Part& part : t.parts) {
        if (part.view >= n_views) throw std::invalid_argument("a template names a view that does not exist");
        const bool indirect = part.mode == Part::Mode::kIndirect;
        const std::int32_t least = indirect ? 0 : -Extractor::kMaxOffset,
                           most = indirect ? 0xffff : Extractor::kMaxOffset;
        if (part.offset < least || part.offset > most)
            throw std::invalid_argument("offsets go from -" + std::to_string(Extractor::kMaxOffset) + " to " +
                                        std::to_string(Extractor::kMaxOffset) + ", found " +
                                        std::to_string(part.offset));
    }
}

}  // namespace

Extractor::Extractor(std::vector<View> views, std::vector<Template> templates)
    : views_(std::move(views)), templates_(std::move(templates)) {
    if (templates_.empty()) throw std::invalid_argument("there are no templates");
    if (templates_.size() > kMaxTemplates || views_.size() > kMaxTemplates)
        throw std::invalid_argument("there are more than " + std::to_string(kMaxTemplates) + " templates");
    for (const Template& t : templates_) check_template(t, views_.size());
    order_views();
    for (const View& view : views_) {
        if (view.column > 0xffff) throw std::invalid_argument("columns go up to 65535");
        if (view.kind != View::Kind::kBegin && view.kind != View::Kind::kEnd)
            n_columns_ = std::max<std::size_t>(n_columns_, view.column + 1);
        has_numbers_ |= view.kind == View::Kind::kNumber;
    }
    compile_templates();
}

// Brings the views of a column side by side, so that what is remembered of a cell is one piece.
void Extractor::order_views() {
    const auto group = [&](std::size_t v) {
        const bool cell = views_[v].kind == View::Kind::kCell || views_[v].kind == View::Kind::kGazetteer;
        return cell ? static_cast<std::size_t>(views_[v].column) : std::numeric_limits<std::size_t>::max();
    };
    std::vector<std::uint32_t> order(views_.size()), place(views_.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::stable_sort(order, {}, group);
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        place[order[i]] = i;
        if (group(order[i]) == std::numeric_limits<std::size_t>::max()) continue;
        const std::uint32_t column = views_[order[i]].column;
        if (column_views_.empty() || column_views_.back().column != column)
            column_views_.push_back({column, i, i, true});
        column_views_.back().end = i + 1;
        column_views_.back().plain &= views_[order[i]].steps.empty();
    }
    std::vector<View> ordered;
    for (const std::uint32_t v : order) ordered.push_back(std::move(views_[v]));
    views_ = std::move(ordered);
    for (Template& t : templates_)
        for (Part& part : t.parts) part.view = place[part.view];
    gazetteers_.resize(views_.size());
    gazetteer_keys_.resize(views_.size());
    for (std::size_t v = 0; v < views_.size(); ++v) {
        if (views_[v].kind != View::Kind::kGazetteer) continue;
        gazetteers_[v] = std::make_unique<const Gazetteer>(views_[v].resource, views_[v].steps);
        for (std::size_t cls = 0; cls < gazetteers_[v]->n_classes(); ++cls) {
            auto& keys = gazetteer_keys_[v].emplace_back();
            for (std::size_t i = 0; i < 4; ++i) keys[i] = value_key(gazetteer_value(i, gazetteers_[v]->cls(cls)));
        }
    }
}

void Extractor::compile_templates() {
    for (const Template& t : templates_) {
        Compiled compiled{hash_bytes(t.text), &t, true, {}, {}};
        for (std::uint32_t i = 0; i < t.parts.size(); ++i) {
            const Part& part = t.parts[i];
            const bool relative = part.mode == Part::Mode::kRelative;
            compiled.relative &= relative;
            compiled.places.push_back(
                static_cast<std::ptrdiff_t>(part.offset) * static_cast<std::ptrdiff_t>(views_.size()) + part.view);
            if (views_[part.view].kind == View::Kind::kNumber) compiled.numbers.push_back(i);
            padding_ = std::max<std::size_t>(padding_,
                                             relative ? static_cast<std::size_t>(std::abs(part.offset)) : kFarOutside);
            if (part.mode == Part::Mode::kIndirect) n_columns_ = std::max<std::size_t>(n_columns_, part.offset + 1);
        }
        if (t.label) label_.push_back(compiled);
        if (t.pair) pair_.push_back(compiled);
    }
    for (std::size_t d = 1; d <= padding_; ++d) {
        for (const View& view : views_) {
            before_.push_back(outside_key(view, false, d));
            after_.push_back(outside_key(view, true, d));
        }
    }
}

Key Extractor::outside_key(const View& view, bool after, std::size_t distance) const {
    if (view.outside == View::Outside::kNothing || view.kind != View::Kind::kCell) return 0;
    const std::string text = outside_text(view.outside, after, distance);
    std::string_view value = text;
    std::string scratch[2];
    return apply_steps(view.steps, value, scratch) ? value_key(value) : 0;
}

void Extractor::extract(const Columns& columns, std::size_t first, std::size_t last, Attributes& out) const {
    out.clear();
    const std::size_t n_rows = columns.starts[last] - columns.starts[first];
    Table table(*this, columns);
    std::size_t n_label = 0, n_pair = 0;
    // One place more than can be filled: leaving out writes behind the end.
    const auto prepare = [&](AttributeList& list, std::size_t n_templates) {
        list.keys.resize(n_rows * n_templates + 1);
        if (has_numbers_) list.values.resize(n_rows * n_templates + 1);
        list.starts.reserve(n_rows + 1);
    };
    const auto finish = [&](AttributeList& list, std::size_t n_keys) {
        list.keys.resize(n_keys);
        if (has_numbers_) list.values.resize(n_keys);
    };
    prepare(out.label, label_.size());
    prepare(out.pair, pair_.size());
    for (std::size_t sequence = first; sequence < last; ++sequence) {
        table.fill(sequence);
        table.run(label_, false, out.label, n_label);
        table.run(pair_, true, out.pair, n_pair);
    }
    finish(out.label, n_label);
    finish(out.pair, n_pair);
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
                            bool pair) const {
    for (const Compiled& compiled : pair ? pair_ : label_) {
        const Template& t = *compiled.source;
        if (!gives(columns, sequence, token, t) || i-- > 0) continue;
        std::string out = t.text;
        const bool own = out.find(kPlaceholder) == std::string::npos;
        bool first = true;
        std::size_t place = 0;
        for (const Part& part : t.parts) {
            const View::Kind kind = views_[part.view].kind;
            if (own && kind != View::Kind::kCell && kind != View::Kind::kGazetteer) continue;
            const std::string shown = value(columns, sequence, token, part).value_or("");
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
    for (const Part& part : t.parts) {
        const std::ptrdiff_t at = position(part, columns, first + token, token, length);
        const bool inside = at >= 0 && at < static_cast<std::ptrdiff_t>(length);
        if (!inside && views_[part.view].outside == View::Outside::kNothing) return false;
        if (inside && views_[part.view].always_gives()) continue;
        if (!value(columns, sequence, token, part)) return false;
    }
    return true;
}

// The value of a part as text: what the keys are hashes of.
std::optional<std::string> Extractor::value(const Columns& columns, std::size_t sequence, std::size_t token,
                                            const Part& part) const {
    const std::size_t first = columns.starts[sequence], length = columns.starts[sequence + 1] - first;
    const View& view = views_[part.view];
    const std::ptrdiff_t at = position(part, columns, first + token, token, length);
    const bool before = at < 0, after = at >= static_cast<std::ptrdiff_t>(length);
    std::string outside, scratch[2];
    std::string_view text;
    if (before || after) {
        if (view.outside == View::Outside::kNothing || view.kind != View::Kind::kCell) return std::nullopt;
        const auto distance = static_cast<std::size_t>(before ? -at : at - static_cast<std::ptrdiff_t>(length) + 1);
        text = outside = outside_text(view.outside, after, distance);
    } else if (view.kind == View::Kind::kBegin || view.kind == View::Kind::kEnd) {
        const std::ptrdiff_t wanted = view.kind == View::Kind::kBegin ? 0 : static_cast<std::ptrdiff_t>(length) - 1;
        return at == wanted ? std::optional<std::string>("") : std::nullopt;
    } else {
        text = columns.cell(first + static_cast<std::size_t>(at), view.column);
    }
    if (view.kind == View::Kind::kNumber) {
        float number;
        return parse_number(text, number) ? std::optional<std::string>("") : std::nullopt;
    }
    if (view.kind == View::Kind::kGazetteer) {
        std::size_t inside = 0;
        const Gazetteer::Hit hit = gazetteer_hit(columns, sequence, static_cast<std::size_t>(at), part.view, inside);
        if (hit.size == 0) return std::nullopt;
        return gazetteer_value(gazetteer_place(inside, hit.size), gazetteers_[part.view]->cls(hit.cls));
    }
    if (!apply_steps(view.steps, text, scratch)) return std::nullopt;
    return std::string(text);
}

Gazetteer::Hit Extractor::gazetteer_hit(const Columns& columns, std::size_t sequence, std::size_t token,
                                        std::uint32_t view, std::size_t& inside) const {
    std::vector<Key> keys;
    std::string scratch[2];
    for (std::size_t row = columns.starts[sequence]; row < columns.starts[sequence + 1]; ++row) {
        std::string_view text = columns.cell(row, views_[view].column);
        keys.push_back(apply_steps(views_[view].steps, text, scratch) ? value_key(text) : 0);
    }
    for (std::size_t t = 0; t <= token;) {
        const Gazetteer::Hit hit = gazetteers_[view]->longest(keys.data() + t, 1, keys.size() - t);
        if (token < t + hit.size) {
            inside = token - t;
            return hit;
        }
        t += std::max<std::size_t>(hit.size, 1);
    }
    return {};
}

ColumnSource::ColumnSource(std::shared_ptr<const Columns> columns, std::shared_ptr<const Extractor> extractor)
    : columns_(std::move(columns)), extractor_(std::move(extractor)) {
    if (columns_->n_rows() > 0 && columns_->n_columns < extractor_->n_columns())
        throw std::invalid_argument("the templates need " + std::to_string(extractor_->n_columns()) +
                                    " columns, but the tokens have " + std::to_string(columns_->n_columns) + " (" +
                                    columns_->where(0) + ").");
}

}  // namespace tw
