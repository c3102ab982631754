// What passes over all groups of a training set have in common, however weights and sums lie (row_pass.hpp,
// block_pass.hpp):
//
//     weights --lay out--> rows --gather--> scores of a group --forward, backward--> probabilities --scatter--> rows of
//     sums
//                                                                                    rows of sums --collect--> gradient
//
// Two groups of four sequences that follow each other go through the recursions together where that is faster; each is
// gathered and scattered by itself, and each is done again by itself where a precision does not suffice. The groups of
// a shard come longest first, and so do the sequences of two of them.
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

// What is multiplied with the sum over the tokens of a unit, for the gradient of its weights or the curvature.
inline double scale_of_sums(const TrainingSet& set, std::size_t unit, Wanted wanted) {
    return wanted == Wanted::kGradient ? set.factor(unit) : static_cast<double>(set.units.n_members[unit]);
}
// The gradient, or the curvature, from that; `less` is what gold has.
inline double collected(double sum, double less, Wanted wanted) {
    return wanted == Wanted::kGradient ? sum - less : sum;
}

// Goes over the groups of a shard, one or two at a time: gather(first token, tokens, scores), scatter(first token,
// tokens, probabilities).
template <class Real, class Layout, template <class> class Runner, class Gather, class Scatter>
void run_shard(const TrainingSet& set, const Layout& layout, std::size_t shard, Runner<Real>& runner, GroupSums& sums,
               Gather gather, Scatter scatter) {
    std::uint32_t sequences[kMostTogether];
    InterruptCheck check;
    Touches touched(set.storage);
    std::size_t ahead = set.first_token(set.shards[shard]);
    const std::size_t last_group = set.shards[shard + 1], last = set.first_token(last_group);
    for (std::size_t g = set.shards[shard], next; g < last_group; g = next) {
        check();
        if (set.storage && set.first_token(g) + kTokensAhead > ahead && ahead < last) {
            const std::size_t end = std::min(ahead + kTokensAhead, last);
            layout.read_ahead(ahead, end);
            ahead = end;
        }
        const bool pair = runner.takes_pairs() && g + 1 < last_group &&
                          set.groups[g].size + set.groups[g + 1].size == 2 * kSideBySide;
        next = g + 1 + pair;
        const std::size_t first = set.first_sequence(g), count = set.groups[g].size + (pair ? kSideBySide : 0);
        for (std::size_t n = 0; n < count; ++n) sequences[n] = static_cast<std::uint32_t>(first + n);
        const std::span<const std::uint32_t> members(sequences, count);
        const std::size_t begin = set.starts[first];
        const auto offset = [&](std::size_t token) { return (token - begin) * runner.stride(); };
        const std::size_t tokens = set.starts[first + count] - begin;
        Real* const local = runner.local(tokens);
        if (set.storage) touched(layout.bytes(begin, begin + tokens) + 2 * tokens * sizeof(Real));
        // Calls visit(first token, tokens, rows, sequences) for each group.
        const auto each_group = [&](auto visit) {
            for (std::size_t i = g; i < next; ++i) {
                const std::size_t from = set.first_token(i);
                visit(from, set.starts[set.groups[i].first + set.groups[i].size] - from, local + offset(from),
                      members.subspan(set.groups[i].first - first, set.groups[i].size));
            }
        };
        each_group([&](std::size_t from, std::size_t n, Real* rows, auto) { gather(from, n, rows); });
        if (!runner.run(members, local, sums)) {
            each_group([&](std::size_t from, std::size_t n, Real* rows, std::span<const std::uint32_t> of_group) {
                gather(from, n, rows);
                if (pair && runner.run(of_group, rows, sums)) return;
                if (pair) gather(from, n, rows);
                runner.run_carefully(of_group, rows, sums);
            });
        }
        if (sums.want_squares)
            for (const std::uint32_t s : members)
                training_loops<Real>().variances(local + offset(set.starts[s]), set.length(s) * runner.stride(),
                                                 set.weight(s));
        each_group([&](std::size_t from, std::size_t n, const Real* rows, auto) { scatter(from, n, rows); });
    }
}

}  // namespace tw::chain
