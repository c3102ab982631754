// Sums over examples that are the same to the last bit for any number of threads: the examples are cut into shards by
// their number alone, and the shards are added up in their order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "parallel.hpp"

namespace tw {

// `make()` gives each shard a visitor of its own, with scratch space if it needs any; visitor(example, sums) adds to
// the sums and returns a number. `sums` is overwritten; the numbers' total is returned.
template <class Make>
double sum_over_shards(std::size_t n_examples, std::span<double> sums, std::size_t n_jobs, Make make) {
    constexpr std::size_t kShards = 8, kWorthAShard = 64;  // with fewer examples a thread costs more than it saves
    const std::size_t n_shards = std::clamp(n_examples / kWorthAShard, std::size_t{1}, kShards);
    std::vector<std::vector<double>> of_shard(n_shards);
    std::vector<double> numbers(n_shards, 0.0);
    parallel_for(n_shards, n_jobs, [&](std::size_t shard, std::size_t) {
        of_shard[shard].assign(sums.size(), 0.0);
        auto visit = make();
        InterruptCheck check;
        const std::size_t end = (shard + 1) * n_examples / n_shards;
        for (std::size_t example = shard * n_examples / n_shards; example < end; ++example) {
            check();
            numbers[shard] += visit(example, of_shard[shard].data());
        }
    });
    std::fill(sums.begin(), sums.end(), 0.0);
    double total = 0.0;
    for (std::size_t shard = 0; shard < n_shards; ++shard) {
        total += numbers[shard];
        for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += of_shard[shard][j];
    }
    return total;
}

}  // namespace tw
