// Packs of floats and of doubles under one set of names, for loops that run in either precision. See simd.hpp.
#pragma once

#include "simd.hpp"

namespace tw {
namespace {

constexpr std::size_t kFloats = 2 * W;

#if defined(__GNUC__) || defined(__clang__)

typedef float FloatPack __attribute__((vector_size(kFloats * 4)));
typedef std::int32_t FloatMask __attribute__((vector_size(kFloats * 4)));

TW_INLINE FloatPack fill_float(float x) { return x - FloatPack{}; }
TW_INLINE FloatPack select(FloatMask m, FloatPack yes, FloatPack no) { return m ? yes : no; }
TW_INLINE FloatPack float_from_bits(FloatMask bits) { return (FloatPack)bits; }
TW_INLINE FloatMask float_bits(FloatPack v) { return (FloatMask)v; }

#else

struct FloatPack {
    float lane[kFloats];
};
struct FloatMask {
    std::int32_t lane[kFloats];
};
#define TW_EACH_FLOAT(type, expression)                                 \
    type r;                                                             \
    for (std::size_t i = 0; i < kFloats; ++i) r.lane[i] = (expression); \
    return r
TW_INLINE FloatPack operator+(FloatPack a, FloatPack b) { TW_EACH_FLOAT(FloatPack, a.lane[i] + b.lane[i]); }
TW_INLINE FloatPack operator-(FloatPack a, FloatPack b) { TW_EACH_FLOAT(FloatPack, a.lane[i] - b.lane[i]); }
TW_INLINE FloatPack operator*(FloatPack a, FloatPack b) { TW_EACH_FLOAT(FloatPack, a.lane[i] * b.lane[i]); }
TW_INLINE FloatMask operator<(FloatPack a, FloatPack b) { TW_EACH_FLOAT(FloatMask, -(a.lane[i] < b.lane[i])); }
TW_INLINE FloatMask operator>(FloatPack a, FloatPack b) { TW_EACH_FLOAT(FloatMask, -(a.lane[i] > b.lane[i])); }
TW_INLINE FloatMask operator<=(FloatPack a, FloatPack b) { TW_EACH_FLOAT(FloatMask, -(a.lane[i] <= b.lane[i])); }
TW_INLINE FloatMask operator&(FloatMask a, FloatMask b) { TW_EACH_FLOAT(FloatMask, a.lane[i] & b.lane[i]); }
TW_INLINE FloatMask operator+(FloatMask a, FloatMask b) { TW_EACH_FLOAT(FloatMask, a.lane[i] + b.lane[i]); }
TW_INLINE FloatMask operator<<(FloatMask a, int n) {
    TW_EACH_FLOAT(FloatMask, (std::int32_t)((std::uint32_t)a.lane[i] << n));
}
TW_INLINE FloatPack fill_float(float x) { TW_EACH_FLOAT(FloatPack, x); }
TW_INLINE FloatPack select(FloatMask m, FloatPack yes, FloatPack no) {
    TW_EACH_FLOAT(FloatPack, m.lane[i] ? yes.lane[i] : no.lane[i]);
}
TW_INLINE FloatPack float_from_bits(FloatMask bits) {
    FloatPack r;
    std::memcpy(&r, &bits, sizeof r);
    return r;
}
TW_INLINE FloatMask float_bits(FloatPack v) {
    FloatMask r;
    std::memcpy(&r, &v, sizeof r);
    return r;
}
#undef TW_EACH_FLOAT

#endif

// e^x for -87 < x <= 0, to about one unit in the last place: range reduction by log 2 in two parts (Cody and Waite),
// and the polynomial of Cephes' expf.
TW_INLINE FloatPack exponential_float(FloatPack x) {
    const FloatPack magic = fill_float(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer in the low bits
    const FloatPack shifted = x * fill_float(1.44269504f) + magic;
    const FloatPack n = shifted - magic;
    FloatPack r = x - n * fill_float(0.693359375f);
    r = r - n * fill_float(-2.12194440e-4f);
    const FloatPack r2 = r * r;
    const FloatPack high = (fill_float(1.9875691500e-4f) * r + fill_float(1.3981999507e-3f)) * r2 +
                           (fill_float(8.3334519073e-3f) * r + fill_float(4.1665795894e-2f));
    const FloatPack low = fill_float(1.6666665459e-1f) * r + fill_float(5.0000001201e-1f);
    const FloatPack e = (high * r2 + low) * r2 + (r + fill_float(1.0f));
    return float_from_bits(float_bits(e) + (float_bits(shifted) << 23));  // 2^n, added to the exponent
}

// Rows of weights end with half a pack where the other half would be padding: memory is what they cost.
constexpr bool kHalves = W == 8;

template <class Real>
struct Lanes;

template <>
struct Lanes<double> {
    using V = Pack;
    static constexpr std::size_t width = W;
    static TW_INLINE V load(const double* p) { return tw::load(p); }
    static TW_INLINE void store(double* p, V v) { tw::store(p, v); }
    static TW_INLINE V load_half(const double* p) {
#if defined(__AVX512F__)
        return (V)_mm512_zextpd256_pd512(_mm256_loadu_pd(p));
#else
        return tw::load(p);
#endif
    }
    static TW_INLINE void store_half(double* p, V v) {
#if defined(__AVX512F__)
        _mm256_storeu_pd(p, _mm512_castpd512_pd256((__m512d)v));
#else
        tw::store(p, v);
#endif
    }
    static TW_INLINE V fill(double x) { return tw::fill(x); }
    static TW_INLINE V larger(V a, V b) { return maximum(a, b); }
    static TW_INLINE V exp(V x) { return exponential(x); }
    static TW_INLINE double largest(V v) { return reduce_max(v); }
    static TW_INLINE double sum(V v) { return reduce_add(v); }
    // v where the bit of a lane is set, 0 elsewhere.
    static TW_INLINE V kept(V v, unsigned bits) {
#if defined(__AVX512F__)
        return (V)_mm512_maskz_mov_pd((__mmask8)bits, (__m512d)v);
#else
        double lane[W];
        store(lane, v);
        for (std::size_t i = 0; i < W; ++i) lane[i] = bits >> i & 1 ? lane[i] : 0.0;
        return load(lane);
#endif
    }
    // Values that are exactly representable, far enough from the ends of the range; see forward_backward.
    static constexpr double floor_log = -180.0, move_floor_log = -140.0;
    static constexpr double guard = 1e-150, ceiling = 1e100, raised_limit = 1e-14;
    static constexpr double row_guard = 1e-100, least_total = 1e-250, most_total = 1e250;
};

template <>
struct Lanes<float> {
    using V = FloatPack;
    static constexpr std::size_t width = kFloats;
    static TW_INLINE V load(const float* p) {
        V v;
        std::memcpy(&v, p, sizeof v);
        return v;
    }
    static TW_INLINE void store(float* p, V v) { std::memcpy(p, &v, sizeof v); }
    static TW_INLINE V load_half(const float* p) {
#if defined(__AVX512F__)
        return (V)_mm512_zextps256_ps512(_mm256_loadu_ps(p));
#else
        return load(p);
#endif
    }
    static TW_INLINE void store_half(float* p, V v) {
#if defined(__AVX512F__)
        _mm256_storeu_ps(p, _mm512_castps512_ps256((__m512)v));
#else
        store(p, v);
#endif
    }
    static TW_INLINE V fill(float x) { return fill_float(x); }
    static TW_INLINE V larger(V a, V b) {
#if defined(__AVX512F__)
        return (V)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
        return (V)_mm256_max_ps((__m256)a, (__m256)b);
#else
        return select(a > b, a, b);
#endif
    }
    static TW_INLINE V exp(V x) { return exponential_float(x); }
    static TW_INLINE float largest(V v) {
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
    static TW_INLINE float sum(V v) {
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
    static TW_INLINE V kept(V v, unsigned bits) {
#if defined(__AVX512F__)
        return (V)_mm512_maskz_mov_ps((__mmask16)bits, (__m512)v);
#elif defined(__AVX2__)
        const __m256i of_lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
        const __m256i set = _mm256_and_si256(_mm256_set1_epi32((int)bits), of_lane);
        return (V)_mm256_and_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(set, of_lane)), (__m256)v);
#else
        float lane[kFloats];
        store(lane, v);
        for (std::size_t i = 0; i < kFloats; ++i) lane[i] = bits >> i & 1 ? lane[i] : 0.0f;
        return load(lane);
#endif
    }
    static constexpr float floor_log = -30.0f, move_floor_log = -20.0f;
    static constexpr float guard = 1e-22f, ceiling = 1e15f, raised_limit = 1e-7f;
    static constexpr float row_guard = 1e-12f, least_total = 1e-30f, most_total = 1e30f;
};

}  // namespace
}  // namespace tw
