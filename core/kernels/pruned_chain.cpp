// One position of a search that leaves labels out; chain/pruned_search.hpp says which, and why none of them is missed.
// See copy.hpp.
#include "pruned_chain.hpp"
#include "chain_steps.hpp"

namespace tw {
namespace {

constexpr size_t kTogether = W == 8 ? 8 : 4;  // packs of labels whose best scores stay in registers

TW_INLINE Pack magnitude(Pack v) { return maximum(v, fill(0.0) - v); }

// One bit per lane where the first is at most the second, the first lane lowest.
TW_INLINE std::uint64_t at_most_bits(Pack a, Pack b) {
#if defined(__AVX512F__)
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LE_OQ);
#elif defined(__AVX2__)
    return (std::uint64_t)(unsigned)_mm256_movemask_pd(_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_LE_OQ));
#else
    std::int64_t lane[W];
    const Mask at_most = a <= b;
    std::memcpy(lane, &at_most, sizeof lane);
    std::uint64_t found = 0;
    for (size_t i = 0; i < W; ++i) found |= (std::uint64_t)(lane[i] & 1) << i;
    return found;
#endif
}

double largest_finite(const double* values, size_t size) {
    Pack top = fill(0.0);
    for (size_t i = 0; i < size; i += W) {
        const Pack v = magnitude(i + W <= size ? load(values + i) : load_partial(values + i, size - i, 0.0));
        top = maximum(top, select(v == fill(kInfinity), fill(0.0), v));
    }
    return reduce_max(top);
}

// What a label must reach if another is sure to have so much, less what rounding may have done to the two, and may do
// when more is added to both.
TW_INLINE double enough_for(const PrunedStep& s, double least) {
    if (least == -kInfinity) return least;
    return least - (s.doubt + (least < 0.0 ? -least : least) * kPrunedRounding);
}

// The best score of B packs of labels, whichever of the labels before it comes from.
template <size_t B, class Finish>
TW_INLINE void best_of_packs(const PrunedStep& s, const std::uint32_t* offsets, Finish finish) {
    Pack best[B];
    unrolled<B>([&](auto b) TW_INLINE_LAMBDA { best[b.value] = fill(-kInfinity); });
    for (size_t i = 0; i < s.n_before; ++i) {
        const double* row = s.moves + s.before[i] * s.padded;
        const Pack score = fill(s.before_scores[i]);
        unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
            best[b.value] = maximum(best[b.value], score + load(row + offsets[b.value]));
        });
    }
    unrolled<B>([&](auto b) TW_INLINE_LAMBDA { finish(offsets[b.value], best[b.value]); });
}

template <class Finish>
TW_INLINE void best_of_all(const PrunedStep& s, const std::uint32_t* offsets, size_t n, Finish finish) {
    size_t i = 0;
    for (; i + kTogether <= n; i += kTogether) best_of_packs<kTogether>(s, offsets + i, finish);
    for (; i + 2 <= n; i += 2) best_of_packs<2>(s, offsets + i, finish);
    if (i < n) best_of_packs<1>(s, offsets + i, finish);
}

double best_of_label(const PrunedStep& s, size_t label) {
    double best = -kInfinity;
    for (size_t i = 0; i < s.n_before; ++i) {
        const double score = s.before_scores[i] + s.moves[s.before[i] * s.padded + label];
        best = score > best ? score : best;
    }
    return best + s.local[label];
}

// Packs in which the score of some label may be high enough, in order. `rows` is overwritten.
size_t packs_within_reach(const PrunedStep& s, double* rows, std::uint32_t* offsets) {
    double from = -kInfinity;
    for (size_t i = 0; i < s.n_before; ++i) from = s.before_scores[i] > from ? s.before_scores[i] : from;
    Pack top = fill(-kInfinity);
    for (size_t k = 0; k < s.padded; k += W) {
        const Pack most = (fill(from) + load(s.most_in + k)) + load_row(s.local, k, s.n_labels, -kInfinity);
        store(rows + k, most);
        top = maximum(top, most + load(s.least_out + k));
    }
    double least = reduce_max(top);
    for (size_t k = 0; least > -kInfinity && k < s.padded; k += W) {
        const size_t lane = first(load(rows + k) + load(s.least_out + k) == fill(least));
        if (lane == W) continue;
        least = best_of_label(s, k + lane) + s.least_out[k + lane];
        break;
    }
    const Pack enough = fill(enough_for(s, least));
    size_t n = 0;
    for (size_t k = 0; k < s.padded; k += W) {
        offsets[n] = (std::uint32_t)k;
        n += at_most_bits(enough, load(rows + k) + load(s.most_out + k)) != 0;
    }
    return n;
}

size_t prune(const PrunedStep& s, double* rows, std::uint32_t* labels, double* scores) {
    std::uint32_t* offsets = (std::uint32_t*)(rows + s.padded);
    size_t n_packs = 0;
    Pack top = fill(-kInfinity);
    const auto finish = [&](size_t k, Pack score) TW_INLINE_LAMBDA {
        store(rows + k, score);
        top = maximum(top, score + load(s.least_out + k));
    };
    if (s.n_before == 0) {
        for (size_t k = 0; k < s.padded; k += W) {
            offsets[n_packs++] = (std::uint32_t)k;
            finish(k, load_row(s.start, k, s.n_labels, 0.0) + load_row(s.local, k, s.n_labels, -kInfinity));
        }
    } else {
        n_packs = packs_within_reach(s, rows, offsets);
        best_of_all(s, offsets, n_packs, [&](size_t k, Pack best) TW_INLINE_LAMBDA {
            finish(k, best + load_row(s.local, k, s.n_labels, -kInfinity));
        });
    }
    const double least = reduce_max(top);
    const Pack enough = fill(enough_for(s, least));
    size_t n = 0;
    for (size_t i = 0; i < n_packs; ++i) {
        const size_t k = offsets[i];
        const Pack score = load(rows + k);
        std::uint64_t left = at_most_bits(enough, score + load(s.most_out + k));
        left &= ~at_most_bits(score, fill(-kInfinity));  // forbidden ones are left out in any case
        for (; left != 0; left &= left - 1) {
            const size_t label = k + lowest_bit(left);
            labels[n] = (std::uint32_t)label;
            scores[n++] = rows[label];
        }
    }
    return n;
}

}  // namespace

extern const PrunedChainLoops TW_COPY(pruned_chain_loops);
const PrunedChainLoops TW_COPY(pruned_chain_loops) = {largest_finite, prune};

}  // namespace tw
