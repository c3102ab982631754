#include "spans.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>

#include "../base/interrupt.hpp"

namespace tw {

namespace {

using Kind = SpanPart::Kind;

// The bin of a size: from its beginning to that of the next. The first begins at 1 whatever is said.
std::string size_text(const std::vector<std::uint32_t>& bins, std::size_t size) {
    if (bins.empty()) return std::to_string(size);
    const auto above = std::ranges::upper_bound(bins, size);
    const std::size_t from = above == bins.begin() ? 1 : above[-1];
    if (above == bins.end()) return std::to_string(from) + '+';
    return *above - 1 == from ? std::to_string(from) : std::to_string(from) + ".." + std::to_string(*above - 1);
}

std::string entry_text(const Gazetteer& gazetteer, std::size_t cls) {
    return gazetteer.cls(cls).empty() ? "yes" : gazetteer.cls(cls);
}

// The token that a part looks at, from the first (kFirst, kBefore) or the last (kLast, kAfter) of the span.
std::ptrdiff_t shift_of(const SpanPart& part) {
    return part.offset - (part.kind == Kind::kBefore) + (part.kind == Kind::kAfter);
}

bool of_tokens(const SpanPart& part) { return part.kind <= Kind::kAfter; }

void check_part(const SpanPart& part, const std::vector<View>& views) {
    const auto refuse = [](const char* what) { throw std::invalid_argument(what); };
    if (part.kind == Kind::kSize) {
        if (!std::ranges::is_sorted(part.bins, std::less_equal()) || (!part.bins.empty() && part.bins[0] == 0))
            refuse("the bins of sizes must rise from 1");
        return;
    }
    if (part.view >= views.size()) refuse("a template names a view that does not exist");
    const View::Kind kind = views[part.view].kind;
    if (part.kind == Kind::kWhole || part.kind == Kind::kOutline) {
        if (kind != View::Kind::kCell && (kind != View::Kind::kEntry || part.kind != Kind::kWhole))
            refuse("only columns and gazetteers can be asked about all tokens of a span");
    } else if (kind == View::Kind::kEntry) {
        refuse("entries of a gazetteer are whole spans");
    }
    const bool forward = part.kind != Kind::kLast && part.kind != Kind::kBefore;
    const std::int32_t steps = forward ? part.offset : -part.offset;
    if (steps < 0 || steps > SpanExtractor::kMaxOffset) refuse("an offset is out of range");
}

}  // namespace

// The attributes of the spans of one sequence after the other. For one begin the spans of all sizes are made together:
// the keys of a part are at one place, or a row of the table apart, or side by side.
class SpanExtractor::Runner {
public:
    // most: sizes that there are, at most `longest`.
    Runner(const SpanExtractor& extractor, const Columns& columns, std::size_t longest, std::size_t most)
        : extractor_(extractor), table_(extractor.views_, columns), longest_(longest), most_(most) {
        for (const auto& bins : extractor.sizes_)
            for (std::size_t size = 1; size <= most; ++size) sizes_.push_back(value_key(size_text(bins, size)));
        sequences_.resize(extractor.sequences_.size() * most);
        scratch_.resize(extractor.compiled_.size() * most);
    }

    // Appends the attributes of all sites of a sequence to a list whose arrays are large enough.
    void run(std::size_t sequence, AttributeList& out, std::size_t& n_keys) {
        table_.fill(sequence);
        const std::size_t n_templates = extractor_.compiled_.size();
        InterruptCheck check;
        for (std::size_t begin = 0; begin < table_.length(); ++begin) {
            check();
            const std::size_t left = table_.length() - begin, n_sizes = longest_ > 0 ? std::min(longest_, left) : left;
            for (std::size_t i = 0; i < extractor_.sequences_.size(); ++i)
                fill_sequence(extractor_.sequences_[i], begin, n_sizes, sequences_.data() + i * most_);
            for (std::size_t j = 0; j < n_templates; ++j)
                run_template(extractor_.compiled_[j], begin, n_sizes, scratch_.data() + j, n_templates);
            for (std::size_t s = 0; s < n_sizes; ++s) {
                const Key* keys = scratch_.data() + s * n_templates;
                if (extractor_.views_.has_numbers()) put_values(begin, begin + s, keys, out.values.data() + n_keys);
                Key* target = out.keys.data();
                for (std::size_t j = 0; j < n_templates; ++j) {  // leaves out what is 0
                    target[n_keys] = keys[j];
                    n_keys += keys[j] != 0;
                }
                out.starts.push_back(static_cast<std::uint32_t>(n_keys));
            }
            if (n_keys > std::numeric_limits<std::uint32_t>::max())
                throw std::invalid_argument(
                    "more than 4,294,967,295 attributes of spans at once. Hand over fewer sequences.");
            if (longest_ > n_sizes)
                out.starts.insert(out.starts.end(), longest_ - n_sizes, static_cast<std::uint32_t>(n_keys));
        }
    }

private:
    void fill_sequence(const Sequence& sequence, std::size_t begin, std::size_t n_sizes, Key* out) {
        const std::size_t width = table_.width();
        const Key* at = table_.row(static_cast<std::ptrdiff_t>(begin)) + sequence.view;
        std::fill_n(out, n_sizes, Key{0});
        if (extractor_.views_[sequence.view].kind == View::Kind::kEntry) {
            const Gazetteer& gazetteer = extractor_.views_.gazetteer(sequence.view);
            gazetteer.each(at, width, n_sizes, [&](const Gazetteer::Hit& hit) {
                out[hit.size - 1] = value_key(entry_text(gazetteer, hit.cls));
            });
            return;
        }
        Key all = 0, last = 0;
        std::uint32_t run = 0;
        for (std::size_t s = 0; s < n_sizes && at[s * width]; ++s) {
            const Key value = at[s * width];
            run = s > 0 && value == last ? run + 1 : 1;
            if (sequence.longest_run == 0 || run <= sequence.longest_run) {
                all = s == 0 ? value : combine(all, value);
                all = all ? all : 1;
            }
            out[s] = all;
            last = value;
        }
    }

    // Keys of a template for the spans of all sizes, `stride` apart; 0 where it gives nothing.
    void run_template(const Compiled& t, std::size_t begin, std::size_t n_sizes, Key* out, std::size_t stride) {
        const std::size_t least = std::min(t.least - 1, n_sizes);
        for (std::size_t s = 0; s < least; ++s) out[s * stride] = 0;
        for (std::size_t s = least; s < n_sizes; ++s) out[s * stride] = t.seed;
        for (const Place& place : t.places) {
            if (least == n_sizes) return;
            const auto [from, step] = keys_of(place, begin, least);
            for (std::size_t s = least; s < n_sizes; ++s) {
                const Key value = from[(s - least) * step];
                Key& key = out[s * stride];
                key = key && value ? combine(key, value) : 0;
            }
        }
    }

    // The keys of a part, for spans from a size on, and how far they are apart.
    std::pair<const Key*, std::size_t> keys_of(const Place& place, std::size_t begin, std::size_t least) const {
        const auto first = static_cast<std::ptrdiff_t>(begin), last = static_cast<std::ptrdiff_t>(begin + least);
        switch (place.in) {
            case Place::In::kFromBegin:
                return {table_.row(first + place.shift) + place.at, 0};
            case Place::In::kFromEnd:
                return {table_.row(last + place.shift) + place.at, table_.width()};
            case Place::In::kSizes:
                return {sizes_.data() + place.at * most_ + least, 1};
            case Place::In::kSequences:
                break;
        }
        return {sequences_.data() + place.at * most_ + least, 1};
    }

    void put_values(std::size_t begin, std::size_t last, const Key* keys, float* values) const {
        for (std::size_t j = 0; j < extractor_.compiled_.size(); ++j) {
            if (keys[j] == 0) continue;
            float value = 1.0f;
            for (const Place& place : extractor_.compiled_[j].places) {
                const bool of_token = place.in == Place::In::kFromBegin || place.in == Place::In::kFromEnd;
                if (!of_token || extractor_.views_[place.at].kind != View::Kind::kNumber) continue;
                const std::size_t from = place.in == Place::In::kFromBegin ? begin : last;
                value *= table_.number(from + static_cast<std::size_t>(place.shift), place.at);
            }
            *values++ = value;
        }
    }

    const SpanExtractor& extractor_;
    ViewTable table_;
    std::size_t longest_, most_;
    std::vector<Key> sizes_, sequences_;  // [which][size - 1]; the latter of the spans that begin at one token
    std::vector<Key> scratch_;            // [size - 1][template]
};

SpanExtractor::SpanExtractor(std::vector<View> views, std::vector<SpanTemplate> templates)
    : templates_(std::move(templates)) {
    if (templates_.empty()) throw std::invalid_argument("there are no templates about spans");
    if (templates_.size() > kMaxTemplates)
        throw std::invalid_argument("there are more than " + std::to_string(kMaxTemplates) + " templates");
    for (const SpanTemplate& t : templates_) {
        if (t.parts.size() > kMaxParts)
            throw std::invalid_argument("a template joins more than " + std::to_string(kMaxParts) + " parts");
        for (const SpanPart& part : t.parts) check_part(part, views);
    }
    views_ = ViewSet(std::move(views));
    std::size_t padding = 0;
    for (SpanTemplate& t : templates_) {
        Compiled& compiled = compiled_.emplace_back(hash_bytes(t.text));
        for (SpanPart& part : t.parts) {
            if (part.kind != Kind::kSize) part.view = views_.place(part.view);
            compiled.places.push_back(place_of(part));
            const auto steps = static_cast<std::size_t>(std::abs(part.offset));
            if (part.kind == Kind::kFirst || part.kind == Kind::kLast)
                compiled.least = std::max(compiled.least, steps + 1);
            else if (part.kind == Kind::kBefore || part.kind == Kind::kAfter)
                padding = std::max(padding, steps + 1);
        }
    }
    views_.look_outside(padding);
}

SpanExtractor::Place SpanExtractor::place_of(const SpanPart& part) {
    const auto number = [](auto& known, const auto& one) {
        const auto found = std::ranges::find(known, one);
        const auto at = static_cast<std::size_t>(found - known.begin());
        if (found == known.end()) known.push_back(one);
        return at;
    };
    if (part.kind == Kind::kSize) return {Place::In::kSizes, number(sizes_, part.bins), 0};
    if (!of_tokens(part)) {
        const auto run = static_cast<std::uint32_t>(part.kind == Kind::kOutline ? part.offset : 0);
        return {Place::In::kSequences, number(sequences_, Sequence{part.view, run}), 0};
    }
    const bool from_begin = part.kind == Kind::kFirst || part.kind == Kind::kBefore;
    return {from_begin ? Place::In::kFromBegin : Place::In::kFromEnd, part.view, shift_of(part)};
}

void SpanExtractor::extract(const Columns& columns, std::size_t first, std::size_t last, std::size_t longest,
                            AttributeList& out) const {
    out.clear();
    std::size_t n_spans = 0, n_sites = 0, most = 0;
    for (std::size_t i = first; i < last; ++i) {
        const std::size_t length = columns.starts[i + 1] - columns.starts[i];
        const std::size_t sizes = longest > 0 ? std::min(longest, length) : length;
        const std::size_t here = sizes * (2 * length - sizes + 1) / 2;
        n_spans += here;
        most = std::max(most, sizes);
        n_sites += longest > 0 ? length * longest : here;
    }
    if (n_sites > std::numeric_limits<std::uint32_t>::max())
        throw std::invalid_argument("more than 4,294,967,295 spans at once. Hand over fewer sequences.");
    // One place more than can be filled: leaving out writes behind the end.
    const bool valued = views_.has_numbers();
    out.keys.resize(n_spans * templates_.size() + 1);
    if (valued) out.values.resize(n_spans * templates_.size() + 1);
    out.starts.reserve(n_sites + 1);
    Runner runner(*this, columns, longest, most);
    std::size_t n_keys = 0;
    for (std::size_t sequence = first; sequence < last; ++sequence) runner.run(sequence, out, n_keys);
    out.keys.resize(n_keys);
    if (valued) out.values.resize(n_keys);
}

std::string SpanExtractor::name(const Columns& columns, std::size_t sequence, std::size_t begin, std::size_t size,
                                std::size_t i) const {
    const Span span{columns, sequence, begin, size};
    const bool inside = begin + size <= columns.starts[sequence + 1] - columns.starts[sequence];
    for (const SpanTemplate& t : templates_) {
        const bool some = std::ranges::all_of(t.parts, [&](const SpanPart& part) { return gives(span, part); });
        if (!inside || !some || i-- > 0) continue;
        std::string out = t.text;
        bool first = true;
        for (const SpanPart& part : t.parts) {
            if (part.kind != Kind::kSize && !views_[part.view].of_text()) continue;
            out += (first ? '=' : '|') + value(span, part).value_or("");
            first = false;
        }
        return out;
    }
    throw std::invalid_argument("the span has no such attribute");
}

bool SpanExtractor::gives(const Span& span, const SpanPart& part) const {
    if (part.kind == Kind::kSize) return true;
    if (part.kind == Kind::kWhole && views_[part.view].kind == View::Kind::kEntry) return value(span, part).has_value();
    const auto [from, to] = tokens_of(span, part);
    for (std::ptrdiff_t t = from; t < to; ++t)
        if (!views_.gives(span.columns, span.sequence, t, part.view)) return false;
    return from < to;
}

// The tokens that a part looks at: all, or one, or none because the span is too short.
std::pair<std::ptrdiff_t, std::ptrdiff_t> SpanExtractor::tokens_of(const Span& span, const SpanPart& part) const {
    const auto begin = static_cast<std::ptrdiff_t>(span.begin), size = static_cast<std::ptrdiff_t>(span.size);
    if (!of_tokens(part)) return {begin, begin + size};
    const bool inside = part.kind == Kind::kFirst || part.kind == Kind::kLast;
    if (inside && std::abs(part.offset) >= size) return {begin, begin};
    const bool from_begin = part.kind == Kind::kFirst || part.kind == Kind::kBefore;
    const std::ptrdiff_t at = (from_begin ? begin : begin + size - 1) + shift_of(part);
    return {at, at + 1};
}

// The value of a part as text.
std::optional<std::string> SpanExtractor::value(const Span& span, const SpanPart& part) const {
    if (part.kind == Kind::kSize) return size_text(part.bins, span.size);
    const auto [from, to] = tokens_of(span, part);
    std::string all, last;
    std::vector<Key> keys;
    std::int32_t run = 0;
    for (std::ptrdiff_t t = from; t < to; ++t) {
        const std::optional<std::string> one = views_.value(span.columns, span.sequence, t, part.view);
        if (!one) return std::nullopt;
        keys.push_back(value_key(*one));
        run = t > from && *one == last ? run + 1 : 1;
        if (part.kind != Kind::kOutline || run <= part.offset) all += (t > from ? " " : "") + *one;
        last = *one;
    }
    if (views_[part.view].kind != View::Kind::kEntry) return from < to ? std::optional(all) : std::nullopt;
    const Gazetteer& gazetteer = views_.gazetteer(part.view);
    const Gazetteer::Hit hit = gazetteer.longest(keys.data(), 1, keys.size());
    return hit.size == span.size ? std::optional(entry_text(gazetteer, hit.cls)) : std::nullopt;
}

SpanSource::SpanSource(std::shared_ptr<const Columns> columns, std::shared_ptr<const SpanExtractor> extractor,
                       std::size_t longest)
    : columns_(std::move(columns)), extractor_(std::move(extractor)), longest_(longest) {
    if (longest > SpanExtractor::kMaxSize)
        throw std::invalid_argument("longest must be at most " + std::to_string(SpanExtractor::kMaxSize) + ", found " +
                                    std::to_string(longest) + ".");
    columns_->require_columns(extractor_->n_columns());
}

void SpanSource::attributes(std::size_t first, std::size_t last, Attributes& out) const {
    out.resize(1);
    extractor_->extract(*columns_, first, last, longest_, out.front());
}

std::string SpanSource::name(std::size_t sequence, std::size_t site, std::size_t i, std::size_t) const {
    if (longest_ > 0) return extractor_->name(*columns_, sequence, site / longest_, site % longest_ + 1, i);
    std::size_t begin = 0;
    for (std::size_t n = columns_->starts[sequence + 1] - columns_->starts[sequence]; n > 0 && site >= n; --n, ++begin)
        site -= n;
    return extractor_->name(*columns_, sequence, begin, site + 1, i);
}

}  // namespace tw
