// A sum over all sequences of a training set, made shard by shard, so that it does not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "../base/parallel.hpp"
#include "training_set.hpp"

namespace tw::chain {

// Calls visit(sequence, space, sums of the shard) for all sequences, with a Space for each shard; adds up the shards in
// their order into `out`, and returns the sum of what visit() returned.
template <class Space, class Visit>
double over_shards(const TrainingSet& set, std::span<double> out, std::size_t n_jobs, Visit visit) {
    const std::size_t n_shards = set.shards.size() - 1;
    std::vector<std::vector<double>> sums(n_shards);
    std::vector<double> losses(n_shards, 0.0);
    parallel_for(n_shards, n_jobs, [&](std::size_t shard, std::size_t) {
        sums[shard].assign(out.size(), 0.0);
        Space space;
        InterruptCheck check;
        for (std::size_t g = set.shards[shard]; g < set.shards[shard + 1]; ++g)
            for (std::size_t s = set.groups[g].first; s < set.groups[g].first + set.groups[g].size; ++s) {
                check();
                losses[shard] += visit(s, space, sums[shard].data());
            }
    });
    std::ranges::fill(out, 0.0);
    double total = 0.0;
    for (std::size_t shard = 0; shard < n_shards; ++shard) {
        total += losses[shard];
        for (std::size_t i = 0; i < out.size(); ++i) out[i] += sums[shard][i];
    }
    return total;
}

}  // namespace tw::chain
