// The loops of spans.hpp. See copy.hpp.
#include "spans.hpp"

#include "../base/interrupt.hpp"
#include "copy.hpp"

namespace tw {
namespace {

using std::ptrdiff_t;
using std::size_t;

struct Largest {
    static constexpr double kZero = -kInfinity, kOne = 0.0;
    static TW_INLINE Pack add(Pack total, Pack a, Pack b) { return maximum(a + b, total); }
    static TW_INLINE Pack times(Pack a, Pack b) { return a + b; }
};
struct Sum {
    static constexpr double kZero = 0.0, kOne = 1.0;
    static TW_INLINE Pack add(Pack total, Pack a, Pack b) { return a * b + total; }
    static TW_INLINE Pack times(Pack a, Pack b) { return a * b; }
};

template <size_t P>
struct Packs {
    Pack of[P];
};

// One operand of a sum over k: its place for k = 0, and how far it goes on.
struct Moving {
    const double* at;
    ptrdiff_t step;
};

template <class S, size_t P>
TW_INLINE void start(Packs<P>& total) {
    unrolled<P>([&](auto p) TW_INLINE_LAMBDA { total.of[p.value] = fill(S::kZero); });
}
template <size_t P>
TW_INLINE void put(double* to, const Packs<P>& from) {
    unrolled<P>([&](auto p) TW_INLINE_LAMBDA { store(to + p.value * W, from.of[p.value]); });
}
template <class S, size_t P>
TW_INLINE void add(Packs<P>& total, const double* a, const double* b) {
    unrolled<P>([&](auto p) TW_INLINE_LAMBDA {
        total.of[p.value] = S::add(total.of[p.value], load(a + p.value * W), load(b + p.value * W));
    });
}

// total += the sum over k < count of a b; even and odd k apart, so that one addition need not wait for the last.
template <class S, size_t P>
TW_INLINE void add_all(Packs<P>& total, Moving a, Moving b, size_t count) {
    Packs<P> odd;
    start<S>(odd);
    size_t k = 0;
    for (; k + 2 <= count; k += 2) {
        add<S>(total, a.at, b.at);
        add<S>(odd, a.at + a.step, b.at + b.step);
        a.at += 2 * a.step;
        b.at += 2 * b.step;
    }
    if (k < count) add<S>(total, a.at, b.at);
    unrolled<P>([&](auto p) TW_INLINE_LAMBDA {
        if constexpr (S::kZero == 0.0)
            total.of[p.value] = total.of[p.value] + odd.of[p.value];
        else
            total.of[p.value] = maximum(total.of[p.value], odd.of[p.value]);
    });
}

// row(packs, j) for the starts 0 .. length - 1, some at a time.
template <size_t kMost, class Row>
TW_INLINE void each_block(size_t length, Row row) {
    size_t j = 0;
    if constexpr (kMost == 4)
        for (; j + 3 * W < length; j += 4 * W) row(Index<4>{}, j);
    for (; j + W < length; j += 2 * W) row(Index<2>{}, j);
    if (j < length) row(Index<1>{}, j);
}

template <class S>
TW_INLINE void spans(const SpanTables& t) {
    const ptrdiff_t down = (ptrdiff_t)t.stride, up = 1 - down;  // up: one row less, one start more
    for (size_t i = 0; i < t.n; ++i) t.right[i] = t.left[i] = S::kOne;
    for (size_t w = 1; w < t.n; ++w) {
        if ((w & 31) == 0 || t.n > 500) check_interrupt();
        const size_t row = w * t.stride;
        each_block<4>(t.n - w, [&](auto packs, size_t j) TW_INLINE_LAMBDA {
            constexpr size_t P = decltype(packs)::value;
            Packs<P> split, right, left;
            start<S>(split);
            start<S>(right);
            start<S>(left);
            add_all<S>(split, {t.right + j, down}, {t.left + row - t.stride + j + 1, up}, w);
            unrolled<P>([&](auto p) TW_INLINE_LAMBDA {
                const size_t at = row + j + p.value * W;
                store(t.right_arcs + at, S::times(split.of[p.value], load(t.right_scores + at)));
                store(t.left_arcs + at, S::times(split.of[p.value], load(t.left_scores + at)));
            });
            add_all<S>(right, {t.right_arcs + t.stride + j, down}, {t.right + row - t.stride + j + 1, up}, w);
            add_all<S>(left, {t.left + j, down}, {t.left_arcs + row + j, up}, w);
            put(t.right + row + j, right);
            put(t.left + row + j, left);
        });
    }
}

void best(const SpanTables& t) { spans<Largest>(t); }
void inside(const SpanTables& t) { spans<Sum>(t); }

void outside(const SpanTables& in, const double* of_left, const double* of_right, const SpanTables& out) {
    const ptrdiff_t down = (ptrdiff_t)in.stride, back = down - 1;  // back: one row more, one start less
    for (size_t v = in.n - 1; v > 0; --v) {
        if ((v & 31) == 0 || in.n > 500) check_interrupt();
        const size_t row = v * in.stride, next = row + in.stride, length = in.n - v;
        each_block<2>(length, [&](auto packs, size_t j) TW_INLINE_LAMBDA {
            constexpr size_t P = decltype(packs)::value;
            const size_t wider = length - 1 - j;  // spans with the first of these starts that are wider
            const size_t last = j + P * W < length ? j + P * W - 1 : length - 1;  // start: as many begin before it
            Packs<P> right, left;
            start<Sum>(right);
            start<Sum>(left);
            add_all<Sum>(right, {out.right + next + j - 1, back}, {in.right_arcs + in.stride + j - 1, back}, last);
            add_all<Sum>(right, {out.splits + next + j, down}, {in.left + j + v + 1, down}, wider);
            add_all<Sum>(left, {out.left + next + j, down}, {in.left_arcs + in.stride + j + v, down}, wider);
            add_all<Sum>(left, {out.splits + next + j - 1, back}, {in.right + j - 1, back}, last);
            put(out.right + row + j, right);
            put(out.left + row + j, left);
        });
        out.left[row] += of_left[v];
        out.right[row + length - 1] += of_right[v];
        each_block<2>(length, [&](auto packs, size_t j) TW_INLINE_LAMBDA {
            constexpr size_t P = decltype(packs)::value;
            const size_t last = j + P * W < length ? j + P * W - 1 : length - 1;
            Packs<P> right, left;
            start<Sum>(right);
            start<Sum>(left);
            add_all<Sum>(right, {out.right + row + j, down}, {in.right + j + v, down}, length - j);
            add_all<Sum>(left, {out.left + row + j, back}, {in.left + j, back}, last + 1);
            put(out.right_arcs + row + j, right);
            put(out.left_arcs + row + j, left);
            unrolled<P>([&](auto p) TW_INLINE_LAMBDA {
                const size_t at = row + j + p.value * W;
                store(out.splits + at,
                      right.of[p.value] * load(in.right_scores + at) + left.of[p.value] * load(in.left_scores + at));
            });
        });
    }
}

template <class Join>
TW_INLINE void reduce_rows(const double* values, size_t n_rows, size_t n_codes, double zero, double* out, Join join) {
    for (size_t r = 0; r < n_rows; ++r) {
        const double* row = values + r * n_codes;
        Pack total = fill(zero);
        for (size_t k = 0; k < n_codes; k += W)
            total = join(total, k + W <= n_codes ? load(row + k) : load_partial(row + k, n_codes - k, zero));
        out[r] = zero == 0.0 ? reduce_add(total) : reduce_max(total);
    }
}
void row_maxima(const double* values, size_t n_rows, size_t n_codes, double* out) {
    reduce_rows(values, n_rows, n_codes, -kInfinity, out,
                [](Pack total, Pack x) TW_INLINE_LAMBDA { return maximum(x, total); });
}
void row_sums(const double* values, size_t n_rows, size_t n_codes, double* out) {
    reduce_rows(values, n_rows, n_codes, 0.0, out, [](Pack total, Pack x) TW_INLINE_LAMBDA { return total + x; });
}

}  // namespace

extern const SpanLoops TW_COPY(span_loops);
const SpanLoops TW_COPY(span_loops) = {best, inside, outside, row_maxima, row_sums};

}  // namespace tw
