// Training with many labels: rows with gaps, and sums over chains whose transitions are mostly alike. The layout is
// drawn in many_labels.hpp. See copy.hpp.
#include "many_labels.hpp"

#include <math.h>

#include "at_position.hpp"
#include "copy.hpp"

namespace tw {
namespace {

using std::size_t;
using std::uint16_t;
using std::uint32_t;
using std::uint8_t;

// ---- rows with gaps ------------------------------------------------------------------------------------------------

// A block of eight numbers: half a pack, one, or several.
template <class Real>
struct Block {
    using L = Lanes<Real>;
    using V = typename L::V;
    static constexpr bool half = L::width > kBlockLabels;
    static constexpr size_t parts = half ? 1 : kBlockLabels / L::width;
    static TW_INLINE V get(const Real* at, size_t part) {
        if constexpr (half)
            return load_half(at);
        else
            return load(at + part * L::width);
    }
    static TW_INLINE void put(Real* at, size_t part, V v) {
        if constexpr (half)
            store_half(at, v);
        else
            store(at + part * L::width, v);
    }
};

constexpr size_t kAhead = 8;  // rows; lists go on for more than that after their end

template <class Real>
TW_INLINE void fetch_row(const BlockRows& rows, const Real* values, uint32_t row, uint32_t later) {
    prefetch(rows.starts + later);
    const Real* at = values + (size_t)rows.starts[row] * kBlockLabels;
    prefetch(at);
    prefetch(at + 64 / sizeof(Real));
    prefetch(rows.columns + rows.starts[row]);
}

// Calls add(row, value, token) for the rows of tokens begin .. begin + n - 1, these counted from the first.
template <class Real, class Add>
TW_INLINE void each_row(const TokenLists& lists, const BlockRows& rows, const Real* values, size_t begin, size_t n,
                        Add add) {
    for (size_t list = begin; list < begin + n; ++list) {
        const size_t token = lists.row_tokens ? lists.row_tokens[list] : list - begin;
        for (uint32_t i = lists.row_starts[list]; i < lists.row_starts[list + 1]; ++i) {
            fetch_row(rows, values, lists.rows[i + kAhead], lists.rows[i + 2 * kAhead]);
            add(lists.rows[i], (Real)1, token);
        }
    }
    for (size_t t = 0; t < n && lists.valued_row_starts; ++t)
        for (uint32_t i = lists.valued_row_starts[begin + t]; i < lists.valued_row_starts[begin + t + 1]; ++i)
            add(lists.valued_rows[i], (Real)lists.row_values[i], t);
}

template <class Real>
void gather(const TokenLists& lists, const BlockRows& rows, const Real* values, const Real* once, const Real* base,
            size_t stride, size_t begin, size_t n, Real* scores) {
    using L = Lanes<Real>;
    for (size_t t = 0; t < n; ++t) {
        for (size_t k = 0; k < stride; k += L::width) store(scores + t * stride + k, load(base + k));
        scores[t * stride + lists.gold[begin + t]] += once[begin + t];
    }
    each_row(lists, rows, values, begin, n, [&](uint32_t row, Real value, size_t t) TW_INLINE_LAMBDA {
        const auto by = L::fill(value);
        for (uint32_t j = rows.starts[row]; j < rows.starts[row + 1]; ++j) {
            const Real* from = values + (size_t)j * kBlockLabels;
            Real* to = scores + t * stride + rows.columns[j] * kBlockLabels;
            unrolled<Block<Real>::parts>([&](auto i) TW_INLINE_LAMBDA {
                Block<Real>::put(to, i.value, Block<Real>::get(to, i.value) + by * Block<Real>::get(from, i.value));
            });
        }
    });
}

template <class Real>
void scatter(const TokenLists& lists, const BlockRows& rows, BlockSums<Real>& sums, size_t stride, size_t begin,
             size_t n, const Real* p, bool squared) {
    using L = Lanes<Real>;
    for (size_t t = 0; t < n; ++t) sums.once[begin + t] = p[t * stride + lists.gold[begin + t]];
    each_row(lists, rows, (const Real*)sums.values, begin, n, [&](uint32_t row, Real value, size_t t) TW_INLINE_LAMBDA {
        const uint32_t first = rows.starts[row], last = rows.starts[row + 1];
        if (!sums.met[row]) {
            sums.met[row] = 1;
            sums.list[sums.size++] = row;
            for (size_t k = (size_t)first * kBlockLabels; k < (size_t)last * kBlockLabels; ++k) sums.values[k] = 0;
        }
        const auto by = L::fill(squared ? value * value : value);
        for (uint32_t j = first; j < last; ++j) {
            Real* to = sums.values + (size_t)j * kBlockLabels;
            const Real* from = p + t * stride + rows.columns[j] * kBlockLabels;
            unrolled<Block<Real>::parts>([&](auto i) TW_INLINE_LAMBDA {
                Block<Real>::put(to, i.value, Block<Real>::get(to, i.value) + by * Block<Real>::get(from, i.value));
            });
        }
    });
}

template <class Real>
void step(const TokenLists& lists, const BlockRows& rows, Real* values, const float* members, const uint8_t* cells,
          size_t stride, size_t begin, size_t n, Real factor, const Real* p) {
    using L = Lanes<Real>;
    each_row(lists, rows, (const Real*)values, begin, n, [&](uint32_t row, Real value, size_t t) TW_INLINE_LAMBDA {
        const auto by = L::fill(factor * (Real)members[row] * value);
        for (uint32_t j = rows.starts[row]; j < rows.starts[row + 1]; ++j) {
            Real* to = values + (size_t)j * kBlockLabels;
            const Real* from = p + t * stride + rows.columns[j] * kBlockLabels;
            unrolled<Block<Real>::parts>([&](auto i) TW_INLINE_LAMBDA {
                const unsigned set = cells[j] >> (i.value * L::width);
                Block<Real>::put(to, i.value,
                                 Block<Real>::get(to, i.value) + kept(by * Block<Real>::get(from, i.value), set));
            });
        }
    });
}

// ---- forward and backward ------------------------------------------------------------------------------------------

constexpr size_t kSequences = 4;  // side by side
constexpr size_t kPending = 8;    // steps whose expected transitions are added up at once

// What is specific to a precision beyond `Lanes`: the part of a sum that rounding may take, and how much larger than
// the total what goes over the rest may be before too many digits are lost in the difference.
template <class Real>
struct Limits;
template <>
struct Limits<float> {
    using Bits = uint32_t;
    static constexpr int fraction = 23, bias = 127;
    static constexpr float rounding = 6e-8f, rest_limit = 256.0f;
    static constexpr double move_ceiling = 8.0;
};
template <>
struct Limits<double> {
    using Bits = std::uint64_t;
    static constexpr int fraction = 52, bias = 1023;
    static constexpr double rounding = 1.2e-16, rest_limit = 1e4;
    static constexpr double move_ceiling = 40.0;
};

// The power of two that brings a sum to about 2^20, leaving room below; what it takes out is added to log2_scale.
template <class Real>
TW_INLINE Real power_of_two(Real sum, double& log2_scale) {
    using M = Limits<Real>;
    constexpr long long kTarget = 20;
    typename M::Bits bits;
    std::memcpy(&bits, &sum, sizeof bits);
    const long long exponent = (long long)(bits >> M::fraction) - M::bias - kTarget;
    bits = (typename M::Bits)(M::bias - exponent) << M::fraction;
    Real scale;
    std::memcpy(&scale, &bits, sizeof scale);
    log2_scale += (double)exponent;
    return scale;
}

// Watches that nothing vanishes or overflows unnoticed, as that of training_sums.cpp does; every row is rescaled. Where
// nothing is forbidden the sum of a row is enough; else every value that is not zero is looked at.
template <class Real>
struct Watch {
    using L = Lanes<Real>;
    using V = typename L::V;
    const bool each;
    V smallest = L::fill(1), largest = L::fill(1);
    bool in_range = true;
    TW_INLINE void see(V v) {
        if (!each) return;
        smallest = select((v > L::fill(0)) & (v < smallest), v, smallest);
        largest = maximum(largest, v);
    }
    TW_INLINE void see_total(Real total) { in_range &= total > L::least_total && total < L::most_total; }
    TW_INLINE Real rescaling(Real sum, double& log2_scale) {
        if (!(sum > L::row_guard && sum < L::ceiling)) {
            in_range = false;
            return 1;
        }
        return power_of_two(sum, log2_scale);
    }
    TW_INLINE bool left() const {
        const Real low = -reduce_max(L::fill(0) - smallest), high = reduce_max(largest);
        return !(in_range && low >= L::guard && high <= L::ceiling);
    }
};

template <class Real>
struct Sequence {
    Real *local, *alpha, *ring, *gamma, *next_gamma, *beta;
    size_t stride, ring_size, at;  // of the ring: rows, and the number of gamma among them
    size_t length;
    Real weight, sum, rest_sum;  // of the row the next step goes from: of all, and weighted with `rest`
    double log_scale, log2_scale;

    TW_INLINE void go_on() {
        gamma = next_gamma;
        at = at + 1 == ring_size ? 0 : at + 1;
        next_gamma = ring + at * stride;
    }
};

// Scores to factors e^(score - best), in place; those below e^floor_log are raised to that.
template <class Real>
TW_INLINE double factors(const SparseGroup<Real>& g, Real* row, size_t length) {
    using L = Lanes<Real>;
    double log_scale = 0.0;
    const auto floor_log = L::fill(L::floor_log), lowest = L::fill((Real)-1e30);
    for (size_t t = 0; t < length; ++t, row += g.stride) {
        auto best = load(row);
        for (size_t k = L::width; k < g.stride; k += L::width) best = maximum(best, load(row + k));
        const Real shift = reduce_max(best);
        log_scale += (double)shift;
        for (size_t k = 0; k < g.stride; k += L::width) {
            const auto v = load(row + k);
            const auto e = exponential(maximum(v - L::fill(shift), floor_log));
            store(row + k, select(v > lowest, e, L::fill(0)));
        }
    }
    return log_scale;
}

// How many packs from p on, at most `most`, list all labels: these share what is read of the rows.
template <class Real>
TW_INLINE size_t whole_packs(const SparseMatrix<Real>& matrix, size_t p, size_t packs, size_t n_labels, size_t most) {
    size_t n = 0;
    while (n < most && p + n < packs && matrix.starts[p + n + 1] - matrix.starts[p + n] == n_labels) ++n;
    return n;
}

// B packs that list all labels.
template <class Real, size_t N, size_t B, class Finish>
TW_INLINE void multiply_whole(const SparseMatrix<Real>& matrix, const Real* const* from, size_t n_labels, size_t p,
                              Finish finish) {
    using L = Lanes<Real>;
    typename L::V part[N * B];
    unrolled<N * B>([&](auto i) TW_INLINE_LAMBDA { part[i.value] = L::fill(0); });
    const Real* values = matrix.values + (size_t)matrix.starts[p] * L::width;
    const size_t apart = n_labels * L::width;
    for (size_t a = 0; a < n_labels; ++a, values += L::width) {
        typename L::V move[B];
        unrolled<B>([&](auto b) TW_INLINE_LAMBDA { move[b.value] = load(values + b.value * apart); });
        unrolled<N>([&](auto n) TW_INLINE_LAMBDA {
            const auto value = L::fill(from[n.value][a]);
            unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
                part[n.value * B + b.value] = part[n.value * B + b.value] + value * move[b.value];
            });
        });
    }
    unrolled<N * B>([&](auto i) TW_INLINE_LAMBDA { finish(i.value / B, (p + i.value % B) * L::width, part[i.value]); });
}

// A pack that lists some.
template <class Real, size_t N, class Finish>
TW_INLINE void multiply_listed(const SparseMatrix<Real>& matrix, const Real* const* from, size_t p, Finish finish) {
    using L = Lanes<Real>;
    constexpr size_t kChains = 8 / N;  // partial sums hide the latency
    typename L::V part[kChains * N];
    unrolled<kChains * N>([&](auto i) TW_INLINE_LAMBDA { part[i.value] = L::fill(0); });
    uint32_t i = matrix.starts[p];
    const uint32_t end = matrix.starts[p + 1];
    const Real* values = matrix.values + (size_t)i * L::width;
    for (; i + kChains <= end; i += kChains, values += kChains * L::width)
        unrolled<kChains>([&](auto c) TW_INLINE_LAMBDA {
            const auto move = load(values + c.value * L::width);
            const size_t a = matrix.from[i + c.value];
            unrolled<N>([&](auto n) TW_INLINE_LAMBDA {
                part[c.value * N + n.value] = part[c.value * N + n.value] + L::fill(from[n.value][a]) * move;
            });
        });
    for (; i < end; ++i, values += L::width) {
        const auto move = load(values);
        unrolled<N>([&](auto n) TW_INLINE_LAMBDA {
            part[n.value] = part[n.value] + L::fill(from[n.value][matrix.from[i]]) * move;
        });
    }
    unrolled<N>([&](auto n) TW_INLINE_LAMBDA {
        auto sum = part[n.value];
        unrolled<kChains - 1>([&](auto c) TW_INLINE_LAMBDA { sum = sum + part[(c.value + 1) * N + n.value]; });
        finish(n.value, p * L::width, sum);
    });
}

// Calls finish(n, offset, value) for every pack of the product of N rows with the listed part of a matrix.
template <class Real, size_t N, class Finish>
TW_INLINE void multiply(const SparseMatrix<Real>& matrix, const Real* const* from, size_t stride, size_t n_labels,
                        Finish finish) {
    constexpr size_t kMost = W == 8 ? 4 : 2;  // within the registers
    const size_t packs = stride / Lanes<Real>::width;
    for (size_t p = 0; p < packs;) {
        const size_t whole = whole_packs(matrix, p, packs, n_labels, kMost);
        if (whole == kMost) {
            multiply_whole<Real, N, kMost>(matrix, from, n_labels, p, finish);
            p += kMost;
        } else {
            multiply_listed<Real, N>(matrix, from, p, finish);
            ++p;
        }
    }
}

template <class Real, size_t N>
void forward_step(const SparseMoves<Real>& moves, const SparseGroup<Real>& g, Sequence<Real>* s, size_t t,
                  Watch<Real>& watch) {
    using L = Lanes<Real>;
    using V = typename L::V;
    const Real* from[N];
    V sums[N], scales[N], totals[N];
    for (size_t n = 0; n < N; ++n) {
        from[n] = s[n].alpha + (t - 1) * g.stride;
        sums[n] = L::fill(s[n].sum);
        scales[n] = L::fill(watch.rescaling(s[n].sum, s[n].log2_scale));
        totals[n] = L::fill(0);
    }
    const auto rounding = L::fill(Limits<Real>::rounding);
    multiply<Real, N>(moves.forward, from, g.stride, g.n_labels, [&](size_t n, size_t k, V listed) TW_INLINE_LAMBDA {
        const auto rest = load(moves.rest + k) * sums[n];
        const auto v = maximum(rest + listed, rest * rounding) * (load(s[n].local + t * g.stride + k) * scales[n]);
        watch.see(v);
        totals[n] = totals[n] + v;
        store(s[n].alpha + t * g.stride + k, v);
    });
    for (size_t n = 0; n < N; ++n) s[n].sum = reduce_add(totals[n]);
}

// Probabilities of one token, given beta; alpha is scaled for the expected transitions, and gamma made for the token
// before. `raised` collects the probability of labels whose factor had been raised. Returns the sum of scaled alpha.
template <class Real>
TW_INLINE Real finish_token(const SparseMoves<Real>& moves, const SparseGroup<Real>& g, Sequence<Real>& s, size_t t,
                            Real scale, typename Lanes<Real>::V floor, typename Lanes<Real>::V& raised,
                            Watch<Real>& watch) {
    using L = Lanes<Real>;
    Real *alpha = s.alpha + t * g.stride, *local = s.local + t * g.stride;
    auto total = L::fill(0), sum = L::fill(0), rest_sum = L::fill(0), alpha_sum = L::fill(0);
    for (size_t k = 0; k < g.stride; k += L::width) total = total + load(alpha + k) * load(s.beta + k);
    const Real of_token = reduce_add(total);
    watch.see_total(of_token);
    const auto factor = L::fill(s.weight / of_token);
    const auto by = L::fill(scale);
    for (size_t k = 0; k < g.stride; k += L::width) {
        const auto a = load(alpha + k) * factor, beta = load(s.beta + k), f = load(local + k);
        const auto p = a * beta, gamma = f * beta * by;
        raised = raised + select(f <= floor, p, L::fill(0));
        watch.see(gamma);
        alpha_sum = alpha_sum + a;
        sum = sum + gamma;
        rest_sum = rest_sum + gamma * load(moves.rest + k);
        store(alpha + k, a);
        store(local + k, p);
        store(s.next_gamma + k, gamma);
    }
    s.sum = reduce_add(sum);
    s.rest_sum = reduce_add(rest_sum);
    return reduce_add(alpha_sum);
}

// Steps whose expected transitions are still to be added up: several at once, since what is read and written most are
// the sums. Rows of gamma go round in a ring, so that they are still there.
template <class Real>
struct Pending {
    size_t count = 0, rows = 0;  // rows: of the ring of the longest sequence
    const Real *alpha[kPending], *gamma[kPending];
    Real inverse[kPending];  // of the weights
};

// edges[a][b] += alpha[a] gamma[b] over the listed pairs, and the same of squares, for N steps from `first` on.
template <class Real, size_t N, bool kSquares>
void add_edges(const SparseMoves<Real>& moves, const SparseGroup<Real>& g, const Pending<Real>& steps, size_t first) {
    using L = Lanes<Real>;
    using V = typename L::V;
    const Real* alpha[N];
    for (size_t n = 0; n < N; ++n) alpha[n] = steps.alpha[first + n];
    for (size_t p = 0; p * L::width < g.stride; ++p) {
        V to[N], squared[N];
        unrolled<N>([&](auto n) TW_INLINE_LAMBDA {
            to[n.value] = load(steps.gamma[first + n.value] + p * L::width);
            if constexpr (kSquares)
                squared[n.value] = to[n.value] * to[n.value] * L::fill(steps.inverse[first + n.value]);
        });
        for (uint32_t i = moves.forward.starts[p]; i < moves.forward.starts[p + 1]; ++i) {
            const size_t a = moves.forward.from[i];
            auto edge = load(g.edges + (size_t)i * L::width);
            unrolled<N>([&](auto n) TW_INLINE_LAMBDA { edge = edge + L::fill(alpha[n.value][a]) * to[n.value]; });
            store(g.edges + (size_t)i * L::width, edge);
            if constexpr (kSquares) {
                auto square = load(g.squares + (size_t)i * L::width);
                unrolled<N>([&](auto n) TW_INLINE_LAMBDA {
                    const auto of = L::fill(alpha[n.value][a]);
                    square = square + of * of * squared[n.value];
                });
                store(g.squares + (size_t)i * L::width, square);
            }
        }
    }
}

template <class Real>
void add_pending(const SparseMoves<Real>& moves, const SparseGroup<Real>& g, Pending<Real>& steps) {
    size_t first = 0;
    const auto run = [&]<size_t N>() TW_INLINE_LAMBDA {
        for (; first + N <= steps.count; first += N) {
            if (g.squares)
                add_edges<Real, N, true>(moves, g, steps, first);
            else
                add_edges<Real, N, false>(moves, g, steps, first);
        }
    };
    run.template operator()<kPending>();
    run.template operator()<4>();
    run.template operator()<1>();
    steps.count = steps.rows = 0;
}

template <class Real, size_t N>
void backward_step(const SparseMoves<Real>& moves, const SparseGroup<Real>& g, Sequence<Real>* s, size_t t,
                   typename Lanes<Real>::V floor, typename Lanes<Real>::V& raised, Watch<Real>& watch,
                   Pending<Real>& pending) {
    using L = Lanes<Real>;
    using V = typename L::V;
    const Real* from[N];
    V rests[N];
    for (size_t n = 0; n < N; ++n) {
        from[n] = s[n].gamma;
        rests[n] = L::fill(s[n].rest_sum);
    }
    const auto rounding = L::fill(Limits<Real>::rounding);
    multiply<Real, N>(moves.backward, from, g.stride, g.n_labels, [&](size_t n, size_t k, V listed) TW_INLINE_LAMBDA {
        store(s[n].beta + k, maximum(rests[n] + listed, rests[n] * rounding));
    });
    for (size_t n = 0; n < N; ++n) {
        double unused = 0.0;
        const Real scale = watch.rescaling(s[n].sum, unused), rest = s[n].rest_sum;
        const Real from_all = finish_token(moves, g, s[n], t, scale, floor, raised, watch);
        watch.in_range &= from_all * rest <= Limits<Real>::rest_limit * s[n].weight;
    }
    if (pending.count + N > kPending || pending.rows == kPending / g.count) add_pending(moves, g, pending);
    ++pending.rows;
    for (size_t n = 0; n < N; ++n) {
        pending.alpha[pending.count] = s[n].alpha + t * g.stride;
        pending.gamma[pending.count] = s[n].gamma;
        pending.inverse[pending.count++] = s[n].weight > 0 ? 1 / s[n].weight : 0;
        s[n].go_on();
    }
}

// Calls run(Index<N>) for N sequences.
template <class Run>
TW_INLINE void for_count(size_t n, Run run) {
    switch (n) {
        case 4:
            return run(Index<4>{});
        case 3:
            return run(Index<3>{});
        case 2:
            return run(Index<2>{});
        case 1:
            return run(Index<1>{});
        default:
            return;
    }
}

template <class Real>
bool forward_backward(const SparseMoves<Real>& moves, const SparseGroup<Real>& g) {
    using L = Lanes<Real>;
    Sequence<Real> s[kSequences];
    Watch<Real> watch{g.forbidden};
    size_t tokens = 0;
    for (size_t n = 0; n < g.count; ++n) {
        const size_t offset = tokens * g.stride;
        // Pending steps, the row they go from, and the next one.
        const size_t ring_size = kPending / g.count + 2;
        Real *const beta = g.rows + n * g.stride, *const ring = g.rows + (g.count + n * ring_size) * g.stride;
        s[n] = {g.local + offset,
                g.alpha + offset,
                ring,
                ring,
                ring + g.stride,
                beta,
                g.stride,
                ring_size,
                1,
                g.lengths[n],
                (Real)g.weights[n],
                0,
                0,
                0.0,
                0.0};
        s[n].log_scale = factors(g, s[n].local, s[n].length);
        auto total = L::fill(0);
        for (size_t k = 0; k < g.stride; k += L::width) {
            const auto v = load(s[n].local + k);
            watch.see(v);
            total = total + v;
            store(s[n].alpha + k, v);
        }
        s[n].sum = reduce_add(total);
        tokens += g.lengths[n];
    }
    size_t active = g.count;
    for (size_t t = 1; t < g.lengths[0]; ++t) {
        at_position(t, g.n_labels);
        while (g.lengths[active - 1] <= t) --active;
        for_count(active,
                  [&](auto n) TW_INLINE_LAMBDA { forward_step<Real, decltype(n)::value>(moves, g, s, t, watch); });
    }
    for (size_t n = 0; n < g.count; ++n) {
        watch.in_range &= s[n].sum > L::row_guard && s[n].sum < L::ceiling * L::ceiling;
        const double log_2 = 0.69314718055994530942;
        g.log_partition[n] =
            log((double)s[n].sum) + s[n].log2_scale * log_2 + s[n].log_scale + moves.shift * (double)(s[n].length - 1);
    }
    if (watch.left()) return false;

    const auto floor = exponential(L::fill(L::floor_log));
    auto raised = L::fill(0);
    Pending<Real> pending;
    active = 0;  // those that have a token after this one
    for (size_t t = g.lengths[0]; t-- > 0;) {
        if (t > 0) at_position(t, g.n_labels);
        for_count(active, [&](auto n) TW_INLINE_LAMBDA {
            backward_step<Real, decltype(n)::value>(moves, g, s, t, floor, raised, watch, pending);
        });
        for (; active < g.count && g.lengths[active] == t + 1; ++active) {
            Sequence<Real>& last = s[active];
            for (size_t k = 0; k < g.stride; k += L::width) store(last.beta + k, L::fill(1));
            finish_token(moves, g, last, t, (Real)1, floor, raised, watch);
            last.go_on();
        }
    }
    if (watch.left()) return false;
    add_pending(moves, g, pending);
    double weight = 0.0;
    for (size_t n = 0; n < g.count; ++n) weight += g.weights[n];
    return (double)reduce_add(raised) <= (double)L::raised_limit * weight;
}

template <class Real>
void exponentials(const Real* scores, size_t n, Real* out) {
    using L = Lanes<Real>;
    for (size_t i = 0; i < n; i += L::width)
        store(out + i, exponential(maximum(load(scores + i), L::fill(L::move_floor_log))));
}

template <class Real>
constexpr BlockLoops<Real> blocks() {
    return {gather<Real>, scatter<Real>, step<Real>};
}
template <class Real>
constexpr SparseLoops<Real> sparse() {
    using L = Lanes<Real>;
    return {L::width,        L::move_floor_log,  Limits<Real>::move_ceiling,
            L::raised_limit, exponentials<Real>, forward_backward<Real>};
}

}  // namespace

extern const BothPrecisions<BlockLoops> TW_COPY(block_loops);
const BothPrecisions<BlockLoops> TW_COPY(block_loops) = {blocks<float>(), blocks<double>()};
extern const BothPrecisions<SparseLoops> TW_COPY(sparse_loops);
const BothPrecisions<SparseLoops> TW_COPY(sparse_loops) = {sparse<float>(), sparse<double>()};

}  // namespace tw
