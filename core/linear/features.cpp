#include "features.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "../base/interrupt.hpp"

namespace tw::linear {
namespace {

// Where weights are added later, units have all codes from the start that have so large a share of them, or occur so
// often, in sites for a code: they are added up by vectors.
constexpr std::size_t kFullRow = 4, kOften = 8, kMostInRow = 64;

}  // namespace

Features::Features(const Structure& structure, const Lists& shapes, std::vector<Channel> channels)
    : channels_(std::move(channels)) {
    for (const Channel& channel : channels_)
        if (channel.first.size() != shapes.size() + 1 ||
            (!channel.source && !channel.dense && channel.rows.size() != channel.first.back()))
            throw std::invalid_argument("channel " + channel.name + " has sites of another number of examples");
    InterruptCheck check;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        check();
        const std::vector<Block> blocks = structure.blocks(shapes[i]);
        if (i == 0)
            for (const Block& block : blocks) n_codes_.push_back(block.n_codes);
        std::size_t total = 0;
        begins_.push_back(0);
        for (std::size_t b = 0; b < blocks.size(); ++b) {
            if (blocks.size() != n_codes_.size() || blocks[b].n_codes != n_codes_[b])
                throw std::invalid_argument("all examples must have the same blocks, with as many codes");
            total += blocks[b].size();
            if (total >= kNoPart)
                throw std::invalid_argument("example " + std::to_string(i) + " has more than 4,294,967,294 parts");
            begins_.push_back(static_cast<std::uint32_t>(total));
        }
        for (const Channel& channel : channels_) channel.check(i, blocks.at(channel.block));
    }
}

void Features::set_weights(std::vector<WeightTable> tables, bool grows, bool by_member) {
    tables_ = std::move(tables);
    index_ = std::make_shared<WeightIndex>(grows);
    rows_.resize(channels_.size());
    lists_.resize(channels_.size());
    for (std::size_t c = 0; c < channels_.size(); ++c) {
        const std::size_t n_units = channels_[c].n_units;
        const WeightTable& table = tables_[c];
        index_->add_channel(channels_[c].n_codes, n_units, table.starts, table.codes);
        if (table.starts.empty()) continue;
        if (table.starts.size() != n_units + 1) throw std::invalid_argument("a table of weights has the wrong size");
        rows_[c].resize(n_units + 1);
        for (std::size_t u = 0; u <= n_units; ++u) {
            const std::uint32_t begin = table.starts[u];
            rows_[c][u] = {index_->offset(c) + begin, begin < table.codes.size() ? table.codes[begin] : 0};
        }
    }
    for (std::size_t c = 0; c < channels_.size(); ++c)
        if (!channels_[c].source && !channels_[c].dense && channels_[c].n_codes <= ListedUnits::kMostCodes)
            make_lists(c, by_member);
}

void Features::make_lists(std::size_t c, bool by_member) {
    const Channel& channel = channels_[c];
    const std::vector<std::uint32_t>& members = channel.n_members;
    const auto value = [&](std::size_t i) {  // of members
        return !members.empty() && members[channel.rows.columns[i]] > 1 ? 1.0 : channel.rows.value(i);
    };
    bool valued = false;
    for (std::size_t i = 0; i < channel.rows.values.size() && !valued; ++i) valued = value(i) != 1.0;
    lists_[c] = std::make_unique<ListedUnits>(index_, c, channel.n_codes, members, by_member, valued);
    InterruptCheck check;
    for (std::size_t s = 0; s < channel.rows.size(); ++s) {
        check();
        for (std::size_t i = channel.rows.starts[s]; i < channel.rows.starts[s + 1]; ++i)
            lists_[c]->add(channel.rows.columns[i], value(i));
        lists_[c]->end_site();
    }
}

void Features::grow_again(std::span<const double> list) {
    index_->set_to(list);
    for (const auto& lists : lists_)
        if (lists) lists->see_all_added();
}

void Features::find_weights(const Lists& gold, Combinations combinations, bool by_member) {
    std::vector<WeightTable> tables(channels_.size());
    std::vector<std::uint64_t> pairs;  // unit * n_codes + code
    std::vector<double> counts, scratch, of_sites;
    InterruptCheck check;
    for (std::size_t c = 0; combinations != Combinations::kAll && c < channels_.size(); ++c) {
        const Channel& channel = channels_[c];
        if (channel.all_codes || channel.nonnegative || channel.source || channel.dense) continue;
        pairs.clear();
        for (std::size_t i = 0; i < gold.size(); ++i) {
            check();
            const std::size_t first = begin(i, channel.block), last = begin(i, channel.block + 1);
            const std::size_t n = channel.n_sites(i);
            counts.assign(last - first, 0.0);
            for (const Part part : gold[i])
                if (part >= first && part < last) counts[part - first] = 1.0;
            of_sites.resize(n * channel.n_codes);
            channel.gather(counts.data(), n_sites(i, channel.block), n_codes_[channel.block], n, true, of_sites.data(),
                           scratch);
            for (std::size_t s = 0; s < n; ++s)
                for (std::size_t code = 0; code < channel.n_codes; ++code)
                    if (of_sites[s * channel.n_codes + code] != 0.0)
                        for (const std::uint32_t unit : channel.rows.columns_of(channel.first[i] + s))
                            pairs.push_back(std::uint64_t{unit} * channel.n_codes + code);
        }
        std::ranges::sort(pairs);
        pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
        std::vector<std::uint32_t> how_often;  // of units that may have all codes
        if (combinations == Combinations::kGrown && (channel.n_codes <= kMostInRow || channel.n_units == 1)) {
            how_often.resize(channel.n_units, 0);
            for (const std::uint32_t unit : channel.rows.columns) how_often[unit] += how_often[unit] != ~0u;
        }
        tables[c].starts.push_back(0);
        auto pair = pairs.begin();
        for (std::size_t u = 0; u < channel.n_units; ++u) {
            const auto first = pair;
            while (pair != pairs.end() && *pair / channel.n_codes == u) ++pair;
            if (!how_often.empty() && (static_cast<std::size_t>(pair - first) > channel.n_codes / kFullRow ||
                                       std::size_t{how_often[u]} * kOften >= channel.n_codes))
                for (std::uint32_t code = 0; code < channel.n_codes; ++code) tables[c].codes.push_back(code);
            else
                for (auto own = first; own != pair; ++own)
                    tables[c].codes.push_back(static_cast<std::uint32_t>(*own % channel.n_codes));
            tables[c].starts.push_back(static_cast<std::uint32_t>(tables[c].codes.size()));
        }
    }
    set_weights(std::move(tables), combinations == Combinations::kGrown, by_member);
}

// Where there are too many codes for lists.
template <class Real>
void Features::add_scores(std::size_t c, std::span<const Real> weights, std::size_t first, std::size_t n_sites,
                          double* out) const {
    const Channel& channel = channels_[c];
    const std::size_t n_codes = channel.n_codes;
    const Real* w = weights.data();
    const std::uint32_t* codes = index_->codes(c).data();
    const std::uint32_t offset = index_->offset(c);
    const Additions& added = index_->added(c);
    const bool grown = !added.entries().empty();
    for (std::size_t s = 0; s < n_sites; ++s, out += n_codes)
        each_unit(c, first + s,
                  [&](std::uint32_t unit, double x, std::uint32_t begin, std::uint32_t size, std::uint32_t) {
                      if (size == n_codes)
                          add_row(out, w + begin, x, n_codes);
                      else
                          for (std::uint32_t k = 0; k < size; ++k)
                              out[codes[begin - offset + k]] += x * static_cast<double>(w[begin + k]);
                      if (grown)
                          added.each(unit, [&](std::uint32_t of, std::uint32_t weight) {
                              if (weight < weights.size()) out[of] += x * static_cast<double>(w[weight]);
                          });
                  });
}

UnitSource::Scratch& Features::scratch_of(std::size_t c, Scratch& space) const {
    space.of_sources.resize(channels_.size());
    if (!space.of_sources[c]) space.of_sources[c] = channels_[c].source->scratch();
    return *space.of_sources[c];
}

const UnitLists& Features::made(std::size_t c, std::size_t example, Scratch& space) const {
    channels_[c].source->all_units(example, space.made, scratch_of(c, space));
    return space.made;
}

std::span<const std::uint32_t> Features::map_of(std::size_t c, std::size_t example, Scratch& space) const {
    if (channels_[c].sites != Channel::Sites::kMapped) return {};
    channels_[c].source->map(example, space.map);
    return space.map;
}

void Features::add_made_scores(std::size_t c, const ScaledWeights& weights, std::size_t example, double* out,
                               Scratch& space) const {
    const std::size_t n = channels_[c].n_sites(example), n_codes = channels_[c].n_codes;
    const UnitLists& lists = made(c, example, space);
    const auto add = [&](const auto* w) {
        n_codes > 1 ? add_made_rows(lists, w, n, n_codes, out) : add_made_sums(lists, w, n, out);
    };
    if (weights.rounded.empty())
        add(weights.stored.data() + index_->offset(c));
    else
        add(weights.rounded.data() + index_->offset(c));
}

template <class Real>
void Features::add_made_sums(const UnitLists& lists, const Real* w, std::size_t n, double* out) {
    for (std::size_t s = 0; s < n; ++s) {
        Real sums[4] = {0, 0, 0, 0};  // so that no addition waits for the one before
        const std::uint32_t *unit = lists.data() + lists.start(s), *last = lists.data() + lists.start(s + 1);
        for (; unit + 4 <= last; unit += 4)
            for (std::size_t k = 0; k < 4; ++k) {
                fetch_to_read(w + unit[k + 2 * kAhead]);
                sums[k] += w[unit[k]];
            }
        for (; unit < last; ++unit) sums[0] += w[*unit];
        out[s] += static_cast<double>((sums[0] + sums[1]) + (sums[2] + sums[3]));
    }
}

namespace {

// Adds the codes k .. k + kBlock - 1 of all rows, in registers, to all but the first `skip` of these numbers.
template <std::size_t kBlock, class Real>
void add_block(std::span<const std::uint32_t> units, const Real* w, std::size_t n_codes, std::size_t k,
               std::size_t skip, double* out) {
    Real sums[kBlock] = {};
    for (const std::uint32_t unit : units) {
        const Real* row = w + unit * n_codes + k;
        for (std::size_t i = 0; i < kBlock; ++i) sums[i] += row[i];
    }
    for (std::size_t i = skip; i < kBlock; ++i) out[k + i] += static_cast<double>(sums[i]);
}

// All codes, the last block beginning early enough to be whole; false where there are too few for one.
template <std::size_t kBlock, class Real>
bool add_blocks(std::span<const std::uint32_t> units, const Real* w, std::size_t n_codes, double* out) {
    if (n_codes < kBlock) return false;
    for (std::size_t k = 0; k < n_codes; k += kBlock) {
        const std::size_t at = std::min(k, n_codes - kBlock);
        add_block<kBlock>(units, w, n_codes, at, k - at, out);
    }
    return true;
}

}  // namespace

// Sums of rows; those of the next site are fetched meanwhile.
template <class Real>
void Features::add_made_rows(const UnitLists& lists, const Real* w, std::size_t n_sites, std::size_t n_codes,
                             double* out) {
    constexpr std::size_t kLine = 64 / sizeof(Real);
    for (std::size_t s = 0; s < n_sites; ++s, out += n_codes) {
        const std::span<const std::uint32_t> units =
            lists.units().subspan(lists.start(s), lists.start(s + 1) - lists.start(s));
        if (s + 1 < n_sites)
            for (std::size_t i = lists.start(s + 1); i < lists.start(s + 2); ++i)
                for (std::size_t k = 0; k < n_codes; k += kLine) fetch_to_read(w + lists.data()[i] * n_codes + k);
        if (units.empty() || add_blocks<32>(units, w, n_codes, out) || add_blocks<8>(units, w, n_codes, out)) continue;
        add_blocks<1>(units, w, n_codes, out);
    }
}

void Features::put_scores(std::size_t c, const ScaledWeights& weights, std::size_t example, double* out,
                          Scratch& space) const {
    const std::size_t first = channels_[c].first[example], n_sites = channels_[c].n_sites(example);
    if (lists_[c]) return lists_[c]->scores(weights, lists_[c]->all(), first, first + n_sites, out);
    std::fill_n(out, n_sites * channels_[c].n_codes, 0.0);
    if (channels_[c].source)
        add_made_scores(c, weights, example, out, space);
    else if (channels_[c].dense && weights.rounded.empty())
        add_dense_scores(c, weights.stored, example, out);
    else if (channels_[c].dense)
        add_dense_scores(c, weights.rounded, example, out);
    else if (weights.rounded.empty())
        add_scores(c, weights.stored, first, n_sites, out);
    else
        add_scores(c, weights.rounded, first, n_sites, out);
}

void Features::scores(const ScaledWeights& weights, std::size_t example, double* out, Scratch& space) const {
    std::fill_n(out, n_parts(example), 0.0);
    for (std::size_t c = 0; c < channels_.size(); ++c) {
        const Channel& channel = channels_[c];
        const std::size_t n = channel.n_sites(example), sites_of_block = n_sites(example, channel.block);
        double* of_block = out + begin(example, channel.block);
        if (channel.source && channel.lies_as_block(sites_of_block)) {
            add_made_scores(c, weights, example, of_block, space);
            continue;
        }
        space.of_sites.resize(std::max(space.of_sites.size(), n * channel.n_codes + ListedUnits::kRoom));
        double* of_sites = space.of_sites.data();
        put_scores(c, weights, example, of_sites, space);
        if (channel.lies_as_block(sites_of_block))
            add_row(of_block, of_sites, 1.0, n * channel.n_codes);
        else
            channel.spread(of_sites, n, sites_of_block, n_codes_[channel.block], of_block, space.sums,
                           map_of(c, example, space));
    }
    if (weights.scale != 1.0)
        for (std::size_t i = 0; i < n_parts(example); ++i) out[i] *= weights.scale;
}

// Four sites side by side, so that no addition waits for the one before.
template <class Real>
void Features::add_dense_scores(std::size_t c, std::span<const Real> weights, std::size_t example, double* out) const {
    constexpr std::size_t kSites = 4;
    const Channel& channel = channels_[c];
    const std::size_t n = channel.n_sites(example), n_codes = channel.n_codes, n_units = channel.n_units;
    const Real* w = weights.data() + index_->offset(c);
    const float* x = channel.dense.get() + channel.first[example] * n_units;
    const auto add = [&]<std::size_t kSide>(std::size_t s) {
        for (std::size_t k = 0; k < n_codes; ++k) {
            double sums[kSide] = {};
            for (std::size_t u = 0; u < n_units; ++u)
                for (std::size_t i = 0; i < kSide; ++i)
                    sums[i] += static_cast<double>(x[(s + i) * n_units + u]) * static_cast<double>(w[u * n_codes + k]);
            for (std::size_t i = 0; i < kSide; ++i) out[(s + i) * n_codes + k] += sums[i];
        }
    };
    std::size_t s = 0;
    for (; s + kSites <= n; s += kSites) add.template operator()<kSites>(s);
    for (; s < n; ++s) add.template operator()<1>(s);
}

template <int power>
void Features::sum_dense(std::size_t c, std::size_t example, const double* of_sites,
                         std::vector<double>& of_units) const {
    const Channel& channel = channels_[c];
    const std::size_t n = channel.n_sites(example), n_codes = channel.n_codes, n_units = channel.n_units;
    of_units.assign(n_units * n_codes, 0.0);
    const float* x = channel.dense.get() + channel.first[example] * n_units;
    for (std::size_t s = 0; s < n; ++s, x += n_units)
        for (std::size_t k = 0; k < n_codes; ++k) {
            const double times = of_sites[s * n_codes + k];
            if (times == 0.0) continue;
            for (std::size_t u = 0; u < n_units; ++u) {
                const auto value = static_cast<double>(x[u]);
                of_units[u * n_codes + k] += times * (power == 2 ? value * value : value);
            }
        }
}
template void Features::sum_dense<1>(std::size_t, std::size_t, const double*, std::vector<double>&) const;
template void Features::sum_dense<2>(std::size_t, std::size_t, const double*, std::vector<double>&) const;

void Features::take_dense(std::size_t c, std::size_t example, SparseSum& out) {
    const Channel& channel = channels_[c];
    const std::size_t n_codes = channel.n_codes, n_units = channel.n_units;
    space_.of_units.assign(n_units * n_codes, 0.0);
    for (const Entry& entry : entries_) {
        const float* x = channel.dense.get() + (channel.first[example] + entry.site) * n_units;
        for (std::size_t u = 0; u < n_units; ++u)
            space_.of_units[u * n_codes + entry.code] += entry.x * static_cast<double>(x[u]);
    }
    out.expect(n_units * n_codes);
    for (std::size_t i = 0; i < n_units * n_codes; ++i)
        if (space_.of_units[i] != 0.0) out.add(index_->offset(c) + static_cast<std::uint32_t>(i), space_.of_units[i]);
}

// visit(site, its codes, each once and without those that cancelled), sites rising; moves entries together.
template <class Visit>
void Features::each_site(std::vector<Entry>& entries, Visit visit) {
    for (std::size_t i = 0; i < entries.size();) {
        const std::uint32_t site = entries[i].site;
        std::size_t end = i, kept = i;
        while (end < entries.size() && entries[end].site == site) {
            Entry entry = entries[end++];
            for (; end < entries.size() && entries[end].site == site && entries[end].code == entry.code; ++end)
                entry.x += entries[end].x;
            if (entry.x != 0.0) entries[kept++] = entry;
        }
        if (kept > i) visit(site, std::span<const Entry>(entries.data() + i, kept - i));
        i = end;
    }
}

void Features::take_made(std::size_t c, std::size_t example, SparseSum& out) {
    const auto n_codes = static_cast<std::uint32_t>(channels_[c].n_codes);
    sites_.clear();
    for (const Entry& entry : entries_)
        if (sites_.empty() || sites_.back() != entry.site) sites_.push_back(entry.site);
    channels_[c].source->units(example, sites_, space_.made, scratch_of(c, space_));
    std::size_t at = 0;
    each_site(entries_, [&](std::uint32_t site, std::span<const Entry> codes) {
        while (sites_[at] != site) ++at;
        out.expect((space_.made.start(at + 1) - space_.made.start(at)) * codes.size());
        for (std::size_t u = space_.made.start(at); u < space_.made.start(at + 1); ++u)
            for (const Entry& entry : codes)
                out.add(index_->offset(c) + space_.made.data()[u] * n_codes + entry.code, entry.x);
    });
}

void Features::fetch_lists(std::size_t example) const {
    for (std::size_t c = 0; c < channels_.size(); ++c)
        if (lists_[c]) lists_[c]->fetch_lists(0, channels_[c].first[example], channels_[c].first[example + 1]);
}

void Features::fetch_weights(const ScaledWeights& weights, std::size_t example) const {
    for (std::size_t c = 0; c < channels_.size(); ++c)
        if (lists_[c] && channels_[c].sites != Channel::Sites::kTied)
            lists_[c]->fetch_weights(weights, lists_[c]->all(), channels_[c].first[example],
                                     channels_[c].first[example + 1]);
}

// Of a channel without lists.
std::uint32_t Features::weight_of(std::size_t c, std::uint32_t unit, std::uint32_t code) {
    if (rows_[c].empty()) return index_->offset(c) + unit * static_cast<std::uint32_t>(channels_[c].n_codes) + code;
    return index_->find_or_add(c, unit, code);
}

// Adds up what stands in entries_, in the order of sites and codes.
void Features::take(std::size_t c, std::size_t example, SparseSum& out) {
    if (channels_[c].source) return take_made(c, example, out);
    if (channels_[c].dense) return take_dense(c, example, out);
    const Channel& channel = channels_[c];
    const bool one_site = !entries_.empty() && entries_.front().site == entries_.back().site;  // its units differ
    each_site(entries_, [&](std::uint32_t site, std::span<const Entry> of_site) {
        const std::size_t at = channel.first[example] + site;
        const auto add_unit = [&](double x, double count, auto weight_of_code) {
            if (x == 0.0) return;
            for (const Entry& entry : of_site) {
                const std::uint32_t weight = weight_of_code(entry.code);
                if (weight == kNoWeight) continue;
                if (one_site)
                    out.append(weight, x * entry.x, count);
                else
                    out.add(weight, x * entry.x, count);
            }
        };
        out.expect(of_site.size() * channel.rows.columns_of(at).size());
        if (lists_[c])
            lists_[c]->each_unit(lists_[c]->all(), at, add_unit);
        else
            channel.rows.each(at, [&](std::uint32_t unit, double x) {
                add_unit(x, 1.0, [&](std::uint32_t code) { return weight_of(c, unit, code); });
            });
    });
}

void Features::collect(std::size_t example, std::span<const Count> counts, SparseSum& out) {
    for (std::size_t c = 0; c < channels_.size(); ++c) {
        const Channel& channel = channels_[c];
        const auto first = static_cast<Part>(begin(example, channel.block));
        const auto last = static_cast<Part>(begin(example, channel.block + 1));
        const auto n_codes = static_cast<std::uint32_t>(n_codes_[channel.block]);
        entries_.clear();
        bool in_order = channel.sites == Channel::Sites::kEach && channel.codes.empty() && channel.shares.size() == 0;
        const std::span<const std::uint32_t> map = map_of(c, example, space_);
        for (const Count& count : counts) {
            if (count.part < first || count.part >= last) continue;
            const std::uint32_t site = (count.part - first) / n_codes;
            const auto L = static_cast<std::uint32_t>(channel.longest);
            channel.each_code((count.part - first) % n_codes, [&](std::uint32_t code, double share) {
                if (channel.sites != Channel::Sites::kInterval)
                    entries_.push_back(
                        {static_cast<std::uint32_t>(channel.site_for(site, map)), code, share * count.times});
                else
                    for (std::uint32_t n = 0; n <= site % L; ++n)
                        entries_.push_back({site / L + n, code, share * count.times});
            });
        }
        if (!in_order)
            std::ranges::stable_sort(entries_, [](const Entry& a, const Entry& b) {
                return a.site != b.site ? a.site < b.site : a.code < b.code;
            });
        take(c, example, out);
    }
}

void Features::collect(std::size_t example, const double* of_parts, SparseSum& out, Scratch& space) {
    for (std::size_t c = 0; c < channels_.size(); ++c) {
        const Channel& channel = channels_[c];
        const std::size_t n = channel.n_sites(example);
        space.of_sites.resize(n * channel.n_codes);
        channel.gather(of_parts + begin(example, channel.block), n_sites(example, channel.block),
                       n_codes_[channel.block], n, false, space.of_sites.data(), space.sums, map_of(c, example, space));
        entries_.clear();
        for (std::uint32_t s = 0; s < n; ++s)
            for (std::uint32_t code = 0; code < channel.n_codes; ++code)
                if (const double x = space.of_sites[s * channel.n_codes + code]; x != 0.0)
                    entries_.push_back({s, code, x});
        take(c, example, out);
    }
}

}  // namespace tw::linear
