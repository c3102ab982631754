#include "channel.hpp"

#include <algorithm>
#include <stdexcept>

namespace tw::linear {

void Channel::check(std::size_t example, const Block& to) const {
    const std::size_t n = n_sites(example);
    const std::size_t wanted = sites == Sites::kEach       ? to.n_sites
                               : sites == Sites::kTied     ? 1
                               : sites == Sites::kInterval ? to.n_sites / longest
                                                           : n;
    if (n != wanted)
        throw std::invalid_argument("channel " + name + " has " + std::to_string(n) + " sites in example " +
                                    std::to_string(example) + ", but block " + to.name + " needs " +
                                    std::to_string(wanted));
    const std::size_t n_given = shares.size() > 0 ? shares.size() : codes.empty() ? n_codes : codes.size();
    if (n_given != to.n_codes)
        throw std::invalid_argument("channel " + name + " has codes for another number than block " + to.name);
}

bool Channel::feeds_all() const {
    return n_codes == 1 && shares.size() == 0 && std::ranges::all_of(codes, [](std::uint32_t c) { return c == 0; });
}

void Channel::spread(const double* of_sites, std::size_t n_sites, std::size_t sites_of_block,
                     std::size_t codes_of_block, double* of_parts, std::vector<double>& scratch,
                     std::span<const std::uint32_t> map) const {
    const bool same = codes.empty() && shares.size() == 0, all = feeds_all();
    const auto add = [&](const double* from, double* row) {
        if (same)
            for (std::uint32_t c = 0; c < codes_of_block; ++c) row[c] += from[c];
        else if (all)
            for (std::uint32_t c = 0; c < codes_of_block; ++c) row[c] += *from;
        else if (shares.size() == 0)
            for (std::uint32_t c = 0; c < codes_of_block; ++c) row[c] += codes[c] == kNoCode ? 0.0 : from[codes[c]];
        else
            for (std::uint32_t c = 0; c < codes_of_block; ++c)
                each_code(c, [&](std::uint32_t code, double share) { row[c] += share * from[code]; });
    };
    if (sites != Sites::kInterval) {
        for (std::size_t s = 0; n_sites > 0 && s < sites_of_block; ++s)
            add(of_sites + site_for(s, map) * n_codes, of_parts + s * codes_of_block);
        return;
    }
    for (std::size_t begin = 0; begin < n_sites; ++begin) {
        scratch.assign(n_codes, 0.0);
        for (std::size_t n = 0; n < longest && begin + n < n_sites; ++n) {
            for (std::size_t c = 0; c < n_codes; ++c) scratch[c] += of_sites[(begin + n) * n_codes + c];
            add(scratch.data(), of_parts + (begin * longest + n) * codes_of_block);
        }
    }
}

void Channel::gather(const double* of_parts, std::size_t sites_of_block, std::size_t codes_of_block,
                     std::size_t n_sites, bool square, double* of_sites, std::vector<double>& scratch,
                     std::span<const std::uint32_t> map) const {
    std::fill_n(of_sites, n_sites * n_codes, 0.0);
    const bool same = codes.empty() && shares.size() == 0;
    const auto add = [&](const double* row, double* out) {
        if (same)
            for (std::uint32_t c = 0; c < codes_of_block; ++c) out[c] += row[c];
        else if (shares.size() == 0) {
            for (std::uint32_t c = 0; c < codes_of_block; ++c)
                if (codes[c] != kNoCode) out[codes[c]] += row[c];
        } else
            for (std::uint32_t c = 0; c < codes_of_block; ++c)
                each_code(c, [&](std::uint32_t code, double share) {
                    out[code] += row[c] * (square ? share * share : share);
                });
    };
    if (sites != Sites::kInterval) {
        for (std::size_t s = 0; n_sites > 0 && s < sites_of_block; ++s)
            add(of_parts + s * codes_of_block, of_sites + site_for(s, map) * n_codes);
        return;
    }
    for (std::size_t begin = 0; begin < n_sites; ++begin) {
        scratch.assign(n_codes, 0.0);  // of the runs from here that reach at least so far
        for (std::size_t n = std::min(longest, n_sites - begin); n-- > 0;) {
            add(of_parts + (begin * longest + n) * codes_of_block, scratch.data());
            for (std::size_t c = 0; c < n_codes; ++c) of_sites[(begin + n) * n_codes + c] += scratch[c];
        }
    }
}

}  // namespace tw::linear
