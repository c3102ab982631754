// Scores of labels from weights by unit; the layout is drawn in kernels.hpp. See copy.hpp.
#include "copy.hpp"
#include "rounded.hpp"

namespace tw {
namespace {

using std::size_t;

TW_INLINE size_t least(size_t a, size_t b) { return a < b ? a : b; }

TW_INLINE void store_doubles(double* to, Pack v) { store(to, v); }
TW_INLINE void store_doubles(double* to, FloatPack v) {
    float lane[kFloats];
    store(lane, v);
    store(to, load_wide(lane));
    store(to + W, load_wide(lane + W));
}
TW_INLINE void store_half_doubles(double* to, Pack v) { store_half(to, v); }
TW_INLINE void store_half_doubles(double* to, FloatPack v) {
    float lane[kFloats];
    store(lane, v);
    store(to, load_wide(lane));
}

// Where scores go: rows of doubles as long as there are labels, or of floats as long as some vectors.
template <class Out, class Real>
TW_INLINE size_t row_length(size_t K) {
    if constexpr (sizeof(Out) == sizeof(double)) return K;
    constexpr size_t V = Lanes<Real>::width;
    return (K + V - 1) / V * V;
}

// Parts are added so many at a time where a vector is expanded by one instruction: how often a loop runs is then seldom
// mispredicted.
#if defined(__AVX512F__)
constexpr size_t kTogether = 4;
#else
constexpr size_t kTogether = 1;
#endif

// The labels of a part, of which there are at most so many.
template <size_t kLabels>
TW_INLINE std::uint64_t labels_of(const TokenUnits& tokens, size_t i) {
    const std::uint64_t low = tokens.parts[i].labels;
    if constexpr (kLabels > 32)
        return tokens.part_labels_above ? low | (std::uint64_t)tokens.part_labels_above[i] << 32 : low;
    else
        return low;
}

// Adds a part to the sums: add(sum, place, bits of labels).
template <class Real, size_t B, class Add>
TW_INLINE void add_part(const UnitWeights<Real>& w, const TokenUnits& tokens, size_t i, typename Lanes<Real>::V* sum,
                        Add add) {
    const std::uint64_t labels = labels_of<B * Lanes<Real>::width>(tokens, i);
    const Real* from = w.weights + tokens.parts[i].begin;
    unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
        constexpr size_t shift = b.value * Lanes<Real>::width;
        const size_t before = (size_t)__builtin_popcountll(labels & ((std::uint64_t{1} << shift) - 1));
        sum[b.value] = add(sum[b.value], from + before, labels >> shift);
    });
}

// The sums of B vectors of labels, the last of them perhaps half a one, stay in registers while the rows and parts of a
// token are added, in the precision of the weights: parts to two sums in turn, so that neither waits for the other.
template <class Real, class Out, size_t B, bool kHalf, class Row, class Part>
TW_INLINE void each_sum(const TokenUnits& tokens, size_t begin, size_t end, size_t K, Out* out, Row add_row,
                        Part add_part) {
    using L = Lanes<Real>;
    constexpr size_t kSums = kTogether > 1 && B == 1 ? 2 : 1;
    const size_t length = row_length<Out, Real>(K);
    for (size_t t = begin; t < end; ++t, out += length) {
        typename L::V sums[kSums][B];
        unrolled<kSums>([&](auto s) TW_INLINE_LAMBDA {
            unrolled<B>([&](auto b) TW_INLINE_LAMBDA { sums[s.value][b.value] = L::fill(0); });
        });
        typename L::V* sum = sums[0];
        for (size_t i = tokens.row_starts[t]; i < tokens.row_starts[t + 1]; ++i) add_row(sum, i);
        for (size_t i = tokens.part_starts[t]; i < tokens.part_starts[t + 1]; i += kTogether)
            unrolled<kTogether>([&](auto j) TW_INLINE_LAMBDA { add_part(sums[j.value % kSums], i + j.value); });
        if constexpr (kSums == 2) sum[0] = sum[0] + sums[1][0];
        unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
            if constexpr (sizeof(Out) == sizeof(float))
                store(out + b.value * L::width, sum[b.value]);
            else if constexpr (kHalf && b.value + 1 == B)
                store_half_doubles(out + b.value * L::width, sum[b.value]);
            else
                store_doubles(out + b.value * L::width, sum[b.value]);
        });
    }
}

template <class Real, class Out, size_t B, bool kHalf>
void add_rows(const UnitWeights<Real>& w, const TokenUnits& tokens, size_t begin, size_t end, size_t K, Out* out) {
    using L = Lanes<Real>;
    if (!tokens.row_factors && !tokens.part_values && tokens.last + B * L::width <= w.n_weights) {
        const auto row = [&](auto* sum, size_t i) TW_INLINE_LAMBDA {
            const Real* from = w.weights + tokens.rows[i];
            unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
                if constexpr (kHalf && b.value + 1 == B)
                    sum[b.value] = sum[b.value] + load_half(from + b.value * L::width);
                else
                    sum[b.value] = sum[b.value] + load(from + b.value * L::width);
            });
        };
        const auto part = [&](auto* sum, size_t i) TW_INLINE_LAMBDA {
            add_part<Real, B>(w, tokens, i, sum,
                              [](auto before, const Real* from, std::uint64_t labels)
                                  TW_INLINE_LAMBDA { return before + load_all_expanded(from, labels); });
        };
        each_sum<Real, Out, B, kHalf>(tokens, begin, end, K, out, row, part);
        return;
    }
    const auto part = [&](auto* sum, size_t i) TW_INLINE_LAMBDA {
        const auto x = L::fill(tokens.part_values ? (Real)tokens.part_values[i] : Real{1});
        add_part<Real, B>(w, tokens, i, sum, [&](auto before, const Real* from, std::uint64_t labels) TW_INLINE_LAMBDA {
            return before + x * load_expanded(from, labels);
        });
    };
    const auto row = [&](auto* sum, size_t i) TW_INLINE_LAMBDA {
        const auto x = L::fill(tokens.row_factors ? (Real)tokens.row_factors[i] : Real{1});
        const Real* from = w.weights + tokens.rows[i];
        const size_t left = w.n_weights - tokens.rows[i];
        unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
            constexpr size_t first = b.value * L::width;
            const size_t n = left > first ? left - first : 0;
            sum[b.value] =
                sum[b.value] + x * (n >= L::width ? load(from + first) : load_partial(from + first, n, Real{0}));
        });
    };
    each_sum<Real, Out, B, kHalf>(tokens, begin, end, K, out, row, part);
}

// Labels k .. k + n - 1 of the rows of one token, at most B vectors of them: their sums stay in registers, too.
template <class Real, size_t B, class Out>
TW_INLINE void add_tile(const UnitWeights<Real>& w, const TokenUnits& tokens, size_t t, size_t k, size_t n, Out* out) {
    using L = Lanes<Real>;
    typename L::V sum[B];
    unrolled<B>([&](auto b) TW_INLINE_LAMBDA { sum[b.value] = L::fill(0); });
    for (size_t i = tokens.row_starts[t]; i < tokens.row_starts[t + 1]; ++i) {
        const Real* from = w.weights + tokens.rows[i] + k;
        const size_t left = w.n_weights - tokens.rows[i] - k;
        const auto x = L::fill(tokens.row_factors ? (Real)tokens.row_factors[i] : Real{1});
        unrolled<B>([&](auto b) TW_INLINE_LAMBDA {
            constexpr size_t first = b.value * L::width;
            if (left >= B * L::width)
                sum[b.value] = sum[b.value] + x * load(from + first);
            else if (left > first)
                sum[b.value] = sum[b.value] + x * load_partial(from + first, least(left - first, L::width), Real{0});
        });
    }
    Real lanes[B * L::width];
    unrolled<B>([&](auto b) TW_INLINE_LAMBDA { store(lanes + b.value * L::width, sum[b.value]); });
    for (size_t y = 0; y < n; ++y) out[k + y] = (Out)lanes[y];
}

template <class Real, class Out>
void add_rows_any(const UnitWeights<Real>& w, const TokenUnits& tokens, size_t begin, size_t end, size_t K, Out* out) {
    constexpr size_t V = Lanes<Real>::width, B = W == 8 ? 8 : 4;
    const size_t length = row_length<Out, Real>(K);
    for (size_t t = begin; t < end; ++t, out += length) {
        size_t k = 0;
        for (; k + B * V <= K; k += B * V) add_tile<Real, B>(w, tokens, t, k, B * V, out);
        for (; k + 2 * V < K; k += 2 * V) add_tile<Real, 2>(w, tokens, t, k, 2 * V, out);
        if (k < K) add_tile<Real, 2>(w, tokens, t, k, K - k, out);
        for (size_t i = tokens.part_starts[t]; i < tokens.part_starts[t + 1]; ++i) {
            const double x = tokens.part_values ? tokens.part_values[i] : 1.0;
            const Real* from = w.weights + tokens.parts[i].begin;
            for (std::uint64_t left = labels_of<64>(tokens, i); left != 0; left &= left - 1)
                out[lowest_bit(left)] += (Out)(x * (double)*from++);
        }
    }
}

template <class Real, class Out, size_t B>
auto add_rows_of(size_t K) {
    constexpr size_t V = Lanes<Real>::width;
    const size_t rest = K - (B - 1) * V;
    return kHalves && rest <= V / 2 ? add_rows<Real, Out, B, true> : add_rows<Real, Out, B, false>;
}

template <class Real, class Out>
auto add_rows_for(size_t K) {
    constexpr size_t V = Lanes<Real>::width;
    switch ((K + V - 1) / V) {
        case 1:
            return add_rows_of<Real, Out, 1>(K);
        case 2:
            return add_rows_of<Real, Out, 2>(K);
        case 3:
            return add_rows_of<Real, Out, 3>(K);
        case 4:
            return add_rows_of<Real, Out, 4>(K);
        case 6:
            return add_rows_of<Real, Out, 6>(K);
        default:
            return add_rows_any<Real, Out>;
    }
}

template <class Real>
TW_INLINE void fetch_row(const Real* row, size_t K) {
    constexpr size_t kLine = 64 / sizeof(Real);
    for (size_t y = 0; y < K; y += kLine) prefetch(row + y);
    prefetch(row + K - 1);
}

TW_INLINE bool has_added(const std::uint64_t* bits, std::uint32_t unit) { return bits[unit / 64] >> (unit % 64) & 1; }

// All weights of a rare unit but the first.
template <class Real, class Out>
TW_INLINE void add_rest(const UnitWeights<Real>& w, const RareUnit& rare, double x, size_t K, Out* row) {
    const Real* from = w.weights + rare.begin;
    if (rare.size == RareUnit::kRow) {
        for (size_t y = 1; y < K; ++y) row[y] += (Out)(x * (double)from[y]);
        return;
    }
    for (size_t j = 1; j < rare.size; ++j) row[w.labels[rare.begin - w.first + j]] += (Out)(x * (double)from[j]);
    if (!has_added(w.has_added, rare.unit)) return;
    for (std::uint32_t a = w.first_added[rare.unit]; a != kNoneAdded; a = w.added[a].next)
        if (w.added[a].weight < w.n_weights) row[w.added[a].code] += (Out)(x * (double)w.weights[w.added[a].weight]);
}

// Where all weights stay in the cache there is nothing to fetch.
template <class Real, class Out>
void gather_near(const UnitWeights<Real>& w, const TokenUnits& tokens, size_t begin, size_t end, size_t K, Out* out) {
    const size_t length = row_length<Out, Real>(K);
    add_rows_for<Real, Out>(K)(w, tokens, begin, end, K, out);
    for (size_t i = tokens.rare_starts[begin]; i < tokens.rare_starts[end]; ++i) {
        const RareUnit& rare = tokens.rare[i];
        const double factor = w.factors[rare.factor], x = tokens.rare_values ? factor * tokens.rare_values[i] : factor;
        Out* row = out + (rare.token - begin) * length;
        if (rare.size > 0) row[rare.label] += (Out)(x * (double)w.weights[rare.begin]);
        if ((rare.size > 1) | has_added(w.has_added, rare.unit)) add_rest(w, rare, x, K, row);
    }
}

// What is far away in memory is fetched, a block of tokens at a time, while the rows of some tokens are added: rows
// that are seldom used and the weights of rare units, then where added weights are, and at last their values. No branch
// asks whether a rare unit has more weights than one, which could not be foreseen: those that have are listed.
template <class Real, class Out>
void gather(const UnitWeights<Real>& w, const TokenUnits& tokens, size_t begin, size_t end, size_t K, Out* out) {
    constexpr size_t kBlock = 32, kParts = 4, kListed = 256, kNear = size_t{1} << 16;
    constexpr size_t kFetched = sizeof(Out) == sizeof(float) ? 64 : 0;  // tokens whose weights learners have fetched
    if (w.n_weights <= kNear) return gather_near(w, tokens, begin, end, K, out);
    const auto rows = add_rows_for<Real, Out>(K);
    const size_t length = row_length<Out, Real>(K);
    const RareUnit* listed[kListed];
    for (size_t from = begin; from < end; from += kBlock) {
        const size_t to = from + kBlock < end ? from + kBlock : end;
        const RareUnit *first = tokens.rare + tokens.rare_starts[from], *last = tokens.rare + tokens.rare_starts[to];
        const RareUnit* const unlisted = last - first > (std::ptrdiff_t)kListed ? first + kListed : last;
        const auto part = [&](size_t i) TW_INLINE_LAMBDA {
            const size_t a = from + (to - from) * i / kParts, b = from + (to - from) * (i + 1) / kParts;
            rows(w, tokens, a, b, K, out + (a - begin) * length);
        };
        const auto x = [&](const RareUnit* rare) TW_INLINE_LAMBDA {
            const double factor = w.factors[rare->factor];
            return tokens.rare_values ? factor * tokens.rare_values[rare - tokens.rare] : factor;
        };
        const auto row = [&](const RareUnit* rare) TW_INLINE_LAMBDA { return out + (rare->token - begin) * length; };
        if (from - begin >= kFetched) {
            for (size_t i = tokens.far_starts[from]; i < tokens.far_starts[to]; ++i)
                fetch_row(w.weights + tokens.far[i], K);
            for (const RareUnit* rare = first; rare < last; ++rare) prefetch(w.weights + rare->begin);
        }
        size_t n = 0;
        for (const RareUnit* rare = first; rare < unlisted; ++rare) {
            listed[n] = rare;
            n += (rare->size > 1) | has_added(w.has_added, rare->unit);
        }
        part(0);
        for (size_t i = 0; i < n; ++i) {
            if (listed[i]->size == RareUnit::kRow) {
                fetch_row(w.weights + listed[i]->begin, K);
            } else {
                prefetch(w.labels + (listed[i]->begin - w.first));
                prefetch(w.first_added + listed[i]->unit);
            }
        }
        part(1);
        const auto each_added = [&](auto visit) TW_INLINE_LAMBDA {
            for (size_t i = 0; i < n; ++i)
                if (has_added(w.has_added, listed[i]->unit)) visit(w.first_added[listed[i]->unit]);
        };
        each_added([&](std::uint32_t a) TW_INLINE_LAMBDA { prefetch(w.added + a); });
        part(2);
        each_added([&](std::uint32_t a) TW_INLINE_LAMBDA { prefetch(w.weights + w.added[a].weight); });
        part(3);
        for (const RareUnit* rare = first; rare < last; ++rare)
            if (rare->size > 0) row(rare)[rare->label] += (Out)(x(rare) * (double)w.weights[rare->begin]);
        for (size_t i = 0; i < n; ++i) add_rest(w, *listed[i], x(listed[i]), K, row(listed[i]));
        for (const RareUnit* rare = unlisted; rare < last; ++rare) add_rest(w, *rare, x(rare), K, row(rare));
    }
}

}  // namespace

extern const RoundedScoreLoops TW_COPY(rounded_score_loops);
const RoundedScoreLoops TW_COPY(rounded_score_loops) = {gather<float, float>};
extern const UnitScoreLoops TW_COPY(unit_score_loops);
const UnitScoreLoops TW_COPY(unit_score_loops) = {kTogether, gather<double, double>, gather<float, double>};

}  // namespace tw
