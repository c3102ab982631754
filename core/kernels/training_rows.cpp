// Training: scores of tokens gathered from rows of weights, probabilities scattered into rows of sums, steps on rows.
// The layout is drawn in training.hpp. See copy.hpp.
#include "copy.hpp"
#include "training.hpp"

namespace tw {
namespace {

using std::size_t;
using std::uint16_t;
using std::uint32_t;

// Rows and entries fetched before their use. In a pass lists follow each other, so that it may be long before; those of
// stochastic steps are of one sequence, and the next one lies elsewhere.
constexpr size_t kAhead = kListPadding, kStepAhead = 32;
TW_INLINE size_t ahead_in(const TokenLists& lists) { return lists.row_tokens ? kAhead : kStepAhead; }

template <class Real>
TW_INLINE void fetch_row(const Real* row, size_t stride) {
    for (size_t k = 0; k < stride; k += 64 / sizeof(Real)) prefetch(row + k);
}
// Where an entry belongs in rows of scores.
TW_INLINE size_t place(uint32_t packed, size_t stride) {
    return (size_t)(packed >> kLabelBits) * stride + (packed & ((1u << kLabelBits) - 1));
}

// The token, counted from `begin`, of list t of rows.
TW_INLINE size_t token_of(const TokenLists& lists, size_t begin, size_t t) {
    return lists.row_tokens ? lists.row_tokens[begin + t] : t;
}

// Pack b of a row of B packs, the last of them perhaps half.
template <class Real, size_t B, bool kHalf>
TW_INLINE typename Lanes<Real>::V load_pack(const Real* row, size_t b) {
    using L = Lanes<Real>;
    return kHalf && b + 1 == B ? load_half(row + b * L::width) : load(row + b * L::width);
}
template <class Real, size_t B, bool kHalf>
TW_INLINE void store_pack(Real* row, size_t b, typename Lanes<Real>::V v) {
    using L = Lanes<Real>;
    if (kHalf && b + 1 == B)
        store_half(row + b * L::width, v);
    else
        store(row + b * L::width, v);
}
template <class Real, size_t B>  // a row of B packs
TW_INLINE void fetch_packs(const Real* row) {
    unrolled<(B * Lanes<Real>::width * sizeof(Real) + 63) / 64>(
        [&](auto i) TW_INLINE_LAMBDA { prefetch(row + i.value * (64 / sizeof(Real))); });
}

// Calls run(packs of a block, whether the last is half, where it begins) for blocks that make up a row of weights.
template <bool kHalf>
struct Half {
    static constexpr bool value = kHalf;
};
template <class Real, class Run>
TW_INLINE void each_block(size_t row_stride, Run run) {
    constexpr size_t w = Lanes<Real>::width;
    size_t offset = 0;
    for (; offset + 4 * w <= row_stride; offset += 4 * w) run(Index<4>{}, Half<false>{}, offset);
    const size_t left = row_stride - offset;
    const bool half = kHalves && left % w != 0;
    const auto rest = [&](auto packs) TW_INLINE_LAMBDA {
        if constexpr (kHalves) {
            if (half) return run(packs, Half<true>{}, offset);
        }
        run(packs, Half<false>{}, offset);
    };
    switch ((left + w - 1) / w) {
        case 4:
            rest(Index<4>{});
            break;
        case 3:
            rest(Index<3>{});
            break;
        case 2:
            rest(Index<2>{});
            break;
        case 1:
            rest(Index<1>{});
            break;
        default:
            break;
    }
}

// ---- gather: scores of tokens --------------------------------------------------------------------------------------

// Adds single weights to rows of scores. What is needed later is fetched by its place in the lists.
template <class Real>
TW_INLINE void gather_entries(const TokenLists& lists, const RowArrays<Real>& weights, size_t stride, size_t begin,
                              size_t n, Real* scores) {
    for (size_t t = 0; t < n; ++t) scores[t * stride + lists.gold[begin + t]] += weights.once[begin + t];
    const size_t ahead = ahead_in(lists);
    const uint32_t *const entries = lists.entries, *const places = lists.entry_places;
    const Real* const single = weights.entries;
    for (uint32_t i = lists.entry_starts[begin], end = lists.entry_starts[begin + n]; i < end; ++i) {
        prefetch(single + entries[i + ahead]);
        scores[place(places[i], stride)] += single[entries[i]];
    }
    if (!lists.valued_entry_starts) return;
    for (size_t t = 0; t < n; ++t)
        for (uint32_t j = lists.valued_entry_starts[begin + t]; j < lists.valued_entry_starts[begin + t + 1]; ++j)
            scores[t * stride + lists.valued_entry_labels[j]] +=
                lists.entry_values[j] * weights.entries[lists.valued_entries[j]];
}

// Columns offset .. offset + B packs of the rows of all tokens, which begin with `base`.
template <class Real, size_t B, bool kHalf>
TW_INLINE void gather_rows(const TokenLists& lists, const RowArrays<Real>& weights, size_t stride, size_t offset,
                           const Real* base, size_t begin, size_t n, Real* scores) {
    using L = Lanes<Real>;
    const size_t ahead = ahead_in(lists);
    const uint32_t *const rows = lists.rows, *const starts = lists.row_starts + begin;
    const Real* const from = weights.rows + offset;
    typename L::V first[B];
    unrolled<B>([&](auto b) TW_INLINE_LAMBDA { first[b.value] = load_pack<Real, B, kHalf>(base + offset, b.value); });
    for (size_t t = 0; t < n; ++t) {
        Real* to = scores + token_of(lists, begin, t) * stride + offset;
        typename L::V sum[B];
        unrolled<B>([&](auto b) TW_INLINE_LAMBDA { sum[b.value] = first[b.value]; });
        for (uint32_t i = starts[t], end = starts[t + 1]; i < end; ++i) {
            fetch_packs<Real, B>(from + (size_t)rows[i + ahead] * stride);
            const Real* row = from + (size_t)rows[i] * stride;
            unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
                sum[b.value] = sum[b.value] + load_pack<Real, B, kHalf>(row, b.value);
            });
        }
        unrolled<B>([&](auto b) TW_INLINE_LAMBDA { store_pack<Real, B, kHalf>(to, b.value, sum[b.value]); });
    }
    if (!lists.valued_row_starts) return;
    for (size_t t = 0; t < n; ++t)
        for (uint32_t j = lists.valued_row_starts[begin + t]; j < lists.valued_row_starts[begin + t + 1]; ++j) {
            const Real* row = weights.rows + (size_t)lists.valued_rows[j] * stride + offset;
            Real* sum = scores + t * stride + offset;
            const auto value = L::fill((Real)lists.row_values[j]);
            unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
                store_pack<Real, B, kHalf>(
                    sum, b.value,
                    load_pack<Real, B, kHalf>(sum, b.value) + value * load_pack<Real, B, kHalf>(row, b.value));
            });
        }
}

template <class Real>
void gather(const TokenLists& lists, const RowArrays<Real>& weights, size_t stride, const Real* base, size_t begin,
            size_t n, Real* scores) {
    each_block<Real>(stride, [&](auto b, auto half, size_t offset) TW_INLINE_LAMBDA {
        gather_rows<Real, decltype(b)::value, decltype(half)::value>(lists, weights, stride, offset, base, begin, n,
                                                                     scores);
    });
    gather_entries(lists, weights, stride, begin, n, scores);  // last: no row is read while a part of it is written
}

// ---- scatter: probabilities of tokens into sums --------------------------------------------------------------------

template <class Real, size_t B, bool kHalf>
TW_INLINE void scatter_rows(const TokenLists& lists, Real* sums, size_t stride, size_t offset, size_t begin, size_t n,
                            const Real* p, bool squared) {
    using L = Lanes<Real>;
    const auto add = [&](Real* row, const Real* from, Real by) TW_INLINE_LAMBDA {
        unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
            store_pack<Real, B, kHalf>(
                row, b.value,
                load_pack<Real, B, kHalf>(row, b.value) + L::fill(by) * load_pack<Real, B, kHalf>(from, b.value));
        });
    };
    const size_t ahead = ahead_in(lists);
    const uint32_t *const rows = lists.rows, *const starts = lists.row_starts + begin;
    for (size_t t = 0; t < n; ++t) {
        typename L::V from[B];
        const Real* row_p = p + token_of(lists, begin, t) * stride + offset;
        unrolled<B>([&](auto b) TW_INLINE_LAMBDA { from[b.value] = load_pack<Real, B, kHalf>(row_p, b.value); });
        for (uint32_t i = starts[t], end = starts[t + 1]; i < end; ++i) {
            fetch_packs<Real, B>(sums + (size_t)rows[i + ahead] * stride + offset);
            Real* row = sums + (size_t)rows[i] * stride + offset;
            unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
                store_pack<Real, B, kHalf>(row, b.value, load_pack<Real, B, kHalf>(row, b.value) + from[b.value]);
            });
        }
    }
    if (!lists.valued_row_starts) return;
    for (size_t t = 0; t < n; ++t)
        for (uint32_t j = lists.valued_row_starts[begin + t]; j < lists.valued_row_starts[begin + t + 1]; ++j) {
            const Real value = (Real)lists.row_values[j];
            add(sums + (size_t)lists.valued_rows[j] * stride + offset, p + t * stride + offset,
                squared ? value * value : value);
        }
}

template <class Real>
TW_INLINE void scatter_entries(const TokenLists& lists, const RowArrays<Real>& sums, size_t stride, size_t begin,
                               size_t n, const Real* p, bool squared) {
    for (size_t t = 0; t < n; ++t) sums.once[begin + t] = p[t * stride + lists.gold[begin + t]];
    const size_t ahead = ahead_in(lists);
    const uint32_t *const entries = lists.entries, *const places = lists.entry_places;
    Real* const single = sums.entries;
    for (uint32_t i = lists.entry_starts[begin], end = lists.entry_starts[begin + n]; i < end; ++i) {
        prefetch(single + entries[i + ahead]);
        single[entries[i]] += p[place(places[i], stride)];
    }
    if (!lists.valued_entry_starts) return;
    for (size_t t = 0; t < n; ++t)
        for (uint32_t j = lists.valued_entry_starts[begin + t]; j < lists.valued_entry_starts[begin + t + 1]; ++j) {
            const Real value = (Real)lists.entry_values[j];
            sums.entries[lists.valued_entries[j]] +=
                (squared ? value * value : value) * p[t * stride + lists.valued_entry_labels[j]];
        }
}

template <class Real>
void scatter(const TokenLists& lists, const RowArrays<Real>& sums, size_t stride, size_t begin, size_t n,
             const Real* probabilities, bool squared) {
    scatter_entries(lists, sums, stride, begin, n, probabilities, squared);
    each_block<Real>(stride, [&](auto b, auto half, size_t offset) TW_INLINE_LAMBDA {
        scatter_rows<Real, decltype(b)::value, decltype(half)::value>(lists, sums.rows, stride, offset, begin, n,
                                                                      probabilities, squared);
    });
}

template <class Real, size_t B, bool kHalf>
TW_INLINE void step_rows(const TokenLists& lists, Real* weights, const Members& members, size_t stride, size_t offset,
                         size_t begin, size_t n, Real factor, const Real* p) {
    using L = Lanes<Real>;
    // Copies, since for all the compiler knows the weights that are written lie where the originals do.
    const uint16_t* const cells = members.cells + offset / L::width;
    const float* const of_rows = members.rows;
    const uint32_t *const rows = lists.rows, *const starts = lists.row_starts + begin;
    const size_t packs = members.packs;
    const auto add = [=](uint32_t number, const typename L::V* from, Real by) TW_INLINE_LAMBDA {
        Real* row = weights + (size_t)number * stride + offset;
        const auto change = L::fill(by * (Real)of_rows[number]);
        unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
            const unsigned set = cells[number * packs + b.value];
            store_pack<Real, B, kHalf>(row, b.value,
                                       load_pack<Real, B, kHalf>(row, b.value) + kept(change * from[b.value], set));
        });
    };
    for (size_t t = 0; t < n; ++t) {
        typename L::V from[B];
        unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
            from[b.value] = load_pack<Real, B, kHalf>(p + t * stride + offset, b.value);
        });
        for (uint32_t i = starts[t], end = starts[t + 1]; i < end; ++i) {
            fetch_packs<Real, B>(weights + (size_t)rows[i + kStepAhead] * stride + offset);
            add(rows[i], from, factor);
        }
        if (!lists.valued_row_starts) continue;
        for (uint32_t j = lists.valued_row_starts[begin + t]; j < lists.valued_row_starts[begin + t + 1]; ++j)
            add(lists.valued_rows[j], from, factor * (Real)lists.row_values[j]);
    }
}

template <class Real>
void step(const TokenLists& lists, const RowArrays<Real>& weights, const Members& members, size_t stride, size_t begin,
          size_t n, Real factor, const Real* p) {
    const uint32_t *const entries = lists.entries, *const places = lists.entry_places;
    const float* const of_entries = members.entries;
    Real* const single = weights.entries;
    for (uint32_t i = lists.entry_starts[begin], end = lists.entry_starts[begin + n]; i < end; ++i) {
        prefetch(single + entries[i + kStepAhead]);
        prefetch(of_entries + entries[i + kStepAhead]);
        single[entries[i]] += factor * (Real)of_entries[entries[i]] * p[place(places[i], stride)];
    }
    for (size_t t = 0; t < n && lists.valued_entry_starts; ++t)
        for (uint32_t j = lists.valued_entry_starts[begin + t]; j < lists.valued_entry_starts[begin + t + 1]; ++j) {
            const uint32_t entry = lists.valued_entries[j];
            weights.entries[entry] += factor * (Real)(members.entries[entry] * lists.entry_values[j]) *
                                      p[t * stride + lists.valued_entry_labels[j]];
        }
    each_block<Real>(stride, [&](auto b, auto half, size_t offset) TW_INLINE_LAMBDA {
        step_rows<Real, decltype(b)::value, decltype(half)::value>(lists, weights.rows, members, stride, offset, begin,
                                                                   n, factor, p);
    });
}

// ---- composites ----------------------------------------------------------------------------------------------------

template <class Real>
void compose(const CompositeLists& lists, const RowArrays<Real>& weights, size_t stride, size_t begin, size_t end) {
    using L = Lanes<Real>;
    for (size_t c = begin; c < end; ++c) {
        Real* out = weights.rows + (lists.first + c) * stride;
        if (c + 4 < end)
            for (uint32_t i = lists.row_starts[c + 4]; i < lists.row_starts[c + 5]; ++i)
                fetch_row(weights.rows + (size_t)lists.rows[i] * stride, stride);
        each_block<Real>(stride, [&](auto block, auto half, size_t offset) TW_INLINE_LAMBDA {
            constexpr size_t B = decltype(block)::value;
            constexpr bool kHalf = decltype(half)::value;
            typename L::V sum[B];
            unrolled<B>([&](auto b) TW_INLINE_LAMBDA { sum[b.value] = L::fill(0); });
            for (uint32_t i = lists.row_starts[c]; i < lists.row_starts[c + 1]; ++i) {
                const Real* row = weights.rows + (size_t)lists.rows[i] * stride + offset;
                unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
                    sum[b.value] = sum[b.value] + load_pack<Real, B, kHalf>(row, b.value);
                });
            }
            unrolled<B>([&](auto b)
                            TW_INLINE_LAMBDA { store_pack<Real, B, kHalf>(out + offset, b.value, sum[b.value]); });
        });
        for (uint32_t i = lists.entry_starts[c]; i < lists.entry_starts[c + 1]; ++i)
            out[lists.entry_labels[i]] += weights.entries[lists.entries[i]];
    }
}

// to[k] = or += from[k] for the numbers of a row. Rows of floats have whole packs of doubles.
template <bool kAdd, class Real>
TW_INLINE void widen(const Real* from, size_t n, double* to) {
    if constexpr (sizeof(Real) == sizeof(float)) {
        for (size_t k = 0; k < n; k += W)
            store(to + k, kAdd ? load(to + k) + load_wide(from + k) : load_wide(from + k));
    } else {
        for (size_t k = 0; k < n; ++k) to[k] = kAdd ? to[k] + from[k] : from[k];
    }
}

template <class Real>
void collect(const Real* const* shards, size_t n_shards, const Real* composites, const uint32_t* numbers, size_t n,
             size_t stride, double* out) {
    using L = Lanes<Real>;
    constexpr size_t kRun = 64;  // rows added up in the precision of the rows
    widen<false>(shards[0], stride, out);
    for (size_t shard = 1; shard < n_shards; ++shard) widen<true>(shards[shard], stride, out);
    for (size_t begin = 0; begin < n; begin += kRun) {
        const size_t end = begin + kRun < n ? begin + kRun : n;
        each_block<Real>(stride, [&](auto block, auto half, size_t offset) TW_INLINE_LAMBDA {
            constexpr size_t B = decltype(block)::value;
            constexpr bool kHalf = decltype(half)::value;
            typename L::V sum[B];
            unrolled<B>([&](auto b) TW_INLINE_LAMBDA { sum[b.value] = L::fill(0); });
            for (size_t i = begin; i < end; ++i) {
                if (offset == 0 && i + 8 < n) fetch_row(composites + (size_t)numbers[i + 8] * stride, stride);
                const Real* row = composites + (size_t)numbers[i] * stride + offset;
                unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
                    sum[b.value] = sum[b.value] + load_pack<Real, B, kHalf>(row, b.value);
                });
            }
            Real lanes[B * L::width];
            unrolled<B>([&](auto b) TW_INLINE_LAMBDA { store(lanes + b.value * L::width, sum[b.value]); });
            const size_t left = stride - offset;
            widen<true>(lanes, left < B * L::width ? left : B * L::width, out + offset);
        });
    }
}

template <class Real>
constexpr RowLoops<Real> loops() {
    return {Lanes<Real>::width, kHalves ? Lanes<Real>::width / 2 : Lanes<Real>::width,
            gather<Real>,       scatter<Real>,
            step<Real>,         compose<Real>,
            collect<Real>};
}

}  // namespace

extern const BothPrecisions<RowLoops> TW_COPY(row_loops);
const BothPrecisions<RowLoops> TW_COPY(row_loops) = {loops<float>(), loops<double>()};

}  // namespace tw
