// One step of a recursion over a chain, over any semiring, and the rows it goes over. See copy.hpp.
//
//     to[n][label] = sum over labels a of  from[n][a] x moves[a][label],   N sequences side by side
#pragma once

#include "../base/semiring.hpp"
#include "at_position.hpp"
#include "copy.hpp"
#include "kernels.hpp"

namespace tw {

template <>  // a different type for every width, so no two copies of the kernels share it
struct Arithmetic<Pack> {
    static TW_INLINE Pack larger(Pack a, Pack b) noexcept { return maximum(a, b); }
};

namespace {

using std::size_t;

TW_INLINE size_t least(size_t a, size_t b) { return a < b ? a : b; }

// ---- rows of scores and transitions --------------------------------------------------------------------------------

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

TW_INLINE double* row_of(const Rows& rows, size_t t, size_t padded) { return rows.data + (t & rows.mask) * padded; }

TW_INLINE const double* transitions_of(const Potentials& p, size_t step) {
    return p.transitions + (p.per_step ? step * p.n_labels * p.n_labels : 0);
}

inline void transpose(PackedTransitions& out, size_t padded) {
    for (size_t a = 0; a < padded; ++a)
        for (size_t b = 0; b < padded; ++b) out.backward[b * padded + a] = out.forward[a * padded + b];
}

// ---- one step: to = from x transitions, for N sequences side by side -----------------------------------------------

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

}  // namespace
}  // namespace tw
