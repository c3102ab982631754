// The best labelling of one chain in single precision. See copy.hpp.
//
//     scores   row 0 .. middle - 1           best of what goes before, each with its own local scores
//              row middle .. length - 1      best of what follows
//              row length                    both, at the label of position `middle`
// Rows and matrices are padded to whole vectors: with zeros in local scores, -inf in all else.
#include "at_position.hpp"
#include "copy.hpp"
#include "guess.hpp"
#include "rounded.hpp"

namespace tw {
namespace {

using std::size_t;

constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr size_t kBlock = W == 8 ? 4 : 2;  // vectors of a row that are advanced at once

// One step of N recursions at once, none of which waits for another: finish(n, offset, best) for every vector of a row.
template <size_t N, size_t B, class Finish>
TW_INLINE void step_block(const float* const* from, const float* const* moves, size_t padded, size_t n_labels,
                          Finish finish) {
    FloatPack best[2 * N * B];  // of even and odd labels, so that a maximum need not wait for the last one
    unrolled<2 * N * B>([&](auto i) TW_INLINE_LAMBDA { best[i.value] = fill(kNever); });
    for (size_t a = 0; a < n_labels; a += 2)
        unrolled<2 * N>([&](auto c) TW_INLINE_LAMBDA {
            constexpr size_t n = c.value % N, odd = c.value / N;
            const float* row = moves[n] + (a + odd) * padded;
            const FloatPack value = fill(from[n][a + odd]);
            unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
                FloatPack& top = best[c.value * B + b.value];
                top = maximum(top, value + load(row + b.value * kFloats));
            });
        });
    unrolled<N * B>([&](auto i) TW_INLINE_LAMBDA {
        finish(i.value / B, i.value % B * kFloats, maximum(best[i.value], best[N * B + i.value]));
    });
}

template <size_t N, class Finish>
TW_INLINE void step(const float* const* from, const float* const* moves, size_t padded, size_t n_labels,
                    Finish finish) {
    for (size_t k = 0; k < padded;) {
        const size_t left = (padded - k) / kFloats, offset = k;
        const float* here[N];
        for (size_t n = 0; n < N; ++n) here[n] = moves[n] + offset;
        const auto run = [&]<size_t B>() TW_INLINE_LAMBDA {
            step_block<N, B>(from, here, padded, n_labels, [&](size_t n, size_t at, FloatPack best) TW_INLINE_LAMBDA {
                finish(n, offset + at, best);
            });
            k += B * kFloats;
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

TW_INLINE std::uint64_t equal_bits(FloatPack a, FloatPack b) {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_EQ_OQ);
#elif defined(__AVX2__)
    return (std::uint64_t)(unsigned)_mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_EQ_OQ));
#else
    std::int32_t lane[kFloats];
    const FloatMask equal = a == b;
    std::memcpy(lane, &equal, sizeof lane);
    std::uint64_t found = 0;
    for (size_t i = 0; i < kFloats; ++i) found |= (std::uint64_t)(lane[i] & 1) << i;
    return found;
#endif
}

// The labels, a bit each, whose score plus `moves` plus `local`, rounded as the recursion rounded it, is `wanted`.
TW_INLINE std::uint64_t origins(const float* scores, const float* moves, float local, float wanted, size_t padded) {
    std::uint64_t found = 0;
    for (size_t k = 0; k < padded; k += kFloats)
        found |= equal_bits((load(scores + k) + load(moves + k)) + fill(local), fill(wanted)) << k;
    return found;
}

// Of rows that are B vectors; 0: any number of them.
template <size_t B>
float best_rounded_of(const RoundedChain& c, float* scores, std::int32_t* labels) {
    const size_t K = c.n_labels, padded = B ? B * kFloats : c.padded, middle = c.length / 2, last = c.length - 1;
    const auto row = [&](size_t t) TW_INLINE_LAMBDA { return scores + t * padded; };
    const auto local = [&](size_t t) TW_INLINE_LAMBDA { return c.unary + t * padded; };
    for (size_t k = 0; k < padded; k += kFloats) {
        store(row(0) + k, load(c.start + k) + load(local(0) + k));
        store(row(last) + k, load(c.end + k) + load(local(last) + k));
    }
    for (size_t i = 1; i < middle; ++i) {
        at_position(i, K);
        const float* const from[2] = {row(i - 1), row(last - i + 1)};
        const float* const moves[2] = {c.forward, c.backward};
        const size_t at[2] = {i, last - i};
        step<2>(from, moves, padded, K, [&](size_t n, size_t k, FloatPack best) TW_INLINE_LAMBDA {
            store(row(at[n]) + k, best + load(local(at[n]) + k));
        });
    }
    if (last - middle >= middle) {  // an odd number of positions
        const float *const from[1] = {row(middle + 1)}, *const moves[1] = {c.backward};
        step<1>(from, moves, padded, K, [&](size_t, size_t k, FloatPack best) TW_INLINE_LAMBDA {
            store(row(middle) + k, best + load(local(middle) + k));
        });
    }
    float* meeting = row(c.length);
    const float *const from[1] = {row(middle - 1)}, *const moves[1] = {c.forward};
    FloatPack top = fill(kNever);
    step<1>(from, moves, padded, K, [&](size_t, size_t k, FloatPack best) TW_INLINE_LAMBDA {
        const FloatPack v = best + load(row(middle) + k);
        top = maximum(top, v);
        store(meeting + k, v);
    });
    const float total = reduce_max(top);
    if (total == kNever) return total;
    // Of equal labellings the first is the smallest read from its end: see max_meet.
    bool tied = false;
    const auto lowest = [&](std::uint64_t found) TW_INLINE_LAMBDA { return found ? lowest_bit(found) : 0; };
    std::uint64_t found = 0;
    for (size_t k = 0; k < padded; k += kFloats) found |= equal_bits(load(meeting + k), fill(total)) << k;
    tied |= (found & (found - 1)) != 0;
    size_t right = lowest(found);
    size_t left = lowest(origins(row(middle - 1), c.backward + right * padded, row(middle)[right], total, padded));
    labels[middle - 1] = (std::int32_t)left;
    labels[middle] = (std::int32_t)right;
    const auto before = [&](size_t t) TW_INLINE_LAMBDA {
        left = as_guessed(lowest(origins(row(t - 1), c.backward + left * padded, local(t)[left], row(t)[left], padded)),
                          labels[t - 1]);
        labels[t - 1] = (std::int32_t)left;
    };
    const auto behind = [&](size_t t) TW_INLINE_LAMBDA {
        const std::uint64_t all =
            origins(row(t + 1), c.forward + right * padded, local(t)[right], row(t)[right], padded);
        tied |= (all & (all - 1)) != 0;
        right = as_guessed(lowest(all), labels[t + 1]);
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
