// The vectorised recursions. Compiled once per instruction set with TW_ISA and TW_WIDTH set; see kernels.hpp.
//
// Nothing here may call a C++ library template: an inline function compiled for AVX-512 and merged by the linker into
// baseline code would crash older processors. Hence raw pointers, and simd.hpp's unnamed namespace; of semiring.hpp
// only what is always inlined is used.
#include "kernels.hpp"

#include <math.h>

#include "../base/semiring.hpp"
#include "at_position.hpp"
#include "simd.hpp"

#define TW_JOIN2(a, b) a##b
#define TW_JOIN(a, b) TW_JOIN2(a, b)
#define TW_STRING2(a) #a
#define TW_STRING(a) TW_STRING2(a)

namespace tw {

template <>  // a different type for every width, so no two copies of the kernels share it
struct Arithmetic<Pack> {
    static TW_INLINE Pack larger(Pack a, Pack b) noexcept { return maximum(a, b); }
};

namespace {

using std::size_t;

// Nonzero values of a row must stay in [kSmallest, kLargest]. Local factors and transitions are zero or at least
// kSmallest too, so one step makes at least 1e-300: what was not zero never becomes zero. Outside the range the
// sequence is redone in log space.
constexpr double kSmallest = 1e-100;
constexpr double kLargest = 1e100;
constexpr double kSmallestLog = -230.0;  // just above log(kSmallest)
constexpr double kUpperTiny = 1e-90;     // three of them and a rescaling still make a normal number
constexpr size_t kRescaleEvery = 8;
constexpr size_t kTraceNear = 64;   // rows of the last so many positions are in the cache yet
constexpr size_t kTraceAhead = 12;  // rows fetched before they are needed when a path is read off

// ---- small things on arrays -----------------------------------------------------------------------------------------

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

// One pack of a row of scores; what lies beyond the last label is `rest`.
TW_INLINE Pack load_row(const double* row, size_t offset, size_t n_labels, double rest) {
    if (offset + W <= n_labels) return load(row + offset);
    return offset < n_labels ? load_partial(row + offset, n_labels - offset, rest) : fill(rest);
}

// ---- transitions ----------------------------------------------------------------------------------------------------

TW_INLINE const double* transitions_of(const Potentials& p, size_t step) {
    return p.transitions + (p.per_step ? step * p.n_labels * p.n_labels : 0);
}

// e^v of scores from which the best was taken out. Scores that are too small vanish, or become what an upper bound puts
// in their place; the largest of them is kept, and is finite only if one was.
struct BoundedExponential {
    Bound bound;
    Pack largest_tiny = fill(-kInfinity);
    TW_INLINE Pack operator()(Pack v) {
        const Mask vanishes = v < fill(kSmallestLog);
        largest_tiny = select(vanishes, maximum(largest_tiny, v), largest_tiny);
        const Pack e = exponential_unless(vanishes, v);
        if (bound == Bound::kLower) return e;
        return select(vanishes & (v > fill(-kInfinity)), fill(kUpperTiny), e);
    }
    TW_INLINE bool tiny() const { return any(largest_tiny > fill(-kInfinity)); }
};

void transpose(PackedTransitions& out, size_t padded) {
    for (size_t a = 0; a < padded; ++a)
        for (size_t b = 0; b < padded; ++b) out.backward[b * padded + a] = out.forward[a * padded + b];
}

void pack_sum(const Potentials& p, size_t step, size_t padded, PackedTransitions& out) {
    const size_t K = p.n_labels;
    const double* scores = transitions_of(p, step);
    double shift = -kInfinity;
    for (size_t i = 0; i < K * K; ++i) shift = scores[i] > shift ? scores[i] : shift;
    if (shift == -kInfinity) shift = 0.0;
    out.shift = shift;
    BoundedExponential factor{out.bound};
    for (size_t a = 0; a < padded; ++a) {
        for (size_t b = 0; b < padded; b += W) {
            const Pack v = (a < K ? load_row(scores + a * K, b, K, -kInfinity) : fill(-kInfinity)) - fill(shift);
            store(out.forward + a * padded + b, factor(v));
        }
    }
    out.tiny = factor.tiny();
    transpose(out, padded);
}

void pack_max_forward(const Potentials& p, size_t step, size_t padded, PackedTransitions& out) {
    const size_t K = p.n_labels;
    const double* scores = transitions_of(p, step);
    out.shift = 0.0;
    out.tiny = false;
    for (size_t a = 0; a < padded; ++a)
        for (size_t b = 0; b < padded; b += W)
            store(out.forward + a * padded + b, a < K ? load_row(scores + a * K, b, K, -kInfinity) : fill(-kInfinity));
}

void pack_max(const Potentials& p, size_t step, size_t padded, PackedTransitions& out) {
    pack_max_forward(p, step, padded, out);
    transpose(out, padded);
}

// The scores of arriving at a label; where steps differ, made for this label alone.
TW_INLINE const double* max_arriving(const Potentials& p, const PackedTransitions& moves, size_t step, size_t padded,
                                     size_t label) {
    double* row = moves.backward + label * padded;
    if (!p.per_step) return row;
    const double* scores = transitions_of(p, step) + label;
    for (size_t a = 0; a < padded; ++a) row[a] = a < p.n_labels ? scores[a * p.n_labels] : -kInfinity;
    return row;
}

// ---- one step of a recursion: to = from x transitions, for N sequences side by side ---------------------------------

template <class S, size_t N, size_t B, class Finish>
TW_INLINE void advance_block(const double* const* from, const double* moves, size_t padded, size_t n_labels,
                             Finish finish) {
    constexpr size_t kChains = N == 1 ? 4 : 1;  // one sequence alone: independent partial sums hide the latency
    Pack part[kChains * N * B];
    unrolled<kChains * N * B>([&](auto i) TW_INLINE_LAMBDA { part[i.value] = fill(S::zero()); });
    // Rows and matrices are padded with zeros to a multiple of 4: no remainder, and the sums stay in registers.
    for (size_t a = 0; a < n_labels; a += kChains)
        unrolled<kChains>([&](auto c) TW_INLINE_LAMBDA {
            const double* row = moves + (a + c.value) * padded;
            Pack move[B];
            unrolled<B>([&](auto b) TW_INLINE_LAMBDA { move[b.value] = load(row + b.value * W); });
            unrolled<N>([&](auto n) TW_INLINE_LAMBDA {
                const Pack value = fill(from[n.value][a + c.value]);
                unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
                    constexpr size_t i = (c.value * N + n.value) * B + b.value;
                    part[i] = S::plus(part[i], S::times(value, move[b.value]));
                });
            });
        });
    unrolled<N * B>([&](auto i) TW_INLINE_LAMBDA {
        constexpr size_t n = i.value / B, b = i.value % B;
        Pack sum = part[i.value];
        if constexpr (kChains == 4)
            sum = S::plus(S::plus(sum, part[N * B + i.value]),
                          S::plus(part[2 * N * B + i.value], part[3 * N * B + i.value]));
        finish(n, b * W, sum);
    });
}

// Calls finish(n, offset, value) for every pack of every sequence's next row.
template <class S, size_t N, class Finish>
TW_INLINE void advance(const double* const* from, const double* moves, size_t padded, size_t n_labels, Finish finish) {
    constexpr size_t kBlock = W == 8 ? 4 : 2;
    const size_t packs = padded / W;
    const size_t blocks = (packs + kBlock - 1) / kBlock;
    size_t pack = 0;
    for (size_t block = 0; block < blocks; ++block) {  // even blocks: a narrow last one would be bound by latency
        const size_t here = (packs - pack + (blocks - block) - 1) / (blocks - block);
        const size_t offset = pack * W;
        pack += here;
        const auto run = [&]<size_t B>() TW_INLINE_LAMBDA {
            advance_block<S, N, B>(from, moves + offset, padded, n_labels,
                                   [&](size_t n, size_t k, Pack sum) TW_INLINE_LAMBDA { finish(n, offset + k, sum); });
        };
        if (here == 1)
            run.template operator()<1>();
        else if (here == 2)
            run.template operator()<2>();
        else if constexpr (kBlock == 4) {
            if (here == 3)
                run.template operator()<3>();
            else
                run.template operator()<4>();
        }
    }
}

// ---- rows of local scores -------------------------------------------------------------------------------------------

// One pack of a sequence's local scores: start scores belong to the first row.
TW_INLINE Pack local_scores(const Potentials& p, const Sequence& s, size_t t, size_t offset) {
    const Pack v = load_row(s.unary + t * p.n_labels, offset, p.n_labels, -kInfinity);
    return t == 0 ? load_row(p.start, offset, p.n_labels, 0.0) + v : v;
}

TW_INLINE double* row_of(const Rows& rows, size_t t, size_t padded) { return rows.data + (t & rows.mask) * padded; }

// local = exp(scores - row maximum) for positions begin .. end - 1; the maxima go into log_scale. First all maxima,
// then all exponentials, so that no exponential waits for a reduction; few rows at a time, so that they are used while
// in cache.
void prepare_local(const Potentials& p, size_t padded, Bound bound, SumTrellis& s, size_t begin, size_t end) {
    const size_t K = p.n_labels;
    double shifts[kPreparedRows];
    for (size_t t = begin; t < end; ++t) {
        double* row = row_of(s.local, t, padded);
        const double* scores = s.sequence.unary + t * K;
        Pack best = fill(-kInfinity);
        size_t k = 0;
        if (t == 0 || t + 1 == s.sequence.length) {  // start and end scores
            for (; k < padded; k += W) {
                Pack v = local_scores(p, s.sequence, t, k);
                if (t + 1 == s.sequence.length) v = v + load_row(p.end, k, K, 0.0);
                best = maximum(best, v);
                store(row + k, v);
            }
        } else {
            for (; k + W <= K; k += W) {
                const Pack v = load(scores + k);
                best = maximum(best, v);
                store(row + k, v);
            }
            for (; k < padded; k += W) {
                const Pack v = load_row(scores, k, K, -kInfinity);
                best = maximum(best, v);
                store(row + k, v);
            }
        }
        const double shift = reduce_max(best);
        shifts[t - begin] = shift == -kInfinity ? 0.0 : shift;  // no label possible: the totals come out as zero
        s.log_scale.add(shifts[t - begin]);
    }
    BoundedExponential factor{bound};
    for (size_t t = begin; t < end; ++t) {
        double* row = row_of(s.local, t, padded);
        const Pack shift = fill(shifts[t - begin]);
        for (size_t k = 0; k < padded; k += W) store(row + k, factor(load(row + k) - shift));
    }
    s.tiny |= factor.tiny();
}

// The power of two that brings the largest value of a row back to about one; what it takes out is added to log2_scale.
// Exact, so that rescaling never rounds.
TW_INLINE double rescaling(const double* row, size_t padded, double& log2_scale) {
    Pack best = fill(0.0);
    for (size_t k = 0; k < padded; k += W) best = maximum(best, load(row + k));
    const double largest = reduce_max(best);
    if (!(largest > kSmallest && largest < kLargest)) return 1.0;  // nothing left, or out of range and noticed as such
    std::uint64_t representation;
    std::memcpy(&representation, &largest, sizeof largest);
    const std::int64_t exponent = (std::int64_t)(representation >> 52) - 1023;
    const std::uint64_t inverse = (std::uint64_t)(1023 - exponent) << 52;
    double scale;
    std::memcpy(&scale, &inverse, sizeof scale);
    log2_scale += (double)exponent;
    return scale;
}

TW_INLINE Pack smallest_nonzero(Pack smallest, Pack v) { return select((v > fill(0.0)) & (v < smallest), v, smallest); }

// An upper bound may grow: what is not zero is kept from becoming zero.
TW_INLINE Pack raised(Pack v) { return select(v > fill(0.0), maximum(v, fill(kUpperTiny)), v); }

// Watches values for leaving the safe range.
struct Range {
    Pack smallest = fill(1.0), largest = fill(1.0);
    TW_INLINE void see(Pack v) {
        smallest = smallest_nonzero(smallest, v);
        largest = maximum(largest, v);
    }
    TW_INLINE bool left() const { return any((smallest < fill(kSmallest)) | ~(largest < fill(kLargest))); }
};

// ---- rescaled sum-product -------------------------------------------------------------------------------------------

template <size_t N>
void sum_forward_range(const Potentials& p, PackedTransitions& moves, size_t padded, SumTrellis* s, size_t begin,
                       size_t end) {
    Range range;
    Pack scales[N];
    for (size_t n = 0; n < N; ++n) scales[n] = fill(1.0);
    for (size_t t = begin; t < end; ++t) {
        at_position(t, p.n_labels);
        if (p.per_step) {
            pack_sum(p, t - 1, padded, moves);
            s[0].tiny |= moves.tiny;
            s[0].log_scale.add(moves.shift);
        }
        const double* from[N];
        double* to[N];
        const double* locals[N];
        for (size_t n = 0; n < N; ++n) {
            from[n] = row_of(s[n].alpha, t - 1, padded);
            to[n] = row_of(s[n].alpha, t, padded);
            locals[n] = row_of(s[n].local, t, padded);
            // Taken from the row before, applied to the next: off the chain of dependent steps.
            if (t % kRescaleEvery == 0) scales[n] = fill(rescaling(from[n], padded, s[n].log2_scale));
        }
        advance<SumProduct, N>(from, moves.forward, padded, p.n_labels,
                               [&](size_t n, size_t k, Pack sum) TW_INLINE_LAMBDA {
                                   Pack v = sum * (load(locals[n] + k) * scales[n]);
                                   if (moves.bound == Bound::kUpper) v = raised(v);
                                   range.see(v);
                                   store(to[n] + k, v);
                               });
        if (t % kRescaleEvery == 0)
            for (size_t n = 0; n < N; ++n) scales[n] = fill(1.0);
    }
    for (size_t n = 0; n < N; ++n) {
        if (!p.per_step && begin < end) s[n].log_scale.add(moves.shift * (double)(end - begin));
        s[n].underflow |= range.left();
    }
}

// Positions begin .. end - 1 of N sequences, a few rows prepared and used at a time.
template <size_t N>
void sum_forward_blocks(const Potentials& p, PackedTransitions& moves, size_t padded, SumTrellis* s, size_t begin,
                        size_t end) {
    while (begin < end) {
        const size_t aligned = begin - begin % kPreparedRows + kPreparedRows;
        const size_t stop = aligned < end ? aligned : end;
        for (size_t n = 0; n < N; ++n) prepare_local(p, padded, moves.bound, s[n], begin, stop);
        if (begin == 0)
            for (size_t n = 0; n < N; ++n) {
                const double* local = row_of(s[n].local, 0, padded);
                double* row = row_of(s[n].alpha, 0, padded);
                for (size_t k = 0; k < padded; k += W) store(row + k, load(local + k));
            }
        sum_forward_range<N>(p, moves, padded, s, begin == 0 ? 1 : begin, stop);
        begin = stop;
    }
}

TW_INLINE size_t least(size_t a, size_t b) { return a < b ? a : b; }

void sum_forward(const Potentials& p, PackedTransitions& moves, size_t padded, SumTrellis* s, size_t count,
                 size_t begin, size_t end) {
    if (begin == 0)
        for (size_t n = 0; n < count; ++n) {
            s[n].log_scale = {};
            s[n].log2_scale = 0.0;
            s[n].tiny |= !p.per_step && moves.tiny;
        }
    if (count == kSideBySide) {
        const size_t together = least(end, s[count - 1].sequence.length);
        sum_forward_blocks<kSideBySide>(p, moves, padded, s, begin, together);
        begin = together;
    }
    for (size_t n = 0; n < count; ++n)
        sum_forward_blocks<1>(p, moves, padded, s + n, begin, least(end, s[n].sequence.length));
}

double sum_total(const SumTrellis& s, size_t padded) {
    const double* last = row_of(s.alpha, s.sequence.length - 1, padded);
    Pack total = fill(0.0);
    for (size_t k = 0; k < padded; k += W) total = total + load(last + k);
    const double log_2 = 0.69314718055994530942;
    return (log(reduce_add(total)) + s.log2_scale * log_2) + s.log_scale.value();
}

// Marginals of one position; `beta` is its backward row. Returns 1 / (alpha . beta).
TW_INLINE double write_marginals(const double* alpha, const double* beta, size_t n_labels, size_t padded, double* out) {
    Pack total = fill(0.0);
    for (size_t k = 0; k < padded; k += W) total = total + load(alpha + k) * load(beta + k);
    const double factor = 1.0 / reduce_add(total);
    if (!out) return factor;
    for (size_t k = 0; k < n_labels; k += W) {
        const Pack v = load(alpha + k) * load(beta + k) * fill(factor);
        if (k + W <= n_labels)
            store(out + k, v);
        else
            store_partial(out + k, n_labels - k, v);
    }
    return factor;
}

// p(a, b) = alpha[a] moves[a][b] gamma[b] / total, gamma = local x beta of the later position (eq. 2.35).
TW_INLINE void write_edges(const double* alpha, const double* gamma, const double* moves, double factor,
                           size_t n_labels, size_t padded, double* out) {
    for (size_t a = 0; a < n_labels; ++a) {
        const Pack left = fill(alpha[a] * factor);
        for (size_t b = 0; b < n_labels; b += W) {
            const Pack v = left * load(moves + a * padded + b) * load(gamma + b);
            if (b + W <= n_labels)
                store(out + a * n_labels + b, v);
            else
                store_partial(out + a * n_labels + b, n_labels - b, v);
        }
    }
}

TW_INLINE void add_edges(const double* alpha, const double* gamma, double factor, size_t n_labels, size_t padded,
                         double* out) {
    for (size_t a = 0; a < n_labels; ++a) {
        const Pack left = fill(alpha[a] * factor);
        for (size_t b = 0; b < padded; b += W)
            store(out + a * padded + b, load(out + a * padded + b) + left * load(gamma + b));
    }
}

// Scratch holds gamma in row 0 (even positions) or 1 (odd), and beta in row 2.
TW_INLINE double* gamma_row(const SumTrellis& s, size_t t, size_t padded) { return s.scratch + (t & 1) * padded; }
TW_INLINE double* beta_row(const SumTrellis& s, size_t padded) { return s.scratch + 2 * padded; }

// Positions from - 1 down to `to`, given gamma at `from`; leaves gamma at `to`.
template <size_t N>
void sum_backward_range(const Potentials& p, PackedTransitions& moves, size_t padded, SumTrellis* s,
                        const SumOutputs* out, size_t from, size_t to) {
    const size_t K = p.n_labels;
    Range range;
    for (size_t t = from; t > to; --t) {
        at_position(t, K);
        if (p.per_step) pack_sum(p, t - 1, padded, moves);
        const double* gammas[N];
        double* betas[N];
        double* next[N];
        const double* locals[N];
        Pack scales[N];
        for (size_t n = 0; n < N; ++n) {
            gammas[n] = gamma_row(s[n], t, padded);
            next[n] = gamma_row(s[n], t - 1, padded);
            betas[n] = beta_row(s[n], padded);
            locals[n] = row_of(s[n].local, t - 1, padded);
            double unused = 0.0;
            scales[n] = fill(t % kRescaleEvery == 0 ? rescaling(gammas[n], padded, unused) : 1.0);
        }
        advance<SumProduct, N>(gammas, moves.backward, padded, K, [&](size_t n, size_t k, Pack beta) TW_INLINE_LAMBDA {
            const Pack v = beta * (load(locals[n] + k) * scales[n]);
            range.see(v);
            store(next[n] + k, v);
            store(betas[n] + k, beta);
        });
        for (size_t n = 0; n < N; ++n) {
            const double* alpha = row_of(s[n].alpha, t - 1, padded);
            double* marginals = out[n].marginals ? out[n].marginals + (t - 1) * K : nullptr;
            const double factor = write_marginals(alpha, betas[n], K, padded, marginals);
            if (out[n].edge_marginals)
                write_edges(alpha, gammas[n], moves.forward, factor, K, padded,
                            out[n].edge_marginals + (t - 1) * K * K);
            if (out[n].total_edge_marginals)
                add_edges(alpha, gammas[n], factor, K, padded, out[n].total_edge_marginals);
        }
    }
    if (range.left())
        for (size_t n = 0; n < N; ++n) s[n].underflow = true;
}

// The last position of a sequence, where the backward pass begins.
void sum_backward_last(const Potentials& p, size_t padded, SumTrellis& s, const SumOutputs& out) {
    const size_t K = p.n_labels, last = s.sequence.length - 1;
    double* beta = beta_row(s, padded);
    double* gamma = gamma_row(s, last, padded);
    const double* local = row_of(s.local, last, padded);
    for (size_t k = 0; k < padded; ++k) beta[k] = k < K ? 1.0 : 0.0;
    for (size_t k = 0; k < padded; ++k) gamma[k] = local[k];
    write_marginals(row_of(s.alpha, last, padded), beta, K, padded, out.marginals ? out.marginals + last * K : nullptr);
}

void sum_backward(const Potentials& p, PackedTransitions& moves, size_t padded, SumTrellis* s, const SumOutputs* out,
                  size_t count, size_t begin, size_t end) {
    const size_t together = count == kSideBySide ? s[count - 1].sequence.length - 1 : begin;
    for (size_t n = 0; n < count; ++n) {
        const size_t length = s[n].sequence.length;
        if (end >= length) sum_backward_last(p, padded, s[n], out[n]);
        sum_backward_range<1>(p, moves, padded, s + n, out + n, end >= length ? length - 1 : end, together);
    }
    if (count == kSideBySide) sum_backward_range<kSideBySide>(p, moves, padded, s, out, together, 0);
}

// ---- Viterbi --------------------------------------------------------------------------------------------------------

template <size_t N>
void max_forward_range(const Potentials& p, PackedTransitions& moves, size_t padded, const Sequence* s,
                       const Rows* scores, size_t begin, size_t end) {
    for (size_t t = begin; t < end; ++t) {
        at_position(t, p.n_labels);
        if (p.per_step) pack_max_forward(p, t - 1, padded, moves);
        const double* from[N];
        double* to[N];
        for (size_t n = 0; n < N; ++n) {
            from[n] = row_of(scores[n], t - 1, padded);
            to[n] = row_of(scores[n], t, padded);
        }
        advance<MaxPlus, N>(from, moves.forward, padded, p.n_labels,
                            [&](size_t n, size_t k, Pack best)
                                TW_INLINE_LAMBDA { store(to[n] + k, best + local_scores(p, s[n], t, k)); });
    }
}

void max_forward(const Potentials& p, PackedTransitions& moves, size_t padded, const Sequence* s, const Rows* scores,
                 size_t count, size_t begin, size_t end) {
    if (begin == 0) {
        for (size_t n = 0; n < count; ++n)
            for (size_t k = 0; k < padded; k += W) store(scores[n].data + k, local_scores(p, s[n], 0, k));
        begin = 1;
    }
    if (count == kSideBySide) {
        const size_t together = least(end, s[count - 1].length);
        max_forward_range<kSideBySide>(p, moves, padded, s, scores, begin, together);
        begin = together > begin ? together : begin;
    }
    for (size_t n = 0; n < count; ++n)
        max_forward_range<1>(p, moves, padded, s + n, scores + n, begin, least(end, s[n].length));
}

double max_last(const Potentials& p, size_t padded, const Sequence& s, const Rows& scores, std::int32_t* labels) {
    const double* row = row_of(scores, s.length - 1, padded);
    Pack top = fill(-kInfinity);
    for (size_t k = 0; k < padded; k += W) top = maximum(top, load(row + k) + load_row(p.end, k, p.n_labels, 0.0));
    const double best = reduce_max(top);
    labels[s.length - 1] = 0;
    for (size_t k = 0; k < padded; k += W) {
        const size_t lane = first(load(row + k) + load_row(p.end, k, p.n_labels, 0.0) == fill(best));
        if (lane < W) {  // the lowest of equals
            labels[s.length - 1] = (std::int32_t)(k + lane);
            break;
        }
    }
    return best;
}

// The first label whose score, plus `moves`, plus `local`, rounded as the recursion rounded it, is `wanted`.
TW_INLINE size_t max_origin(const double* scores, const double* moves, double local, double wanted, size_t padded) {
    for (size_t block = 0; block < padded; block += 64) {  // no branch per pack: it could not be predicted
        const size_t stop = least(padded, block + 64);
        std::uint64_t found = 0;
        for (size_t k = block; k < stop; k += W)
            found |= equal_bits((load(scores + k) + load(moves + k)) + fill(local), fill(wanted)) << (k - block);
        if (found) return block + lowest_bit(found);
    }
    return 0;
}

// The same, and whether there is another such label.
TW_INLINE size_t only_max_origin(const double* scores, const double* moves, double local, double wanted, size_t padded,
                                 bool& tied) {
    size_t first = padded;
    for (size_t block = 0; block < padded; block += 64) {
        const size_t stop = least(padded, block + 64);
        std::uint64_t found = 0;
        for (size_t k = block; k < stop; k += W)
            found |= equal_bits((load(scores + k) + load(moves + k)) + fill(local), fill(wanted)) << (k - block);
        if (!found) continue;
        tied |= first < padded || (found & (found - 1)) != 0;
        if (first == padded) first = block + lowest_bit(found);
    }
    return first == padded ? 0 : first;
}

void max_trace(const Potentials& p, PackedTransitions& moves, size_t padded, const Sequence& s, const Rows& scores,
               std::int32_t* labels, size_t begin, size_t end) {
    const size_t K = p.n_labels;
    size_t y = (size_t)labels[end - 1];
    for (size_t t = end - 1; t > 0 && t >= begin; --t) {
        // Which row entries are wanted depends on the label found: fetch whole rows well before.
        if (t > kTraceAhead && end - begin > kTraceNear) {
            const size_t ahead = t - kTraceAhead;
            for (size_t k = 0; k < K; k += 8) prefetch(s.unary + ahead * K + k);
            for (size_t k = 0; k < padded; k += 8) prefetch(row_of(scores, ahead, padded) + k);
        }
        y = max_origin(row_of(scores, t - 1, padded), max_arriving(p, moves, t - 1, padded, y), s.unary[t * K + y],
                       row_of(scores, t, padded)[y], padded);
        labels[t - 1] = (std::int32_t)y;
    }
}

// One step of two recursions at once: neither waits for the other.
template <size_t B, class Finish>
TW_INLINE void advance_two_block(const double* const* from, const double* const* moves, size_t padded, size_t n_labels,
                                 Finish finish) {
    constexpr size_t kChains = 2;
    Pack best[2 * kChains * B];
    unrolled<2 * kChains * B>([&](auto i) TW_INLINE_LAMBDA { best[i.value] = fill(-kInfinity); });
    for (size_t a = 0; a < n_labels; a += kChains)
        unrolled<2 * kChains>([&](auto c) TW_INLINE_LAMBDA {
            constexpr size_t n = c.value % 2, chain = c.value / 2;
            const double* row = moves[n] + (a + chain) * padded;
            const Pack value = fill(from[n][a + chain]);
            unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
                Pack& top = best[c.value * B + b.value];
                top = maximum(top, value + load(row + b.value * W));
            });
        });
    unrolled<2 * B>([&](auto i) TW_INLINE_LAMBDA {
        finish(i.value / B, i.value % B * W, maximum(best[i.value], best[2 * B + i.value]));
    });
}

template <class Finish>
TW_INLINE void advance_two(const double* const* from, const double* const* moves, size_t padded, size_t n_labels,
                           Finish finish) {
    constexpr size_t kBlock = W == 8 ? 4 : 2;
    for (size_t k = 0; k < padded;) {
        const size_t left = (padded - k) / W, offset = k;
        const double* const here[2] = {moves[0] + offset, moves[1] + offset};
        const auto run = [&]<size_t B>() TW_INLINE_LAMBDA {
            advance_two_block<B>(from, here, padded, n_labels, [&](size_t n, size_t at, Pack best) TW_INLINE_LAMBDA {
                finish(n, offset + at, best);
            });
            k += B * W;
        };
        if (left >= kBlock)
            run.template operator()<kBlock>();
        else if (left == 3)
            run.template operator()<3>();
        else if (left == 2)
            run.template operator()<2>();
        else
            run.template operator()<1>();
    }
}

double max_meet(const Potentials& p, const PackedTransitions& moves, size_t padded, const Sequence& s, double* scores,
                std::int32_t* labels) {
    const size_t K = p.n_labels, middle = s.length / 2;
    const auto row = [&](size_t t) TW_INLINE_LAMBDA { return scores + t * padded; };
    const size_t last = s.length - 1;
    for (size_t k = 0; k < padded; k += W) {
        store(row(0) + k, local_scores(p, s, 0, k));
        store(row(last) + k, local_scores(p, s, last, k) + load_row(p.end, k, K, 0.0));
    }
    const double* const both[2] = {moves.forward, moves.backward};
    for (size_t i = 1; i < middle; ++i) {
        at_position(i, K);
        const double* const from[2] = {row(i - 1), row(last - i + 1)};
        const size_t at[2] = {i, last - i};
        advance_two(from, both, padded, K, [&](size_t n, size_t k, Pack best) TW_INLINE_LAMBDA {
            store(row(at[n]) + k, best + local_scores(p, s, at[n], k));
        });
    }
    if (last - middle >= middle) {  // an odd number of positions
        const double* const from[1] = {row(middle + 1)};
        advance<MaxPlus, 1>(from, moves.backward, padded, K, [&](size_t, size_t k, Pack best) TW_INLINE_LAMBDA {
            store(row(middle) + k, best + local_scores(p, s, middle, k));
        });
    }
    // Rows up to middle - 1 have the best of what goes before, rows from there on the best of what follows.
    double* meeting = row(s.length);
    const double* const from[1] = {row(middle - 1)};
    Pack top = fill(-kInfinity);
    advance<MaxPlus, 1>(from, moves.forward, padded, K, [&](size_t, size_t k, Pack best) TW_INLINE_LAMBDA {
        const Pack v = best + load(row(middle) + k);
        top = maximum(top, v);
        store(meeting + k, v);
    });
    const double total = reduce_max(top);
    if (total == -kInfinity) return total;
    size_t right = 0;
    while (right + 1 < K && meeting[right] != total) ++right;  // none is, where a score overflowed
    // Of equal labellings the first is the smallest read from its end. Towards the start that is the lowest label at
    // each step, but towards the end a tie means that the whole rest has to be compared: the caller starts again.
    bool tied = false;
    for (size_t k = right + 1; k < K; ++k) tied |= meeting[k] == total;
    size_t left = max_origin(row(middle - 1), moves.backward + right * padded, row(middle)[right], total, padded);
    labels[middle - 1] = (std::int32_t)left;
    labels[middle] = (std::int32_t)right;
    const auto before = [&](size_t t) TW_INLINE_LAMBDA {
        left = max_origin(row(t - 1), moves.backward + left * padded, s.unary[t * K + left], row(t)[left], padded);
        labels[t - 1] = (std::int32_t)left;
    };
    const auto behind = [&](size_t t) TW_INLINE_LAMBDA {
        right = only_max_origin(row(t + 1), moves.forward + right * padded, s.unary[t * K + right], row(t)[right],
                                padded, tied);
        labels[t + 1] = (std::int32_t)right;
    };
    for (size_t i = 0; i + 1 < middle; ++i) {
        before(middle - 1 - i);
        behind(middle + i);
    }
    for (size_t t = 2 * middle - 1; t < last; ++t) behind(t);
    if (tied) labels[0] = kTied;
    return total;
}

double max_losses(const Potentials& p, const PackedTransitions& moves, size_t padded, const Sequence& s,
                  const Rows& scores, size_t position, size_t label, size_t usual, double top, double* losses) {
    const bool last = position == s.length;
    const double* before = row_of(scores, position - 1, padded);
    const double* arriving = last ? moves.backward : max_arriving(p, moves, position - 1, padded, label);
    const Pack local = fill(last ? 0.0 : s.unary[position * p.n_labels + label]);
    const Pack best = fill(last ? top : row_of(scores, position, padded)[label]);
    double number[W];
    for (size_t i = 0; i < W; ++i) number[i] = (double)i;
    const Pack numbers = load(number), other_than = fill((double)usual);
    Pack most = fill(-kInfinity);
    for (size_t k = 0; k < padded; k += W) {
        const Pack move = last ? load_row(p.end, k, p.n_labels, 0.0) : load(arriving + k);
        const Pack gain = ((load(before + k) + move) + local) - best;
        store(losses + k, fill(0.0) - gain);
        most = maximum(most, select(numbers + fill((double)k) == other_than, fill(-kInfinity), gain));
    }
    return -reduce_max(most);
}

void max_backward(const Potentials& p, PackedTransitions& moves, size_t padded, const Sequence& s, const double* scores,
                  double* scratch, double* out) {
    const size_t K = p.n_labels;
    double* beta = scratch;
    double* gamma = scratch + padded;
    for (size_t k = 0; k < padded; k += W) store(beta + k, load_row(p.end, k, K, -kInfinity));
    for (size_t t = s.length; t-- > 0;) {
        const double* row = scores + t * padded;
        for (size_t k = 0; k < K; ++k) out[t * K + k] = row[k] + beta[k];
        if (t == 0) break;
        at_position(t, K);
        for (size_t k = 0; k < padded; k += W) store(gamma + k, load(beta + k) + local_scores(p, s, t, k));
        if (p.per_step) pack_max(p, t - 1, padded, moves);
        const double* from[1] = {gamma};
        advance<MaxPlus, 1>(from, moves.backward, padded, K,
                            [&](size_t, size_t k, Pack best) TW_INLINE_LAMBDA { store(beta + k, best); });
    }
}

// ---- scores of labels from weights by unit --------------------------------------------------------------------------

TW_INLINE void store_doubles(double* to, Pack v) { store(to, v); }
TW_INLINE void store_doubles(double* to, FloatPack v) {
    float lane[kFloats];
    store(lane, v);
    store(to, load_wide(lane));
    store(to + W, load_wide(lane + W));
}
TW_INLINE void store_half_doubles(double* to, Pack v) { store_half(to, v); }
TW_INLINE void store_half_doubles(double* to, FloatPack v) {
    float lane[kFloats];
    store(lane, v);
    store(to, load_wide(lane));
}

template <class Real>
TW_INLINE double part_value(const UnitWeights<Real>& w, const TokenUnits& tokens, size_t i) {
    const double factor = w.factors[tokens.parts[i].factor];
    return tokens.part_values ? factor * (double)tokens.part_values[i] : factor;
}

// The sums of B vectors of labels, the last of them perhaps half a one, stay in registers while the rows of a token are
// added, in the precision of the weights.
template <class Real, size_t B, bool kHalf, class Add>
TW_INLINE void each_sum(const UnitWeights<Real>& w, const TokenUnits& tokens, size_t begin, size_t end, size_t K,
                        double* out, Add add) {
    using L = Lanes<Real>;
    for (size_t t = begin; t < end; ++t, out += K) {
        typename L::V sum[B];
        unrolled<B>([&](auto b) TW_INLINE_LAMBDA { sum[b.value] = L::fill(0); });
        for (size_t i = tokens.row_starts[t]; i < tokens.row_starts[t + 1]; ++i) add(sum, i);
        for (size_t i = tokens.part_starts[t]; i < tokens.part_starts[t + 1]; ++i) {
            const std::uint64_t labels = tokens.parts[i].labels;
            const auto x = L::fill((Real)part_value(w, tokens, i));
            const Real* from = w.weights + tokens.parts[i].begin;
            unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
                constexpr size_t shift = b.value * L::width;
                const size_t before = (size_t)__builtin_popcountll(labels & ((std::uint64_t{1} << shift) - 1));
                sum[b.value] = sum[b.value] + x * load_expanded(from + before, labels >> shift);
            });
        }
        unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
            if constexpr (kHalf && b.value + 1 == B)
                store_half_doubles(out + b.value * L::width, sum[b.value]);
            else
                store_doubles(out + b.value * L::width, sum[b.value]);
        });
    }
}

template <class Real, size_t B, bool kHalf>
void add_rows(const UnitWeights<Real>& w, const TokenUnits& tokens, size_t begin, size_t end, size_t K, double* out) {
    using L = Lanes<Real>;
    if (!tokens.row_factors && tokens.last_row + B * L::width <= w.n_weights) {
        each_sum<Real, B, kHalf>(w, tokens, begin, end, K, out, [&](auto* sum, size_t i) TW_INLINE_LAMBDA {
            const Real* from = w.weights + tokens.rows[i];
            unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
                if constexpr (kHalf && b.value + 1 == B)
                    sum[b.value] = sum[b.value] + load_half(from + b.value * L::width);
                else
                    sum[b.value] = sum[b.value] + load(from + b.value * L::width);
            });
        });
        return;
    }
    each_sum<Real, B, kHalf>(w, tokens, begin, end, K, out, [&](auto* sum, size_t i) TW_INLINE_LAMBDA {
        const auto x = L::fill(tokens.row_factors ? (Real)tokens.row_factors[i] : Real{1});
        const Real* from = w.weights + tokens.rows[i];
        const size_t left = w.n_weights - tokens.rows[i];
        unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
            constexpr size_t first = b.value * L::width;
            const size_t n = left > first ? left - first : 0;
            sum[b.value] =
                sum[b.value] + x * (n >= L::width ? load(from + first) : load_partial(from + first, n, Real{0}));
        });
    });
}

template <class Real>
void add_rows_any(const UnitWeights<Real>& w, const TokenUnits& tokens, size_t begin, size_t end, size_t K,
                  double* out) {
    for (size_t t = begin; t < end; ++t, out += K) {
        for (size_t y = 0; y < K; ++y) out[y] = 0.0;
        for (size_t i = tokens.row_starts[t]; i < tokens.row_starts[t + 1]; ++i) {
            const double x = tokens.row_factors ? tokens.row_factors[i] : 1.0;
            const Real* from = w.weights + tokens.rows[i];
            for (size_t y = 0; y < K; ++y) out[y] += x * (double)from[y];
        }
        for (size_t i = tokens.part_starts[t]; i < tokens.part_starts[t + 1]; ++i) {
            const double x = part_value(w, tokens, i);
            const Real* from = w.weights + tokens.parts[i].begin;
            for (std::uint64_t left = tokens.parts[i].labels; left != 0; left &= left - 1)
                out[lowest_bit(left)] += x * (double)*from++;
        }
    }
}

template <class Real, size_t B>
auto add_rows_of(size_t K) {
    constexpr size_t V = Lanes<Real>::width;
    const size_t rest = K - (B - 1) * V;
    return kHalves && rest <= V / 2 ? add_rows<Real, B, true> : add_rows<Real, B, false>;
}

template <class Real>
auto add_rows_for(size_t K) {
    constexpr size_t V = Lanes<Real>::width;
    switch ((K + V - 1) / V) {
        case 1:
            return add_rows_of<Real, 1>(K);
        case 2:
            return add_rows_of<Real, 2>(K);
        case 3:
            return add_rows_of<Real, 3>(K);
        case 4:
            return add_rows_of<Real, 4>(K);
        case 6:
            return add_rows_of<Real, 6>(K);
        default:
            return add_rows_any<Real>;
    }
}

template <class Real>
TW_INLINE void fetch_row(const Real* row, size_t K) {
    constexpr size_t kLine = 64 / sizeof(Real);
    for (size_t y = 0; y < K; y += kLine) prefetch(row + y);
    prefetch(row + K - 1);
}

TW_INLINE bool has_added(const std::uint64_t* bits, std::uint32_t unit) { return bits[unit / 64] >> (unit % 64) & 1; }

// All weights of a rare unit but the first.
template <class Real>
TW_INLINE void add_rest(const UnitWeights<Real>& w, const RareUnit& rare, double x, size_t K, double* row) {
    const Real* from = w.weights + rare.begin;
    if (rare.size == RareUnit::kRow) {
        for (size_t y = 1; y < K; ++y) row[y] += x * (double)from[y];
        return;
    }
    for (size_t j = 1; j < rare.size; ++j) row[w.labels[rare.begin + j]] += x * (double)from[j];
    if (!has_added(w.has_added, rare.unit)) return;
    for (std::uint32_t a = w.first_added[rare.unit]; a != kNoneAdded; a = w.added[a].next)
        row[w.added[a].code] += x * (double)w.weights[w.added[a].weight];
}

// What is far away in memory is fetched, a block of tokens at a time, while the rows of some tokens are added: rows
// that are seldom used and the weights of rare units, then where added weights are, and at last their values. No branch
// asks whether a rare unit has more weights than one, which could not be foreseen: those that have are listed.
template <class Real>
void gather(const UnitWeights<Real>& w, const TokenUnits& tokens, size_t begin, size_t end, size_t K, double* out) {
    constexpr size_t kBlock = 32, kParts = 4, kListed = 256;
    const auto rows = add_rows_for<Real>(K);
    const RareUnit* listed[kListed];
    for (size_t from = begin; from < end; from += kBlock) {
        const size_t to = from + kBlock < end ? from + kBlock : end;
        const RareUnit *first = tokens.rare + tokens.rare_starts[from], *last = tokens.rare + tokens.rare_starts[to];
        const RareUnit* const unlisted = last - first > (std::ptrdiff_t)kListed ? first + kListed : last;
        const auto part = [&](size_t i) TW_INLINE_LAMBDA {
            const size_t a = from + (to - from) * i / kParts, b = from + (to - from) * (i + 1) / kParts;
            rows(w, tokens, a, b, K, out + (a - begin) * K);
        };
        const auto x = [&](const RareUnit* rare) TW_INLINE_LAMBDA {
            const double factor = w.factors[rare->factor];
            return tokens.rare_values ? factor * (double)tokens.rare_values[rare - tokens.rare] : factor;
        };
        const auto row = [&](const RareUnit* rare) TW_INLINE_LAMBDA { return out + (rare->token - begin) * K; };
        for (size_t i = tokens.far_starts[from]; i < tokens.far_starts[to]; ++i)
            fetch_row(w.weights + tokens.far[i], K);
        for (const RareUnit* rare = first; rare < last; ++rare) prefetch(w.weights + rare->begin);
        size_t n = 0;
        for (const RareUnit* rare = first; rare < unlisted; ++rare) {
            listed[n] = rare;
            n += (rare->size > 1) | has_added(w.has_added, rare->unit);
        }
        part(0);
        for (size_t i = 0; i < n; ++i) {
            if (listed[i]->size == RareUnit::kRow) {
                fetch_row(w.weights + listed[i]->begin, K);
            } else {
                prefetch(w.labels + listed[i]->begin);
                prefetch(w.first_added + listed[i]->unit);
            }
        }
        part(1);
        const auto each_added = [&](auto visit) TW_INLINE_LAMBDA {
            for (size_t i = 0; i < n; ++i)
                if (has_added(w.has_added, listed[i]->unit)) visit(w.first_added[listed[i]->unit]);
        };
        each_added([&](std::uint32_t a) TW_INLINE_LAMBDA { prefetch(w.added + a); });
        part(2);
        each_added([&](std::uint32_t a) TW_INLINE_LAMBDA { prefetch(w.weights + w.added[a].weight); });
        part(3);
        for (const RareUnit* rare = first; rare < last; ++rare)
            if (rare->size > 0) row(rare)[rare->label] += x(rare) * (double)w.weights[rare->begin];
        for (size_t i = 0; i < n; ++i) add_rest(w, *listed[i], x(listed[i]), K, row(listed[i]));
        for (const RareUnit* rare = unlisted; rare < last; ++rare) add_rest(w, *rare, x(rare), K, row(rare));
    }
}

// ---- probes for the roofline ----------------------------------------------------------------------------------------

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

extern const Kernels TW_JOIN(kernels_, TW_ISA);
const Kernels TW_JOIN(kernels_, TW_ISA) = {
    TW_STRING(TW_ISA), W,           first_invalid, log_sum_exp, softmax,        exponentials,       pack_sum,
    pack_max,          sum_forward, sum_backward,  sum_total,   gather<double>, gather<float>,      max_meet,
    max_forward,       max_last,    max_trace,     max_losses,  max_backward,   probe_multiply_add, probe_exponential,
    probe_max_plus,
};

}  // namespace tw
