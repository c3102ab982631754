// Sums over the labellings of a chain: the sum-product recursion on rescaled probabilities (Rabiner 1989, sec. V-A).
// See copy.hpp.
#include <math.h>

#include "chain_steps.hpp"

namespace tw {
namespace {

// Nonzero values of a row must stay in [kSmallest, kLargest]. Local factors and transitions are zero or at least
// kSmallest too, so one step makes at least 1e-300: what was not zero never becomes zero. Outside the range the
// sequence is redone in log space.
constexpr double kSmallest = 1e-100;
constexpr double kLargest = 1e100;
constexpr double kSmallestLog = -230.0;  // just above log(kSmallest)
constexpr double kUpperTiny = 1e-90;     // three of them and a rescaling still make a normal number
constexpr size_t kRescaleEvery = 8;

// ---- transitions ---------------------------------------------------------------------------------------------------

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

// ---- rows of local scores ------------------------------------------------------------------------------------------

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

// ---- forward and backward ------------------------------------------------------------------------------------------

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

}  // namespace

extern const ChainSumLoops TW_COPY(chain_sum_loops);
const ChainSumLoops TW_COPY(chain_sum_loops) = {pack_sum, sum_forward, sum_backward, sum_total};

}  // namespace tw
