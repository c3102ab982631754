// Sums over all matchings of a solved problem, exactly: a dynamic program over the sets of bits that are taken, where
// bits are the fewer of rows and columns, and the others are steps.
//
//     g[t][S] = stay[t] g[t + 1][S] + sum over bits i not in S of  pair[t][i] g[t + 1][S + i]
//     g[steps][S] = product of rest[i] over bits i not in S              Z = g[0][nothing]
//
// Where all are matched, S has as many bits as there were steps, and one array of 2^n is enough: O(n 2^n) (Bellman 1962
// and Held & Karp 1962 for tours). Weights are exponentials of minus what a part loses against the best matching, so
// they are in [0, 1], Z is at least 1, and every term is positive: nothing overflows, what underflows is beyond
// rounding, nothing cancels. Ryser's (1963) formula has as many terms and alternating signs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "problem.hpp"

namespace tw::matching {

class SubsetSums {
public:
    // Whether sums over matchings of this size are within reach.
    static bool reaches(const Sizes& sizes);

    // Of a problem that is solved and has a size within reach, log Z relative to its total().
    double log_partition(const Problem& problem);
    // Then: the probability of each part.
    void marginals(const Problem& problem, std::span<double> out);
    double entropy(const Problem& problem);
    // A matching drawn from the distribution, or distinct ones.
    std::vector<Parts> sample(const Problem& problem, std::size_t n, bool distinct,
                              const std::function<double()>& draw);

private:
    void weigh(const Problem& problem);
    void fill_square();
    void fill_layers();
    std::size_t n_sets() const { return std::size_t{1} << n_bits_; }
    const double* layer(std::size_t t) const { return square_ ? g_.data() : g_.data() + t * n_sets(); }
    double weight(std::size_t t, std::size_t i) const { return pair_[t * n_bits_ + i]; }
    Parts parts_of(const Problem& problem, std::span<const std::uint32_t> choices) const;

    std::size_t n_bits_ = 0, n_steps_ = 0;
    bool rows_are_bits_ = true, square_ = false;
    std::vector<double> pair_, stay_, rest_, g_, f_, next_;
    std::vector<double> stays_;  // the probability that each step is unmatched
};

}  // namespace tw::matching
