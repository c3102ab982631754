// Attributes that feed a block of a structure. Several channels may feed one block.
//
//     sites of the channel               sites of the block
//     each       a site                  one site
//     tied       the one site            all sites
//     interval   positions               runs of positions: site begin * longest + (end - begin - 1) has the sum of its
//     own
//
// Codes of the block may share weights: `codes` says which code of the channel stands for each, or none; or `shares`
// says which several of them do, and how much of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../base/sparse_rows.hpp"
#include "../structures/structure.hpp"

namespace tw::linear {

inline constexpr std::uint32_t kNoCode = ~std::uint32_t{0};

struct Channel {
    enum class Sites { kEach, kTied, kInterval };

    std::string name = {};
    std::size_t block = 0;
    Sites sites = Sites::kEach;
    std::size_t longest = 0;  // of intervals
    std::size_t n_codes = 0, n_units = 0;
    bool all_codes = false;                 // units have a weight for every code, seen or not
    std::vector<std::uint32_t> codes = {};  // by code of the block; empty: the same
    SparseRows shares = {};                 // by code of the block: (code of the channel, share); none: `codes` says it
    std::vector<std::size_t> first = {};    // the first site of each example; [n_examples + 1]
    SparseRows rows = {};                   // the units of each site

    std::size_t n_sites(std::size_t example) const { return first[example + 1] - first[example]; }
    // Throws std::invalid_argument unless the sites of an example fit the block.
    void check(std::size_t example, const Block& block) const;

    // Whether the channel's numbers lie as those of a block with so many sites.
    bool lies_as_block(std::size_t sites_of_block) const {
        return codes.empty() && shares.size() == 0 &&
               (sites == Sites::kEach || (sites == Sites::kTied && sites_of_block == 1));
    }
    // Adds numbers of sites, [n_sites][n_codes], to those of the parts of a block, [sites][codes].
    void spread(const double* of_sites, std::size_t n_sites, std::size_t sites_of_block, std::size_t codes_of_block,
                double* of_parts, std::vector<double>& scratch) const;
    // The other way round: each site gets the sum of all parts that it feeds. `square`: shares count as their squares.
    void gather(const double* of_parts, std::size_t sites_of_block, std::size_t codes_of_block, std::size_t n_sites,
                bool square, double* of_sites, std::vector<double>& scratch) const;
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
