// The units of the sites of a channel, in lists by how many codes they have weights for, so that scores are gathered by
// vectors and what is far away in memory is fetched before it is needed.
//
//     rows    units with all codes and one member     where their weights begin
//     far     those of them that are seldom used      the same
//     parts   units with several codes, not all,      where their weights begin, a bit for each code; where a vector
//             and one member                          is expanded at once and no weights are added: all of one member
//     rare    all others                              unit, site, where their weights begin, the first code
// each with a table that says where the entries of a site begin. Where there are too many for memory, the lists of a
// run of sites that are asked for together lie together, one after the other in one place of a file. A unit of g
// members that have one weight adds a factor times it: the square root of g, or g (see Variables in oracle.hpp).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "../base/huge_pages.hpp"
#include "../base/storage.hpp"
#include "../kernels/kernels.hpp"
#include "../oracle.hpp"
#include "weight_index.hpp"

namespace tw::linear {

class ListedUnits {
public:
    static constexpr std::size_t kMostCodes = 65535;
    static constexpr std::size_t kRoom = 8;  // numbers that scores() may write behind the last

    // Of a channel of the index with at most kMostCodes codes; `n_members` of each unit, or none: one each. `valued`:
    // some values are not 1. Those of units with several members are.
    // With a storage, sites come in runs, which may be in a file.
    ListedUnits(std::shared_ptr<WeightIndex> index, std::size_t channel, std::size_t n_codes,
                std::span<const std::uint32_t> n_members, bool by_member, bool valued,
                StoragePointer storage = nullptr);
    // The units of all sites, one after the other; their number is that of the calls of end_site.
    void add(std::uint32_t unit, double value);
    void end_site();
    void end_run();

    void see_added();      // to be called when weights were added
    void see_all_added();  // when what was added has been replaced

    struct Part {
        std::uint64_t codes;  // a bit for each that has a weight: they follow each other from `begin`
        std::uint32_t begin;
    };
    // The lists of some sites, by the numbers that these have among all.
    struct Sites : TokenUnits {
        std::size_t n_units(std::size_t site) const {
            return row_starts[site + 1] - row_starts[site] + part_starts[site + 1] - part_starts[site] +
                   rare_starts[site + 1] - rare_starts[site];
        }
        // Call visit for the units of a site with their values.
        template <class Visit>
        void each_row(std::size_t site, Visit visit) const {  // visit(begin, x)
            for (std::size_t i = row_starts[site]; i < row_starts[site + 1]; ++i)
                visit(rows[i], row_factors ? row_factors[i] : 1.0);
        }
        template <class Visit>
        void each_part(std::size_t site, Visit visit) const {  // visit(part, x)
            for (std::size_t i = part_starts[site]; i < part_starts[site + 1]; ++i) {
                const std::uint64_t above = part_labels_above ? part_labels_above[i] : 0;
                visit(Part{above << 32 | parts[i].labels, parts[i].begin}, part_values ? part_values[i] : 1.0);
            }
        }
        template <class Visit>
        void each_rare(std::size_t site, Visit visit) const {  // visit(rare, x)
            for (std::size_t i = rare_starts[site]; i < rare_starts[site + 1]; ++i)
                visit(rare[i], rare_values ? rare_values[i] : 1.0);
        }
    };
    // Those of a run that begins with site `first`; without a storage, of all sites.
    Sites sites(std::size_t run, std::size_t first) const { return in_runs_ ? of_run(run, first) : all(); }
    Sites all() const {
        return {{row_starts_.data(), rows_.data(), last_, valued_ ? row_values_.data() : nullptr, far_starts_.data(),
                 far_.data(), part_starts_.data(), parts_.data(),
                 part_codes_above_.empty() ? nullptr : part_codes_above_.data(),
                 valued_ ? part_values_.data() : nullptr, rare_starts_.data(), rare_.data(),
                 valued_ ? rare_values_.data() : nullptr}};
    }

    // Overwrites [last - first][n_codes] with the scores at weights of scale 1.
    void scores(const ScaledWeights& weights, const Sites& sites, std::size_t first, std::size_t last,
                double* out) const;
    // The same of rounded weights, [last - first] rows of a whole number of vectors of single precision.
    void scores(const ScaledWeights& weights, const Sites& sites, std::size_t first, std::size_t last,
                float* out) const;

    // Adds to a row of scores, [n_codes], those of some codes of one site; what it makes of all others means nothing.
    void add_scores(const ScaledWeights& weights, const Sites& sites, std::size_t site,
                    std::span<const std::uint16_t> some, double* row) const;
    void fetch_weights(const ScaledWeights& weights, const Sites& sites, std::size_t site,
                       std::span<const std::uint16_t> some) const;

    // Bring near what scores() will read: from memory, and from a file.
    void fetch_lists(std::size_t run, std::size_t first, std::size_t last) const;
    void fetch_weights(const ScaledWeights& weights, const Sites& sites, std::size_t first, std::size_t last) const;
    void read_ahead(std::size_t run) const { runs_.read_ahead(run_starts_[run], run_starts_[run + 1]); }
    std::size_t bytes(std::size_t run) const { return run_starts_[run + 1] - run_starts_[run]; }
    // visit(x, count, weight_of) for all units: x for a derivative by the variable, for how many weights it stands, and
    // weight_of(code), which makes a weight if need be and the index may grow.
    template <class Visit>
    [[gnu::always_inline]] void each_unit(const Sites& sites, std::size_t site, Visit visit) {
        sites.each_row(site, [&](std::uint32_t begin, double x) {
            visit(x, 1.0, [&](std::uint32_t code) { return begin + code; });
        });
        sites.each_part(site, [&](const Part& part, double x) {
            visit(x, 1.0, [&](std::uint32_t code) { return weight_of(part, code); });
        });
        sites.each_rare(site, [&](const RareUnit& rare, double x) {
            visit(steps_[rare.factor] * x, counts_[rare.factor],
                  [&](std::uint32_t code) { return weight_of(rare, code); });
        });
    }

    // Of a unit of several members: what multiplies a weight in a score, and in a difference; how many weights it is.
    double factor(std::uint16_t which) const { return factors_[which]; }
    double step(std::uint16_t which) const { return steps_[which]; }
    double count(std::uint16_t which) const { return counts_[which]; }
    std::uint32_t code(std::uint32_t weight) const { return codes_[weight - first_weight_]; }
    static std::uint32_t weight_of(const Part& part, std::uint32_t code) {
        const std::uint64_t bit = std::uint64_t{1} << code;
        if (!(part.codes & bit)) return kNoWeight;
        return part.begin + static_cast<std::uint32_t>(std::popcount(part.codes & (bit - 1)));
    }
    std::uint32_t weight_of(const RareUnit& rare, std::uint32_t code);

    std::size_t memory_bytes() const;

private:
    struct Run {  // the head of a run in a file; what follows is listed in of_run()
        std::uint32_t n_sites, n_rows, n_parts, n_rare;
    };
    void add_part(const Part& part, double value);
    template <class Real>
    UnitWeights<Real> with(std::span<const Real> values) const;
    Sites of_run(std::size_t run, std::size_t first) const;
    const char* bytes_of_run(std::size_t run) const;

    std::shared_ptr<WeightIndex> index_;
    std::size_t channel_, n_codes_;
    std::uint32_t first_weight_;
    bool in_parts_;                                 // whether units with some of the codes are parts
    std::size_t together_;                          // parts
    std::vector<double> factors_, steps_, counts_;  // of units with so many members
    std::vector<std::uint16_t> factor_of_;          // of units; empty: all the first
    LargeArray<std::uint16_t> codes_;               // of weights; empty: all units have all
    std::vector<std::uint64_t> has_added_;
    std::size_t seen_added_ = 0;
    // What TokenUnits says.
    std::vector<std::uint32_t> row_starts_{0}, far_starts_{0}, part_starts_{0}, rare_starts_{0}, far_;
    LargeArray<std::uint32_t> rows_;
    std::uint32_t last_ = 0;
    LargeArray<PartRow> parts_;
    std::vector<std::uint32_t> part_codes_above_;  // empty where there are no more than 32 codes
    LargeArray<RareUnit> rare_;
    std::size_t n_sites_ = 0;
    bool valued_, in_runs_;
    std::uint64_t id_ = 0;  // of these lists among all that were ever made
    Stored<char> runs_;
    std::vector<std::uint64_t> run_starts_{0};  // of each run, in bytes
    std::vector<double> row_values_, part_values_, rare_values_;
};

}  // namespace tw::linear
