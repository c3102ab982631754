// Attributes that feed a block of a structure. Several channels may feed one block.
//
//     sites of the channel               sites of the block
//     each       a site                  one site
//     tied       the one site            all sites
//     interval   positions               runs of positions: site begin * longest + (end - begin - 1) has the sum of its
//     own
//     mapped     as a source says        any: each is fed by one site of the channel, which may feed several
//
// The units of sites are stored, or made by a source when an example is visited; or every site has every unit, with
// numbers in single precision that somebody else holds (cells of pictures: 20 numbers are 80 bytes, not 240).
//
// Codes of the block may share weights: `codes` says which code of the channel stands for each, or none; or `shares`
// says which several of them do, and how much of each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "../base/sparse_rows.hpp"
#include "../structures/structure.hpp"

namespace tw::linear {

inline constexpr std::uint32_t kNoCode = ~std::uint32_t{0};

// Units of some sites, one after the other. Memory is kept from one example to the next, and never cleared.
class UnitLists {
public:
    static constexpr std::size_t kSlack = 64;  // zeros behind the last unit: one may look so far ahead

    std::span<const std::uint32_t> units() const { return {units_.get(), size_}; }
    const std::uint32_t* data() const { return units_.get(); }
    std::uint32_t start(std::size_t site) const { return starts_[site]; }
    std::span<const std::uint32_t> starts() const { return starts_; }

    void clear() {
        starts_.assign(1, 0);
        size_ = 0;
    }
    // Where to write the next site's units, of which there are at most so many.
    std::uint32_t* room(std::size_t most) {
        if (size_ + most + kSlack > capacity_) grow(size_ + most + kSlack);
        return units_.get() + size_;
    }
    void end_site(const std::uint32_t* behind) {
        size_ = static_cast<std::size_t>(behind - units_.get());
        starts_.push_back(static_cast<std::uint32_t>(size_));
    }
    void end() { std::fill_n(room(0), kSlack, 0u); }

private:
    void grow(std::size_t least) {
        const std::size_t capacity = std::max(least, 2 * capacity_);
        auto larger = std::make_unique_for_overwrite<std::uint32_t[]>(capacity);
        std::copy_n(units_.get(), size_, larger.get());
        units_ = std::move(larger);
        capacity_ = capacity;
    }
    std::vector<std::uint32_t> starts_{0};
    std::unique_ptr<std::uint32_t[]> units_;
    std::size_t size_ = 0, capacity_ = 0;
};

// Units that are made when an example is visited: too many to be stored. Immutable; any number of threads may ask.
class UnitSource {
public:
    struct Scratch {
        virtual ~Scratch() = default;
    };
    virtual ~UnitSource() = default;
    virtual std::unique_ptr<Scratch> scratch() const { return std::make_unique<Scratch>(); }
    virtual std::size_t n_examples() const = 0;
    virtual std::size_t n_sites(std::size_t example) const = 0;
    // Overwrites `out` with the units of these sites, which rise; or of all. A unit may stand in a site twice.
    virtual void units(std::size_t example, std::span<const std::uint32_t> sites, UnitLists& out,
                       Scratch& space) const = 0;
    virtual void all_units(std::size_t example, UnitLists& out, Scratch& space) const = 0;
    // Of mapped channels: the site that feeds each site of the block.
    virtual void map(std::size_t, std::vector<std::uint32_t>&) const {}
};

struct Channel {
    enum class Sites { kEach, kTied, kInterval, kMapped };

    std::string name = {};
    std::size_t block = 0;
    Sites sites = Sites::kEach;
    std::size_t longest = 0;  // of intervals
    std::size_t n_codes = 0, n_units = 0;
    bool all_codes = false;                 // units have a weight for every code, seen or not
    bool nonnegative = false;               // no weight may be negative; units then have all codes
    std::vector<std::uint32_t> codes = {};  // by code of the block; empty: the same
    SparseRows shares = {};                 // by code of the block: (code of the channel, share); none: `codes` says it
    std::vector<std::size_t> first = {};    // the first site of each example; [n_examples + 1]
    // The units of each site, unless there is a source of them. A unit may stand for several attributes that always
    // occur together, with value 1; its value is then what multiplies its weight in a score, see Variables in
    // oracle.hpp.
    SparseRows rows = {};
    std::vector<std::uint32_t> n_members = {};  // of units; empty: one each
    std::shared_ptr<const UnitSource> source = nullptr;
    std::shared_ptr<const float[]> dense = nullptr;  // [site][unit]; units have all codes

    std::size_t n_sites(std::size_t example) const { return first[example + 1] - first[example]; }
    // Throws std::invalid_argument unless the sites of an example fit the block.
    void check(std::size_t example, const Block& block) const;

    // Whether the channel's numbers lie as those of a block with so many sites.
    bool lies_as_block(std::size_t sites_of_block) const {
        return codes.empty() && shares.size() == 0 &&
               (sites == Sites::kEach || (sites == Sites::kTied && sites_of_block == 1));
    }
    // Adds numbers of sites, [n_sites][n_codes], to those of the parts of a block, [sites][codes]. `map`: of a mapped
    // channel, as its source says.
    void spread(const double* of_sites, std::size_t n_sites, std::size_t sites_of_block, std::size_t codes_of_block,
                double* of_parts, std::vector<double>& scratch, std::span<const std::uint32_t> map = {}) const;
    // The other way round: each site gets the sum of all parts that it feeds. `square`: shares count as their squares.
    void gather(const double* of_parts, std::size_t sites_of_block, std::size_t codes_of_block, std::size_t n_sites,
                bool square, double* of_sites, std::vector<double>& scratch,
                std::span<const std::uint32_t> map = {}) const;
    // Whether one code of the channel stands for all of the block.
    bool feeds_all() const;
    // The site of the channel that feeds a site of the block, unless sites are intervals.
    std::size_t site_for(std::size_t site, std::span<const std::uint32_t> map) const {
        return sites == Sites::kTied ? 0 : sites == Sites::kMapped ? map[site] : site;
    }
    // visit(code of the channel, share) for a code of the block.
    template <class Visit>
    void each_code(std::uint32_t code, Visit visit) const {
        if (shares.size() > 0)
            shares.each(code, visit);
        else if (codes.empty())
            visit(code, 1.0);
        else if (codes[code] != kNoCode)
            visit(codes[code], 1.0);
    }
};

}  // namespace tw::linear
