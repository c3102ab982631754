// The best labellings of a chain: Viterbi scores, paths, what is lost by leaving them. See copy.hpp.
#include "chain_steps.hpp"
#include "guess.hpp"

namespace tw {
namespace {

constexpr size_t kTraceNear = 64;   // rows of the last so many positions are in the cache yet
constexpr size_t kTraceAhead = 12;  // rows fetched before they are needed when a path is read off

// ---- transitions ---------------------------------------------------------------------------------------------------

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

// ---- Viterbi -------------------------------------------------------------------------------------------------------

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
        left = as_guessed(left, labels[t - 1]);
        labels[t - 1] = (std::int32_t)left;
    };
    const auto behind = [&](size_t t) TW_INLINE_LAMBDA {
        right = only_max_origin(row(t + 1), moves.forward + right * padded, s.unary[t * K + right], row(t)[right],
                                padded, tied);
        right = as_guessed(right, labels[t + 1]);
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

}  // namespace

extern const ChainBestLoops TW_COPY(chain_best_loops);
const ChainBestLoops TW_COPY(chain_best_loops) = {pack_max,  max_meet,   max_forward, max_last,
                                                  max_trace, max_losses, max_backward};

}  // namespace tw
