#include "channel.hpp"

#include <algorithm>
#include <stdexcept>

namespace tw::linear {

void Channel::check(std::size_t example, const Block& to) const {
    const std::size_t n = n_sites(example);
    const std::size_t wanted = sites == Sites::kEach ? to.n_sites : sites == Sites::kTied ? 1 : to.n_sites / longest;
    if (n != wanted)
        throw std::invalid_argument("channel " + name + " has " + std::to_string(n) + " sites in example " +
                                    std::to_string(example) + ", but block " + to.name + " needs " +
                                    std::to_string(wanted));
    if (codes.empty() ? n_codes != to.n_codes : codes.size() != to.n_codes)
        throw std::invalid_argument("channel " + name + " has codes for another number than block " + to.name);
}

// visit(site of the channel, site of the block) for channels of one site each, or of one for all.
template <class Visit>
void Channel::each_pair(std::size_t n_sites, const Block& to, Visit visit) const {
    if (n_sites == 0) return;
    for (std::size_t s = 0; s < to.n_sites; ++s) visit(sites == Sites::kTied ? 0 : s, s);
}

void Channel::spread(const double* of_sites, std::size_t n_sites, const Block& to, double* of_parts) const {
    const auto add = [&](const double* from, double* row) {
        if (codes.empty())
            for (std::size_t c = 0; c < to.n_codes; ++c) row[c] += from[c];
        else
            for (std::size_t c = 0; c < to.n_codes; ++c)
                if (codes[c] != kNoCode) row[c] += from[codes[c]];
    };
    if (sites != Sites::kInterval) {
        each_pair(n_sites, to,
                  [&](std::size_t from, std::size_t s) { add(of_sites + from * n_codes, of_parts + s * to.n_codes); });
        return;
    }
    std::vector<double> sum(n_codes);
    for (std::size_t begin = 0; begin < n_sites; ++begin) {
        std::ranges::fill(sum, 0.0);
        for (std::size_t n = 0; n < longest && begin + n < n_sites; ++n) {
            for (std::size_t c = 0; c < n_codes; ++c) sum[c] += of_sites[(begin + n) * n_codes + c];
            add(sum.data(), of_parts + (begin * longest + n) * to.n_codes);
        }
    }
}

void Channel::gather(const double* of_parts, const Block& to, std::size_t n_sites, double* of_sites) const {
    std::fill_n(of_sites, n_sites * n_codes, 0.0);
    const auto add = [&](const double* row, double* out) {
        if (codes.empty())
            for (std::size_t c = 0; c < to.n_codes; ++c) out[c] += row[c];
        else
            for (std::size_t c = 0; c < to.n_codes; ++c)
                if (codes[c] != kNoCode) out[codes[c]] += row[c];
    };
    if (sites != Sites::kInterval) {
        each_pair(n_sites, to,
                  [&](std::size_t from, std::size_t s) { add(of_parts + s * to.n_codes, of_sites + from * n_codes); });
        return;
    }
    std::vector<double> sum(n_codes);  // of the runs from here that reach at least so far
    for (std::size_t begin = 0; begin < n_sites; ++begin) {
        std::ranges::fill(sum, 0.0);
        for (std::size_t n = std::min(longest, n_sites - begin); n-- > 0;) {
            add(of_parts + (begin * longest + n) * to.n_codes, sum.data());
            for (std::size_t c = 0; c < n_codes; ++c) of_sites[(begin + n) * n_codes + c] += sum[c];
        }
    }
}

}  // namespace tw::linear
