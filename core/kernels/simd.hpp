// A pack of doubles: the compiler's vector types where it has them, a plain array elsewhere.
//
// TW_WIDTH (doubles in a pack) is set per instruction set by the build. Everything is in an unnamed namespace, so that
// code compiled for a wide instruction set can never be linked into the baseline copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

#ifndef TW_WIDTH
#define TW_WIDTH 2
#endif

#if defined(__GNUC__) || defined(__clang__)
#define TW_INLINE inline __attribute__((always_inline))
#define TW_INLINE_LAMBDA __attribute__((always_inline))
#else
#define TW_INLINE __forceinline
#define TW_INLINE_LAMBDA
#endif

namespace tw {
namespace {

constexpr std::size_t W = TW_WIDTH;
constexpr double kInfinity =
    std::numeric_limits<double>::infinity();  // a constant: nothing is instantiated at run time

#if defined(__GNUC__) || defined(__clang__)

typedef double Pack __attribute__((vector_size(W * 8)));
typedef std::int64_t Mask __attribute__((vector_size(W * 8)));

TW_INLINE Pack load(const double* p) {
    Pack v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
TW_INLINE void store(double* p, Pack v) { std::memcpy(p, &v, sizeof v); }
TW_INLINE Pack fill(double x) { return x - Pack{}; }
TW_INLINE Pack select(Mask m, Pack yes, Pack no) { return m ? yes : no; }
TW_INLINE Mask bits(Pack v) { return (Mask)v; }
TW_INLINE Pack from_bits(Mask m) { return (Pack)m; }

#else

struct Mask;
struct Pack {
    double lane[W];
};
struct Mask {
    std::int64_t lane[W];
};
#define TW_EACH(result, expression)                                        \
    do {                                                                   \
        for (std::size_t i = 0; i < W; ++i) result.lane[i] = (expression); \
    } while (0)
TW_INLINE Pack operator+(Pack a, Pack b) {
    Pack r;
    TW_EACH(r, a.lane[i] + b.lane[i]);
    return r;
}
TW_INLINE Pack operator-(Pack a, Pack b) {
    Pack r;
    TW_EACH(r, a.lane[i] - b.lane[i]);
    return r;
}
TW_INLINE Pack operator*(Pack a, Pack b) {
    Pack r;
    TW_EACH(r, a.lane[i] * b.lane[i]);
    return r;
}
TW_INLINE Mask operator<(Pack a, Pack b) {
    Mask r;
    TW_EACH(r, -(std::int64_t)(a.lane[i] < b.lane[i]));
    return r;
}
TW_INLINE Mask operator>(Pack a, Pack b) {
    Mask r;
    TW_EACH(r, -(std::int64_t)(a.lane[i] > b.lane[i]));
    return r;
}
TW_INLINE Mask operator==(Pack a, Pack b) {
    Mask r;
    TW_EACH(r, -(std::int64_t)(a.lane[i] == b.lane[i]));
    return r;
}
TW_INLINE Mask operator<=(Pack a, Pack b) {
    Mask r;
    TW_EACH(r, -(std::int64_t)(a.lane[i] <= b.lane[i]));
    return r;
}
TW_INLINE Mask operator&(Mask a, Mask b) {
    Mask r;
    TW_EACH(r, a.lane[i] & b.lane[i]);
    return r;
}
TW_INLINE Mask operator|(Mask a, Mask b) {
    Mask r;
    TW_EACH(r, a.lane[i] | b.lane[i]);
    return r;
}
TW_INLINE Mask operator~(Mask a) {
    Mask r;
    TW_EACH(r, ~a.lane[i]);
    return r;
}
TW_INLINE Mask operator+(Mask a, Mask b) {
    Mask r;
    TW_EACH(r, a.lane[i] + b.lane[i]);
    return r;
}
TW_INLINE Mask operator<<(Mask a, int n) {
    Mask r;
    TW_EACH(r, (std::int64_t)((std::uint64_t)a.lane[i] << n));
    return r;
}
TW_INLINE Pack load(const double* p) {
    Pack v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
TW_INLINE void store(double* p, Pack v) { std::memcpy(p, &v, sizeof v); }
TW_INLINE Pack fill(double x) {
    Pack r;
    TW_EACH(r, x);
    return r;
}
TW_INLINE Pack select(Mask m, Pack yes, Pack no) {
    Pack r;
    TW_EACH(r, m.lane[i] ? yes.lane[i] : no.lane[i]);
    return r;
}
TW_INLINE Mask bits(Pack v) {
    Mask r;
    std::memcpy(&r, &v, sizeof r);
    return r;
}
TW_INLINE Pack from_bits(Mask m) {
    Pack r;
    std::memcpy(&r, &m, sizeof r);
    return r;
}
#undef TW_EACH

#endif

// The first `n` < W entries; the rest of the pack is `rest`. Never reads past the end.
TW_INLINE Pack load_partial(const double* p, std::size_t n, double rest) {
#if defined(__AVX512F__)
    return (Pack)_mm512_mask_loadu_pd((__m512d)fill(rest), (__mmask8)((1u << n) - 1), p);
#else
    double lane[W];
    for (std::size_t i = 0; i < W; ++i) lane[i] = i < n ? p[i] : rest;
    return load(lane);
#endif
}

TW_INLINE void store_partial(double* p, std::size_t n, Pack v) {
#if defined(__AVX512F__)
    _mm512_mask_storeu_pd(p, (__mmask8)((1u << n) - 1), (__m512d)v);
#else
    double lane[W];
    store(lane, v);
    for (std::size_t i = 0; i < n; ++i) p[i] = lane[i];
#endif
}

TW_INLINE Pack maximum(Pack a, Pack b) {
#if defined(__AVX512F__)
    return (Pack)_mm512_max_pd((__m512d)a, (__m512d)b);
#elif defined(__AVX2__)
    return (Pack)_mm256_max_pd((__m256d)a, (__m256d)b);
#else
    return select(a > b, a, b);
#endif
}

TW_INLINE double reduce_max(Pack v) {
#if defined(__AVX512F__)
    return _mm512_reduce_max_pd((__m512d)v);
#else
    double lane[W];
    store(lane, v);
    double best = lane[0];
    for (std::size_t i = 1; i < W; ++i) best = lane[i] > best ? lane[i] : best;
    return best;
#endif
}

TW_INLINE double reduce_add(Pack v) {
#if defined(__AVX512F__)
    return _mm512_reduce_add_pd((__m512d)v);
#else
    double lane[W];
    store(lane, v);
    double total = 0.0;
    for (std::size_t i = 0; i < W; ++i) total += lane[i];
    return total;
#endif
}

TW_INLINE bool any(Mask m) {
#if defined(__AVX512F__)
    return _mm512_test_epi64_mask((__m512i)m, (__m512i)m) != 0;
#else
    std::int64_t lane[W], all = 0;
    std::memcpy(lane, &m, sizeof lane);
    for (std::size_t i = 0; i < W; ++i) all |= lane[i];
    return all != 0;
#endif
}

// Index of the first set lane, W when none is.
TW_INLINE std::size_t first(Mask m) {
#if defined(__AVX512F__)
    const unsigned set = _mm512_test_epi64_mask((__m512i)m, (__m512i)m);
    return set ? (std::size_t)__builtin_ctz(set) : W;
#else
    std::int64_t lane[W];
    std::memcpy(lane, &m, sizeof lane);
    std::size_t i = 0;
    while (i < W && !lane[i]) ++i;
    return i;
#endif
}

// e^x for x <= 0 (up to 700 is also right), within 2 units in the last place; 0 below -708, and for -inf.
// Range reduction by multiples of log 2 in two parts (Cody and Waite), then a polynomial on [-log 2 / 2, log 2 / 2].
TW_INLINE Pack exponential(Pack x) {
    const Mask vanishes = x < fill(-708.0);
    x = select(vanishes, fill(0.0), x);
    const Pack magic = fill(6755399441055744.0);  // 1.5 * 2^52: adding it rounds to an integer in the low bits
    const Pack shifted = x * fill(1.4426950408889634) + magic;
    const Pack n = shifted - magic;
    Pack r = x - n * fill(6.93147180369123816490e-01);
    r = r - n * fill(1.90821492927058770002e-10);
    // Taylor to degree 13, as two interleaved Horner chains (even and odd powers) to halve the latency.
    const Pack r2 = r * r;
    Pack even = fill(1.0 / 479001600.0);       // 1/12!
    Pack odd = fill(1.0 / 6227020800.0);       // 1/13!
    even = even * r2 + fill(1.0 / 3628800.0);  // 1/10!
    odd = odd * r2 + fill(1.0 / 39916800.0);   // 1/11!
    even = even * r2 + fill(1.0 / 40320.0);    // 1/8!
    odd = odd * r2 + fill(1.0 / 362880.0);     // 1/9!
    even = even * r2 + fill(1.0 / 720.0);      // 1/6!
    odd = odd * r2 + fill(1.0 / 5040.0);       // 1/7!
    even = even * r2 + fill(1.0 / 24.0);       // 1/4!
    odd = odd * r2 + fill(1.0 / 120.0);        // 1/5!
    even = even * r2 + fill(0.5);              // 1/2!
    odd = odd * r2 + fill(1.0 / 6.0);          // 1/3!
    const Pack tail = r + r2 * (even + r * odd);
    const Pack power = from_bits((bits(shifted) << 52) + bits(fill(1.0)));
    const Pack result = power * tail + power;
    return select(vanishes, fill(0.0), result);
}

}  // namespace
}  // namespace tw
