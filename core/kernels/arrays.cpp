// Small things on arrays, and probes for the roofline. See copy.hpp.
#include <math.h>

#include "copy.hpp"
#include "kernels.hpp"

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

}  // namespace tw
