#include "view_table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace tw {

namespace {

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

std::string outside_text(View::Outside outside, bool after, std::size_t distance) {
    const bool far = outside == View::Outside::kWapiti && distance >= ViewSet::kFarOutside;
    return std::string(outside == View::Outside::kWapiti ? "_x" : "_B") + (after ? '+' : '-') +
           (far ? "#" : std::to_string(distance));
}

}  // namespace

ViewSet::ViewSet(std::vector<View> views) : views_(std::move(views)) {
    if (views_.size() > kMaxViews)
        throw std::invalid_argument("there are more than " + std::to_string(kMaxViews) + " views");
    for (const View& view : views_) {
        if (view.column > 0xffff) throw std::invalid_argument("columns go up to 65535");
        if (view.kind != View::Kind::kBegin && view.kind != View::Kind::kEnd)
            n_columns_ = std::max<std::size_t>(n_columns_, view.column + 1);
        has_numbers_ |= view.kind == View::Kind::kNumber;
    }
    order();
    share_steps();
    read_gazetteers();
}

// Brings the views of a column side by side, so that what is remembered of a cell is one piece.
void ViewSet::order() {
    const auto group = [&](std::size_t v) {
        return views_[v].of_text() ? static_cast<std::size_t>(views_[v].column)
                                   : std::numeric_limits<std::size_t>::max();
    };
    std::vector<std::uint32_t> order(views_.size());
    places_.resize(views_.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::stable_sort(order, {}, group);
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        places_[order[i]] = i;
        if (group(order[i]) == std::numeric_limits<std::size_t>::max()) continue;
        const std::uint32_t column = views_[order[i]].column;
        if (column_views_.empty() || column_views_.back().column != column)
            column_views_.push_back({column, i, i, true, 0, {}});
        column_views_.back().end = i + 1;
        column_views_.back().plain &= views_[order[i]].steps.empty();
    }
    std::vector<View> ordered;
    for (const std::uint32_t v : order) ordered.push_back(std::move(views_[v]));
    views_ = std::move(ordered);
}

// Finds the steps that views of a column have in common, from the first on.
void ViewSet::share_steps() {
    for (ColumnViews& group : column_views_) {
        const auto first = static_cast<std::uint32_t>(stages_.size());
        group.first_stage = first;
        for (std::uint32_t v = group.begin; v < group.end; ++v) {
            std::uint32_t stage = kCell;
            for (const Step& step : views_[v].steps) {
                const auto known = std::find_if(stages_.begin() + first, stages_.end(), [&](const Stage& other) {
                    return other.before == stage && *other.step == step;
                });
                const auto number = static_cast<std::uint32_t>(known - stages_.begin());
                if (number == stages_.size()) stages_.push_back({stage, &step});
                stage = number;
            }
            group.stages.push_back(stage);
        }
    }
}

void ViewSet::read_gazetteers() {
    gazetteers_.resize(views_.size());
    gazetteer_keys_.resize(views_.size());
    for (std::size_t v = 0; v < views_.size(); ++v) {
        if (!views_[v].of_gazetteer()) continue;
        gazetteers_[v] = std::make_unique<const Gazetteer>(views_[v].resource, views_[v].steps);
        for (std::size_t cls = 0; cls < gazetteers_[v]->n_classes(); ++cls) {
            auto& keys = gazetteer_keys_[v].emplace_back();
            for (std::size_t i = 0; i < 4; ++i) keys[i] = value_key(gazetteer_value(i, gazetteers_[v]->cls(cls)));
        }
    }
}

void ViewSet::look_outside(std::size_t padding) {
    padding_ = padding;
    for (std::size_t d = 1; d <= padding_; ++d) {
        for (const View& view : views_) {
            before_.push_back(outside_key(view, false, d));
            after_.push_back(outside_key(view, true, d));
        }
    }
}

Key ViewSet::outside_key(const View& view, bool after, std::size_t distance) const {
    if (view.outside == View::Outside::kNothing || view.kind != View::Kind::kCell) return 0;
    const std::string text = outside_text(view.outside, after, distance);
    std::string_view value = text;
    std::string scratch[2];
    return apply_steps(view.steps, value, scratch) ? value_key(value) : 0;
}

bool ViewSet::gives(const Columns& columns, std::size_t sequence, std::ptrdiff_t at, std::size_t place) const {
    const std::size_t length = columns.starts[sequence + 1] - columns.starts[sequence];
    const bool inside = at >= 0 && at < static_cast<std::ptrdiff_t>(length);
    if (!inside && views_[place].outside == View::Outside::kNothing) return false;
    return (inside && views_[place].always_gives()) || value(columns, sequence, at, place);
}

std::optional<std::string> ViewSet::value(const Columns& columns, std::size_t sequence, std::ptrdiff_t at,
                                          std::size_t place) const {
    const std::size_t first = columns.starts[sequence], length = columns.starts[sequence + 1] - first;
    const View& view = views_[place];
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
        const Gazetteer::Hit hit = gazetteer_hit(columns, sequence, static_cast<std::size_t>(at), place, inside);
        if (hit.size == 0) return std::nullopt;
        return gazetteer_value(gazetteer_place(inside, hit.size), gazetteers_[place]->cls(hit.cls));
    }
    if (!apply_steps(view.steps, text, scratch)) return std::nullopt;
    return std::string(text);
}

Gazetteer::Hit ViewSet::gazetteer_hit(const Columns& columns, std::size_t sequence, std::size_t token, std::size_t view,
                                      std::size_t& inside) const {
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

void CellCache::reset(std::size_t capacity) {
    n_ = 0;
    values_.clear();
    texts_.assign(capacity, 0);
    slots_.assign(capacity, kFree);
}

void CellCache::grow() {
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

ViewTable::ViewTable(const ViewSet& views, const Columns& columns)
    : views_(views),
      columns_(columns),
      width_(views.size()),
      caches_(views.column_views_.size()),
      texts_(views.stages_.size()),
      some_(views.stages_.size()) {
    for (std::size_t i = 0; i < caches_.size(); ++i)
        caches_[i].start(views.column_views_[i].end - views.column_views_[i].begin);
}

void ViewTable::fill(std::size_t sequence) {
    first_ = columns_.starts[sequence];
    length_ = columns_.starts[sequence + 1] - first_;
    const std::size_t padding = views_.padding_;
    keys_.resize((length_ + 2 * padding) * width_);
    for (std::size_t d = 1; d <= padding; ++d) {
        std::copy_n(views_.before_.data() + (d - 1) * width_, width_, mutable_row(-static_cast<std::ptrdiff_t>(d)));
        std::copy_n(views_.after_.data() + (d - 1) * width_, width_,
                    mutable_row(static_cast<std::ptrdiff_t>(length_ + d - 1)));
    }
    cells_.resize(caches_.size() * length_);
    for (std::size_t i = 0; i < caches_.size(); ++i) fill_cells(i);
    for (std::size_t view = 0; view < width_; ++view) fill_special(view);
}

void ViewTable::fill_cells(std::size_t i) {
    const ViewSet::ColumnViews& group = views_.column_views_[i];
    const std::size_t n_views = group.end - group.begin;
    Key* const cells = cells_.data() + i * length_;
    Key* to = mutable_row(0) + group.begin;
    const char* const text_end = columns_.text.data() + columns_.text.size();
    for (std::size_t t = 0; t < length_; ++t, to += width_) {
        const std::string_view text = columns_.cell(first_ + t, group.column);
        const Key key = cells[t] = value_key(text, text_end);
        if (group.plain) {
            for (std::size_t v = 0; v < n_views; ++v) to[v] = key;
        } else {
            const Key* from = caches_[i].find(key, [&](Key* keys) { fill_views(group, text, key, keys); });
            for (std::size_t v = 0; v < n_views; ++v) to[v] = from[v];
        }
    }
}

void ViewTable::fill_views(const ViewSet::ColumnViews& group, std::string_view text, Key key, Key* keys) {
    std::uint32_t done = group.first_stage;
    for (const std::uint32_t stage : group.stages) {
        for (; stage != ViewSet::kCell && done <= stage; ++done) {
            const auto& [before, step] = views_.stages_[done];
            const bool some = before == ViewSet::kCell || some_[before];
            some_[done] = some && step->apply(before == ViewSet::kCell ? text : texts_[before], texts_[done]);
        }
        *keys++ = stage == ViewSet::kCell ? key : some_[stage] ? value_key(texts_[stage]) : 0;
    }
}

// What depends on the place in the sequence.
void ViewTable::fill_special(std::size_t view) {
    const View& v = views_[view];
    if (v.kind == View::Kind::kCell || v.kind == View::Kind::kEntry) return;
    if (v.kind == View::Kind::kGazetteer) return fill_gazetteer(view);
    if (v.kind == View::Kind::kNumber) return fill_numbers(view);
    for (std::size_t t = 0; t < length_; ++t) mutable_row(static_cast<std::ptrdiff_t>(t))[view] = 0;
    if (length_ > 0) mutable_row(v.kind == View::Kind::kBegin ? 0 : static_cast<std::ptrdiff_t>(length_) - 1)[view] = 1;
}

void ViewTable::fill_gazetteer(std::size_t view) {
    const Gazetteer& gazetteer = *views_.gazetteers_[view];
    Key* at = mutable_row(0) + view;
    for (std::size_t t = 0; t < length_;) {
        const Gazetteer::Hit hit = gazetteer.longest(at + t * width_, width_, length_ - t);
        for (std::size_t i = 0; i < hit.size; ++i)
            at[(t + i) * width_] = views_.gazetteer_keys_[view][hit.cls][gazetteer_place(i, hit.size)];
        if (hit.size == 0) at[t * width_] = 0;
        t += std::max<std::size_t>(hit.size, 1);
    }
}

void ViewTable::fill_numbers(std::size_t view) {
    numbers_.resize(length_ * width_);
    for (std::size_t t = 0; t < length_; ++t) {
        const std::string_view cell = columns_.cell(first_ + t, views_[view].column);
        try {
            mutable_row(static_cast<std::ptrdiff_t>(t))[view] = parse_number(cell, numbers_[t * width_ + view]);
        } catch (const std::invalid_argument& error) {
            throw std::invalid_argument(columns_.where(first_ + t) + ": " + error.what() + " in column " +
                                        std::to_string(views_[view].column) +
                                        ". Numbers are finite decimals; _ stands for none.");
        }
    }
}

Key ViewTable::key(std::ptrdiff_t token, std::size_t view) const {
    const auto length = static_cast<std::ptrdiff_t>(length_), padding = static_cast<std::ptrdiff_t>(views_.padding_);
    return row(std::clamp(token, -padding, length + padding - 1))[view];
}

}  // namespace tw
