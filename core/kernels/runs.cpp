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

// Calls visit(sources, how many, columns, first entry) for every pack of columns of every block.
template <class Visit>
TW_INLINE void each_pack(const RunBlocks& blocks, Visit visit) {
    for (size_t b = 0; b < blocks.n_blocks; ++b) {
        const uint32_t* sources = blocks.sources + blocks.source_begins[b];
        const size_t n = blocks.source_begins[b + 1] - blocks.source_begins[b];
        size_t at = (size_t)blocks.entry_begins[b] * kRunLanes;
        for (size_t c = blocks.pack_begins[b]; c < blocks.pack_begins[b + 1]; ++c, at += n * kRunLanes)
            visit(sources, n, blocks.columns + c * kRunLanes, at);
    }
}

template <class Join, class Add>
TW_INLINE void reduce_blocks(const RunBlocks& blocks, const double* weights, const double* in, double zero, double* out,
                             Join join, Add add) {
    each_pack(blocks, [&](const uint32_t* sources, size_t n, const uint32_t* columns, size_t at) TW_INLINE_LAMBDA {
        Pack total[kPacks];
        unrolled<kPacks>([&](auto p) TW_INLINE_LAMBDA { total[p.value] = fill(zero); });
        for (size_t s = 0; s < n; ++s)
            unrolled<kPacks>([&](auto p) TW_INLINE_LAMBDA {
                total[p.value] =
                    join(total[p.value], fill(in[sources[s]]), load(weights + at + s * kRunLanes + p.value * W));
            });
        double lane[kRunLanes];
        unrolled<kPacks>([&](auto p) TW_INLINE_LAMBDA { store(lane + p.value * W, total[p.value]); });
        for (size_t i = 0; i < kRunLanes; ++i) out[columns[i]] = add(out[columns[i]], lane[i]);
    });
}

void sum_blocks(const RunBlocks& blocks, const double* weights, const double* in, double* out) {
    reduce_blocks(
        blocks, weights, in, 0.0, out, [](Pack total, Pack x, Pack w) TW_INLINE_LAMBDA { return x * w + total; },
        [](double a, double b) TW_INLINE_LAMBDA { return a + b; });
}

void max_blocks(const RunBlocks& blocks, const double* weights, const double* in, double* out) {
    reduce_blocks(
        blocks, weights, in, -kInfinity, out,
        [](Pack total, Pack x, Pack w) TW_INLINE_LAMBDA { return maximum(x + w, total); },
        [](double a, double b) TW_INLINE_LAMBDA { return a < b ? b : a; });
}

void sum_and_count_blocks(const RunBlocks& blocks, const double* weights, const double* in, const double* rows,
                          double* out, double* counts) {
    constexpr size_t kTogether = 4;  // packs of columns
    for (size_t i = 0; i < blocks.source_begins[blocks.n_blocks]; ++i) out[blocks.sources[i]] = 0.0;
    for (size_t b = 0; b < blocks.n_blocks; ++b) {
        const uint32_t* sources = blocks.sources + blocks.source_begins[b];
        const size_t n = blocks.source_begins[b + 1] - blocks.source_begins[b], last = blocks.pack_begins[b + 1];
        size_t at = (size_t)blocks.entry_begins[b] * kRunLanes;
        for (size_t first = blocks.pack_begins[b]; first < last; first += kTogether) {
            const size_t n_packs = last - first < kTogether ? last - first : kTogether;
            Pack x[kTogether * kPacks];
            for (size_t i = 0; i < n_packs * kPacks; ++i) x[i] = gather(in, blocks.columns + first * kRunLanes + i * W);
            for (size_t s = 0; s < n; ++s) {
                const Pack row = fill(rows[sources[s]]);
                Pack total = fill(0.0);
                for (size_t c = 0; c < n_packs; ++c)
                    unrolled<kPacks>([&](auto p) TW_INLINE_LAMBDA {
                        const size_t entry = at + (c * n + s) * kRunLanes + p.value * W;
                        total = x[c * kPacks + p.value] * load(weights + entry) + total;
                        store(counts + entry, x[c * kPacks + p.value] * row + load(counts + entry));
                    });
                out[sources[s]] += reduce_add(total);
            }
            at += n_packs * n * kRunLanes;
        }
    }
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

double products(const double* a, const double* b, size_t size, double* out) {
    Pack total[kPacks];
    unrolled<kPacks>([&](auto p) TW_INLINE_LAMBDA { total[p.value] = fill(0.0); });
    for (size_t i = 0; i < size; i += kRunLanes)
        unrolled<kPacks>([&](auto p) TW_INLINE_LAMBDA {
            const size_t at = i + p.value * W;
            const Pack x = load(a + at) * load(b + at);
            store(out + at, x);
            total[p.value] = total[p.value] + x;
        });
    double sum = 0.0;
    unrolled<kPacks>([&](auto p) TW_INLINE_LAMBDA { sum += reduce_add(total[p.value]); });
    return sum;
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
const RunLoops TW_COPY(run_loops) = {sum,  max,      sum_and_count, sum_blocks, max_blocks, sum_and_count_blocks,
                                     take, multiply, add,           products,   range,      exponentials};

}  // namespace tw
