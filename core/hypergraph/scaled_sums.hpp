// Sums over derivations without logarithms: every number is a fraction times a power of two, so nothing over- or
// underflows, and a node costs multiplications only.
//
//     part   exp(score) = fraction 2^exponent, once a part        node   inside = fraction 2^exponent, fraction in [1,
//     2)
//
// A power of two is split off a score exactly as long as the score is not large; beyond kLargest the recursions in
// logarithms have to answer.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "recursions.hpp"

namespace tw::hypergraph {

class ScaledSums {
public:
    static constexpr double kLargest = 5e5;  // 2^19 log 2 is 3.6e5: products with 33 bits of log 2 are exact

    // False when a score is too large: then nothing is known.
    bool read(const PartScores& scores) {
        const std::size_t n = scores.scores.size();
        const double* given = scores.masked(masked_);
        constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to a whole number
        fraction_.resize(n);
        exponent_.resize(n);
        bool small = true;
        for (std::size_t i = 0; i < n; ++i) {
            const double score = given[i] == kLogZero ? 0.0 : given[i];
            small = small && std::abs(score) <= kLargest;
            const double whole = (score * 1.4426950408889634 + kRound) - kRound;
            exponent_[i] = static_cast<std::int32_t>(small ? whole : 0.0);
            fraction_[i] = given[i] == kLogZero
                               ? kLogZero
                               : score - whole * 6.93147180369123816490e-01 - whole * 1.90821492927058770002e-10;
        }
        kernels().exponentials(fraction_.data(), n, fraction_.data());
        return small;
    }

    // The log of the sum over all derivations.
    template <class Program>
    double inside(const Program& program) {
        in_.resize(program.n_nodes());
        InterruptCheck check;
        for (std::size_t v = 0; v < program.n_nodes(); ++v) {
            check();
            Number total{0.0, 0};
            program.incoming(v, [&](auto weight, auto... tails) {
                const Number term = product(weight, tails...);
                if (term.fraction == 0.0) return;  // its exponent means nothing
                const std::int64_t more = term.exponent - total.exponent;
                if (total.fraction == 0.0)
                    total = term;
                else if (more <= kFar)
                    total.fraction += term.fraction * power_of_two(more);
                else
                    total = {term.fraction + total.fraction * power_of_two(-more), term.exponent};
            });
            const Part part = part_of(program, v);
            in_[v] = normal(part == kNoPart ? total : times(total, of(part)));
        }
        const Number goal = in_.back();
        if (goal.fraction == 0.0) return kLogZero;
        return static_cast<double>(goal.exponent) * 0.69314718055994530942 + std::log(goal.fraction);
    }

    // Calls met(part, p) for every node and edge that has a part, with its probability. P(v) flows from the goal to
    // tails over p(edge | v), quotients of inside values: nothing is subtracted.
    template <class Program, class Met>
    void posteriors(const Program& program, Met met) {
        probability_.assign(program.n_nodes(), 0.0);
        probability_.back() = 1.0;
        InterruptCheck check;
        for (std::size_t v = program.n_nodes(); v-- > 0;) {
            check();
            const double here = probability_[v];
            if (here == 0.0) continue;
            const Part part = part_of(program, v);
            if (part != kNoPart) met(part, here);
            const Number own = part == kNoPart ? Number{1.0, 0} : of(part);
            const double share = here * own.fraction / in_[v].fraction;
            const std::int64_t exponent = own.exponent - in_[v].exponent;
            program.incoming(v, [&](auto weight, auto... tails) {
                const Number term = product(weight, tails...);
                if (term.fraction == 0.0) return;  // its exponent means nothing
                const double p = share * term.fraction * power_of_two(term.exponent + exponent);
                if (p == 0.0) return;
                ((probability_[tails] += p), ...);
                if (weight != kNoPart) met(weight, p);
            });
        }
    }

private:
    struct Number {
        double fraction;
        std::int64_t exponent;
    };
    static constexpr std::int64_t kFar = 900;

    Number of(Part part) const { return {fraction_[part], exponent_[part]}; }
    static Number times(const Number& a, const Number& b) { return {a.fraction * b.fraction, a.exponent + b.exponent}; }
    template <class... Tails>
    Number product(Part weight, Tails... tails) const {
        Number out = weight == kNoPart ? Number{1.0, 0} : of(weight);
        ((out = times(out, in_[tails])), ...);
        return out;
    }
    static double power_of_two(std::int64_t n) {  // up to 1023; what is too small to matter is zero
        return n < -1000 ? 0.0 : std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52);
    }
    static Number normal(const Number& x) {  // by the bits of the number, which is positive and not subnormal
        if (x.fraction == 0.0) return {0.0, 0};
        const auto bits = std::bit_cast<std::uint64_t>(x.fraction);
        const std::uint64_t one = std::uint64_t{1023} << 52, digits = (std::uint64_t{1} << 52) - 1;
        return {std::bit_cast<double>((bits & digits) | one),
                x.exponent + static_cast<std::int64_t>(bits >> 52) - 1023};
    }

    std::vector<double> masked_, fraction_, probability_;
    std::vector<std::int64_t> exponent_;
    std::vector<Number> in_;
};

}  // namespace tw::hypergraph
