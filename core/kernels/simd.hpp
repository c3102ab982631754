// Packs of doubles and of floats: the compiler's vector types where it has them, plain arrays elsewhere. What is there
// for both has the same name; `Lanes` is for loops that run in either precision.
//
// TW_WIDTH (doubles in a pack; twice as many floats) is set per instruction set by the build. Everything is in an
// unnamed namespace, so that code compiled for a wide instruction set can never be linked into the baseline copy.
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

constexpr std::size_t W = TW_WIDTH, kFloats = 2 * W;
constexpr double kInfinity =
    std::numeric_limits<double>::infinity();  // a constant: nothing is instantiated at run time

#if defined(__GNUC__) || defined(__clang__)

typedef double Pack __attribute__((vector_size(W * 8)));
typedef std::int64_t Mask __attribute__((vector_size(W * 8)));   // all bits of a lane, or none
typedef std::uint64_t Word __attribute__((vector_size(W * 8)));  // the representation of a pack
typedef float FloatPack __attribute__((vector_size(kFloats * 4)));
typedef std::int32_t FloatMask __attribute__((vector_size(kFloats * 4)));
typedef std::uint32_t FloatWord __attribute__((vector_size(kFloats * 4)));

TW_INLINE Pack fill(double x) { return x - Pack{}; }
TW_INLINE FloatPack fill(float x) { return x - FloatPack{}; }
TW_INLINE Pack select(Mask m, Pack yes, Pack no) { return m ? yes : no; }
TW_INLINE FloatPack select(FloatMask m, FloatPack yes, FloatPack no) { return m ? yes : no; }
TW_INLINE Word bits(Pack v) { return (Word)v; }
TW_INLINE FloatWord bits(FloatPack v) { return (FloatWord)v; }
TW_INLINE Pack from_bits(Word w) { return (Pack)w; }
TW_INLINE FloatPack from_bits(FloatWord w) { return (FloatPack)w; }

#else

template <class T, class M, std::size_t N>  // numbers, and what a comparison of them gives
struct Array {
    T lane[N];
};
using Pack = Array<double, std::int64_t, W>;
using Mask = Array<std::int64_t, std::int64_t, W>;
using Word = Array<std::uint64_t, std::int64_t, W>;
using FloatPack = Array<float, std::int32_t, kFloats>;
using FloatMask = Array<std::int32_t, std::int32_t, kFloats>;
using FloatWord = Array<std::uint32_t, std::int32_t, kFloats>;

#define TW_EACH(Result, signature, expression)                        \
    template <class T, class M, std::size_t N>                        \
    TW_INLINE Array<Result, M, N> signature {                         \
        Array<Result, M, N> r;                                        \
        for (std::size_t i = 0; i < N; ++i) r.lane[i] = (expression); \
        return r;                                                     \
    }
#define TW_ARRAY Array<T, M, N>
TW_EACH(T, operator+(TW_ARRAY a, TW_ARRAY b), a.lane[i] + b.lane[i])
TW_EACH(T, operator-(TW_ARRAY a, TW_ARRAY b), a.lane[i] - b.lane[i])
TW_EACH(T, operator*(TW_ARRAY a, TW_ARRAY b), a.lane[i] * b.lane[i])
TW_EACH(T, operator&(TW_ARRAY a, TW_ARRAY b), a.lane[i] & b.lane[i])
TW_EACH(T, operator|(TW_ARRAY a, TW_ARRAY b), a.lane[i] | b.lane[i])
TW_EACH(T, operator~(TW_ARRAY a), ~a.lane[i])
TW_EACH(T, operator<<(TW_ARRAY a, int n), a.lane[i] << n)
TW_EACH(M, operator<(TW_ARRAY a, TW_ARRAY b), -(M)(a.lane[i] < b.lane[i]))
TW_EACH(M, operator>(TW_ARRAY a, TW_ARRAY b), -(M)(a.lane[i] > b.lane[i]))
TW_EACH(M, operator<=(TW_ARRAY a, TW_ARRAY b), -(M)(a.lane[i] <= b.lane[i]))
TW_EACH(M, operator==(TW_ARRAY a, TW_ARRAY b), -(M)(a.lane[i] == b.lane[i]))
#undef TW_ARRAY
#undef TW_EACH

template <class V, class Real>
TW_INLINE V filled(Real x) {
    V r;
    for (Real& lane : r.lane) lane = x;
    return r;
}
TW_INLINE Pack fill(double x) { return filled<Pack>(x); }
TW_INLINE FloatPack fill(float x) { return filled<FloatPack>(x); }

template <class T, class M, std::size_t N>
TW_INLINE Array<T, M, N> select(Array<M, M, N> m, Array<T, M, N> yes, Array<T, M, N> no) {
    for (std::size_t i = 0; i < N; ++i) yes.lane[i] = m.lane[i] ? yes.lane[i] : no.lane[i];
    return yes;
}

template <class To, class From>
TW_INLINE To same_bits(From from) {
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}
TW_INLINE Word bits(Pack v) { return same_bits<Word>(v); }
TW_INLINE FloatWord bits(FloatPack v) { return same_bits<FloatWord>(v); }
TW_INLINE Pack from_bits(Word w) { return same_bits<Pack>(w); }
TW_INLINE FloatPack from_bits(FloatWord w) { return same_bits<FloatPack>(w); }

#endif

TW_INLINE Pack load(const double* p) {
    Pack v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
TW_INLINE FloatPack load(const float* p) {
    FloatPack v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
TW_INLINE void store(double* p, Pack v) { std::memcpy(p, &v, sizeof v); }
TW_INLINE void store(float* p, FloatPack v) { std::memcpy(p, &v, sizeof v); }

// Calls f(Index<0>), ..., f(Index<N - 1>): a loop that is unrolled before anything else happens, so that arrays indexed
// in it live in registers. (A loop that the optimiser unrolls later leaves them in memory.)
template <std::size_t I>
struct Index {
    static constexpr std::size_t value = I;
};
template <std::size_t N, std::size_t I = 0, class F>
TW_INLINE void unrolled(F f) {
    if constexpr (I < N) {
        f(Index<I>{});
        unrolled<N, I + 1>(f);
    }
}

// Consecutive entries put where the lowest W bits are set, zeros elsewhere. Reads no more than there are bits.
TW_INLINE Pack load_expanded(const double* p, std::uint64_t bits) {
#if defined(__AVX512F__)
    return (Pack)_mm512_maskz_expandloadu_pd((__mmask8)bits, p);
#else
    double lane[W];
    for (std::size_t i = 0; i < W; ++i) lane[i] = bits >> i & 1 ? *p++ : 0.0;
    return load(lane);
#endif
}
TW_INLINE FloatPack load_expanded(const float* p, std::uint64_t bits) {
#if defined(__AVX512F__)
    return (FloatPack)_mm512_maskz_expandloadu_ps((__mmask16)bits, p);
#else
    float lane[kFloats];
    for (std::size_t i = 0; i < kFloats; ++i) lane[i] = bits >> i & 1 ? *p++ : 0.0f;
    return load(lane);
#endif
}

// The same where a whole pack can be read.
TW_INLINE Pack load_all_expanded(const double* p, std::uint64_t bits) {
#if defined(__AVX512F__)
    return (Pack)_mm512_maskz_expand_pd((__mmask8)bits, _mm512_loadu_pd(p));
#else
    return load_expanded(p, bits);
#endif
}
TW_INLINE FloatPack load_all_expanded(const float* p, std::uint64_t bits) {
#if defined(__AVX512F__)
    return (FloatPack)_mm512_maskz_expand_ps((__mmask16)bits, _mm512_loadu_ps(p));
#else
    return load_expanded(p, bits);
#endif
}

// Numbers of single precision as a pack of doubles.
TW_INLINE Pack load_wide(const float* p) {
#if defined(__AVX512F__)
    return (Pack)_mm512_cvtps_pd(_mm256_loadu_ps(p));
#elif defined(__AVX2__)
    return (Pack)_mm256_cvtps_pd(_mm_loadu_ps(p));
#else
    double lane[W];
    for (std::size_t i = 0; i < W; ++i) lane[i] = p[i];
    return load(lane);
#endif
}

// Numbers of double precision, rounded to a pack of floats.
TW_INLINE FloatPack load_rounded(const double* p) {
#if defined(__AVX512F__)
    const __m512 low = _mm512_castps256_ps512(_mm512_cvtpd_ps(_mm512_loadu_pd(p)));
    return (FloatPack)_mm512_insertf32x8(low, _mm512_cvtpd_ps(_mm512_loadu_pd(p + W)), 1);
#elif defined(__AVX2__)
    return (FloatPack)_mm256_set_m128(_mm256_cvtpd_ps(_mm256_loadu_pd(p + W)), _mm256_cvtpd_ps(_mm256_loadu_pd(p)));
#else
    float lane[kFloats];
    for (std::size_t i = 0; i < kFloats; ++i) lane[i] = (float)p[i];
    return load(lane);
#endif
}

// The first `n` entries, fewer than a pack; the rest of the pack is `rest`. Never reads past the end.
TW_INLINE Pack load_partial(const double* p, std::size_t n, double rest) {
#if defined(__AVX512F__)
    return (Pack)_mm512_mask_loadu_pd((__m512d)fill(rest), (__mmask8)((1u << n) - 1), p);
#else
    double lane[W];
    for (std::size_t i = 0; i < W; ++i) lane[i] = i < n ? p[i] : rest;
    return load(lane);
#endif
}

TW_INLINE FloatPack load_partial(const float* p, std::size_t n, float rest) {
#if defined(__AVX512F__)
    return (FloatPack)_mm512_mask_loadu_ps((__m512)fill(rest), (__mmask16)((1u << n) - 1), p);
#else
    float lane[kFloats];
    for (std::size_t i = 0; i < kFloats; ++i) lane[i] = i < n ? p[i] : rest;
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

TW_INLINE FloatPack maximum(FloatPack a, FloatPack b) {
#if defined(__AVX512F__)
    return (FloatPack)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
    return (FloatPack)_mm256_max_ps((__m256)a, (__m256)b);
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

TW_INLINE float reduce_max(FloatPack v) {
#if defined(__AVX512F__)
    return _mm512_reduce_max_ps((__m512)v);
#else
    float lane[kFloats];
    store(lane, v);
    float best = lane[0];
    for (std::size_t i = 1; i < kFloats; ++i) best = lane[i] > best ? lane[i] : best;
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

TW_INLINE float reduce_add(FloatPack v) {
#if defined(__AVX512F__)
    return _mm512_reduce_add_ps((__m512)v);
#else
    float lane[kFloats];
    store(lane, v);
    float total = 0.0f;
    for (std::size_t i = 0; i < kFloats; ++i) total += lane[i];
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

TW_INLINE void prefetch(const void* p) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(p);
#else
    (void)p;
#endif
}

TW_INLINE std::size_t lowest_bit(std::uint64_t set) {
#if defined(__GNUC__) || defined(__clang__)
    return (std::size_t)__builtin_ctzll(set);
#else
    std::size_t i = 0;
    while (!(set & 1)) set >>= 1, ++i;
    return i;
#endif
}

// One bit per lane where the two are equal, the first lane lowest.
TW_INLINE std::uint64_t equal_bits(Pack a, Pack b) {
#if defined(__AVX512F__)
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_EQ_OQ);
#elif defined(__AVX2__)
    return (std::uint64_t)(unsigned)_mm256_movemask_pd(_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_EQ_OQ));
#else
    std::int64_t lane[W];
    const Mask equal = a == b;
    std::memcpy(lane, &equal, sizeof lane);
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < W; ++i) found |= (std::uint64_t)(lane[i] & 1) << i;
    return found;
#endif
}
TW_INLINE std::uint64_t equal_bits(FloatPack a, FloatPack b) {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_EQ_OQ);
#elif defined(__AVX2__)
    return (std::uint64_t)(unsigned)_mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_EQ_OQ));
#else
    std::int32_t lane[kFloats];
    const FloatMask equal = a == b;
    std::memcpy(lane, &equal, sizeof lane);
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < kFloats; ++i) found |= (std::uint64_t)(lane[i] & 1) << i;
    return found;
#endif
}

// One bit per lane where the first is at least the second, and neither is NaN.
TW_INLINE std::uint64_t at_least_bits(FloatPack a, FloatPack b) {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GE_OQ);
#elif defined(__AVX2__)
    return (std::uint64_t)(unsigned)_mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_GE_OQ));
#else
    float first[kFloats], second[kFloats];
    store(first, a);
    store(second, b);
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < kFloats; ++i) found |= (std::uint64_t)(first[i] >= second[i]) << i;
    return found;
#endif
}

// e^x for x <= 0 (up to 700 is also right), within 4 units in the last place; 0 where x `vanishes`, which must include
// all x below -708. Range reduction by multiples of log 2 / 2^k in two parts (Cody and Waite), a polynomial on what is
// left. What becomes of an x that vanishes on the way does not matter: the last step puts zero there.
TW_INLINE Pack exponential_unless(Mask vanishes, Pack x) {
    const Pack magic = fill(6755399441055744.0);  // 1.5 * 2^52: adding it rounds to an integer in the low bits
#if defined(__AVX512F__)
    // Sixteenths of log 2, their powers from a table in two registers: |r| < 0.022, and degree 6 is enough.
    const Pack shifted = x * fill(16 * 1.4426950408889634) + magic;
    const Pack n = shifted - magic;
    Pack r = x - n * fill(6.93147180369123816490e-01 / 16);
    r = r - n * fill(1.90821492927058770002e-10 / 16);
    const Pack low{1.0,
                   1.0442737824274138403,
                   1.0905077326652576592,
                   1.1387886347566916537,
                   1.1892071150027210667,
                   1.2418578120734840486,
                   1.2968395546510096659,
                   1.3542555469368927283};
    const Pack high{1.4142135623730950488, 1.4768261459394993114, 1.5422108254079408236, 1.6104903319492543082,
                    1.6817928305074290861, 1.7562521603732994831, 1.8340080864093424635, 1.9152065613971472939};
    const Pack root = (Pack)_mm512_permutex2var_pd((__m512d)low, (__m512i)bits(shifted), (__m512d)high);
    const Pack r2 = r * r;
    const Pack q = (fill(1.0 / 24.0) + r * fill(1.0 / 120.0)) + r2 * fill(1.0 / 720.0);
    const Pack tail = r + r2 * ((fill(0.5) + r * fill(1.0 / 6.0)) + r2 * q);
    const Word exponent = (bits(shifted) << 48) & bits(fill(-kInfinity));  // the sixteenths are in the root
    const Pack power = from_bits(bits(root) + exponent);
    const Pack result = power * tail + power;
#else
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
#endif
    return select(vanishes, fill(0.0), result);
}

TW_INLINE Pack exponential(Pack x) { return exponential_unless(x < fill(-708.0), x); }

// e^x for -87 < x <= 0, to about one unit in the last place: range reduction by log 2 in two parts (Cody and Waite),
// and the polynomial of Cephes' expf.
TW_INLINE FloatPack exponential(FloatPack x) {
    const FloatPack magic = fill(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer in the low bits
    const FloatPack shifted = x * fill(1.44269504f) + magic;
    const FloatPack n = shifted - magic;
    FloatPack r = x - n * fill(0.693359375f);
    r = r - n * fill(-2.12194440e-4f);
    const FloatPack r2 = r * r;
    const FloatPack high = (fill(1.9875691500e-4f) * r + fill(1.3981999507e-3f)) * r2 +
                           (fill(8.3334519073e-3f) * r + fill(4.1665795894e-2f));
    const FloatPack low = fill(1.6666665459e-1f) * r + fill(5.0000001201e-1f);
    const FloatPack e = (high * r2 + low) * r2 + (r + fill(1.0f));
    return from_bits(bits(e) + (bits(shifted) << 23));  // 2^n, added to the exponent
}

// Rows of training end with half a pack where the other half would be padding: less memory, fewer products.
constexpr bool kHalves = W == 8;

TW_INLINE Pack load_half(const double* p) {
#if defined(__AVX512F__)
    return (Pack)_mm512_zextpd256_pd512(_mm256_loadu_pd(p));
#else
    return load(p);
#endif
}
TW_INLINE FloatPack load_half(const float* p) {
#if defined(__AVX512F__)
    return (FloatPack)_mm512_zextps256_ps512(_mm256_loadu_ps(p));
#else
    return load(p);
#endif
}
// The same, with what `other` has in the place of the zeros.
TW_INLINE Pack load_half_or(const double* p, Pack other) {
#if defined(__AVX512F__)
    return (Pack)_mm512_mask_loadu_pd((__m512d)other, 0x0f, p);
#else
    (void)other;
    return load(p);
#endif
}
TW_INLINE FloatPack load_half_or(const float* p, FloatPack other) {
#if defined(__AVX512F__)
    return (FloatPack)_mm512_mask_loadu_ps((__m512)other, 0x00ff, p);
#else
    (void)other;
    return load(p);
#endif
}
TW_INLINE void store_half(double* p, Pack v) {
#if defined(__AVX512F__)
    _mm256_storeu_pd(p, _mm512_castpd512_pd256((__m512d)v));
#else
    store(p, v);
#endif
}
TW_INLINE void store_half(float* p, FloatPack v) {
#if defined(__AVX512F__)
    _mm256_storeu_ps(p, _mm512_castps512_ps256((__m512)v));
#else
    store(p, v);
#endif
}

// Half a pack as a type of its own: products of matrices do not pay for the other half. Widened, that is zero.
#if defined(__AVX512F__)
typedef double HalfPack __attribute__((vector_size(32)));
typedef float HalfFloatPack __attribute__((vector_size(32)));
TW_INLINE Pack widened(HalfPack v) { return (Pack)_mm512_zextpd256_pd512((__m256d)v); }
TW_INLINE FloatPack widened(HalfFloatPack v) { return (FloatPack)_mm512_zextps256_ps512((__m256)v); }
#else
using HalfPack = Pack;
using HalfFloatPack = FloatPack;
TW_INLINE Pack widened(HalfPack v) { return v; }
TW_INLINE FloatPack widened(HalfFloatPack v) { return v; }
#endif

// v where the bit of a lane is set, 0 elsewhere.
TW_INLINE Pack kept(Pack v, unsigned set) {
#if defined(__AVX512F__)
    return (Pack)_mm512_maskz_mov_pd((__mmask8)set, (__m512d)v);
#else
    double lane[W];
    store(lane, v);
    for (std::size_t i = 0; i < W; ++i) lane[i] = set >> i & 1 ? lane[i] : 0.0;
    return load(lane);
#endif
}
TW_INLINE FloatPack kept(FloatPack v, unsigned set) {
#if defined(__AVX512F__)
    return (FloatPack)_mm512_maskz_mov_ps((__mmask16)set, (__m512)v);
#elif defined(__AVX2__)
    const __m256i of_lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i found = _mm256_and_si256(_mm256_set1_epi32((int)set), of_lane);
    return (FloatPack)_mm256_and_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(found, of_lane)), (__m256)v);
#else
    float lane[kFloats];
    store(lane, v);
    for (std::size_t i = 0; i < kFloats; ++i) lane[i] = set >> i & 1 ? lane[i] : 0.0f;
    return load(lane);
#endif
}

// What a precision is: its pack, and values far enough from the ends of its range; see forward_backward.
template <class Real>
struct Lanes;

template <>
struct Lanes<double> {
    using V = Pack;
    using Half = HalfPack;
    static constexpr std::size_t width = W;
    static TW_INLINE V fill(double x) { return tw::fill(x); }
    static constexpr double floor_log = -180.0, move_floor_log = -140.0;
    static constexpr double guard = 1e-150, ceiling = 1e100, raised_limit = 1e-14;
    static constexpr double row_guard = 1e-100, least_total = 1e-250, most_total = 1e250;
};

template <>
struct Lanes<float> {
    using V = FloatPack;
    using Half = HalfFloatPack;
    static constexpr std::size_t width = kFloats;
    static TW_INLINE V fill(float x) { return tw::fill(x); }
    static constexpr float floor_log = -30.0f, move_floor_log = -20.0f;
    static constexpr float guard = 1e-22f, ceiling = 1e15f, raised_limit = 1e-7f;
    static constexpr float row_guard = 1e-12f, least_total = 1e-30f, most_total = 1e30f;
};

}  // namespace
}  // namespace tw
