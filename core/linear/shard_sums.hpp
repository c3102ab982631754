// Sums over all examples by weight, the same to the last bit for any number of threads.
//
//     examples    [shard 0 .......][shard 1 ......] ...          cut by the data alone
//     sums        [units of shard 0][units of shard 1] ...       a row for each unit that occurs in the shard, and no
//                                                                other; kept from one pass to the next
// A shard is summed up by one thread. The rows of a unit are added up in the order of the shards.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../base/huge_pages.hpp"
#include "../base/parallel.hpp"
#include "features.hpp"

namespace tw::linear {

class ShardSums {
public:
    class Shard {
    public:
        struct Rows {
            double* sums;
            const std::uint32_t* at;
            double* operator()(std::uint32_t unit, std::uint32_t) const { return sums + at[unit]; }
            void fetch(std::uint32_t unit) const { fetch_to_read(at + unit); }
        };
        Rows rows(std::size_t channel) { return {sums_.data(), at_[channel].data()}; }
        double& added(std::uint32_t weight) { return added_[weight - n_own_]; }

    private:
        friend class ShardSums;
        std::size_t first_ = 0, last_ = 0, n_own_ = 0;  // examples; weights that are not added
        std::vector<std::vector<std::uint32_t>> at_;    // by channel and unit, or kNone
        LargeArray<double> sums_;
        std::vector<double> added_;
        double total_ = 0.0;
    };

    ShardSums(const Features& features, std::size_t n_examples);

    // visit(example, shard, space) for all examples, with a space for each shard. Overwrites `out`; returns the sum of
    // what visit() returned.
    template <class Space, class Visit>
    double operator()(std::span<double> out, std::size_t n_jobs, Visit visit) {
        parallel_for(shards_.size(), n_jobs, [&](std::size_t s, std::size_t) {
            Shard& shard = shards_[s];
            std::ranges::fill(shard.sums_, 0.0);
            shard.added_.assign(out.size() - shard.n_own_, 0.0);
            shard.total_ = 0.0;
            Space space;
            InterruptCheck check;
            for (std::size_t example = shard.first_; example < shard.last_; ++example) {
                check();
                shard.total_ += visit(example, shard, space);
            }
        });
        return add_up(out, n_jobs);
    }

private:
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};
    void lay_out(Shard& shard) const;
    double add_up(std::span<double> out, std::size_t n_jobs) const;

    const Features& features_;
    std::vector<Shard> shards_;
};

}  // namespace tw::linear
