// Small things on arrays, and probes for the roofline. See copy.hpp.
#include <math.h>

#include "copy.hpp"
#include "kernels.hpp"
#include "rows.hpp"

namespace tw {
namespace {

using std::size_t;

size_t first_invalid(const double* values, size_t size) {
    const Pack limit = fill(1e300), lowest = fill(-kInfinity);
    for (size_t i = 0; i < size; i += W) {
        const Pack v = i + W <= size ? load(values + i) : load_partial(values + i, size - i, 0.0);
        const Pack magnitude = maximum(v, fill(0.0) - v);
        const Mask bad = ~((magnitude <= limit) | (v == lowest));  // NaN fails both
        const Mask unordered = ~(v == v);
        const size_t lane = first(bad | unordered);
        if (lane < W) return i + lane;
    }
    return size;
}

double log_sum_exp(const double* values, size_t size) {
    Pack best = fill(-kInfinity);
    for (size_t i = 0; i < size; i += W)
        best = maximum(best, i + W <= size ? load(values + i) : load_partial(values + i, size - i, -kInfinity));
    const double shift = reduce_max(best);
    if (shift == -kInfinity) return shift;
    Pack total = fill(0.0);
    for (size_t i = 0; i < size; i += W)
        total =
            total + exponential((i + W <= size ? load(values + i) : load_partial(values + i, size - i, -kInfinity)) -
                                fill(shift));
    return shift + log(reduce_add(total));
}

void softmax(double* values, size_t size) {
    Pack best = fill(-kInfinity);
    for (size_t i = 0; i < size; i += W)
        best = maximum(best, i + W <= size ? load(values + i) : load_partial(values + i, size - i, -kInfinity));
    const double shift = reduce_max(best);
    if (shift == -kInfinity) {
        for (size_t i = 0; i < size; ++i) values[i] = 0.0;
        return;
    }
    Pack total = fill(0.0);
    for (size_t i = 0; i < size; i += W) {
        if (i + W <= size) {
            const Pack e = exponential(load(values + i) - fill(shift));
            store(values + i, e);
            total = total + e;
        } else {
            const Pack e = exponential(load_partial(values + i, size - i, -kInfinity) - fill(shift));
            store_partial(values + i, size - i, e);
            total = total + e;
        }
    }
    const double factor = 1.0 / reduce_add(total);
    for (size_t i = 0; i < size; ++i) values[i] *= factor;
}

void exponentials(const double* values, size_t size, double* out) {
    for (size_t i = 0; i < size; i += W) {
        if (i + W <= size)
            store(out + i, exponential(load(values + i)));
        else
            store_partial(out + i, size - i, exponential(load_partial(values + i, size - i, 0.0)));
    }
}

// ---- sums of rows --------------------------------------------------------------------------------------------------

#if defined(__AVX512F__)
TW_INLINE Pack widened(const float* p) { return (Pack)_mm512_cvtps_pd(_mm256_loadu_ps(p)); }
#elif defined(__AVX2__)
TW_INLINE Pack widened(const float* p) { return (Pack)_mm256_cvtps_pd(_mm_loadu_ps(p)); }
#elif defined(__GNUC__) || defined(__clang__)
typedef float Singles __attribute__((vector_size(W * 4)));
TW_INLINE Pack widened(const float* p) {
    Singles v;
    std::memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, Pack);
}
#else
TW_INLINE Pack widened(const float* p) {
    double wide[W];
    for (size_t i = 0; i < W; ++i) wide[i] = p[i];
    return load(wide);
}
#endif

TW_INLINE void ask_for(const void* p) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(p);
#else
    (void)p;
#endif
}

template <size_t B>
TW_INLINE void add_packs(const RowLists& lists, size_t t, size_t from, double* out) {
    Pack sums[B];
    for (size_t b = 0; b < B; ++b) sums[b] = load(out + b * W);
    for (size_t i = 0; i < lists.n_single; ++i) {
        const float* row = lists.single[i].rows + (size_t)lists.single[i].places[t] * lists.single[i].record + from;
        for (size_t b = 0; b < B; ++b) sums[b] = sums[b] + widened(row + b * W);
    }
    for (size_t i = 0; i < lists.n_twice; ++i) {
        const double* row = lists.twice[i].rows + (size_t)lists.twice[i].places[t] * lists.twice[i].record + from;
        for (size_t b = 0; b < B; ++b) sums[b] = sums[b] + load(row + b * W);
    }
    for (size_t b = 0; b < B; ++b) store(out + b * W, sums[b]);
}

TW_INLINE void ask_for_records(const RowLists& lists, size_t t) {
    for (size_t i = 0; i < lists.n_far; ++i) {
        const FarRecords& far = lists.far[i];
        const char* record = far.records + (size_t)far.places[t + kRowsAhead] * far.record;
        for (size_t at = 0; at < far.record; at += 64) ask_for(record + at);
    }
}

void add_rows(const RowLists& lists, size_t n_tokens, size_t n_labels, size_t padded, double* out) {
    for (size_t t = 0; t < n_tokens; ++t, out += n_labels) {
        ask_for_records(lists, t);
        size_t k = 0;
        for (; k + 4 * W <= padded; k += 4 * W) add_packs<4>(lists, t, k, out + k);
        if (padded - k == 3 * W)
            add_packs<3>(lists, t, k, out + k);
        else if (padded - k == 2 * W)
            add_packs<2>(lists, t, k, out + k);
        else if (padded - k == W)
            add_packs<1>(lists, t, k, out + k);
    }
}

// The largest absolute values of the labels in packs of floats; of the last pack of a row some lanes are none.
struct Largest {
    FloatPack so_far = fill(0.0f);
    TW_INLINE void add(FloatPack v, FloatWord labels) {
        so_far = maximum(so_far, from_bits(bits(maximum(v, fill(0.0f) - v)) & labels));
    }
};

template <size_t B>
TW_INLINE void add_rounded_packs(const RowLists& lists, size_t t, size_t from, const double* first, float* out,
                                 FloatWord labels, Largest& of_first, Largest& of_sums) {
    const FloatWord all = ~(labels & ~labels);
    FloatPack sums[B];
    unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
        sums[b.value] = load_rounded(first + b.value * kFloats);
        of_first.add(sums[b.value], b.value + 1 == B ? labels : all);
    });
    for (size_t i = 0; i < lists.n_single; ++i) {
        const float* row = lists.single[i].rows + (size_t)lists.single[i].places[t] * lists.single[i].record + from;
        unrolled<B>([&](auto b) TW_INLINE_LAMBDA { sums[b.value] = sums[b.value] + load(row + b.value * kFloats); });
    }
    unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
        of_sums.add(sums[b.value], b.value + 1 == B ? labels : all);
        store(out + b.value * kFloats, sums[b.value]);
    });
}

void add_rounded(const RowLists& lists, size_t n_tokens, size_t n_labels, const double* first, float* out,
                 size_t out_padded, float* largest) {
    std::uint32_t lanes[kFloats];
    for (size_t i = 0; i < kFloats; ++i) lanes[i] = out_padded - kFloats + i < n_labels ? ~0u : 0u;
    FloatWord labels;
    std::memcpy(&labels, lanes, sizeof labels);
    const FloatWord all = ~(labels & ~labels);
    Largest of_first, of_sums;
    for (size_t t = 0; t < n_tokens; ++t, first += n_labels, out += out_padded) {
        ask_for_records(lists, t);
        size_t k = 0;
        for (; k + 4 * kFloats < out_padded; k += 4 * kFloats)
            add_rounded_packs<4>(lists, t, k, first + k, out + k, all, of_first, of_sums);
        if (out_padded - k == 4 * kFloats)
            add_rounded_packs<4>(lists, t, k, first + k, out + k, labels, of_first, of_sums);
        else if (out_padded - k == 3 * kFloats)
            add_rounded_packs<3>(lists, t, k, first + k, out + k, labels, of_first, of_sums);
        else if (out_padded - k == 2 * kFloats)
            add_rounded_packs<2>(lists, t, k, first + k, out + k, labels, of_first, of_sums);
        else
            add_rounded_packs<1>(lists, t, k, first + k, out + k, labels, of_first, of_sums);
    }
    const float found[2] = {reduce_max(of_first.so_far), reduce_max(of_sums.so_far)};
    for (size_t i = 0; i < 2; ++i) largest[i] = found[i] > largest[i] ? found[i] : largest[i];
}

// ---- probes for the roofline ---------------------------------------------------------------------------------------

template <class Step>
TW_INLINE double probe(size_t rounds, double start, Step step) {
    constexpr size_t kIndependent = W == 8 ? 16 : 8;
    Pack v[kIndependent];
    for (size_t i = 0; i < kIndependent; ++i) v[i] = fill(start + 1e-3 * (double)i);
    for (size_t r = 0; r < rounds; ++r)
        for (size_t i = 0; i < kIndependent; ++i) v[i] = step(v[i]);
    Pack sum = fill(0.0);
    for (size_t i = 0; i < kIndependent; ++i) sum = sum + v[i];
    volatile double sink = reduce_add(sum);
    (void)sink;
    return (double)rounds * kIndependent * W;
}

double probe_multiply_add(size_t rounds) {
    const Pack a = fill(0.999999), b = fill(1e-6);
    return probe(rounds, 0.5, [&](Pack v) TW_INLINE_LAMBDA { return v * a + b; });
}
double probe_exponential(size_t rounds) {
    return probe(rounds, -0.5, [&](Pack v) TW_INLINE_LAMBDA { return exponential(fill(0.0) - v); });
}
double probe_max_plus(size_t rounds) {
    const Pack a = fill(1e-9), b = fill(0.25);
    return probe(rounds, 0.5, [&](Pack v) TW_INLINE_LAMBDA { return maximum(v + a, b); });
}

}  // namespace

extern const ArrayLoops TW_COPY(array_loops);
const ArrayLoops TW_COPY(array_loops) = {
    W, first_invalid, log_sum_exp, softmax, exponentials, probe_multiply_add, probe_exponential, probe_max_plus};

extern const RowSumLoops TW_COPY(row_sum_loops);
const RowSumLoops TW_COPY(row_sum_loops) = {add_rows, add_rounded};

}  // namespace tw
