// The loops of runs.hpp. See copy.hpp.
#include "runs.hpp"

#include "copy.hpp"

namespace tw {
namespace {

using std::size_t;
using std::uint32_t;

constexpr size_t kPacks = kRunLanes / W;
constexpr double kSmallestLog = -230.0;  // just above log(1e-100)

// Two loads a pair: processors gather no faster by one instruction, and some slower.
#if defined(__AVX2__)
TW_INLINE __m128d pair(const double* in, const uint32_t* from) {
    return _mm_loadh_pd(_mm_load_sd(in + from[0]), in + from[1]);
}
TW_INLINE __m256d two_pairs(const double* in, const uint32_t* from) {
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(pair(in, from)), pair(in, from + 2), 1);
}
#endif

TW_INLINE Pack gather(const double* in, const uint32_t* from) {
#if defined(__AVX512F__)
    return (Pack)_mm512_insertf64x4(_mm512_castpd256_pd512(two_pairs(in, from)), two_pairs(in, from + 4), 1);
#elif defined(__AVX2__)
    return (Pack)two_pairs(in, from);
#else
    double lane[W];
    for (size_t i = 0; i < W; ++i) lane[i] = in[from[i]];
    return load(lane);
#endif
}

template <class Join>
TW_INLINE void reduce(const Runs& runs, const double* weights, const double* in, double zero, double* out, Join join) {
    for (size_t c = 0; c < runs.n_chunks; ++c) {
        Pack total[kPacks];
        unrolled<kPacks>([&](auto p) TW_INLINE_LAMBDA { total[p.value] = fill(zero); });
        for (size_t r = runs.begins[c]; r < runs.begins[c + 1]; ++r)
            unrolled<kPacks>([&](auto p) TW_INLINE_LAMBDA {
                const size_t at = r * kRunLanes + p.value * W;
                total[p.value] = join(total[p.value], gather(in, runs.from + at), load(weights + at));
            });
        unrolled<kPacks>([&](auto p) TW_INLINE_LAMBDA { store(out + c * kRunLanes + p.value * W, total[p.value]); });
    }
}

void sum(const Runs& runs, const double* weights, const double* in, double* out) {
    reduce(runs, weights, in, 0.0, out, [](Pack total, Pack x, Pack w) TW_INLINE_LAMBDA { return x * w + total; });
}

void max(const Runs& runs, const double* weights, const double* in, double* out) {
    reduce(runs, weights, in, -kInfinity, out,
           [](Pack total, Pack x, Pack w) TW_INLINE_LAMBDA { return maximum(x + w, total); });
}

void sum_and_count(const Runs& runs, const double* weights, const double* in, const double* rows, double* out,
                   double* counts) {
    for (size_t c = 0; c < runs.n_chunks; ++c)
        unrolled<kPacks>([&](auto p) TW_INLINE_LAMBDA {
            const size_t node = c * kRunLanes + p.value * W;
            const Pack row = load(rows + node);
            Pack total = fill(0.0);
            for (size_t r = runs.begins[c]; r < runs.begins[c + 1]; ++r) {
                const size_t at = r * kRunLanes + p.value * W;
                const Pack x = gather(in, runs.from + at);
                total = x * load(weights + at) + total;
                store(counts + at, x * row + load(counts + at));
            }
            store(out + node, total);
        });
}

void take(const double* in, const uint32_t* from, size_t size, double* out) {
    for (size_t i = 0; i < size; i += W) store(out + i, gather(in, from + i));
}

struct Extremes {
    Pack least = fill(kInfinity), most = fill(0.0);
    TW_INLINE void see(Pack v) {
        least = fill(0.0) - maximum(fill(0.0) - least, select(v > fill(0.0), fill(0.0) - v, fill(-kInfinity)));
        most = maximum(most, v);
    }
    TW_INLINE Range range() const { return {-reduce_max(fill(0.0) - least), reduce_max(most)}; }
};

Range multiply(const double* local, const uint32_t* labels, size_t size, double* rows) {
    Extremes met;
    for (size_t i = 0; i < size; i += W) {
        const Pack v = load(rows + i) * gather(local, labels + i);
        store(rows + i, v);
        met.see(v);
    }
    return met.range();
}

void add(const double* local, const uint32_t* labels, size_t size, double* rows) {
    for (size_t i = 0; i < size; i += W) store(rows + i, load(rows + i) + gather(local, labels + i));
}

Range range(const double* values, size_t size) {
    Extremes met;
    for (size_t i = 0; i < size; i += W) met.see(load(values + i));
    return met.range();
}

bool exponentials(const double* values, size_t size, double* out, double* shift) {
    const auto each = [&](auto visit) TW_INLINE_LAMBDA {
        for (size_t i = 0; i < size; i += W)
            visit(i, i + W <= size ? load(values + i) : load_partial(values + i, size - i, -kInfinity));
    };
    Pack best = fill(-kInfinity);
    each([&](size_t, Pack v) TW_INLINE_LAMBDA { best = maximum(best, v); });
    *shift = reduce_max(best);
    const Pack centre = fill(*shift == -kInfinity ? 0.0 : *shift);
    Mask tiny = fill(0.0) > fill(0.0);
    each([&](size_t i, Pack v) TW_INLINE_LAMBDA {
        const Pack x = v - centre;
        const Mask vanishes = x < fill(kSmallestLog);
        tiny = tiny | (vanishes & (v > fill(-kInfinity)));
        const Pack e = exponential_unless(vanishes, x);
        if (i + W <= size)
            store(out + i, e);
        else
            store_partial(out + i, size - i, e);
    });
    return any(tiny);
}

}  // namespace

extern const RunLoops TW_COPY(run_loops);
const RunLoops TW_COPY(run_loops) = {sum, max, sum_and_count, take, multiply, add, range, exponentials};

}  // namespace tw
