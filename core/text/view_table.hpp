// The views of tokens, ready for templates: a set of views, and the keys of their values for one sequence after the
// other.
//
//     row      ... -2 -1 | 0 1 2 ... length - 1 | length ...      outside on both sides as far as templates look
//     row(t)   one key per view, those of a column side by side; 0 where a view gives nothing
//
// Views of a cell depend on its text alone, so they are worked out once per distinct text and then looked up. Steps
// that several views begin with are taken once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "columns.hpp"
#include "views.hpp"

namespace tw {

class ViewSet {
public:
    static constexpr std::size_t kMaxViews = 10'000;
    // From this distance on everything outside is the same: Wapiti writes _x-# there.
    static constexpr std::size_t kFarOutside = 5;

    ViewSet() = default;
    explicit ViewSet(std::vector<View> views);  // checked: throws std::invalid_argument
    // Works out what lies outside, so many tokens far.
    void look_outside(std::size_t padding);

    std::size_t size() const { return views_.size(); }
    const View& operator[](std::size_t place) const { return views_[place]; }
    // Views of a column are brought side by side: where the view that was handed over as number `i` is.
    std::uint32_t place(std::size_t i) const { return places_[i]; }
    const Gazetteer& gazetteer(std::size_t place) const { return *gazetteers_[place]; }
    // Columns that have views of their cells, and the views of each: begin .. end - 1.
    std::size_t n_groups() const { return column_views_.size(); }
    std::uint32_t group_begin(std::size_t group) const { return column_views_[group].begin; }
    std::uint32_t group_end(std::size_t group) const { return column_views_[group].end; }
    std::size_t group_of(std::size_t place) const {  // n_groups() for views that are none of text
        std::size_t group = 0;
        while (group < n_groups() && place >= group_end(group)) ++group;
        return group;
    }
    std::size_t n_columns() const { return n_columns_; }
    bool has_numbers() const { return has_numbers_; }

    // The value of a view at a token, perhaps outside the sequence, as text: what the keys are hashes of. It is empty
    // for views that have no text but are true.
    std::optional<std::string> value(const Columns& columns, std::size_t sequence, std::ptrdiff_t at,
                                     std::size_t view) const;
    // Whether there is one.
    bool gives(const Columns& columns, std::size_t sequence, std::ptrdiff_t at, std::size_t view) const;

private:
    friend class ViewTable;
    struct ColumnViews {  // the cell views of one column: neighbours in the order of views
        std::uint32_t column, begin, end;
        bool plain;  // none has steps
        std::uint32_t first_stage = 0;
        std::vector<std::uint32_t> stages{};  // [view]: what it sees
    };
    struct Stage {  // a text as a step makes it of the one before
        std::uint32_t before;
        const Step* step;
    };
    static constexpr std::uint32_t kCell = 0xffffffffu;  // the stage of a cell as it is

    void order();
    void share_steps();
    void read_gazetteers();
    Key outside_key(const View& view, bool after, std::size_t distance) const;
    Gazetteer::Hit gazetteer_hit(const Columns& columns, std::size_t sequence, std::size_t token, std::size_t view,
                                 std::size_t& inside) const;

    std::vector<View> views_;
    std::vector<std::uint32_t> places_;
    std::vector<ColumnViews> column_views_;
    std::vector<Stage> stages_;
    std::vector<std::unique_ptr<const Gazetteer>> gazetteers_;  // [view], where it is one
    std::vector<std::vector<std::array<Key, 4>>> gazetteer_keys_;
    std::vector<Key> before_, after_;  // [distance - 1][view]: what lies outside
    std::size_t n_columns_ = 0, padding_ = 0;
    bool has_numbers_ = false;
};

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
    static constexpr std::size_t kMaxCached = 1u << 15;  // distinct texts of a column that are remembered
    static constexpr std::uint32_t kFree = 0xffffffffu;
    std::size_t home(Key text) const { return text & (slots_.size() - 1); }
    void reset(std::size_t capacity);
    void grow();

    std::size_t width_ = 0, n_ = 0;
    std::vector<Key> texts_, values_;
    std::vector<std::uint32_t> slots_;
};

class ViewTable {
public:
    ViewTable(const ViewSet& views, const Columns& columns);

    void fill(std::size_t sequence);

    std::size_t width() const { return width_; }
    std::size_t first() const { return first_; }    // row of the columns that the sequence begins with
    std::size_t length() const { return length_; }  // of the sequence
    const Key* row(std::ptrdiff_t token) const { return keys_.data() + place(token); }
    // The keys of the cells of a column, token by token, as they are.
    const Key* cells(std::size_t group) const { return cells_.data() + group * length_; }
    // The key of a view at any token, however far outside.
    Key key(std::ptrdiff_t token, std::size_t view) const;
    // The number of a view that is one, at a token inside where it gives something.
    float number(std::size_t token, std::size_t view) const { return numbers_[token * width_ + view]; }

private:
    Key* mutable_row(std::ptrdiff_t token) { return keys_.data() + place(token); }
    std::ptrdiff_t place(std::ptrdiff_t token) const {
        return (token + static_cast<std::ptrdiff_t>(views_.padding_)) * static_cast<std::ptrdiff_t>(width_);
    }
    void fill_cells(std::size_t group);
    void fill_views(const ViewSet::ColumnViews& views, std::string_view text, Key key, Key* keys);
    void fill_special(std::size_t view);
    void fill_gazetteer(std::size_t view);
    void fill_numbers(std::size_t view);

    const ViewSet& views_;
    const Columns& columns_;
    std::size_t width_, first_ = 0, length_ = 0;
    std::vector<CellCache> caches_;
    std::vector<Key> keys_, cells_;
    std::vector<float> numbers_;
    std::vector<std::string> texts_;  // [stage]
    std::vector<char> some_;          // [stage]: whether there is a text
};

}  // namespace tw
