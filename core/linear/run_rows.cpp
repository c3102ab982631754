#include "run_rows.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "../kernels/rounded.hpp"
#include "../kernels/rows.hpp"
#include "model.hpp"

namespace tw {
namespace {

constexpr std::size_t kMostLabels = 64;                      // more make rows longer than what they are summed from
constexpr std::size_t kMostBytes = std::size_t{1} << 25;     // used in a memory; a little more within a block
constexpr std::size_t kIndexBytes = 96;                      // of a record: four to eight slots of its index
constexpr std::size_t kMostRecords = RunRows::kTooLong / 2;  // of a table, before more are met
constexpr std::size_t kNear = std::size_t{1} << 17;          // bytes of rows that need not be asked for
constexpr std::size_t kAhead = 16;                           // rows between asking for one and reading it
constexpr std::size_t kCellsAhead = 8;                       // cells between asking for their slots and reading them
constexpr std::size_t kSlack = 64;                           // numbers that may be read behind the last row

std::size_t padded(std::size_t n) { return (n + 7) / 8 * 8; }

bool is_single(double x) { return static_cast<double>(static_cast<float>(x)) == x; }

float magnitude(float x) { return std::isnan(x) ? std::numeric_limits<float>::infinity() : std::abs(x); }

}  // namespace

void RunRows::Index::clear() {
    constexpr std::size_t kFirst = 256;
    slots_.assign(kFirst, {0, kFree});
    shift_ = static_cast<unsigned>(64 - std::countr_zero(kFirst));
    n_ = 0;
}

// In a free slot; in another one where the index grows.
std::uint32_t RunRows::Index::add(Key key, std::size_t slot) {
    slots_[slot] = {key, static_cast<std::uint32_t>(n_)};
    if (4 * (n_ + 1) > slots_.size()) {
        std::vector<Slot> old(2 * slots_.size(), {0, kFree});
        std::swap(old, slots_);
        --shift_;
        for (const Slot& known : old) {
            if (known.number == kFree) continue;
            std::size_t i = home(known.key);
            while (slots_[i].number != kFree) i = (i + 1) & (slots_.size() - 1);
            slots_[i] = known;
        }
    }
    return static_cast<std::uint32_t>(n_++);
}

bool RunRows::covers(const Extractor& extractor, std::size_t n_labels) {
    return n_labels <= kMostLabels && !extractor.runs().empty();
}

RunRows::RunRows(std::shared_ptr<const Extractor> extractor, const WeightRows& weights, Precision precision)
    : extractor_(std::move(extractor)), weights_(weights), precision_(precision), padded_(padded(weights.n_codes())) {
    for (const RunTemplates& templates : extractor_->runs()) {
        const std::size_t here = tables_.size();
        tables_.push_back({.templates = &templates,
                           .cells = templates.width == 1 ? here : tables_.back().cells,
                           .record_size = templates.windows.size() * padded_,
                           .twice = precision == Precision::kExact &&
                                    (weights.in_double() || std::ranges::any_of(templates.windows,
                                                                                [](const auto& window) {
                                                                                    return window.templates.size() > 1;
                                                                                })),
                           .largest = std::vector<float>(templates.windows.size(), 0.0f)});
        for (const RunTemplates::Window& window : templates.windows) {
            const std::int32_t last = window.offset + static_cast<std::int32_t>(templates.width) - 1;
            padding_ = std::max<std::size_t>({padding_, static_cast<std::size_t>(std::max(0, -window.offset)),
                                              static_cast<std::size_t>(std::max(0, last))});
        }
    }
}

std::size_t RunRows::used_bytes() const {
    std::size_t total = 0;
    for (const Table& t : tables_)
        total += t.index.size() * (t.record_size * (in_double(t) ? sizeof(double) : sizeof(float)) + kIndexBytes) +
                 t.views.size() * sizeof(Key);
    return total;
}

std::size_t RunRows::memory_bytes() const {
    std::size_t total = 0;
    for (const Table& t : tables_)
        total += t.index.memory_bytes() + t.rows.capacity() * sizeof(double) + t.single.capacity() * sizeof(float) +
                 t.views.capacity() * sizeof(Key) + t.runs.capacity() * sizeof(std::uint64_t) +
                 t.places.capacity() * sizeof(std::uint32_t);
    return total;
}

void RunRows::forget() {
    for (Table& table : tables_) {
        table.index.clear();
        table.n_composed = 0;
        table.rows.clear();
        table.single.clear();
        std::ranges::fill(table.largest, 0.0f);
        table.views.clear();
        table.runs.clear();
        table.before.clear();
        table.after.clear();
    }
}

void RunRows::extract(const Columns& columns, std::size_t first, std::size_t last, Attributes& rest) {
    const bool full = used_bytes() > kMostBytes ||
                      std::ranges::any_of(tables_, [](const Table& t) { return t.index.size() > kMostRecords; });
    if (full || !whole_) forget();
    whole_ = false;
    lengths_.clear();
    for (Table& table : tables_) table.places.clear();
    extractor_->extract_rest(columns, first, last, rest, *this);
    for (Table& table : tables_) {
        table.places.resize(table.places.size() + kRowsAhead, 0);
        compose(table);
    }
    whole_ = true;
}

void RunRows::visit(const ViewTable& views) {
    lengths_.push_back(views.length());
    for (Table& table : tables_)
        if (table.templates->width == 1)
            visit_cells(table, views);
        else
            visit_runs(table);
}

void RunRows::visit_cells(Table& table, const ViewTable& views) {
    const std::size_t length = views.length(), group = table.templates->group;
    const std::uint32_t begin = extractor_->views().group_begin(group);
    const Key* const cells = views.cells(group);
    const std::size_t from = table.places.size();
    table.places.resize(from + length + 2 * padding_);
    std::uint32_t* places = table.places.data() + from;
    for (std::size_t d = padding_; d > 0; --d) *places++ = outside(table, views, d, false);
    for (std::size_t t = 0; t < std::min(length, kCellsAhead); ++t) table.index.fetch(cells[t]);
    for (std::size_t t = 0; t < length; ++t) {
        const std::size_t known = table.index.size();
        if (t + kCellsAhead < length) table.index.fetch(cells[t + kCellsAhead]);
        *places++ = table.index.find_or_add(cells[t]);
        if (table.index.size() != known) remember_views(table, views.row(static_cast<std::ptrdiff_t>(t)) + begin);
    }
    for (std::size_t d = 1; d <= padding_; ++d) *places++ = outside(table, views, d, true);
}

std::uint32_t RunRows::outside(Table& table, const ViewTable& views, std::size_t distance, bool after) {
    std::vector<std::uint32_t>& known = after ? table.after : table.before;
    const auto far = static_cast<std::ptrdiff_t>(distance);
    if (known.empty()) {
        const std::uint32_t begin = extractor_->views().group_begin(table.templates->group);
        known.resize(padding_);
        for (std::ptrdiff_t d = 1; d <= static_cast<std::ptrdiff_t>(padding_); ++d) {
            known[static_cast<std::size_t>(d - 1)] = table.index.add();
            const auto length = static_cast<std::ptrdiff_t>(views.length());
            remember_views(table, views.row(after ? length + d - 1 : -d) + begin);
        }
    }
    return known[static_cast<std::size_t>(far - 1)];
}

void RunRows::remember_views(Table& table, const Key* views) {
    const ViewSet& set = extractor_->views();
    const std::size_t n = set.group_end(table.templates->group) - set.group_begin(table.templates->group);
    table.views.insert(table.views.end(), views, views + n);
}

void RunRows::visit_runs(Table& table) {
    const std::size_t width = table.templates->width, from = table.places.size();
    const std::vector<std::uint32_t>& cells = tables_[table.cells].places;
    table.places.resize(cells.size());
    const std::uint64_t all = (std::uint64_t{1} << (kNumberBits * width)) - 1;
    std::uint64_t run = 0;
    for (std::size_t k = 0; k + 1 < width; ++k) run = run << kNumberBits | cells[from + k];
    for (std::size_t i = from; i + width <= cells.size(); ++i) {
        run = (run << kNumberBits | cells[i + width - 1]) & all;
        const std::size_t known = table.index.size();
        table.places[i] = table.index.find_or_add(run);
        if (table.index.size() != known) table.runs.push_back(run);
    }
}

// Adds up the rows of the records that are new.
void RunRows::compose(Table& table) {
    const std::size_t n = table.index.size(), first = table.n_composed;
    if (n == first) return;
    wanted_.clear();
    for (; table.n_composed < n; ++table.n_composed) want_rows(table, table.n_composed, first);
    sums_.assign((n - first) * table.record_size, 0.0);
    add_up();
    if (!in_double(table) && precision_ == Precision::kExact && !std::ranges::all_of(sums_, is_single)) widen();
    if (in_double(table))
        table.rows.insert(table.rows.end(), sums_.begin(), sums_.end());
    else
        put_single(table, first);
}

// All at once, so that the order in which rows are added up, and with it the last bits of scores, stays the same.
void RunRows::widen() {
    wide_ = true;
    for (Table& table : tables_) {
        if (table.single.empty()) continue;
        table.rows.assign(table.single.begin(), table.single.end() - static_cast<std::ptrdiff_t>(kSlack));
        table.single = {};
    }
}

void RunRows::put_single(Table& table, std::size_t first) {
    table.single.resize(first * table.record_size + sums_.size() + kSlack, 0.0f);
    float* to = table.single.data() + first * table.record_size;
    for (std::size_t i = 0; i < sums_.size(); ++i) to[i] = static_cast<float>(sums_[i]);
    std::fill_n(to + sums_.size(), kSlack, 0.0f);
    const std::size_t n_windows = table.largest.size();
    for (std::size_t row = 0; row * padded_ < sums_.size(); ++row)
        for (std::size_t k = 0; k < padded_; ++k)
            table.largest[row % n_windows] = std::max(table.largest[row % n_windows], magnitude(to[row * padded_ + k]));
}

// All rows are asked for before the first is read: most are far away.
void RunRows::add_up() {
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
        if (i + kAhead < wanted_.size()) weights_.fetch(wanted_[i + kAhead].key);
        const std::uint32_t number = weights_.find(wanted_[i].key);
        if (number == kNoAttribute) continue;
        weights_.each(
            number, [row = sums_.data() + wanted_[i].row](std::uint32_t code, double weight) { row[code] += weight; });
    }
}

void RunRows::want_rows(const Table& table, std::size_t record, std::size_t first) {
    const Table& cells = tables_[table.cells];
    const ViewSet& set = extractor_->views();
    const std::size_t n_views = set.group_end(table.templates->group) - set.group_begin(table.templates->group);
    const std::size_t width = table.templates->width;
    const Key* views[3];
    for (std::size_t k = 0; k < width; ++k) {
        const std::size_t cell =
            width == 1 ? record : table.runs[record] >> (kNumberBits * (width - 1 - k)) & ((1u << kNumberBits) - 1);
        views[k] = cells.views.data() + cell * n_views;
    }
    std::size_t row = (record - first) * table.record_size;
    for (const RunTemplates::Window& window : table.templates->windows) {
        for (const RunTemplate& t : window.templates) {
            Key key = t.seed;
            bool some = true;
            for (const RunTemplate::Cell& part : t.parts) {
                const Key value = views[part.cell][part.view];
                some &= value != 0;
                key = combine(key, value);
            }
            if (some) wanted_.push_back({key, row});
        }
        row += padded_;
    }
}

// The lists of rows that tokens of a sequence add up, sequence after sequence.
struct RunRows::Lists {
    std::vector<RowList<float>> single;
    std::vector<RowList<double>> twice;
    std::vector<FarRecords> far;

    explicit Lists(const RunRows& rows) {
        for (const bool twice_too : {false, true})  // rows that are no sums come first, whatever precision they have
            for (const Table& table : rows.tables_)
                if (table.twice == twice_too && !table.templates->windows.empty()) add(rows, table);
    }
    void add(const RunRows& rows, const Table& table) {
        const bool in_double = rows.in_double(table);
        const std::uint32_t* const places = table.places.data() + rows.padding_;
        std::int32_t furthest = table.templates->windows.front().offset;
        for (std::size_t w = 0; w < table.templates->windows.size(); ++w) {
            const std::int32_t offset = table.templates->windows[w].offset;
            furthest = std::max(furthest, offset);
            if (in_double)
                twice.push_back({table.rows.data() + w * rows.padded_, places + offset, table.record_size});
            else
                single.push_back({table.single.data() + w * rows.padded_, places + offset, table.record_size});
        }
        // A record is asked for as a whole, for the first token that sees it.
        const auto* records = in_double ? reinterpret_cast<const char*>(table.rows.data())
                                        : reinterpret_cast<const char*>(table.single.data());
        const std::size_t bytes = table.record_size * (in_double ? sizeof(double) : sizeof(float));
        if (table.index.size() * bytes > kNear) far.push_back({records, places + furthest, bytes});
    }
    RowLists view() const { return {single.data(), single.size(), twice.data(), twice.size(), far.data(), far.size()}; }
    void skip(std::size_t n_places) {
        for (auto& list : single) list.places += n_places;
        for (auto& list : twice) list.places += n_places;
        for (auto& list : far) list.places += n_places;
    }
};

void RunRows::add(double* scores) {
    Lists lists(*this);
    for (const std::size_t length : lengths_) {
        row_sum_loops().add_rows(lists.view(), length, weights_.n_codes(), padded_, scores);
        scores += length * weights_.n_codes();
        lists.skip(length + 2 * padding_);
    }
}

// The rest and the rows are rounded once each, and so is every sum of them, of which none is larger than all together.
RunRows::Bounds RunRows::add_rounded(const double* rest, float* scores, std::size_t padded) {
    Lists lists(*this);
    float largest[2] = {0.0f, 0.0f};
    for (const std::size_t length : lengths_) {
        row_sum_loops().add_rounded(lists.view(), length, weights_.n_codes(), rest, scores, padded, largest);
        rest += length * weights_.n_codes();
        scores += length * padded;
        lists.skip(length + 2 * padding_);
    }
    double all = static_cast<double>(largest[0]);
    for (const Table& table : tables_)
        for (const float row : table.largest) all += static_cast<double>(row);
    return {kSingleRounding * static_cast<double>(lists.single.size() + 2) * all, static_cast<double>(largest[1])};
}

}  // namespace tw
