// The best labelling of one chain in single precision, by chain_meet.hpp, or of several side by side; and sums of rows
// of weights. See copy.hpp.
#include "chain_meet.hpp"
#include "rounded.hpp"

namespace tw {
namespace {

struct RoundedView {
    size_t n_labels, length, padded;
    const float *forward, *backward;
    const RoundedChain& chain;
    TW_INLINE const float* local(size_t t) const { return chain.unary + t * padded; }
    TW_INLINE FloatPack local(size_t t, size_t k) const { return load(local(t) + k); }
    TW_INLINE FloatPack first(size_t k) const { return load(chain.start + k) + local(0, k); }
    TW_INLINE FloatPack last(size_t k) const { return load(chain.end + k) + local(length - 1, k); }
};

// Of rows that are B vectors; 0: any number of them.
template <size_t B>
float best_rounded_of(const RoundedChain& c, float* scores, std::int32_t* labels) {
    const size_t padded = B ? B * kFloats : c.padded;
    return meet(RoundedView{c.n_labels, c.length, padded, c.forward, c.backward, c}, padded, scores, labels);
}

float best_rounded(const RoundedChain& c, float* scores, std::int32_t* labels) {
    if (c.padded == kFloats) return best_rounded_of<1>(c, scores, labels);
    if (c.padded == 2 * kFloats) return best_rounded_of<2>(c, scores, labels);
    return best_rounded_of<0>(c, scores, labels);
}

// ---- several chains ------------------------------------------------------------------------------------------------

// B packs, from k on, of the next rows of N chains.
template <size_t N, size_t B>
TW_INLINE void advance_rounded(const RoundedChain* chains, float* const* scores, size_t t, size_t k) {
    const size_t padded = chains[0].padded, n_labels = chains[0].n_labels;
    const float* moves = chains[0].forward + k;
    const float* from[N];
    FloatPack best[N * B];
    unrolled<N>([&](auto n) TW_INLINE_LAMBDA { from[n.value] = scores[n.value] + (t - 1) * padded; });
    unrolled<N * B>([&](auto i) TW_INLINE_LAMBDA { best[i.value] = fill(kNever<float>); });
    for (size_t a = 0; a < n_labels; ++a, moves += padded) {
        FloatPack move[B];
        unrolled<B>([&](auto b) TW_INLINE_LAMBDA { move[b.value] = load(moves + b.value * kFloats); });
        unrolled<N>([&](auto n) TW_INLINE_LAMBDA {
            const FloatPack value = fill(from[n.value][a]);
            unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
                FloatPack& top = best[n.value * B + b.value];
                top = maximum(top, value + move[b.value]);
            });
        });
    }
    unrolled<N * B>([&](auto i) TW_INLINE_LAMBDA {
        constexpr size_t n = i.value / B, b = i.value % B;
        const size_t at = t * padded + k + b * kFloats;
        store(scores[n] + at, best[i.value] + load(chains[n].unary + at));
    });
}

template <size_t N>
void forward_rounded(const RoundedChain* chains, float* const* scores, size_t begin, size_t end) {
    constexpr size_t kMost = W == 8 ? 4 : 3;  // packs whose maxima stay in registers
    const size_t packs = chains[0].padded / kFloats, blocks = (packs + kMost - 1) / kMost;
    for (size_t t = begin; t < end; ++t) {
        at_position(t, chains[0].n_labels);
        size_t pack = 0;
        for (size_t block = 0; block < blocks; ++block) {
            const size_t here = (packs - pack + (blocks - block) - 1) / (blocks - block);
            const size_t k = pack * kFloats;
            pack += here;
            if (here == 1)
                advance_rounded<N, 1>(chains, scores, t, k);
            else if (here == 2)
                advance_rounded<N, 2>(chains, scores, t, k);
            else if (here == 3)
                advance_rounded<N, 3>(chains, scores, t, k);
            else if constexpr (kMost == 4)
                advance_rounded<N, 4>(chains, scores, t, k);
        }
    }
}

// The first of the lanes found; `sure` only if there is one, and no other.
TW_INLINE std::int32_t only(std::uint64_t found, bool& sure) {
    sure &= found != 0 && (found & (found - 1)) == 0;
    return found != 0 ? (std::int32_t)lowest_bit(found) : 0;
}

void best_of_several(const RoundedChain* chains, size_t count, float* const* scores, const double* near,
                     std::int32_t* const* labels, bool* sure) {
    const size_t padded = chains[0].padded;
    const auto nearness = [&](size_t t) TW_INLINE_LAMBDA {
        return (float)((double)(t + 1) * (near[0] + near[1] * (double)(t + 3)));
    };
    for (size_t n = 0; n < count; ++n)
        for (size_t k = 0; k < padded; k += kFloats)
            store(scores[n] + k, load(chains[n].start + k) + load(chains[n].unary + k));
    size_t begin = 1;
    if (count == kSideBySide) {
        begin = chains[count - 1].length;
        forward_rounded<kSideBySide>(chains, scores, 1, begin);
    }
    for (size_t n = 0; n < count; ++n) forward_rounded<1>(chains + n, scores + n, begin, chains[n].length);
    for (size_t n = 0; n < count; ++n) {
        const size_t length = chains[n].length;
        const float* row = scores[n] + (length - 1) * padded;
        FloatPack top = fill(kNever<float>);
        for (size_t k = 0; k < padded; k += kFloats) top = maximum(top, load(row + k) + load(chains[n].end + k));
        const float total = reduce_max(top), enough = total - nearness(length);
        const auto found = lanes_found<float>(0, padded, [&](size_t k) TW_INLINE_LAMBDA {
            return at_least_bits(load(row + k) + load(chains[n].end + k), fill(enough));
        });
        sure[n] = total > kNever<float>;
        labels[n][length - 1] = only(found, sure[n]);
    }
    // Read off side by side: each waits for its own label before the next.
    size_t n_begun = 0;
    for (size_t t = chains[0].length - 1; t > 0; --t) {
        while (n_begun < count && chains[n_begun].length > t) ++n_begun;
        const float far = nearness(t);
        for (size_t n = 0; n < n_begun; ++n) {
            const auto y = (size_t)labels[n][t];
            const float local = chains[n].unary[t * padded + y], enough = scores[n][t * padded + y] - far;
            const float *before = scores[n] + (t - 1) * padded, *moves = chains[n].backward + y * padded;
            const auto found = lanes_found<float>(0, padded, [&](size_t k) TW_INLINE_LAMBDA {
                return at_least_bits((load(before + k) + load(moves + k)) + fill(local), fill(enough));
            });
            labels[n][t - 1] = only(found, sure[n]);
        }
    }
}

// ---- rows ----------------------------------------------------------------------------------------------------------

// The sums of B vectors stay in registers, each in two parts, so that an addition need not wait for the last one.
template <size_t B>
void add_rows(const float* weights, const std::uint32_t* starts, const std::uint32_t* numbers, size_t begin, size_t end,
              size_t padded, float* out) {
    for (size_t t = begin; t < end; ++t, out += padded) {
        FloatPack sums[2][B];
        unrolled<2>([&](auto s) TW_INLINE_LAMBDA {
            unrolled<B>([&](auto b) TW_INLINE_LAMBDA { sums[s.value][b.value] = fill(0.0f); });
        });
        const auto add = [&](FloatPack* sum, size_t i) TW_INLINE_LAMBDA {
            const float* row = weights + (size_t)numbers[i] * padded;
            unrolled<B>([&](auto b) TW_INLINE_LAMBDA { sum[b.value] = sum[b.value] + load(row + b.value * kFloats); });
        };
        size_t i = starts[t];
        for (const size_t stop = starts[t + 1]; i < stop; i += 2) {
            add(sums[0], i);
            if (i + 1 < stop) add(sums[1], i + 1);
        }
        unrolled<B>([&](auto b)
                        TW_INLINE_LAMBDA { store(out + b.value * kFloats, sums[0][b.value] + sums[1][b.value]); });
    }
}

void add_rows_of(const float* weights, const std::uint32_t* starts, const std::uint32_t* numbers, size_t begin,
                 size_t end, size_t padded, float* out) {
    if (padded == kFloats) return add_rows<1>(weights, starts, numbers, begin, end, padded, out);
    if (padded == 2 * kFloats) return add_rows<2>(weights, starts, numbers, begin, end, padded, out);
    if (padded == 4 * kFloats) return add_rows<4>(weights, starts, numbers, begin, end, padded, out);
    for (size_t t = begin; t < end; ++t, out += padded) {
        for (size_t k = 0; k < padded; k += kFloats) {
            FloatPack sum = fill(0.0f);
            for (size_t i = starts[t]; i < starts[t + 1]; ++i)
                sum = sum + load(weights + (size_t)numbers[i] * padded + k);
            store(out + k, sum);
        }
    }
}

}  // namespace

extern const RoundedBestLoops TW_COPY(rounded_best_loops);
const RoundedBestLoops TW_COPY(rounded_best_loops) = {kFloats, best_rounded, best_of_several, add_rows_of};

}  // namespace tw
