// The best labelling of one chain in single precision, by chain_meet.hpp, and sums of rows of weights. See copy.hpp.
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
const RoundedBestLoops TW_COPY(rounded_best_loops) = {kFloats, best_rounded, add_rows_of};

}  // namespace tw
