// The best labellings of a chain: Viterbi scores, paths, what is lost by leaving them. See copy.hpp.
#include "chain_meet.hpp"
#include "chain_steps.hpp"

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

// Paths are read off side by side: each waits for its own label before the next, so that one alone leaves the processor
// idle.
void max_trace(const Potentials& p, PackedTransitions& moves, size_t padded, const Sequence* s, const Rows* scores,
               std::int32_t* const* labels, size_t count, size_t begin, size_t end) {
    const size_t K = p.n_labels, last = least(end, s[0].length) - 1;
    size_t n_begun = 0;
    for (size_t t = last; t > 0 && t >= begin; --t) {
        while (n_begun < count && s[n_begun].length > t) ++n_begun;
        for (size_t n = 0; n < n_begun; ++n) {
            // Which row entries are wanted depends on the label found: fetch whole rows well before.
            if (t > kTraceAhead && last - begin >= kTraceNear) {
                const size_t ahead = t - kTraceAhead;
                for (size_t k = 0; k < K; k += 8) prefetch(s[n].unary + ahead * K + k);
                for (size_t k = 0; k < padded; k += 8) prefetch(row_of(scores[n], ahead, padded) + k);
            }
            const auto y = (size_t)labels[n][t];
            const double* arriving = max_arriving(p, moves, t - 1, padded, y);
            labels[n][t - 1] = (std::int32_t)first_found<double>(
                padded, origins(row_of(scores[n], t - 1, padded), arriving, s[n].unary[t * K + y],
                                row_of(scores[n], t, padded)[y]));
        }
    }
}

// B packs of labels from k on.
template <size_t B>
TW_INLINE void max_step_packs(const double* moves, const double* before, const double* local, size_t K, size_t k,
                              double* to, std::uint16_t* from) {
    Pack best[B], origin[B], own[B];
    unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
        best[b.value] = fill(-kInfinity);
        origin[b.value] = fill(0.0);
        own[b.value] = load_row(local, k + b.value * W, K, -kInfinity);  // what lies beyond the last label stays -inf
    });
    const double* row = moves + k;
    for (size_t a = 0; a < K; ++a, row += K) {
        const Pack value = fill(before[a]), label = fill((double)a);
        unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
            const Pack score = (value + load(row + b.value * W)) + own[b.value];
            origin[b.value] = select(score > best[b.value], label, origin[b.value]);
            best[b.value] = maximum(best[b.value], score);
        });
    }
    unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
        double lanes[W];
        store(lanes, origin[b.value]);
        store(to + k + b.value * W, best[b.value]);
        for (size_t i = 0; i < W; ++i) from[k + b.value * W + i] = (std::uint16_t)lanes[i];
    });
}

void max_step(const double* moves, const double* before, const double* local, size_t K, size_t padded, double* to,
              std::uint16_t* from) {
    at_position(1, K);
    constexpr size_t kTogether = W == 8 ? 4 : 3;
    size_t k = 0;
    for (; k + kTogether * W <= padded; k += kTogether * W)
        max_step_packs<kTogether>(moves, before, local, K, k, to, from);
    for (; k < padded; k += W) max_step_packs<1>(moves, before, local, K, k, to, from);
}

struct View {  // of a chain, for `meet`
    size_t n_labels, length;
    const double *forward, *backward;
    const Potentials& potentials;
    const Sequence& sequence;
    TW_INLINE const double* local(size_t t) const { return sequence.unary + t * n_labels; }
    TW_INLINE Pack local(size_t t, size_t k) const { return local_scores(potentials, sequence, t, k); }
    TW_INLINE Pack first(size_t k) const { return local(0, k); }
    TW_INLINE Pack last(size_t k) const { return local(length - 1, k) + load_row(potentials.end, k, n_labels, 0.0); }
};

double max_meet(const Potentials& p, const PackedTransitions& moves, size_t padded, const Sequence& s, double* scores,
                std::int32_t* labels) {
    return meet(View{p.n_labels, s.length, moves.forward, moves.backward, p, s}, padded, scores, labels);
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
const ChainBestLoops TW_COPY(chain_best_loops) = {pack_max,  max_meet,   max_forward,  max_last,
                                                  max_trace, max_losses, max_backward, max_step};

}  // namespace tw
