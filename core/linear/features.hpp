// From weights to scores of parts and back, for the examples of any structure.
//
//     weights     [channel 0: unit 0's codes, unit 1's codes, ...][channel 1: ...] ... [added]
//     units       of each site, one site after the other                               Channel::rows, ListedUnits
//     table       by unit: where its weights begin, and the code of the first of them  8 bytes, one line of the cache
//     parts       [block 0: site 0's codes, site 1's codes, ...][block 1: ...]         of one example
//
// Scores: for each site, for each of its units, for each code that the unit has: part += value * weight. They are
// gathered from lists by kind of unit (listed_units.hpp). Sums go the same way back, by the table: units that have all
// codes are added as rows; most others have one code only, and the table says which. Tables and sums are larger than
// the cache: they are fetched some units ahead.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "../base/lists.hpp"
#include "../base/prefetch.hpp"
#include "../base/sparse_sum.hpp"
#include "../oracle.hpp"
#include "../structures/structure.hpp"
#include "channel.hpp"
#include "listed_units.hpp"
#include "weight_index.hpp"

namespace tw::linear {

// Which codes the units of a channel have weights for; no starts: all.
struct WeightTable {
    std::vector<std::uint32_t> starts, codes;
};

// Which (unit, code) get weights: those that gold has, all, or those that gold has and what learners meet later.
enum class Combinations { kSeen, kAll, kGrown };

class Features {
public:
    struct Scratch {
        std::vector<double> of_sites, sums;
        UnitLists made;                                                // of one channel and example at a time
        std::vector<std::uint32_t> map;                                // likewise
        std::vector<std::unique_ptr<UnitSource::Scratch>> of_sources;  // by channel
        std::vector<double> of_units;                                  // of a dense channel, [unit][code]
    };
    struct Count {  // of a part
        Part part;
        double times;
    };

    // `shapes`: of examples. Throws std::invalid_argument when channels and structure do not fit each other.
    Features(const Structure& structure, const Lists& shapes, std::vector<Channel> channels);
    // To be called once, before anything below: the tables as given, or made from the parts of gold.
    // `by_member`: what the weight of a unit with several members is, see Variables.
    void set_weights(std::vector<WeightTable> tables, bool grows, bool by_member = false);
    void find_weights(const Lists& gold, Combinations combinations, bool by_member);

    const std::vector<Channel>& channels() const { return channels_; }
    const WeightIndex& index() const { return *index_; }
    void grow_again(std::span<const double> list);  // forgets what was added and adds these

    std::size_t n_blocks() const { return n_codes_.size(); }
    std::size_t n_codes(std::size_t block) const { return n_codes_[block]; }
    std::size_t begin(std::size_t example, std::size_t block) const {  // of block n_blocks: how many parts there are
        return begins_[example * (n_blocks() + 1) + block];
    }
    std::size_t n_sites(std::size_t example, std::size_t block) const {
        return n_codes_[block] == 0 ? 0 : (begin(example, block + 1) - begin(example, block)) / n_codes_[block];
    }
    std::size_t n_parts(std::size_t example) const { return begin(example, n_blocks()); }

    // Overwrites [n_parts].
    void scores(const ScaledWeights& weights, std::size_t example, double* out, Scratch& space) const;

    // Bring near what scores() will read of an example.
    void fetch_lists(std::size_t example) const;
    void fetch_weights(const ScaledWeights& weights, std::size_t example) const;

    // Adds the derivatives of  sum of numbers * scores of parts  by the weights; with `power` 2, of the squares of
    // values. sums.rows(channel)(unit, where its weights begin) says where the sums of the unit's own weights begin
    // (.fetch(unit) brings near what it reads), and sums.added(weight) is that of one that was added.
    template <int power, class Sums>
    void scatter(std::size_t example, const double* of_parts, Sums& sums, Scratch& space) const;

    // The same of few parts, in rising order, or of all, into a sparse sum; weights are made where they may be.
    void collect(std::size_t example, std::span<const Count> counts, SparseSum& out);
    void collect(std::size_t example, const double* of_parts, SparseSum& out, Scratch& space);

    // visit(unit) for all units of an example in a channel, one site after the other.
    template <class Visit>
    void each_unit_of(std::size_t channel, std::size_t example, Scratch& space, Visit visit) const {
        if (channels_[channel].source) {
            for (const std::uint32_t unit : made(channel, example, space).units()) visit(unit);
            return;
        }
        if (channels_[channel].dense) {
            for (std::uint32_t unit = 0; unit < channels_[channel].n_units; ++unit) visit(unit);
            return;
        }
        const SparseRows& rows = channels_[channel].rows;
        const std::vector<std::size_t>& first = channels_[channel].first;
        for (std::size_t i = rows.starts[first[example]]; i < rows.starts[first[example + 1]]; ++i)
            visit(rows.columns[i]);
    }

private:
    struct Row {  // of a unit
        std::uint32_t begin, code;
    };
    struct Entry {  // of a site
        std::uint32_t site, code;
        double x;
    };
    static constexpr std::size_t kAhead = 12;  // units; the table twice as far

    // The two are never the same memory.
    template <class Real>
    static void add_row(double* __restrict to, const Real* __restrict from, double x, std::size_t n) {
        for (std::size_t k = 0; k < n; ++k) to[k] += x * static_cast<double>(from[k]);
    }
    // Units of all sites of an example, made by the channel's source.
    const UnitLists& made(std::size_t channel, std::size_t example, Scratch& space) const;
    UnitSource::Scratch& scratch_of(std::size_t channel, Scratch& space) const;
    // Which site of a channel feeds each of its block; empty unless it is mapped.
    std::span<const std::uint32_t> map_of(std::size_t channel, std::size_t example, Scratch& space) const;
    template <class Visit>
    void each_unit(std::size_t channel, std::size_t site, Visit visit) const;
    // Overwrites [n_sites][n_codes] and perhaps kRoom more.
    void put_scores(std::size_t channel, const ScaledWeights& weights, std::size_t example, double* out,
                    Scratch& space) const;
    template <class Real>
    void add_scores(std::size_t channel, std::span<const Real> weights, std::size_t first, std::size_t n_sites,
                    double* out) const;
    void add_made_scores(std::size_t channel, const ScaledWeights& weights, std::size_t example, double* out,
                         Scratch& space) const;
    template <class Real>
    static void add_made_sums(const UnitLists& lists, const Real* weights, std::size_t n_sites, double* out);
    template <class Real>
    static void add_made_rows(const UnitLists& lists, const Real* weights, std::size_t n_sites, std::size_t n_codes,
                              double* out);
    template <int power, class Rows>
    void scatter_made(std::size_t channel, std::size_t example, const double* of_sites, const Rows& rows,
                      Scratch& space) const;
    void take_made(std::size_t channel, std::size_t example, SparseSum& out);
    template <class Real>
    void add_dense_scores(std::size_t channel, std::span<const Real> weights, std::size_t example, double* out) const;
    // of_units[unit][code] = sum over sites of  numbers of sites * x,  or with `power` 2  * x^2.
    template <int power>
    void sum_dense(std::size_t channel, std::size_t example, const double* of_sites,
                   std::vector<double>& of_units) const;
    void take_dense(std::size_t channel, std::size_t example, SparseSum& out);
    template <class Visit>
    static void each_site(std::vector<Entry>& entries, Visit visit);
    void make_lists(std::size_t channel, bool by_member);
    std::uint32_t weight_of(std::size_t channel, std::uint32_t unit, std::uint32_t code);
    void take(std::size_t channel, std::size_t example, SparseSum& out);

    std::vector<Channel> channels_;
    std::vector<std::size_t> n_codes_;  // of blocks
    std::vector<std::uint32_t> begins_;
    std::vector<WeightTable> tables_;
    std::vector<std::vector<Row>> rows_;  // by channel and unit, one more at the end; none where all units have all
    std::shared_ptr<WeightIndex> index_;
    std::vector<std::unique_ptr<ListedUnits>>
        lists_;  // by channel; none where a source makes units, or codes are too many
    std::vector<Entry> entries_;
    std::vector<std::uint32_t> sites_;
    Scratch space_;  // of collect()
};

// visit(unit, value, where its weights begin, how many, the first code; n_codes of them are all codes)
template <class Visit>
[[gnu::always_inline]] inline void Features::each_unit(std::size_t channel, std::size_t site, Visit visit) const {
    const SparseRows& lists = channels_[channel].rows;
    const auto n_codes = static_cast<std::uint32_t>(channels_[channel].n_codes);
    const std::size_t stop = lists.starts[site + 1];
    const Row* rows = rows_[channel].empty() ? nullptr : rows_[channel].data();
    const std::uint32_t offset = index_->offset(channel);
    for (std::size_t i = lists.starts[site]; i < stop; ++i) {
        const std::uint32_t unit = lists.columns[i];
        const Row row = rows ? rows[unit] : Row{offset + unit * n_codes, 0};
        visit(unit, lists.value(i), row.begin, rows ? rows[unit + 1].begin - row.begin : n_codes, row.code);
    }
}

template <int power, class Rows>
void Features::scatter_made(std::size_t c, std::size_t example, const double* of_sites, const Rows& rows,
                            Scratch& space) const {
    const std::size_t n = channels_[c].n_sites(example), n_codes = channels_[c].n_codes;
    const UnitLists& lists = made(c, example, space);
    const auto begin = [&](std::uint32_t unit) {
        return index_->offset(c) + static_cast<std::uint32_t>(unit * n_codes);
    };
    for (std::size_t s = 0; s < n; ++s, of_sites += n_codes) {
        std::size_t k = 0;
        while (k < n_codes && of_sites[k] == 0.0) ++k;
        if (k == n_codes) continue;
        const std::uint32_t *first = lists.data() + lists.start(s), *last = lists.data() + lists.start(s + 1);
        for (const std::uint32_t* unit = first; unit < last; ++unit) {
            fetch_ahead(rows(unit[kAhead], begin(unit[kAhead])));
            double times = 1.0;  // a unit that stands there twice has the value 2
            if constexpr (power == 2) times = 2.0 * static_cast<double>(std::count(first, unit, *unit)) + 1.0;
            add_row(rows(*unit, begin(*unit)), of_sites, times, n_codes);
        }
    }
}

template <int power, class Sums>
void Features::scatter(std::size_t example, const double* of_parts, Sums& sums, Scratch& space) const {
    for (std::size_t c = 0; c < channels_.size(); ++c) {
        const Channel& channel = channels_[c];
        const std::size_t n = channel.n_sites(example), n_codes = channel.n_codes, block = channel.block;
        const std::size_t sites_of_block = n_sites(example, block);
        const double* numbers = of_parts + begin(example, block);
        if (!channel.lies_as_block(sites_of_block)) {
            space.of_sites.resize(n * n_codes);
            channel.gather(numbers, sites_of_block, n_codes_[block], n, power == 2, space.of_sites.data(), space.sums,
                           map_of(c, example, space));
            numbers = space.of_sites.data();
        }
        if (channel.source) {
            scatter_made<power>(c, example, numbers, sums.rows(c), space);
            continue;
        }
        if (channel.dense) {
            sum_dense<power>(c, example, numbers, space.of_units);
            for (std::uint32_t unit = 0; unit < channel.n_units; ++unit)
                add_row(sums.rows(c)(unit, index_->begin(c, unit)), space.of_units.data() + unit * n_codes, 1.0,
                        n_codes);
            continue;
        }
        const std::uint32_t* codes = index_->codes(c).data();
        const std::uint32_t offset = index_->offset(c);
        const std::uint32_t* units = channel.rows.columns.data();
        const Additions& added = index_->added(c);
        const bool grown = !added.entries().empty();
        const auto rows = sums.rows(c);
        const std::size_t last = channel.rows.starts[channel.first[example + 1]];
        std::size_t ahead = rows_[c].empty() ? last : channel.rows.starts[channel.first[example]] + kAhead;
        for (std::size_t s = 0; s < n; ++s) {
            const double* row = numbers + s * n_codes;
            each_unit(
                c, channel.first[example] + s,
                [&](std::uint32_t unit, double value, std::uint32_t begin, std::uint32_t size, std::uint32_t code) {
                    if (ahead + kAhead < last) {
                        const std::uint32_t next = units[ahead], later = units[kAhead + ahead++];
                        fetch_to_read(&rows_[c][later]);
                        rows.fetch(later);
                        fetch_ahead(rows(next, rows_[c][next].begin));
                    }
                    const double x = power == 1 ? value : value * value;
                    double* to = rows(unit, begin);
                    if (size == n_codes)
                        add_row(to, row, x, n_codes);
                    else if (size == 1)
                        *to += x * row[code];
                    else
                        for (std::uint32_t k = 0; k < size; ++k) to[k] += x * row[codes[begin - offset + k]];
                    if (grown)
                        added.each(unit,
                                   [&](std::uint32_t of, std::uint32_t weight) { sums.added(weight) += x * row[of]; });
                });
        }
    }
}

}  // namespace tw::linear
