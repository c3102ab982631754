// Training: forward and backward over a group of sequences side by side, in single and double precision. See copy.hpp.
#include <math.h>

#include "at_position.hpp"
#include "copy.hpp"
#include "training.hpp"

namespace tw {
namespace {

using std::size_t;
using std::uint32_t;

constexpr size_t kFour = 4, kEight = 8;  // sequences side by side

template <bool kValue>
struct Flag {
    static constexpr bool value = kValue;
};

// Calls visit(offset, whether this is half a pack) for every pack of a row.
template <class Real, class Visit>
TW_INLINE void each_pack(size_t stride, Visit visit) {
    constexpr size_t w = Lanes<Real>::width;
    size_t k = 0;
    for (; k + w <= stride; k += w) visit(k, Flag<false>{});
    if constexpr (kHalves) {
        if (k < stride) visit(k, Flag<true>{});
    }
}
// The pack at p; where it is half, zeros follow.
template <class Real, bool kHalf>
TW_INLINE typename Lanes<Real>::V load_at(const Real* p, Flag<kHalf>) {
    return kHalf ? load_half(p) : load(p);
}
template <class Real, bool kHalf>
TW_INLINE void store_at(Real* p, Flag<kHalf>, typename Lanes<Real>::V v) {
    if constexpr (kHalf)
        store_half(p, v);
    else
        store(p, v);
}

template <class Real>
constexpr size_t packs_of(size_t stride) {
    return (stride + Lanes<Real>::width - 1) / Lanes<Real>::width;
}

// ---- transitions ---------------------------------------------------------------------------------------------------

// A stochastic step does this anew, so no loop may go number by number.
TW_INLINE double largest(const double* numbers, size_t n) {
    using L = Lanes<double>;
    auto best = L::fill(-kInfinity);
    size_t i = 0;
    for (; i + L::width <= n; i += L::width) best = maximum(best, load(numbers + i));
    double found = reduce_max(best);
    for (; i < n; ++i) found = numbers[i] > found ? numbers[i] : found;
    return found;
}

template <class Real>
void pack(const double* scores, size_t n_labels, size_t stride, Moves<Real>& out) {
    double best = largest(scores, n_labels * n_labels);
    if (best == -kInfinity) best = 0.0;
    out.shift = best;
    using L = Lanes<Real>;
    const auto floor_log = L::fill(L::move_floor_log), lowest = L::fill((Real)-1e30);
    auto raised = L::fill(0);
    for (size_t i = 0; i < stride * stride; ++i) out.forward[i] = 0;
    for (size_t a = 0; a < n_labels; ++a) {
        Real* row = out.forward + a * stride;
        for (size_t b = 0; b < n_labels; ++b) row[b] = (Real)(scores[a * n_labels + b] - best);
        each_pack<Real>(stride, [&](size_t b, auto half) TW_INLINE_LAMBDA {
            const auto v = load_at(row + b, half);
            raised = select((v < floor_log) & (v > lowest), L::fill(1), raised);
            store_at(row + b, half, select(v > lowest, exponential(maximum(v, floor_log)), L::fill(0)));
        });
        for (size_t b = n_labels; b < stride; ++b) row[b] = 0;
    }
    out.raised = reduce_max(raised) > 0;
    for (size_t a = 0; a < stride; ++a)
        for (size_t b = 0; b < stride; ++b) out.backward[b * stride + a] = out.forward[a * stride + b];
}

// ---- one step of a recursion, for N sequences side by side ---------------------------------------------------------

// B packs, and half a pack after them.
template <class Real, size_t N, size_t B, bool kHalf, class Finish>
TW_INLINE void advance_block(const Real* const* from, const Real* moves, size_t stride, size_t n_labels,
                             Finish finish) {
    using L = Lanes<Real>;
    using V = typename L::V;
    using H = typename L::Half;
    constexpr size_t kChains = N == 1 ? 4 : 1;  // one sequence alone: independent partial sums hide the latency
    constexpr size_t kParts = kChains * N;
    V part[kParts * B + 1];
    H last[kParts];
    unrolled<kParts * B>([&](auto i) TW_INLINE_LAMBDA { part[i.value] = V{}; });
    if constexpr (kHalf) unrolled<kParts>([&](auto i) TW_INLINE_LAMBDA { last[i.value] = H{}; });
    for (size_t a = 0; a < n_labels; a += kChains)  // rows and matrices are padded with zeros to a multiple of 4
        unrolled<kChains>([&](auto c) TW_INLINE_LAMBDA {
            const Real* row = moves + (a + c.value) * stride;
            V move[B + 1];
            H last_move{};
            unrolled<B>([&](auto b) TW_INLINE_LAMBDA { move[b.value] = load(row + b.value * L::width); });
            if constexpr (kHalf) std::memcpy(&last_move, row + B * L::width, sizeof last_move);
            unrolled<N>([&](auto n) TW_INLINE_LAMBDA {
                constexpr size_t i = c.value * N + n.value;
                const Real value = from[n.value][a + c.value];
                unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
                    part[i * B + b.value] = part[i * B + b.value] + value * move[b.value];
                });
                if constexpr (kHalf) last[i] = last[i] + value * last_move;
            });
        });
    const auto whole = [](const auto* of_chains, size_t i, size_t step) TW_INLINE_LAMBDA {
        if constexpr (kChains == 1) return of_chains[i];
        return (of_chains[i] + of_chains[step + i]) + (of_chains[2 * step + i] + of_chains[3 * step + i]);
    };
    unrolled<N * B>([&](auto i) TW_INLINE_LAMBDA {
        finish(i.value / B, i.value % B * L::width, Flag<false>{}, whole(part, i.value, N * B));
    });
    if constexpr (kHalf)
        unrolled<N>([&](auto n) TW_INLINE_LAMBDA {
            finish(n.value, B * L::width, Flag<true>{}, widened(whole(last, n.value, N)));
        });
}

// Calls finish(n, offset, whether half, value) for every pack of every sequence's next row.
template <class Real, size_t N, class Finish>
TW_INLINE void advance(const Real* const* from, const Real* moves, size_t stride, size_t n_labels, Finish finish) {
    constexpr size_t kBlock = W == 8 ? 4 : 3;
    constexpr size_t w = Lanes<Real>::width;
    const bool half = kHalves && stride % w != 0;
    const size_t packs = (stride + w - 1) / w, blocks = (packs + kBlock - 1) / kBlock;
    size_t pack_number = 0;
    for (size_t block = 0; block < blocks; ++block) {
        const size_t here = (packs - pack_number + (blocks - block) - 1) / (blocks - block);
        const size_t offset = pack_number * w;
        pack_number += here;
        const auto run = [&]<size_t B, bool kHalf>() TW_INLINE_LAMBDA {
            advance_block<Real, N, B, kHalf>(from, moves + offset, stride, n_labels,
                                             [&](size_t n, size_t k, auto is_half, auto sum)
                                                 TW_INLINE_LAMBDA { finish(n, offset + k, is_half, sum); });
        };
        const auto run_packs = [&]<size_t B>() TW_INLINE_LAMBDA {
            if constexpr (kHalves) {
                if (half && block + 1 == blocks) return run.template operator()<B - 1, true>();
            }
            run.template operator()<B, false>();
        };
        if (here == 1)
            run_packs.template operator()<1>();
        else if (here == 2)
            run_packs.template operator()<2>();
        else if (here == 3)
            run_packs.template operator()<3>();
        else if constexpr (kBlock == 4)
            run_packs.template operator()<4>();
    }
}

// ---- forward and backward ------------------------------------------------------------------------------------------

// The power of two that brings the largest value of a row back to about 2^kTarget; what it takes out is added to
// log2_scale. Not to one: two steps may take e^(2 move_floor_log) away, and can add little.
constexpr int kTarget = 20;
TW_INLINE float power_of_two(float largest, double& log2_scale) {
    std::uint32_t bits;
    std::memcpy(&bits, &largest, sizeof bits);
    const std::int32_t exponent = (std::int32_t)(bits >> 23) - 127 - kTarget;
    const std::uint32_t inverse = (std::uint32_t)(127 - exponent) << 23;
    float scale;
    std::memcpy(&scale, &inverse, sizeof scale);
    log2_scale += (double)exponent;
    return scale;
}
TW_INLINE double power_of_two(double largest, double& log2_scale) {
    std::uint64_t bits;
    std::memcpy(&bits, &largest, sizeof bits);
    const std::int64_t exponent = (std::int64_t)(bits >> 52) - 1023 - kTarget;
    const std::uint64_t inverse = (std::uint64_t)(1023 - exponent) << 52;
    double scale;
    std::memcpy(&scale, &inverse, sizeof scale);
    log2_scale += (double)exponent;
    return scale;
}

// Watches that nothing vanishes or overflows unnoticed. Local factors are zero or at least e^floor_log, those of
// transitions zero or at least e^move_floor_log.
//   - When no label is forbidden, the largest value of a row becomes at least e^move_floor_log of itself in the next,
//   and
//     every other at least e^floor_log of that. Rescaled every other step, nothing can vanish, and only the largest
//     value is looked at.
//   - Otherwise values may be zero for good, and every one that is not is looked at (`kEach`): one step from a value
//     above `guard` never becomes zero.
template <class Real, bool kEach>
struct Watch {
    using L = Lanes<Real>;
    using V = typename L::V;
    V smallest = L::fill(1), largest = L::fill(1);
    bool in_range = true;
    TW_INLINE void see(V v) {
        if constexpr (kEach) {
            smallest = select((v > L::fill(0)) & (v < smallest), v, smallest);
            largest = maximum(largest, v);
        }
    }
    TW_INLINE void see_total(Real total) { in_range &= total > L::least_total && total < L::most_total; }
    // What a row is multiplied with to bring its largest value back to where it should be.
    TW_INLINE Real rescaling(const Real* row, size_t stride, double& log2_scale) {
        auto best = L::fill(0);
        each_pack<Real>(stride,
                        [&](size_t k, auto half) TW_INLINE_LAMBDA { best = maximum(best, load_at(row + k, half)); });
        const Real top = reduce_max(best);
        if (!(top > (kEach ? L::guard : L::row_guard) && top < L::ceiling)) {
            in_range = false;
            return 1;
        }
        return power_of_two(top, log2_scale);
    }
    TW_INLINE bool left() const {
        const Real low = -reduce_max(L::fill(0) - smallest), high = reduce_max(largest);
        return !(in_range && low >= L::guard && high <= L::ceiling);
    }
};

// Scores to factors e^(score - best), in place. Factors below e^floor_log are raised to that: what this adds to the
// total is known at the end, as the probability of the raised ones.
template <class Real>
TW_INLINE double factors(size_t stride, Real* row, size_t length) {
    using L = Lanes<Real>;
    double log_scale = 0.0;
    const auto floor_log = L::fill(L::floor_log), lowest = L::fill((Real)-1e30);
    for (size_t t = 0; t < length; ++t, row += stride) {
        auto best = L::fill((Real)-kInfinity);
        each_pack<Real>(stride, [&](size_t k, auto half) TW_INLINE_LAMBDA {
            best = maximum(best, decltype(half)::value ? load_half_or(row + k, best) : load(row + k));
        });
        const Real shift = reduce_max(best);
        log_scale += (double)shift;
        each_pack<Real>(stride, [&](size_t k, auto half) TW_INLINE_LAMBDA {
            const auto v = load_at(row + k, half);
            const auto e = exponential(maximum(v - L::fill(shift), floor_log));
            store_at(row + k, half, select(v > lowest, e, L::fill(0)));
        });
    }
    return log_scale;
}

template <class Real>
struct Trellis {  // one sequence of a group
    Real *local, *alpha, *gamma;
    size_t length;
    Real weight;
    double log_scale, log2_scale;
};

template <class Real, size_t N, class Watcher>
TW_INLINE void forward(const Moves<Real>& moves, size_t stride, size_t n_labels, Trellis<Real>* s, size_t begin,
                       size_t end, Watcher& watch) {
    using L = Lanes<Real>;
    for (size_t t = begin; t < end; ++t) {
        at_position(t, n_labels);
        const Real* from[N];
        Real* to[N];
        const Real* locals[N];
        typename L::V scales[N];
        for (size_t n = 0; n < N; ++n) {
            from[n] = s[n].alpha + (t - 1) * stride;
            to[n] = s[n].alpha + t * stride;
            locals[n] = s[n].local + t * stride;
            scales[n] = L::fill(t % 2 == 0 ? watch.rescaling(from[n], stride, s[n].log2_scale) : (Real)1);
        }
        advance<Real, N>(from, moves.forward, stride, n_labels,
                         [&](size_t n, size_t k, auto half, auto sum) TW_INLINE_LAMBDA {
                             const auto v = sum * (load_at(locals[n] + k, half) * scales[n]);
                             watch.see(v);
                             store_at(to[n] + k, half, v);
                         });
    }
}

// Probabilities of one token, over its local factors; alpha is scaled for the expected transitions. `raised` collects
// the probability of labels whose factor had been raised.
template <class Real, class Watcher>
TW_INLINE void finish_token(size_t stride, Real* local, Real* alpha, const Real* beta, Real weight,
                            typename Lanes<Real>::V floor, typename Lanes<Real>::V& raised, Watcher& watch) {
    using L = Lanes<Real>;
    auto total = L::fill(0);
    each_pack<Real>(stride, [&](size_t k, auto half) TW_INLINE_LAMBDA {
        total = total + load_at(alpha + k, half) * load_at(beta + k, half);
    });
    const Real sum = reduce_add(total);
    watch.see_total(sum);
    const auto factor = L::fill(weight / sum);
    each_pack<Real>(stride, [&](size_t k, auto half) TW_INLINE_LAMBDA {
        const auto a = load_at(alpha + k, half) * factor;
        const auto p = a * load_at(beta + k, half);
        raised = raised + select(load_at(local + k, half) <= floor, p, L::fill(0));
        store_at(alpha + k, half, a);
        store_at(local + k, half, p);
    });
}

// Tokens end - 1 down to begin, given gamma at `end`.
template <class Real, size_t N, class Watcher>
TW_INLINE void backward(const Moves<Real>& moves, size_t stride, size_t n_labels, Trellis<Real>* s, size_t begin,
                        size_t end, typename Lanes<Real>::V floor, typename Lanes<Real>::V& raised, Watcher& watch,
                        Real* betas) {
    using L = Lanes<Real>;
    for (size_t t = end; t-- > begin;) {
        if (t > 0) at_position(t, n_labels);
        const Real* from[N];
        Real* to[N];
        const Real* locals[N];
        typename L::V scales[N];
        for (size_t n = 0; n < N; ++n) {
            from[n] = s[n].gamma + (t + 1) * stride;
            to[n] = s[n].gamma + t * stride;
            locals[n] = s[n].local + t * stride;
            double unused = 0.0;
            scales[n] = L::fill(t % 2 == 0 ? watch.rescaling(from[n], stride, unused) : (Real)1);
        }
        advance<Real, N>(from, moves.backward, stride, n_labels,
                         [&](size_t n, size_t k, auto half, auto beta) TW_INLINE_LAMBDA {
                             const auto v = beta * (load_at(locals[n] + k, half) * scales[n]);
                             watch.see(v);
                             store_at(to[n] + k, half, v);
                             store_at(betas + n * stride + k, half, beta);
                         });
        for (size_t n = 0; n < N; ++n)
            finish_token(stride, s[n].local + t * stride, s[n].alpha + t * stride, betas + n * stride, s[n].weight,
                         floor, raised, watch);
    }
}

// The last token of a sequence, where the backward pass begins.
template <class Real, class Watcher>
TW_INLINE void last_token(size_t stride, size_t n_labels, Trellis<Real>& s, typename Lanes<Real>::V floor,
                          typename Lanes<Real>::V& raised, Watcher& watch, Real* beta) {
    const size_t offset = (s.length - 1) * stride;
    for (size_t k = 0; k < stride; ++k) beta[k] = k < n_labels ? (Real)1 : (Real)0;
    for (size_t k = 0; k < stride; ++k) s.gamma[offset + k] = s.local[offset + k];
    finish_token(stride, s.local + offset, s.alpha + offset, beta, s.weight, floor, raised, watch);
    for (size_t k = 0; k < stride; ++k) s.alpha[offset + k] = 0;  // no edge leaves it
}

// sums[a][b] += sum over rows i of alpha_i[a] gamma_{i + 1}[b]: a product of matrices, in blocks of R by B registers,
// and half of one after them.
template <class Real, size_t R, size_t B, bool kHalf>
TW_INLINE void edge_block(const Real* alpha, const Real* gamma, size_t n, size_t stride, Real* sums) {
    using L = Lanes<Real>;
    using H = typename L::Half;
    typename L::V part[R * B + 1];
    H last[R];
    unrolled<R * B>([&](auto i) TW_INLINE_LAMBDA { part[i.value] = L::fill(0); });
    unrolled<R>([&](auto r) TW_INLINE_LAMBDA { last[r.value] = H{}; });
    for (size_t i = 0; i < n; ++i, alpha += stride, gamma += stride) {
        typename L::V to[B + 1];
        H last_to{};
        unrolled<B>([&](auto b) TW_INLINE_LAMBDA { to[b.value] = load(gamma + b.value * L::width); });
        if constexpr (kHalf) std::memcpy(&last_to, gamma + B * L::width, sizeof last_to);
        unrolled<R>([&](auto r) TW_INLINE_LAMBDA {
            const Real from = alpha[r.value];
            unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
                part[r.value * B + b.value] = part[r.value * B + b.value] + from * to[b.value];
            });
            if constexpr (kHalf) last[r.value] = last[r.value] + from * last_to;
        });
    }
    unrolled<R>([&](auto r) TW_INLINE_LAMBDA {
        unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
            store(sums + r.value * stride + b.value * L::width, part[r.value * B + b.value]);
        });
        if constexpr (kHalf) store_half(sums + r.value * stride + B * L::width, widened(last[r.value]));
    });
}

template <class Real, size_t R>
TW_INLINE void edge_rows(const Real* alpha, const Real* gamma, size_t n, size_t stride, Real* sums) {
    constexpr size_t w = Lanes<Real>::width;
    size_t b = 0;
    for (; b + 2 * w <= stride; b += 2 * w) edge_block<Real, R, 2, false>(alpha, gamma + b, n, stride, sums + b);
    if constexpr (kHalves) {
        if (stride - b > w) return edge_block<Real, R, 1, true>(alpha, gamma + b, n, stride, sums + b);
        if (stride - b == w / 2) return edge_block<Real, R, 0, true>(alpha, gamma + b, n, stride, sums + b);
    }
    if (b < stride) edge_block<Real, R, 1, false>(alpha, gamma + b, n, stride, sums + b);
}

template <class Real>
void edge_sums(const Real* alpha, const Real* gamma, size_t n, size_t n_labels, size_t stride, Real* sums) {
    constexpr size_t kRows = W == 8 ? 11 : 5;  // with two packs each, within the registers
    for (size_t a = 0; a < n_labels;) {
        if (n > 4096) check_interrupt();
        const bool many = a + kRows <= n_labels;
        if (many)
            edge_rows<Real, kRows>(alpha + a, gamma + stride, n, stride, sums + a * stride);
        else
            edge_rows<Real, 1>(alpha + a, gamma + stride, n, stride, sums + a * stride);
        a += many ? kRows : 1;
    }
}

// Probability that has gone over transitions whose factor had been raised.
template <class Real>
double raised_edges(const Moves<Real>& moves, const TrainingGroup<Real>& g) {
    Real lanes[Lanes<Real>::width];
    store(lanes, exponential(Lanes<Real>::fill(Lanes<Real>::move_floor_log)));
    const Real floor = lanes[0];
    double total = 0.0;
    for (size_t a = 0; a < g.n_labels; ++a)
        for (size_t b = 0; b < g.n_labels; ++b)
            if (moves.forward[a * g.stride + b] <= floor)
                total += (double)(g.edges[a * g.stride + b] * moves.forward[a * g.stride + b]);
    return total;
}

// Squares of edge probabilities, from alpha and gamma squared; the weight, which is in alpha, stays in once.
template <class Real>
void square_sums(const TrainingGroup<Real>& g, size_t tokens) {
    size_t first = 0;
    for (size_t n = 0; n < g.count; ++n) {
        const Real inverse = g.weights[n] > 0.0 ? (Real)(1.0 / g.weights[n]) : (Real)0;
        for (size_t i = first * g.stride; i < (first + g.lengths[n]) * g.stride; ++i) {
            g.alpha[i] = g.alpha[i] * g.alpha[i] * inverse;
            g.gamma[i] = g.gamma[i] * g.gamma[i];
        }
        first += g.lengths[n];
    }
    edge_sums(g.alpha, g.gamma, tokens - 1, g.n_labels, g.stride, g.squares);
}

constexpr size_t kMostPacksOfEight = W == 8 ? 2 : 0;  // whose sums fit the registers

// `kStride` is the stride, which rows of few labels have as a constant: loops over packs are then no loops. 0: any.
template <class Real, bool kEach, size_t kStride>
bool forward_backward_watched(const Moves<Real>& moves, const TrainingGroup<Real>& g) {
    const size_t stride = kStride ? kStride : g.stride, n_labels = g.n_labels;
    using L = Lanes<Real>;
    Trellis<Real> s[kMostTogether];
    Watch<Real, kEach> watch;
    size_t tokens = 0;
    for (size_t n = 0; n < g.count; ++n) {
        const size_t offset = tokens * stride;
        s[n] = {g.local + offset, g.alpha + offset, g.gamma + offset, g.lengths[n], (Real)g.weights[n], 0.0, 0.0};
        s[n].log_scale = factors(stride, s[n].local, s[n].length);
        each_pack<Real>(stride, [&](size_t k, auto half) TW_INLINE_LAMBDA {
            const auto v = load_at(s[n].local + k, half);
            watch.see(v);
            store_at(s[n].alpha + k, half, v);
        });
        tokens += g.lengths[n];
    }
    // All eight advance together as far as the shortest goes, then each four, then each by itself; back likewise.
    constexpr bool kEights = kStride && packs_of<Real>(kStride) <= kMostPacksOfEight;
    const bool eight = kEights && g.count == kEight;
    const size_t fours = g.count / kFour;
    const size_t of_eight = eight ? g.lengths[kEight - 1] : 1;
    size_t of_four[kMostTogether / kFour];
    if (eight) forward<Real, kEight>(moves, stride, n_labels, s, 1, of_eight, watch);
    for (size_t i = 0; i < fours; ++i) {
        of_four[i] = s[kFour * i + kFour - 1].length;
        forward<Real, kFour>(moves, stride, n_labels, s + kFour * i, of_eight, of_four[i], watch);
    }
    for (size_t n = 0; n < g.count; ++n) {
        forward<Real, 1>(moves, stride, n_labels, s + n, fours ? of_four[n / kFour] : 1, s[n].length, watch);
        auto total = L::fill(0);
        const Real* last = s[n].alpha + (s[n].length - 1) * stride;
        each_pack<Real>(stride, [&](size_t k, auto half) TW_INLINE_LAMBDA { total = total + load_at(last + k, half); });
        const Real sum = reduce_add(total);
        watch.in_range &= sum > L::row_guard && sum < L::ceiling * L::ceiling;
        const double log_2 = 0.69314718055994530942;
        g.log_partition[n] =
            log((double)sum) + s[n].log2_scale * log_2 + s[n].log_scale + moves.shift * (double)(s[n].length - 1);
    }
    if (watch.left()) return false;

    const auto floor = exponential(L::fill(L::floor_log));
    auto raised = L::fill(0);
    Real* betas = g.gamma + tokens * stride;  // rows of scratch after the last
    for (size_t n = 0; n < g.count; ++n) {
        last_token(stride, n_labels, s[n], floor, raised, watch, betas);
        backward<Real, 1>(moves, stride, n_labels, s + n, fours ? of_four[n / kFour] - 1 : 0, s[n].length - 1, floor,
                          raised, watch, betas);
    }
    for (size_t i = 0; i < fours; ++i)
        backward<Real, kFour>(moves, stride, n_labels, s + kFour * i, of_eight - 1, of_four[i] - 1, floor, raised,
                              watch, betas);
    if (eight) backward<Real, kEight>(moves, stride, n_labels, s, 0, of_eight - 1, floor, raised, watch, betas);
    if (watch.left()) return false;
    double weight = 0.0;
    for (size_t n = 0; n < g.count; ++n) weight += g.weights[n];
    if (!((double)reduce_add(raised) <= (double)L::raised_limit * weight)) return false;
    edge_sums(g.alpha, g.gamma, tokens - 1, n_labels, stride, g.edges);
    if (moves.raised && !(raised_edges(moves, g) <= (double)L::raised_limit * weight)) return false;
    if (g.squares) square_sums(g, tokens);
    return true;
}

template <class Real>
bool forward_backward(const Moves<Real>& moves, const TrainingGroup<Real>& g) {
    if (g.forbidden) return forward_backward_watched<Real, true, 0>(moves, g);
    if constexpr (sizeof(Real) == sizeof(float)) {  // doubles are for the few passes that need them
        if (g.stride == 8) return forward_backward_watched<Real, false, 8>(moves, g);
        if (g.stride == 16) return forward_backward_watched<Real, false, 16>(moves, g);
        if (g.stride == 24) return forward_backward_watched<Real, false, 24>(moves, g);
        if (g.stride == 32) return forward_backward_watched<Real, false, 32>(moves, g);
    }
    return forward_backward_watched<Real, false, 0>(moves, g);
}

template <class Real>
void variances(Real* probabilities, size_t n, double weight) {
    const Real inverse = weight > 0.0 ? (Real)(1.0 / weight) : (Real)0;
    for (size_t i = 0; i < n; ++i) probabilities[i] -= probabilities[i] * probabilities[i] * inverse;
}

template <class Real>
constexpr GroupLoops<Real> loops() {
    return {pack<Real>, forward_backward<Real>, variances<Real>};
}

}  // namespace

extern const BothPrecisions<GroupLoops> TW_COPY(group_loops);
const BothPrecisions<GroupLoops> TW_COPY(group_loops) = {loops<float>(), loops<double>()};

}  // namespace tw
