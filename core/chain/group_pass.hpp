// What passes over all groups of a training set have in common, however weights and sums lie (row_pass.hpp,
// block_pass.hpp):
//
//     weights --lay out--> rows --gather--> scores of a group --forward, backward--> probabilities --scatter--> rows of
//     sums
//                                                                                    rows of sums --collect--> gradient
//
// Groups belong to shards, which the data alone decides. What is before and after them is cut into chunks of about
// equal work, whose number is fixed, too: so results do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../base/interrupt.hpp"
#include "../kernels/training.hpp"
#include "group_runner.hpp"
#include "training_set.hpp"

namespace tw::chain {

inline constexpr std::size_t kTokensAhead = 4096;  // whose lists are read from a file before they are needed
inline constexpr std::size_t kChunks = 16;         // pieces of the work before and after the groups

enum class Wanted { kGradient, kCurvature };

// Where each of kChunks chunks of the numbers 0 .. n - 1 begins, and n.
template <class Work>
std::vector<std::size_t> equal_chunks(std::size_t n, Work work) {
    std::vector<std::size_t> chunks;
    std::size_t total = 0, done = 0;
    for (std::size_t i = 0; i < n; ++i) total += work(i);
    for (std::size_t i = 0; i < n; ++i) {
        while (chunks.size() * total <= done * kChunks) chunks.push_back(i);
        done += work(i);
    }
    chunks.resize(kChunks, n);
    chunks.push_back(n);
    return chunks;
}

// The gradient of a weight, or the curvature, from what the tokens of its unit add up to; `less` is what gold has.
inline double collected(const TrainingSet& set, std::size_t unit, double sum, double less, Wanted wanted) {
    return wanted == Wanted::kGradient ? set.factor(unit) * sum - less
                                       : static_cast<double>(set.units.n_members[unit]) * sum;
}

// Goes over the groups of a shard: gather(first token, tokens, scores), scatter(first token, tokens, probabilities).
template <class Real, class Layout, template <class> class Runner, class Gather, class Scatter>
void run_shard(const TrainingSet& set, const Layout& layout, std::size_t shard, Runner<Real>& runner, GroupSums& sums,
               Gather gather, Scatter scatter) {
    std::uint32_t sequences[kSideBySide];
    InterruptCheck check;
    Touches touched(set.storage);
    std::size_t ahead = set.first_token(set.shards[shard]);
    const std::size_t last = set.first_token(set.shards[shard + 1]);
    for (std::size_t g = set.shards[shard]; g < set.shards[shard + 1]; ++g) {
        check();
        if (set.storage && set.first_token(g) + kTokensAhead > ahead && ahead < last) {
            const std::size_t end = std::min(ahead + kTokensAhead, last);
            layout.read_ahead(ahead, end);
            ahead = end;
        }
        const Group group = set.groups[g];
        for (std::uint32_t n = 0; n < group.size; ++n) sequences[n] = group.first + n;
        const std::span<const std::uint32_t> members(sequences, group.size);
        const std::size_t begin = set.starts[group.first];
        const std::size_t tokens = set.starts[group.first + group.size] - begin;
        Real* const local = runner.local(tokens);
        if (set.storage) touched(layout.bytes(begin, begin + tokens) + 2 * tokens * sizeof(Real));
        gather(begin, tokens, local);
        if (!runner.run(members, local, sums)) {
            gather(begin, tokens, local);
            runner.run_carefully(members, local, sums);
        }
        if (sums.want_squares)
            for (const std::uint32_t s : members)
                training_loops<Real>().variances(local + (set.starts[s] - begin) * runner.stride(),
                                                 set.length(s) * runner.stride(), set.weight(s));
        scatter(begin, tokens, local);
    }
}

}  // namespace tw::chain
