#include "listed_units.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <map>
#include <stdexcept>

#include "../base/prefetch.hpp"
#include "../kernels/rounded.hpp"

namespace tw::linear {
namespace {

constexpr std::size_t kFetched = 64;                 // sites whose lists and weights are fetched ahead
constexpr std::size_t kLines = 4;                    // of a list; the processor sees by then where it goes on
constexpr std::size_t kMostInPart = 64;              // codes; more have no bit in a word
constexpr std::size_t kNear = std::size_t{1} << 18;  // weights that stay in the cache

}  // namespace

ListedUnits::ListedUnits(std::shared_ptr<WeightIndex> index, std::size_t channel, std::size_t n_codes,
                         std::span<const std::uint32_t> n_members, bool by_member, bool valued, StoragePointer storage)
    : index_(std::move(index)),
      channel_(channel),
      n_codes_(n_codes),
      first_weight_(index_->offset(channel)),
      in_parts_(!index_->grows() && !index_->full(channel) && n_codes <= kMostInPart),
      together_(in_parts_ ? kernels().parts_together : 1),
      valued_(valued),
      in_runs_(storage != nullptr),
      runs_(std::move(storage)) {
    static std::atomic<std::uint64_t> made{0};
    id_ = ++made;
    runs_.expect(StoredBytes::Access::kAnywhere);
    std::map<std::uint32_t, std::uint16_t> known;  // there are few sizes of units
    const auto number_of = [&](std::uint32_t members) {
        const auto [at, fresh] = known.emplace(members, static_cast<std::uint16_t>(factors_.size()));
        if (fresh) {
            const double g = members, factor = by_member ? g : std::sqrt(g);
            factors_.push_back(factor);
            steps_.push_back(by_member ? 1.0 : factor);
            counts_.push_back(by_member ? g : 1.0);
        }
        if (factors_.size() > 0xffff) throw std::invalid_argument("too many different units of attributes");
        return at->second;
    };
    number_of(1);
    for (const std::uint32_t members : n_members) factor_of_.push_back(number_of(members));
    if (!index_->full(channel)) {
        codes_.assign(index_->codes(channel).begin(), index_->codes(channel).end());
        codes_.resize(codes_.size() + 1);  // fetched ahead even where a unit has no weights
    }
    see_all_added();
}

// Where units are numbered by count, the rows that come first are those used most.
void ListedUnits::add(std::uint32_t unit, double value) {
    const std::uint32_t begin = index_->begin(channel_, unit), size = index_->begin(channel_, unit + 1) - begin;
    const std::uint16_t factor = factor_of_.empty() ? std::uint16_t{0} : factor_of_[unit];
    const bool row = size == n_codes_;
    if (in_parts_ && factors_[factor] == 1.0 && size > 0 && (together_ > 1 || (size > 1 && !row))) {
        std::uint64_t codes = row ? ~std::uint64_t{0} >> (64 - n_codes_) : 0;
        for (std::uint32_t w = begin; w < begin + size && !row; ++w) codes |= std::uint64_t{1} << code(w);
        add_part({codes, begin}, value);
    } else if (row && factors_[factor] == 1.0) {
        rows_.push_back(begin);
        last_ = std::max(last_, begin);
        if (valued_) row_values_.push_back(value);
        if (begin > kNear) far_.push_back(begin);
    } else {
        const auto first = static_cast<std::uint16_t>(row || size == 0 ? 0 : code(begin));
        rare_.push_back({unit, static_cast<std::uint32_t>(n_sites_), begin,
                         row ? RareUnit::kRow : static_cast<std::uint16_t>(size), factor, first});
        if (valued_) rare_values_.push_back(value);
    }
}

void ListedUnits::add_part(const Part& part, double value) {
    parts_.push_back({part.begin, static_cast<std::uint32_t>(part.codes)});
    if (n_codes_ > 32) part_codes_above_.push_back(static_cast<std::uint32_t>(part.codes >> 32));
    last_ = std::max(last_, part.begin);
    if (valued_) part_values_.push_back(value);
}

void ListedUnits::end_site() {
    while ((parts_.size() - part_starts_.back()) % together_ != 0) add_part({0, first_weight_}, 0.0);
    if (std::max({rows_.size(), parts_.size(), rare_.size(), ++n_sites_}) > 0xffffffffu)
        throw std::invalid_argument("there are more than 4,294,967,295 attributes of sites");
    row_starts_.push_back(static_cast<std::uint32_t>(rows_.size()));
    far_starts_.push_back(static_cast<std::uint32_t>(far_.size()));
    part_starts_.push_back(static_cast<std::uint32_t>(parts_.size()));
    rare_starts_.push_back(static_cast<std::uint32_t>(rare_.size()));
}

void ListedUnits::end_run() {
    if (!in_runs_) return;
    const auto n = [](const auto& list) { return static_cast<std::uint32_t>(list.size()); };
    const Run head{n(row_starts_) - 1, n(rows_), n(parts_), n(rare_)};
    const auto put = [&](const auto& list) {
        const auto* bytes = reinterpret_cast<const char*>(list.data());
        runs_.append(std::span(bytes, list.size() * sizeof(list[0])));
    };
    put(std::span(&head, 1));
    put(parts_);
    for (const auto* values : {&row_values_, &part_values_, &rare_values_}) put(*values);
    for (const auto* numbers : {&row_starts_, &part_starts_, &rare_starts_}) put(*numbers);
    put(part_codes_above_);
    put(rows_);
    put(rare_);
    while (runs_.size() % alignof(double) != 0) runs_.push_back(0);
    run_starts_.push_back(runs_.size());
    for (auto* starts : {&row_starts_, &far_starts_, &part_starts_, &rare_starts_}) starts->assign(1, 0);
    for (auto* values : {&row_values_, &part_values_, &rare_values_}) values->clear();
    rows_.clear();
    far_.clear();
    parts_.clear();
    part_codes_above_.clear();
    rare_.clear();
}

// Runs in a file are copied, which costs less than to have their pages mapped. The last few of a thread are kept: the
// weights of the next run are fetched while this one is looked at.
const char* ListedUnits::bytes_of_run(std::size_t run) const {
    if (!runs_.mapped()) return runs_.data() + run_starts_[run];
    struct Kept {
        std::uint64_t id = 0;
        std::size_t run = 0;
        std::vector<std::uint64_t> words;
    };
    thread_local std::array<Kept, 4> kept;
    thread_local std::size_t oldest = 0;
    for (const Kept& one : kept)
        if (one.id == id_ && one.run == run) return reinterpret_cast<const char*>(one.words.data());
    Kept& to = kept[oldest++ % kept.size()];
    to.id = 0;
    to.words.resize(std::max(to.words.size(), bytes(run) / sizeof(std::uint64_t) + 1));
    runs_.copy(run_starts_[run], bytes(run), reinterpret_cast<char*>(to.words.data()));
    to.run = run;
    to.id = id_;
    return reinterpret_cast<const char*>(to.words.data());
}

// In the order of end_run(); tables are seen from the first of all sites. A list of rows that are far away would be
// half of what is read: all are taken for far.
ListedUnits::Sites ListedUnits::of_run(std::size_t run, std::size_t first) const {
    const char* at = bytes_of_run(run);
    const auto take = [&]<class T>(std::size_t n) {
        const auto* out = reinterpret_cast<const T*>(at);
        at += n * sizeof(T);
        return out;
    };
    const Run& head = *take.template operator()<Run>(1);
    const auto values = [&](std::size_t n) { return valued_ ? take.template operator()<double>(n) : nullptr; };
    const auto table = [&] { return take.template operator()<std::uint32_t>(head.n_sites + 1) - first; };
    Sites out{};
    out.last = last_;
    out.parts = take.template operator()<PartRow>(head.n_parts);
    out.row_factors = values(head.n_rows);
    out.part_values = values(head.n_parts);
    out.rare_values = values(head.n_rare);
    out.row_starts = out.far_starts = table();
    out.part_starts = table();
    out.rare_starts = table();
    if (n_codes_ > 32) out.part_labels_above = take.template operator()<std::uint32_t>(head.n_parts);
    out.rows = out.far = take.template operator()<std::uint32_t>(head.n_rows);
    out.rare = take.template operator()<RareUnit>(head.n_rare);
    return out;
}

void ListedUnits::see_added() {
    const auto& entries = index_->added(channel_).entries();
    for (; seen_added_ < entries.size(); ++seen_added_) {
        const std::uint32_t unit = entries[seen_added_].unit;
        has_added_[unit / 64] |= std::uint64_t{1} << unit % 64;
    }
}

void ListedUnits::see_all_added() {
    has_added_.assign(index_->added(channel_).n_units() / 64 + 1, 0);
    seen_added_ = 0;
    see_added();
}

template <class Real>
UnitWeights<Real> ListedUnits::with(std::span<const Real> values) const {
    const Additions& added = index_->added(channel_);
    return {codes_.data(),          first_weight_,   has_added_.data(), added.first().data(),
            added.entries().data(), factors_.data(), values.data(),     values.size()};
}

void ListedUnits::scores(const ScaledWeights& weights, const Sites& sites, std::size_t first, std::size_t last,
                         double* out) const {
    if (weights.rounded.empty())
        kernels().gather(with(weights.stored), sites, first, last, n_codes_, out);
    else
        kernels().gather_rounded(with(weights.rounded), sites, first, last, n_codes_, out);
}

void ListedUnits::scores(const ScaledWeights& weights, const Sites& sites, std::size_t first, std::size_t last,
                         float* out) const {
    rounded_loops().gather(with(weights.rounded), sites, first, last, n_codes_, out);
}

void ListedUnits::add_scores(const ScaledWeights& weights, const Sites& sites, std::size_t site,
                             std::span<const std::uint16_t> some, double* row) const {
    const auto add = [&](const auto* v, std::size_t n_weights) {
        const auto add_row = [&](std::uint32_t begin, double x) {
            for (const std::uint16_t y : some) row[y] += x * double{v[begin + y]};
        };
        sites.each_row(site, add_row);
        sites.each_part(site, [&](const Part& part, double x) {
            std::uint32_t w = part.begin;
            for (std::uint64_t left = part.codes; left; left &= left - 1, ++w)
                row[std::countr_zero(left)] += x * double{v[w]};
        });
        sites.each_rare(site, [&](const RareUnit& rare, double x) {
            x *= factors_[rare.factor];
            if (rare.size == RareUnit::kRow) return add_row(rare.begin, x);
            for (std::uint32_t w = rare.begin; w < rare.begin + rare.size; ++w) row[code(w)] += x * double{v[w]};
            if (!(has_added_[rare.unit / 64] >> rare.unit % 64 & 1)) return;
            index_->added(channel_).each(rare.unit, [&](std::uint32_t y, std::uint32_t w) {
                if (w < n_weights) row[y] += x * double{v[w]};
            });
        });
    };
    if (weights.rounded.empty())
        add(weights.stored.data(), weights.size());
    else
        add(weights.rounded.data(), weights.size());
}

void ListedUnits::fetch_weights(const ScaledWeights& weights, const Sites& sites, std::size_t site,
                                std::span<const std::uint16_t> some) const {
    const auto fetch = [&](const auto* v) {
        sites.each_row(site, [&](std::uint32_t begin, double) {
            for (const std::uint16_t y : some) fetch_to_read(v + begin + y);
        });
        sites.each_part(site, [&](const Part& part, double) { fetch_to_read(v + part.begin); });
        sites.each_rare(site, [&](const RareUnit& rare, double) {
            if (rare.size != RareUnit::kRow) {
                fetch_to_read(v + rare.begin);
                if (rare.size > 1) fetch_to_read(&codes_[rare.begin - first_weight_]);
            } else {
                for (const std::uint16_t y : some) fetch_to_read(v + rare.begin + y);
            }
        });
    };
    if (weights.rounded.empty())
        fetch(weights.stored.data());
    else
        fetch(weights.rounded.data());
}

void ListedUnits::fetch_lists(std::size_t run, std::size_t first, std::size_t last) const {
    if (runs_.mapped()) return;
    if (in_runs_) {
        for (std::size_t i = run_starts_[run]; i < std::min(run_starts_[run + 1], run_starts_[run] + 64 * 4 * kLines);
             i += 64)
            fetch_to_read(runs_.data() + i);
        return;
    }
    last = std::min(last, first + kFetched);
    const auto fetch = [](const auto& list, std::size_t begin, std::size_t end) {
        const std::size_t stop = std::min(end, begin + kLines * 64 / sizeof(list[0]));
        for (std::size_t i = begin; i < stop; i += 64 / sizeof(list[0])) fetch_to_read(&list[i]);
    };
    fetch(row_starts_, first, last + 1);
    fetch(far_starts_, first, last + 1);
    fetch(part_starts_, first, last + 1);
    fetch(rare_starts_, first, last + 1);
    fetch(rows_, row_starts_[first], row_starts_[last]);
    fetch(far_, far_starts_[first], far_starts_[last]);
    fetch(parts_, part_starts_[first], part_starts_[last]);
    fetch(rare_, rare_starts_[first], rare_starts_[last]);
}

void ListedUnits::fetch_weights(const ScaledWeights& weights, const Sites& sites, std::size_t first,
                                std::size_t last) const {
    if (weights.size() <= kNear) return;
    last = std::min(last, first + kFetched);
    const auto fetch = [&](const auto* v) {
        for (std::size_t i = sites.far_starts[first]; i < sites.far_starts[last]; ++i)
            for (std::size_t y = 0; y < n_codes_; y += 64 / sizeof(*v)) fetch_to_read(v + sites.far[i] + y);
        for (std::size_t i = sites.part_starts[first]; i < sites.part_starts[last]; ++i)
            if (sites.parts[i].begin > kNear) fetch_to_read(v + sites.parts[i].begin);
        for (std::size_t i = sites.rare_starts[first]; i < sites.rare_starts[last]; ++i)
            fetch_to_read(v + sites.rare[i].begin);
    };
    if (weights.rounded.empty())
        fetch(weights.stored.data());
    else
        fetch(weights.rounded.data());
}

std::uint32_t ListedUnits::weight_of(const RareUnit& rare, std::uint32_t of) {
    if (rare.size == RareUnit::kRow) return rare.begin + of;
    if (rare.size > 0 && rare.label == of) return rare.begin;
    for (std::uint32_t w = rare.begin + 1; w < rare.begin + rare.size; ++w)
        if (code(w) == of) return w;
    const bool first = !(has_added_[rare.unit / 64] >> rare.unit % 64 & 1);
    const std::uint32_t weight = index_->find_or_add_later(channel_, rare.unit, of, first);
    see_added();
    return weight;
}

std::size_t ListedUnits::memory_bytes() const {
    return (row_starts_.capacity() + far_starts_.capacity() + part_starts_.capacity() + rare_starts_.capacity() +
            far_.capacity() + rows_.capacity() + part_codes_above_.capacity()) *
               sizeof(std::uint32_t) +
           parts_.capacity() * sizeof(PartRow) + rare_.capacity() * sizeof(RareUnit) +
           (row_values_.capacity() + part_values_.capacity() + rare_values_.capacity()) * sizeof(double) +
           (codes_.capacity() + factor_of_.capacity()) * sizeof(std::uint16_t);
}

}  // namespace tw::linear
