// See elimination.hpp. What is added to a pack of columns stays in registers while all rows go by.
#include "elimination.hpp"

#include "copy.hpp"

namespace tw {
namespace {

using std::size_t;

template <size_t N, size_t P>  // rows that are added; packs of columns that are done together
TW_INLINE void add_to_columns(double* rows, size_t n_rows, const double* factors, const double* from, size_t stride) {
    Pack in[N][P];
    unrolled<N>([&](auto j) TW_INLINE_LAMBDA {
        unrolled<P>([&](auto p)
                        TW_INLINE_LAMBDA { in[j.value][p.value] = load(from + j.value * stride + p.value * W); });
    });
    for (size_t b = 0; b < n_rows; ++b, rows += stride, factors += kTakenTogether) {
        Pack sum[P];
        unrolled<P>([&](auto p) TW_INLINE_LAMBDA { sum[p.value] = load(rows + p.value * W); });
        unrolled<N>([&](auto j) TW_INLINE_LAMBDA {
            const Pack f = fill(factors[j.value]);
            unrolled<P>([&](auto p) TW_INLINE_LAMBDA { sum[p.value] = sum[p.value] + f * in[j.value][p.value]; });
        });
        unrolled<P>([&](auto p) TW_INLINE_LAMBDA { store(rows + p.value * W, sum[p.value]); });
    }
}

template <size_t N>
void add_rows(double* rows, size_t n_rows, const double* factors, const double* from, size_t stride, size_t columns) {
    constexpr size_t P = W == 8 ? 2 : 1;
    size_t a = 0;
    for (; a + P * W <= columns; a += P * W) add_to_columns<N, P>(rows + a, n_rows, factors, from + a, stride);
    for (; a < columns; a += W) add_to_columns<N, 1>(rows + a, n_rows, factors, from + a, stride);
}

void add_products(double* rows, size_t n_rows, const double* factors, const double* from, size_t n, size_t stride,
                  size_t columns) {
    switch (n) {
        case 1:
            return add_rows<1>(rows, n_rows, factors, from, stride, columns);
        case 2:
            return add_rows<2>(rows, n_rows, factors, from, stride, columns);
        case 3:
            return add_rows<3>(rows, n_rows, factors, from, stride, columns);
        case 4:
            return add_rows<4>(rows, n_rows, factors, from, stride, columns);
        case 5:
            return add_rows<5>(rows, n_rows, factors, from, stride, columns);
        case 6:
            return add_rows<6>(rows, n_rows, factors, from, stride, columns);
        case 7:
            return add_rows<7>(rows, n_rows, factors, from, stride, columns);
        case 8:
            return add_rows<8>(rows, n_rows, factors, from, stride, columns);
    }
}

void raise(double* out, const double* in, double score, size_t size) {
    const Pack less = fill(score);
    size_t i = 0;
    for (; i + W <= size; i += W) store(out + i, maximum(load(in + i) - less, load(out + i)));
    for (; i < size; ++i) out[i] = in[i] - score > out[i] ? in[i] - score : out[i];
}

size_t first_highest(const double* values, size_t size) {
    Pack best = fill(-kInfinity);
    size_t i = 0;
    for (; i + W <= size; i += W) best = maximum(load(values + i), best);
    double highest = reduce_max(best);
    for (; i < size; ++i) highest = values[i] > highest ? values[i] : highest;
    const Pack wanted = fill(highest);
    for (i = 0; i + W <= size; i += W) {
        const size_t lane = first(load(values + i) == wanted);
        if (lane < W) return i + lane;
    }
    while (i + 1 < size && values[i] != highest) ++i;
    return i;
}

}  // namespace

extern const EliminationLoops TW_COPY(elimination_loops);
const EliminationLoops TW_COPY(elimination_loops) = {add_products, raise, first_highest};

}  // namespace tw
