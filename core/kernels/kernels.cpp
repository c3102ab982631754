// The vectorised recursions. Compiled once per instruction set with TW_ISA and TW_WIDTH set; see kernels.hpp.
//
// Nothing here may come from a C++ library template: an inline function compiled for AVX-512 and merged by the linker
// into baseline code would crash older processors. Hence raw pointers, and simd.hpp's unnamed namespace.
#include "kernels.hpp"

#include <math.h>

#include "simd.hpp"

#define TW_JOIN2(a, b) a##b
#define TW_JOIN(a, b) TW_JOIN2(a, b)
#define TW_STRING2(a) #a
#define TW_STRING(a) TW_STRING2(a)

namespace tw {
namespace {

using std::size_t;

// Nonzero values of a row must stay in [kSmallest, kLargest]. Local factors and transitions are at least kSmallest too,
// so one step makes at least 1e-300: whatever is zero is forbidden, never underflown. Outside the range the sequence is
// redone in log space.
constexpr double kSmallest = 1e-100;
constexpr double kLargest = 1e100;
constexpr double kSmallestLog = -230.0;  // just above log(kSmallest)
constexpr size_t kRescaleEvery = 8;

// ---- semirings on packs: the same operations as semiring.hpp's types, a pack at a time ------------------------------

struct PackedSumProduct {
    static constexpr double zero = 0.0;
    static TW_INLINE Pack plus_times(Pack sum, Pack a, Pack b) { return sum + a * b; }
    static TW_INLINE Pack plus(Pack a, Pack b) { return a + b; }
    static TW_INLINE Pack times(Pack a, Pack b) { return a * b; }
};

struct PackedMaxPlus {
    static constexpr double zero = -kInfinity;
    static TW_INLINE Pack plus_times(Pack best, Pack a, Pack b) { return maximum(best, a + b); }
    static TW_INLINE Pack plus(Pack a, Pack b) { return maximum(a, b); }
    static TW_INLINE Pack times(Pack a, Pack b) { return a + b; }
};

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

// ---- transitions ----------------------------------------------------------------------------------------------------

TW_INLINE const double* transitions_of(const Potentials& p, size_t step) {
    return p.transitions + (p.per_step ? step * p.n_labels * p.n_labels : 0);
}

void pack_sum(const Potentials& p, size_t step, size_t padded, PackedTransitions& out) {
    const size_t K = p.n_labels;
    const double* scores = transitions_of(p, step);
    double shift = -kInfinity;
    for (size_t i = 0; i < K * K; ++i) shift = scores[i] > shift ? scores[i] : shift;
    if (shift == -kInfinity) shift = 0.0;
    out.shift = shift;
    out.underflow = false;
    for (size_t a = 0; a < K; ++a) {
        for (size_t b = 0; b < padded; b += W) {
            const double* from = scores + a * K + b;
            const Pack raw =
                b + W <= K ? load(from) : (b < K ? load_partial(from, K - b, -kInfinity) : fill(-kInfinity));
            const Pack v = raw - fill(shift);
            out.underflow |= any((v < fill(kSmallestLog)) & (v > fill(-kInfinity)));
            store(out.forward + a * padded + b, exponential(v));
        }
    }
    for (size_t b = 0; b < K; ++b)
        for (size_t a = 0; a < padded; ++a) out.backward[b * padded + a] = a < K ? out.forward[a * padded + b] : 0.0;
}

void pack_max(const Potentials& p, size_t step, size_t padded, PackedTransitions& out) {
    const size_t K = p.n_labels;
    const double* scores = transitions_of(p, step);
    out.shift = 0.0;
    out.underflow = false;
    for (size_t a = 0; a < K; ++a)
        for (size_t b = 0; b < padded; ++b) {
            out.forward[a * padded + b] = b < K ? scores[a * K + b] : -kInfinity;
            out.backward[a * padded + b] = b < K ? scores[b * K + a] : -kInfinity;
        }
}

// ---- one step of a recursion: to = from x transitions, for N sequences side by side ---------------------------------

template <class S, size_t N, size_t B>
TW_INLINE void advance_block(const double* const* from, const double* moves, size_t padded, size_t n_labels,
                             Pack (*sum)[B]) {
    constexpr size_t kChains = N == 1 ? 4 : 1;  // one sequence alone: independent partial sums hide the latency
    Pack part[kChains][N][B];
    for (size_t c = 0; c < kChains; ++c)
        for (size_t n = 0; n < N; ++n)
            for (size_t b = 0; b < B; ++b) part[c][n][b] = fill(S::zero);
    size_t a = 0;
    for (; a + kChains <= n_labels; a += kChains)
        for (size_t c = 0; c < kChains; ++c) {
            Pack move[B];
            for (size_t b = 0; b < B; ++b) move[b] = load(moves + (a + c) * padded + b * W);
            for (size_t n = 0; n < N; ++n) {
                const Pack value = fill(from[n][a + c]);
                for (size_t b = 0; b < B; ++b) part[c][n][b] = S::plus_times(part[c][n][b], value, move[b]);
            }
        }
    for (; a < n_labels; ++a)
        for (size_t n = 0; n < N; ++n) {
            const Pack value = fill(from[n][a]);
            for (size_t b = 0; b < B; ++b)
                part[0][n][b] = S::plus_times(part[0][n][b], value, load(moves + a * padded + b * W));
        }
    for (size_t n = 0; n < N; ++n)
        for (size_t b = 0; b < B; ++b) {
            if constexpr (kChains == 4)
                sum[n][b] = S::plus(S::plus(part[0][n][b], part[1][n][b]), S::plus(part[2][n][b], part[3][n][b]));
            else
                sum[n][b] = part[0][n][b];
        }
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
            Pack sum[N][B];
            advance_block<S, N, B>(from, moves + offset, padded, n_labels, sum);
            for (size_t n = 0; n < N; ++n)
                for (size_t b = 0; b < B; ++b) finish(n, offset + b * W, sum[n][b]);
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

// One pack of a row of scores; what lies beyond the last label is `rest`.
TW_INLINE Pack load_row(const double* row, size_t offset, size_t n_labels, double rest) {
    if (offset + W <= n_labels) return load(row + offset);
    return offset < n_labels ? load_partial(row + offset, n_labels - offset, rest) : fill(rest);
}

// One pack of a sequence's local scores: start scores belong to the first row.
TW_INLINE Pack local_scores(const Potentials& p, const Sequence& s, size_t t, size_t offset) {
    const Pack v = load_row(s.unary + t * p.n_labels, offset, p.n_labels, -kInfinity);
    return t == 0 ? load_row(p.start, offset, p.n_labels, 0.0) + v : v;
}

// local = exp(scores - row maximum); the maxima go into log_scale.
void prepare_local(const Potentials& p, size_t padded, SumTrellis& s) {
    s.log_scale = 0.0;
    s.underflow = false;
    Mask tiny = fill(0.0) < fill(0.0);
    for (size_t t = 0; t < s.sequence.length; ++t) {
        double* row = s.local + t * padded;
        Pack best = fill(-kInfinity);
        for (size_t k = 0; k < padded; k += W) {
            Pack v = local_scores(p, s.sequence, t, k);
            if (t + 1 == s.sequence.length) v = v + load_row(p.end, k, p.n_labels, 0.0);
            best = maximum(best, v);
            store(row + k, v);
        }
        const double shift = reduce_max(best);
        if (shift == -kInfinity) {
            for (size_t k = 0; k < padded; k += W) store(row + k, fill(0.0));
            continue;  // no label possible: the totals come out as zero
        }
        for (size_t k = 0; k < padded; k += W) {
            const Pack v = load(row + k) - fill(shift);
            tiny = tiny | ((v < fill(kSmallestLog)) & (v > fill(-kInfinity)));
            store(row + k, exponential(v));
        }
        s.log_scale += shift;
    }
    s.underflow = any(tiny);
}

// The power of two that brings the largest value of a row back to about one; its inverse's logarithm is added to
// log_scale. Exact, so that rescaling never rounds.
TW_INLINE double rescaling(const double* row, size_t padded, double& log_scale) {
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
    log_scale += (double)exponent * 0.69314718055994530942;
    return scale;
}

TW_INLINE Pack smallest_nonzero(Pack smallest, Pack v) { return select((v > fill(0.0)) & (v < smallest), v, smallest); }

// ---- rescaled sum-product -------------------------------------------------------------------------------------------

TW_INLINE double* alpha_row(const SumTrellis& s, size_t t, size_t padded, bool keep) {
    return s.alpha + (keep ? t : t & 1) * padded;
}

template <size_t N>
void sum_forward_range(const Potentials& p, PackedTransitions& moves, size_t padded, bool keep, SumTrellis* s,
                       size_t begin, size_t end) {
    Pack smallest = fill(1.0), largest = fill(1.0);
    Pack scales[N];
    for (size_t n = 0; n < N; ++n) scales[n] = fill(1.0);
    for (size_t t = begin; t < end; ++t) {
        if (p.per_step) {
            pack_sum(p, t - 1, padded, moves);
            s[0].underflow |= moves.underflow;
        }
        const double* from[N];
        double* to[N];
        for (size_t n = 0; n < N; ++n) {
            from[n] = alpha_row(s[n], t - 1, padded, keep);
            to[n] = alpha_row(s[n], t, padded, keep);
            s[n].log_scale += moves.shift;
            // Taken from the row before, applied to the next: off the chain of dependent steps.
            if (t % kRescaleEvery == 0) scales[n] = fill(rescaling(from[n], padded, s[n].log_scale));
        }
        advance<PackedSumProduct, N>(from, moves.forward, padded, p.n_labels,
                                     [&](size_t n, size_t k, Pack sum) TW_INLINE_LAMBDA {
                                         const Pack v = sum * (load(s[n].local + t * padded + k) * scales[n]);
                                         smallest = smallest_nonzero(smallest, v);
                                         largest = maximum(largest, v);
                                         store(to[n] + k, v);
                                     });
        if (t % kRescaleEvery == 0)
            for (size_t n = 0; n < N; ++n) scales[n] = fill(1.0);
    }
    if (any((smallest < fill(kSmallest)) | ~(largest < fill(kLargest))))
        for (size_t n = 0; n < N; ++n) s[n].underflow = true;
}

void sum_forward(const Potentials& p, PackedTransitions& moves, size_t padded, bool keep, SumTrellis* s, size_t count) {
    for (size_t n = 0; n < count; ++n) {
        prepare_local(p, padded, s[n]);
        s[n].underflow |= !p.per_step && moves.underflow;
        double* row = alpha_row(s[n], 0, padded, keep);
        for (size_t k = 0; k < padded; k += W) store(row + k, load(s[n].local + k));
    }
    size_t together = 1;
    if (count == kSideBySide) {
        together = s[count - 1].sequence.length;
        sum_forward_range<kSideBySide>(p, moves, padded, keep, s, 1, together);
    }
    for (size_t n = 0; n < count; ++n) {
        sum_forward_range<1>(p, moves, padded, keep, s + n, together, s[n].sequence.length);
        const double* last = alpha_row(s[n], s[n].sequence.length - 1, padded, keep);
        Pack total = fill(0.0);
        for (size_t k = 0; k < padded; k += W) total = total + load(last + k);
        s[n].log_total = log(reduce_add(total)) + s[n].log_scale;
    }
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

// From position `from` down to `to`: row 0 of scratch holds beta at `from` when it begins, at `to` when it ends.
template <size_t N>
void sum_backward_range(const Potentials& p, PackedTransitions& moves, size_t padded, SumTrellis* s,
                        const SumOutputs* out, size_t from, size_t to) {
    const size_t K = p.n_labels;
    Pack smallest = fill(1.0), largest = fill(1.0);
    for (size_t t = from; t > to; --t) {
        if (p.per_step) pack_sum(p, t - 1, padded, moves);
        const double* gammas[N];
        double* betas[N];
        for (size_t n = 0; n < N; ++n) {
            double* beta = s[n].scratch;
            double* gamma = s[n].scratch + padded;
            double unused = 0.0;
            const Pack scale = fill(t % kRescaleEvery == 0 ? rescaling(beta, padded, unused) : 1.0);
            for (size_t k = 0; k < padded; k += W) {
                const Pack v = load(s[n].local + t * padded + k) * scale * load(beta + k);
                smallest = smallest_nonzero(smallest, v);
                largest = maximum(largest, v);
                store(gamma + k, v);
            }
            gammas[n] = gamma;
            betas[n] = beta;
        }
        advance<PackedSumProduct, N>(gammas, moves.backward, padded, K,
                                     [&](size_t n, size_t k, Pack sum) TW_INLINE_LAMBDA { store(betas[n] + k, sum); });
        for (size_t n = 0; n < N; ++n) {
            const double* alpha = s[n].alpha + (t - 1) * padded;
            double* marginals = out[n].marginals ? out[n].marginals + (t - 1) * K : nullptr;
            const double factor = write_marginals(alpha, betas[n], K, padded, marginals);
            if (out[n].edge_marginals)
                write_edges(alpha, gammas[n], moves.forward, factor, K, padded,
                            out[n].edge_marginals + (t - 1) * K * K);
            if (out[n].total_edge_marginals)
                add_edges(alpha, gammas[n], factor, K, padded, out[n].total_edge_marginals);
        }
    }
    if (any((smallest < fill(kSmallest)) | ~(largest < fill(kLargest))))
        for (size_t n = 0; n < N; ++n) s[n].underflow = true;
}

void sum_backward(const Potentials& p, PackedTransitions& moves, size_t padded, SumTrellis* s, const SumOutputs* out,
                  size_t count) {
    const size_t K = p.n_labels;
    const size_t together = count == kSideBySide ? s[count - 1].sequence.length : 1;
    for (size_t n = 0; n < count; ++n) {
        const size_t last = s[n].sequence.length - 1;
        for (size_t k = 0; k < padded; ++k) s[n].scratch[k] = k < K ? 1.0 : 0.0;
        write_marginals(s[n].alpha + last * padded, s[n].scratch, K, padded,
                        out[n].marginals ? out[n].marginals + last * K : nullptr);
        sum_backward_range<1>(p, moves, padded, s + n, out + n, last, together - 1);
    }
    if (count == kSideBySide) sum_backward_range<kSideBySide>(p, moves, padded, s, out, together - 1, 0);
}

// ---- Viterbi --------------------------------------------------------------------------------------------------------

template <size_t N>
void max_forward_range(const Potentials& p, PackedTransitions& moves, size_t padded, const Sequence* s,
                       double* const* scores, size_t begin, size_t end) {
    for (size_t t = begin; t < end; ++t) {
        if (p.per_step) pack_max(p, t - 1, padded, moves);
        const double* from[N];
        for (size_t n = 0; n < N; ++n) from[n] = scores[n] + (t - 1) * padded;
        advance<PackedMaxPlus, N>(from, moves.forward, padded, p.n_labels,
                                  [&](size_t n, size_t k, Pack best) TW_INLINE_LAMBDA {
                                      store(scores[n] + t * padded + k, best + local_scores(p, s[n], t, k));
                                  });
    }
}

void max_forward(const Potentials& p, PackedTransitions& moves, size_t padded, const Sequence* s, double* const* scores,
                 size_t count) {
    for (size_t n = 0; n < count; ++n)
        for (size_t k = 0; k < padded; k += W) store(scores[n] + k, local_scores(p, s[n], 0, k));
    size_t together = 1;
    if (count == kSideBySide) {
        together = s[count - 1].length;
        max_forward_range<kSideBySide>(p, moves, padded, s, scores, 1, together);
    }
    for (size_t n = 0; n < count; ++n) max_forward_range<1>(p, moves, padded, s + n, scores + n, together, s[n].length);
}

// The best last label (the lowest of equals), end scores included.
TW_INLINE size_t best_last(const Potentials& p, const double* row, size_t padded, double& best) {
    Pack top = fill(-kInfinity);
    for (size_t k = 0; k < padded; k += W) top = maximum(top, load(row + k) + load_row(p.end, k, p.n_labels, 0.0));
    best = reduce_max(top);
    for (size_t k = 0; k < padded; k += W) {
        const size_t lane = first(load(row + k) + load_row(p.end, k, p.n_labels, 0.0) == fill(best));
        if (lane < W) return k + lane;
    }
    return 0;
}

double max_trace(const Potentials& p, PackedTransitions& moves, size_t padded, const Sequence& s, const double* scores,
                 std::int32_t* labels) {
    const size_t K = p.n_labels, T = s.length;
    double best;
    size_t y = best_last(p, scores + (T - 1) * padded, padded, best);
    labels[T - 1] = (std::int32_t)y;
    if (best == -kInfinity) return best;
    for (size_t t = T - 1; t > 0; --t) {
        if (p.per_step) pack_max(p, t - 1, padded, moves);
        // The predecessor is the first whose sum, rounded as the forward pass rounded it, is the recorded score.
        const double local = s.unary[t * K + y];
        const Pack wanted = fill(scores[t * padded + y]);
        const double* before = scores + (t - 1) * padded;
        const double* arriving = moves.backward + y * padded;
        for (size_t k = 0; k < padded; k += W) {
            const size_t lane = first((load(before + k) + load(arriving + k)) + fill(local) == wanted);
            if (lane < W) {
                y = k + lane;
                break;
            }
        }
        labels[t - 1] = (std::int32_t)y;
    }
    return best;
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
        for (size_t k = 0; k < padded; k += W) store(gamma + k, load(beta + k) + local_scores(p, s, t, k));
        if (p.per_step) pack_max(p, t - 1, padded, moves);
        const double* from[1] = {gamma};
        advance<PackedMaxPlus, 1>(from, moves.backward, padded, K,
                                  [&](size_t, size_t k, Pack best) TW_INLINE_LAMBDA { store(beta + k, best); });
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
    TW_STRING(TW_ISA), W,         first_invalid, log_sum_exp,        softmax,
    exponentials,      pack_sum,  pack_max,      sum_forward,        sum_backward,
    max_forward,       max_trace, max_backward,  probe_multiply_add, probe_exponential,
    probe_max_plus,
};

}  // namespace tw
