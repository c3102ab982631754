// The semirings of Mančev 2015, Table 2.2, as types.
//
// A semiring has a value type, `zero` and `one`, `times`, `plus`, and `sum`, which adds a whole run of values at once:
// that is where an efficient reduction (one maximum and one logarithm for many values) replaces pairwise `plus`.
// `lift(score, from, to)` makes the local kernel u_t of eq. 2.28 from the score of an edge between two nodes.
// Recursions (hypergraph/recursions.hpp, kernels/) are templates over these types; no recursion is written twice.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "../kernels/kernels.hpp"

namespace tw {

inline constexpr double kLogZero = -std::numeric_limits<double>::infinity();

// What a semiring asks of its carrier beyond + and x. The kernels specialise it for packs of doubles (chain_steps.hpp),
// so the same semiring types run there on many values at once; hence also the inlining, which keeps code compiled for a
// wide instruction set out of what the linker may share.
template <class V>
struct Arithmetic {
    [[gnu::always_inline]] static V larger(V a, V b) noexcept { return a < b ? b : a; }
};

// (R, +, x, 0, 1): totals of exponentiated scores. Row 1.
struct SumProduct {
    using Value = double;
    static Value zero() noexcept { return 0.0; }
    static Value one() noexcept { return 1.0; }
    template <class V>
    [[gnu::always_inline]] static V plus(V a, V b) noexcept {
        return a + b;
    }
    template <class V>
    [[gnu::always_inline]] static V times(V a, V b) noexcept {
        return a * b;
    }
    static Value sum(std::span<const Value> values) noexcept {
        Value total = 0.0;
        for (const Value v : values) total += v;
        return total;
    }
    static Value lift(double score, std::size_t, std::size_t) noexcept { return std::exp(score); }
};

// ([0, 1], max, x, 0, 1): the probability of the best derivation. Row 2.
struct MaxProduct {
    using Value = double;
    static Value zero() noexcept { return 0.0; }
    static Value one() noexcept { return 1.0; }
    template <class V>
    [[gnu::always_inline]] static V plus(V a, V b) noexcept {
        return Arithmetic<V>::larger(a, b);
    }
    template <class V>
    [[gnu::always_inline]] static V times(V a, V b) noexcept {
        return a * b;
    }
    static Value sum(std::span<const Value> values) noexcept {
        Value best = 0.0;
        for (const Value v : values) best = plus(best, v);
        return best;
    }
    static Value lift(double score, std::size_t, std::size_t) noexcept { return std::exp(score); }
};

// (R*, max, +, -inf, 0): the score of the best derivation. Rows 3 and 4 (the cost changes the scores, not the
// semiring).
struct MaxPlus {
    using Value = double;
    static Value zero() noexcept { return kLogZero; }
    static Value one() noexcept { return 0.0; }
    template <class V>
    [[gnu::always_inline]] static V plus(V a, V b) noexcept {
        return Arithmetic<V>::larger(a, b);
    }
    template <class V>
    [[gnu::always_inline]] static V times(V a, V b) noexcept {
        return a + b;
    }
    static Value sum(std::span<const Value> values) noexcept {
        Value best = kLogZero;
        for (const Value v : values) best = plus(best, v);
        return best;
    }
    static Value lift(double score, std::size_t, std::size_t) noexcept { return score; }
};

// (R*, log(e^a + e^b), +, -inf, 0): sum-product that cannot underflow. Row 6, eq. 2.48-2.49.
struct LogSum {
    using Value = double;
    static Value zero() noexcept { return kLogZero; }
    static Value one() noexcept { return 0.0; }
    static Value plus(Value a, Value b) noexcept {  // eq. 2.56, the smaller exponent
        if (a < b) std::swap(a, b);
        return b == kLogZero ? a : a + std::log1p(std::exp(b - a));
    }
    static Value times(Value a, Value b) noexcept { return a + b; }
    static Value sum(std::span<const Value> values) noexcept {
        return kernels().log_sum_exp(values.data(), values.size());
    }
    static Value lift(double score, std::size_t, std::size_t) noexcept { return score; }
};

// (R*^k, k-max, k-max of sums, -inf, 0): the scores of the k best derivations. Row 5. A value is a list of at most k
// scores, best first; the trailing -inf of Mančev's fixed-length vectors are left out.
struct KBest {
    using Value = std::vector<double>;
    std::size_t k;

    Value zero() const { return {}; }
    Value one() const { return {0.0}; }
    Value plus(const Value& a, const Value& b) const {
        Value both(a.size() + b.size());
        std::merge(a.begin(), a.end(), b.begin(), b.end(), both.begin(), std::greater<>{});
        both.resize(std::min(both.size(), k));
        return both;
    }
    Value times(const Value& a, const Value& b) const {
        Value all;
        all.reserve(a.size() * b.size());
        for (const double x : a)
            for (const double y : b) all.push_back(x + y);
        std::sort(all.begin(), all.end(), std::greater<>{});
        all.resize(std::min(all.size(), k));
        return all;
    }
    Value sum(std::span<const Value> values) const {
        Value total;
        for (const Value& v : values) total = plus(total, v);
        return total;
    }
    Value lift(double score, std::size_t, std::size_t) const { return score == kLogZero ? Value{} : Value{score}; }
};

}  // namespace tw
