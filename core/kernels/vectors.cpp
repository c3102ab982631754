// Loops over the vectors of quasi-Newton solvers. See vectors.hpp and copy.hpp.
#include "vectors.hpp"

#include "copy.hpp"

namespace tw {
namespace {

using std::size_t;

constexpr size_t kSide = 2;  // packs whose sums are kept apart, so that no addition waits for the one before

void change(const VectorMove& m, size_t n, float* s, float* y, double* wide_y, double* hy, double* hg,
            VectorSums& sums) {
    for (size_t j = 0; j < n; ++j) {
        s[j] = (float)(m.new_point[j] - m.point[j]);
        y[j] = (float)(m.new_gradient[j] - m.gradient[j]);
    }
    Pack ss = fill(0.0), yy = fill(0.0), gg = fill(0.0);
    size_t j = 0;
    for (; j + W <= n; j += W) {
        const Pack step = load_wide(s + j), v = load_wide(y + j), h = load_wide(m.h + j), g = load(m.steepest + j);
        store(wide_y + j, v);
        store(hy + j, h * v);
        store(hg + j, h * g);
        ss = ss + step * step;
        yy = yy + v * v;
        gg = gg + g * g;
    }
    sums.ss += reduce_add(ss);
    sums.yy += reduce_add(yy);
    sums.gg += reduce_add(gg);
    for (; j < n; ++j) {
        const double step = s[j], v = y[j], h = m.h[j], g = m.steepest[j];
        wide_y[j] = v;
        hy[j] = h * v;
        hg[j] = h * g;
        sums.ss += step * step;
        sums.yy += v * v;
        sums.gg += g * g;
    }
}

// R rows at once: they share what is read of x and z.
template <size_t R>
TW_INLINE void two_dots_of(const float* const* rows, const double* x, const double* z, size_t n, double* sums) {
    Pack in_x[R * kSide], in_z[R * kSide];
    unrolled<R * kSide>([&](auto i) TW_INLINE_LAMBDA { in_x[i.value] = in_z[i.value] = fill(0.0); });
    size_t j = 0;
    for (; j + kSide * W <= n; j += kSide * W)
        unrolled<kSide>([&](auto side) TW_INLINE_LAMBDA {
            const size_t at = j + side.value * W;
            const Pack to_x = load(x + at), to_z = load(z + at);
            unrolled<R>([&](auto r) TW_INLINE_LAMBDA {
                constexpr size_t i = decltype(side)::value * R + decltype(r)::value;
                const Pack row = load_wide(rows[r.value] + at);
                in_x[i] = in_x[i] + row * to_x;
                in_z[i] = in_z[i] + row * to_z;
            });
        });
    unrolled<R>([&](auto r) TW_INLINE_LAMBDA {
        Pack all_x = fill(0.0), all_z = fill(0.0);
        unrolled<kSide>([&](auto side) TW_INLINE_LAMBDA {
            all_x = all_x + in_x[side.value * R + r.value];
            all_z = all_z + in_z[side.value * R + r.value];
        });
        sums[2 * r.value] += reduce_add(all_x);
        sums[2 * r.value + 1] += reduce_add(all_z);
        for (size_t i = j; i < n; ++i) {
            sums[2 * r.value] += (double)rows[r.value][i] * x[i];
            sums[2 * r.value + 1] += (double)rows[r.value][i] * z[i];
        }
    });
}

void two_dots(const float* const* rows, size_t n_rows, const double* x, const double* z, size_t n, double* sums) {
    for (; n_rows >= 2; n_rows -= 2, rows += 2, sums += 4) two_dots_of<2>(rows, x, z, n, sums);
    if (n_rows > 0) two_dots_of<1>(rows, x, z, n, sums);
}

void combine(const float* const* y, const float* const* s, size_t n_rows, const double* a, const double* b,
             double gamma, const float* h, const double* steepest, size_t n, double* out) {
    size_t j = 0;
    for (; j + kSide * W <= n; j += kSide * W)
        unrolled<kSide>([&](auto side) TW_INLINE_LAMBDA {
            const size_t at = j + side.value * W;
            Pack v = load(steepest + at);
            for (size_t i = 0; i < n_rows; ++i) v = v - fill(a[i]) * load_wide(y[i] + at);
            v = v * (fill(-gamma) * load_wide(h + at));
            for (size_t i = 0; i < n_rows; ++i) v = v - fill(b[i]) * load_wide(s[i] + at);
            store(out + at, v);
        });
    for (; j < n; ++j) {
        double v = steepest[j];
        for (size_t i = 0; i < n_rows; ++i) v -= a[i] * (double)y[i][j];
        v *= -gamma * (double)h[j];
        for (size_t i = 0; i < n_rows; ++i) v -= b[i] * (double)s[i][j];
        out[j] = v;
    }
}

}  // namespace

extern const VectorLoops TW_COPY(vector_loops);
const VectorLoops TW_COPY(vector_loops) = {change, two_dots, combine};

}  // namespace tw
