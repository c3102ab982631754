// The best labelling of one chain, searched from both ends at once until they meet: two recursions of which neither
// waits for the other, in either precision. See copy.hpp.
//
//     scores   row 0 .. middle - 1           best of what goes before, each with its own local scores
//              row middle .. length - 1      best of what follows
//              row length                    both, at the label of position `middle`
//
// Rows and matrices are padded to whole packs: matrices with -inf, so that rows are -inf there, too.
#pragma once

#include "at_position.hpp"
#include "copy.hpp"
#include "guess.hpp"
#include "kernels.hpp"

namespace tw {
namespace {

using std::size_t;

template <class Real>
constexpr Real kNever = -std::numeric_limits<Real>::infinity();

// ---- which label it was --------------------------------------------------------------------------------------------

// The lanes of a row, at most 64 of them, that bits_at(k) finds in the pack at k. No branch per pack: it could not be
// predicted.
template <class Real, class Bits>
TW_INLINE std::uint64_t lanes_found(size_t begin, size_t end, Bits bits_at) {
    std::uint64_t found = 0;
    for (size_t k = begin; k < end; k += Lanes<Real>::width) found |= bits_at(k) << (k - begin);
    return found;
}

// The first lane of a row that is found; 0 when none is.
template <class Real, class Bits>
TW_INLINE size_t first_found(size_t padded, Bits bits_at) {
    for (size_t block = 0; block < padded; block += 64) {
        const std::uint64_t found = lanes_found<Real>(block, padded < block + 64 ? padded : block + 64, bits_at);
        if (found) return block + lowest_bit(found);
    }
    return 0;
}

// The same, and whether there is another such lane.
template <class Real, class Bits>
TW_INLINE size_t only_found(size_t padded, Bits bits_at, bool& tied) {
    size_t first = padded;
    for (size_t block = 0; block < padded; block += 64) {
        const std::uint64_t found = lanes_found<Real>(block, padded < block + 64 ? padded : block + 64, bits_at);
        if (!found) continue;
        tied |= first < padded || (found & (found - 1)) != 0;
        if (first == padded) first = block + lowest_bit(found);
    }
    return first == padded ? 0 : first;
}

// Finds the labels whose score, plus `moves`, plus `local`, rounded as the recursion rounded it, is `wanted`.
template <class Real>
TW_INLINE auto origins(const Real* scores, const Real* moves, Real local, Real wanted) {
    return [=](size_t k) TW_INLINE_LAMBDA {
        return equal_bits((load(scores + k) + load(moves + k)) + fill(local), fill(wanted));
    };
}

// ---- one step ------------------------------------------------------------------------------------------------------

// One step of N recursions, each over transitions of its own: finish(n, offset, best) for every pack of a row.
template <class Real, size_t N, size_t B, class Finish>
TW_INLINE void step_block(const Real* const* from, const Real* const* moves, size_t padded, size_t n_labels,
                          Finish finish) {
    using V = typename Lanes<Real>::V;
    constexpr size_t width = Lanes<Real>::width;
    V best[2 * N * B];  // of even and odd labels, so that a maximum need not wait for the last one
    unrolled<2 * N * B>([&](auto i) TW_INLINE_LAMBDA { best[i.value] = fill(kNever<Real>); });
    for (size_t a = 0; a < n_labels; a += 2)
        unrolled<2 * N>([&](auto c) TW_INLINE_LAMBDA {
            constexpr size_t n = c.value % N, odd = c.value / N;
            const Real* row = moves[n] + (a + odd) * padded;
            const V value = fill(from[n][a + odd]);
            unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
                V& top = best[c.value * B + b.value];
                top = maximum(top, value + load(row + b.value * width));
            });
        });
    unrolled<N * B>([&](auto i) TW_INLINE_LAMBDA {
        finish(i.value / B, i.value % B * width, maximum(best[i.value], best[N * B + i.value]));
    });
}

template <class Real, size_t N, class Finish>
TW_INLINE void step(const Real* const* from, const Real* const* moves, size_t padded, size_t n_labels, Finish finish) {
    using V = typename Lanes<Real>::V;
    constexpr size_t width = Lanes<Real>::width, kBlock = W == 8 ? 4 : 2;  // packs of a row that are advanced at once
    for (size_t k = 0; k < padded;) {
        const size_t left = (padded - k) / width, offset = k;
        const Real* here[N];
        for (size_t n = 0; n < N; ++n) here[n] = moves[n] + offset;
        const auto run = [&]<size_t B>() TW_INLINE_LAMBDA {
            step_block<Real, N, B>(from, here, padded, n_labels,
                                   [&](size_t n, size_t at, V best) TW_INLINE_LAMBDA { finish(n, offset + at, best); });
            k += B * width;
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

// ---- the search ----------------------------------------------------------------------------------------------------

// The score of the best labelling, of at least two positions, and its labels; labels[0] is kTied where a tie towards
// the end would have to be broken. `labels` comes with a guess. What a chain is:
//     n_labels, length; forward, backward     transitions [from][to] and [to][from], [padded][padded]
//     first(k), last(k), local(t, k)          a pack of the local scores of the first, the last, any position between
//     local(t)                                those of a position, as a row
template <class Chain, class Real>
TW_INLINE Real meet(const Chain& c, size_t padded, Real* scores, std::int32_t* labels) {
    using V = typename Lanes<Real>::V;
    constexpr size_t width = Lanes<Real>::width;
    const size_t K = c.n_labels, middle = c.length / 2, last = c.length - 1;
    const auto row = [&](size_t t) TW_INLINE_LAMBDA { return scores + t * padded; };
    for (size_t k = 0; k < padded; k += width) {
        store(row(0) + k, c.first(k));
        store(row(last) + k, c.last(k));
    }
    for (size_t i = 1; i < middle; ++i) {
        at_position(i, K);
        const Real* const from[2] = {row(i - 1), row(last - i + 1)};
        const Real* const moves[2] = {c.forward, c.backward};
        const size_t at[2] = {i, last - i};
        step<Real, 2>(from, moves, padded, K, [&](size_t n, size_t k, V best) TW_INLINE_LAMBDA {
            store(row(at[n]) + k, best + c.local(at[n], k));
        });
    }
    if (last - middle >= middle) {  // an odd number of positions
        const Real *const from[1] = {row(middle + 1)}, *const moves[1] = {c.backward};
        step<Real, 1>(from, moves, padded, K, [&](size_t, size_t k, V best) TW_INLINE_LAMBDA {
            store(row(middle) + k, best + c.local(middle, k));
        });
    }
    Real* const meeting = row(c.length);
    const Real *const from[1] = {row(middle - 1)}, *const moves[1] = {c.forward};
    V top = fill(kNever<Real>);
    step<Real, 1>(from, moves, padded, K, [&](size_t, size_t k, V best) TW_INLINE_LAMBDA {
        const V v = best + load(row(middle) + k);
        top = maximum(top, v);
        store(meeting + k, v);
    });
    const Real total = reduce_max(top);
    if (total == kNever<Real>) return total;
    // Of equal labellings the first is the smallest read from its end. Towards the start that is the lowest label at
    // each step, but towards the end a tie means that the whole rest has to be compared: the caller starts again.
    bool tied = false;
    const auto best_here = [&](size_t k) TW_INLINE_LAMBDA { return equal_bits(load(meeting + k), fill(total)); };
    size_t right = only_found<Real>(padded, best_here, tied);  // 0 where a score overflowed
    size_t left =
        first_found<Real>(padded, origins(row(middle - 1), c.backward + right * padded, row(middle)[right], total));
    labels[middle - 1] = (std::int32_t)left;
    labels[middle] = (std::int32_t)right;
    const auto before = [&](size_t t) TW_INLINE_LAMBDA {
        const auto wanted = origins(row(t - 1), c.backward + left * padded, c.local(t)[left], row(t)[left]);
        left = as_guessed(first_found<Real>(padded, wanted), labels[t - 1]);
        labels[t - 1] = (std::int32_t)left;
    };
    const auto behind = [&](size_t t) TW_INLINE_LAMBDA {
        const auto wanted = origins(row(t + 1), c.forward + right * padded, c.local(t)[right], row(t)[right]);
        right = as_guessed(only_found<Real>(padded, wanted, tied), labels[t + 1]);
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

}  // namespace
}  // namespace tw
