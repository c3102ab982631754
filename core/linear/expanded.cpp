#include "expanded.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "../kernels/kernels.hpp"
#include "model.hpp"

#if defined(__GNUC__) || defined(__clang__)
#define TW_ALWAYS_INLINE inline __attribute__((always_inline))
#define TW_INLINE_HERE __attribute__((always_inline))
#define TW_PREFETCH(address) __builtin_prefetch(address)
#else
#define TW_ALWAYS_INLINE __forceinline
#define TW_INLINE_HERE
#define TW_PREFETCH(address) (void)(address)
#endif

namespace tw {
namespace {

using View = ExpandedRows::View;
using Table = ExpandedRows::Table;
using Bucket = ExpandedRows::Bucket;
using Entry = ExpandedRows::Entry;

constexpr std::size_t kPadding = 8;           // dense rows are padded to a multiple of this
constexpr std::size_t kAtATime = 256;         // attributes found before their rows, by then in cache, are summed
constexpr std::size_t kMostScores = 1 << 20;  // of these tokens; places among them are 32 bits
constexpr std::size_t kKeysAhead = 48;        // keys between asking for a bucket and reading it
constexpr double kMostlyKnown = 0.75;         // share of known attributes from which on the filter does not pay
constexpr Key kFilterBits = 63;               // of a key: its place in a word of the filter
constexpr std::size_t kKeysAWord = 8;         // of the filter, at most: one bit in eight is set

constexpr std::uint64_t kind_of(std::uint64_t row) { return row >> 62; }
constexpr std::uint64_t kGoesOn = std::uint64_t{1} << 61;  // of the last row of a full bucket: the next has keys of it
constexpr std::uint32_t middle_of(std::uint64_t row) { return static_cast<std::uint32_t>(row >> 32) & 0x1fffffffu; }
constexpr std::uint32_t low_of(std::uint64_t row) { return static_cast<std::uint32_t>(row); }
constexpr std::uint64_t packed(ExpandedRows::Kind kind, std::uint64_t middle, std::uint32_t low) {
    return static_cast<std::uint64_t>(kind) << 62 | middle << 32 | low;
}

// ---- the loops; each is compiled once per instruction set, by being inlined into the functions below ----------------

// W doubles of a sum, in a register.
template <std::size_t W>
struct Lane;

#if defined(__GNUC__) || defined(__clang__)
typedef std::uint64_t Word2 __attribute__((vector_size(16)));

TW_ALWAYS_INLINE std::uint64_t row_in(const Bucket& bucket, Key key) {
    Word2 keys[2], rows[2];
    std::memcpy(keys, bucket.keys.data(), sizeof keys);
    std::memcpy(rows, bucket.rows.data(), sizeof rows);
    const Word2 hit = ((Word2)(keys[0] == key) & rows[0]) | ((Word2)(keys[1] == key) & rows[1]);
    return hit[0] | hit[1];  // no key is there twice
}

template <std::size_t W, class Pack>
struct VectorLane {
    static constexpr std::size_t kWidth = W;
    Pack sum;
    TW_ALWAYS_INLINE void clear() { sum = Pack{}; }
    TW_ALWAYS_INLINE void add(const double* row) {
        Pack values;
        std::memcpy(&values, row, sizeof values);
        sum += values;
    }
    TW_ALWAYS_INLINE void add(const double* row, double factor) {
        Pack values;
        std::memcpy(&values, row, sizeof values);
        sum += values * factor;
    }
    TW_ALWAYS_INLINE void store(double* out) const { std::memcpy(out, &sum, sizeof sum); }
};
typedef double Double2 __attribute__((vector_size(16)));
typedef double Double4 __attribute__((vector_size(32)));
typedef double Double8 __attribute__((vector_size(64)));
template <>
struct Lane<2> : VectorLane<2, Double2> {};
template <>
struct Lane<4> : VectorLane<4, Double4> {};
template <>
struct Lane<8> : VectorLane<8, Double8> {};
#else
TW_ALWAYS_INLINE std::uint64_t row_in(const Bucket& bucket, Key key) {
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < ExpandedRows::kWays; ++i) found |= bucket.keys[i] == key ? bucket.rows[i] : 0;
    return found;
}

template <std::size_t W>
struct Lane {
    double sum[W];
    TW_ALWAYS_INLINE void clear() { std::fill_n(sum, W, 0.0); }
    TW_ALWAYS_INLINE void add(const double* row) { add(row, 1.0); }
    TW_ALWAYS_INLINE void add(const double* row, double factor) {
        for (std::size_t i = 0; i < W; ++i) sum[i] += factor * row[i];
    }
    TW_ALWAYS_INLINE void store(double* out) const { std::copy_n(sum, W, out); }
};
#endif

TW_ALWAYS_INLINE std::uint64_t find_row(const Table& table, Key key) {
    for (std::size_t b = key >> table.shift;; b = (b + 1) & table.mask) {
        const std::uint64_t row = row_in(table.buckets[b], key);
        // One condition, nearly always true, whether the key is there or not.
        if ((row | (~table.buckets[b].rows[ExpandedRows::kWays - 1] & kGoesOn)) != 0) return row;
    }
}

// Weights of the kinds that have them elsewhere, which are those of the highest bit; of others the first weights.
TW_ALWAYS_INLINE void ask_for_weights(const double* weights, std::uint64_t row) {
    const double* const at = weights + (low_of(row) & (0 - (row >> 63)));
    TW_PREFETCH(at);
    TW_PREFETCH(at + 8);
    TW_PREFETCH(at + 16);
}

constexpr std::uint32_t attribute_at(std::uint64_t place) { return static_cast<std::uint32_t>(place); }
constexpr std::uint32_t scores_at(std::uint64_t place) { return static_cast<std::uint32_t>(place >> 32); }

// How many attributes of each kind were found.
struct Counts {
    std::size_t dense = 0, few = 0, single = 0;
};

// Writes what was found down. Nothing branches on what it is: it could not be predicted.
struct Finds {
    std::uint32_t* dense;  // of attribute 0
    FoundRows::Item *few, *single;
    Counts n{};

    Finds(FoundRows& found, std::size_t first)
        : dense(found.dense.data() - first), few(found.few.data()), single(found.single.data()) {}
    TW_ALWAYS_INLINE void add(std::uint64_t row, std::uint64_t place) {
        dense[attribute_at(place)] = kind_of(row) == ExpandedRows::kDense ? low_of(row) : 0;
        few[n.few] = single[n.single] = {row, place};
        n.dense += kind_of(row) == ExpandedRows::kDense;
        n.few += kind_of(row) == ExpandedRows::kFew;
        n.single += kind_of(row) == ExpandedRows::kSingle;
    }
};

// Calls visit(place) for the attributes of tokens begin .. end - 1.
template <class Visit>
TW_ALWAYS_INLINE void each_place(const View& v, const AttributeList& a, std::size_t begin, std::size_t end,
                                 Visit visit) {
    std::uint64_t scores = 0;
    for (std::size_t t = begin; t < end; ++t, scores += static_cast<std::uint64_t>(v.n_codes) << 32)
        for (std::size_t i = a.starts[t], stop = a.starts[t + 1]; i < stop; ++i) visit(scores | i);
}

// Finds the rows of tokens begin .. end - 1.
TW_ALWAYS_INLINE Counts find_rows(const View& v, const AttributeList& a, std::size_t begin, std::size_t end,
                                  FoundRows& found) {
    const Table table = v.table;
    const Key* const keys = a.keys.data();
    const std::size_t last = a.keys.size() - 1;
    std::size_t n_known = 0;
    Finds finds(found, a.starts[begin]);
    each_place(v, a, begin, end, [&](std::uint64_t place) TW_INLINE_HERE {
        const std::size_t i = attribute_at(place);
        TW_PREFETCH(table.buckets + (keys[i + kKeysAhead < last ? i + kKeysAhead : last] >> table.shift));
        const std::uint64_t row = find_row(table, keys[i]);
        ask_for_weights(v.weights, row);
        n_known += row != 0;
        finds.add(row, place);
    });
    found.mostly_known = n_known >= kMostlyKnown * (a.starts[end] - a.starts[begin]);
    return finds.n;
}

// The same where many are unknown: those that the filter lets through are asked for, and then searched.
TW_ALWAYS_INLINE Counts find_filtered(const View& v, const AttributeList& a, std::size_t begin, std::size_t end,
                                      FoundRows& found) {
    const Table table = v.table;
    const Key* const keys = a.keys.data();
    const std::size_t last = a.keys.size() - 1;
    std::uint64_t* const maybe = found.maybe.data();
    std::size_t n_maybe = 0;
    Finds finds(found, a.starts[begin]);
    each_place(v, a, begin, end, [&](std::uint64_t place) TW_INLINE_HERE {
        const std::size_t i = attribute_at(place);
        TW_PREFETCH(v.filter + (keys[i + kKeysAhead < last ? i + kKeysAhead : last] >> v.filter_shift));
        const Key key = keys[i];
        const bool known = (v.filter[key >> v.filter_shift] >> (key & kFilterBits) & 1) != 0;
        finds.dense[i] = 0;
        maybe[n_maybe] = place;
        n_maybe += known;
        TW_PREFETCH(table.buckets + (key >> table.shift & (0 - static_cast<std::uint64_t>(known))));
    });
    for (std::size_t m = 0; m < n_maybe; ++m) {
        const std::uint64_t row = find_row(table, keys[attribute_at(maybe[m])]);
        ask_for_weights(v.weights, row);
        finds.add(row, maybe[m]);
    }
    found.mostly_known = n_maybe >= kMostlyKnown * (a.starts[end] - a.starts[begin]);
    return finds.n;
}

// The same where the number of an attribute is part of its key.
TW_ALWAYS_INLINE Counts find_hashed(const View& v, const AttributeList& a, std::size_t begin, std::size_t end,
                                    FoundRows& found) {
    const std::size_t last = a.keys.size() - 1;
    Finds finds(found, a.starts[begin]);
    each_place(v, a, begin, end, [&](std::uint64_t place) TW_INLINE_HERE {
        const std::size_t i = attribute_at(place);
        TW_PREFETCH(v.hashed + (a.keys[i + kKeysAhead < last ? i + kKeysAhead : last] >> v.hash_shift));
        finds.add(v.hashed[a.keys[i] >> v.hash_shift], place);
    });
    return finds.n;
}

TW_ALWAYS_INLINE Counts find(const View& v, const AttributeList& a, std::size_t begin, std::size_t end,
                             FoundRows& found) {
    if (v.hashed) return find_hashed(v, a, begin, end, found);
    return found.mostly_known ? find_rows(v, a, begin, end, found) : find_filtered(v, a, begin, end, found);
}

// The dense rows of one token, summed in kLanes registers; or, for 0, through memory.
template <std::size_t W, bool kValued, std::size_t kLanes>
TW_ALWAYS_INLINE void sum_dense(const View& v, const std::uint32_t* rows, const float* values, std::size_t n,
                                double* out) {
    if constexpr (kLanes > 0) {
        Lane<W> lanes[kLanes];
        for (std::size_t j = 0; j < kLanes; ++j) lanes[j].clear();
        for (std::size_t i = 0; i < n; ++i) {
            const double* row = v.weights + rows[i];
            for (std::size_t j = 0; j < kLanes; ++j) {
                if constexpr (kValued)
                    lanes[j].add(row + j * W, static_cast<double>(values[i]));
                else
                    lanes[j].add(row + j * W);
            }
        }
        for (std::size_t j = 0; j < kLanes; ++j) lanes[j].store(out + j * W);
    } else {
        for (std::size_t k = 0; k < v.n_codes; ++k) out[k] = 0.0;
        for (std::size_t i = 0; i < n; ++i) {
            if (rows[i] == 0) continue;
            const double* row = v.weights + rows[i];
            const double factor = kValued ? static_cast<double>(values[i]) : 1.0;
            for (std::size_t k = 0; k < v.n_codes; ++k) out[k] += factor * row[k];
        }
    }
}

template <bool kValued>
TW_ALWAYS_INLINE void sum_few(const View& v, const AttributeList& a, const FoundRows::Item* items, std::size_t n,
                              double* out) {
    for (std::size_t i = 0; i < n; ++i) {
        const double factor = kValued ? static_cast<double>(a.values[attribute_at(items[i].place)]) : 1.0;
        double* const scores = out + scores_at(items[i].place);
        const char* at = reinterpret_cast<const char*>(v.weights + low_of(items[i].row));
        std::size_t left = middle_of(items[i].row);
        do {  // nearly always once
            Entry entries[ExpandedRows::kFour];
            std::memcpy(entries, at, sizeof entries);
            for (const Entry& entry : entries) scores[entry.code] += factor * static_cast<double>(entry.weight);
            at += sizeof entries;
        } while (--left > 0);
    }
}

template <bool kValued>
TW_ALWAYS_INLINE void sum_single(const AttributeList& a, const FoundRows::Item* items, std::size_t n, double* out) {
    for (std::size_t i = 0; i < n; ++i) {
        const double factor = kValued ? static_cast<double>(a.values[attribute_at(items[i].place)]) : 1.0;
        const auto weight = static_cast<double>(std::bit_cast<float>(low_of(items[i].row)));
        out[scores_at(items[i].place) + middle_of(items[i].row)] += factor * weight;
    }
}

template <std::size_t W, bool kValued, std::size_t kLanes>
TW_ALWAYS_INLINE void sum_all(const View view, const AttributeList& a, FoundRows& found, double* out) {
    const std::size_t n_tokens = a.n_sites();
    const std::size_t most_tokens = std::max<std::size_t>(1, std::min(kAtATime, kMostScores / view.n_codes));
    for (std::size_t begin = 0, end; begin < n_tokens; begin = end) {
        end = begin + 1;
        while (end < n_tokens && a.starts[end + 1] - a.starts[begin] <= kAtATime && end - begin < most_tokens) ++end;
        const Counts counts = find(view, a, begin, end, found);
        if (counts.dense == 0) std::fill_n(out, (end - begin) * view.n_codes, 0.0);
        for (std::size_t t = begin; t < end && counts.dense > 0; ++t) {
            const std::size_t from = a.starts[t], n = a.starts[t + 1] - from;
            sum_dense<W, kValued, kLanes>(view, found.dense.data() + (from - a.starts[begin]), a.values.data() + from,
                                          n, out + (t - begin) * view.n_codes);
        }
        sum_few<kValued>(view, a, found.few.data(), counts.few, out);
        sum_single<kValued>(a, found.single.data(), counts.single, out);
        out += (end - begin) * view.n_codes;
    }
}

template <std::size_t W, bool kValued>
TW_ALWAYS_INLINE void sum_by_width(const View& v, const AttributeList& a, FoundRows& found, double* out) {
    switch (v.padded) {
        case 8:
            return sum_all<W, kValued, 8 / W>(v, a, found, out);
        case 16:
            return sum_all<W, kValued, 16 / W>(v, a, found, out);
        case 24:
            return sum_all<W, kValued, 24 / W>(v, a, found, out);
        case 32:
            return sum_all<W, kValued, 32 / W>(v, a, found, out);
        case 48:
            return sum_all<W, kValued, 48 / W>(v, a, found, out);
        case 64:
            return sum_all<W, kValued, 64 / W>(v, a, found, out);
        default:
            return sum_all<W, kValued, 0>(v, a, found, out);
    }
}

template <std::size_t W>
TW_ALWAYS_INLINE void sum_by_form(const View& v, const AttributeList& a, FoundRows& found, double* out) {
    a.values.empty() ? sum_by_width<W, false>(v, a, found, out) : sum_by_width<W, true>(v, a, found, out);
}

using Sum = void (*)(const View&, const AttributeList&, FoundRows&, double*);

void sum_baseline(const View& v, const AttributeList& a, FoundRows& found, double* out) {
    sum_by_form<2>(v, a, found, out);
}
#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
__attribute__((target("avx2"))) void sum_avx2(const View& v, const AttributeList& a, FoundRows& found, double* out) {
    sum_by_form<4>(v, a, found, out);
}
__attribute__((target("avx2,avx512f,avx512dq"))) void sum_avx512(const View& v, const AttributeList& a,
                                                                 FoundRows& found, double* out) {
    sum_by_form<8>(v, a, found, out);
}
#endif

// The copy that goes with the kernels in use.
Sum chosen_sum() {
    [[maybe_unused]] const std::string_view name = kernels().name;
#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
    if (name == "avx512") return sum_avx512;
    if (name == "avx2") return sum_avx2;
#endif
    return sum_baseline;
}

// Up to 64 codes, rows of 40 and 56 are padded to 48 and 64, which saves two copies of every loop.
std::size_t padded_row(std::size_t n_codes) {
    const std::size_t padded = (n_codes + kPadding - 1) / kPadding * kPadding;
    return padded == 40 || padded == 56 ? padded + kPadding : padded;
}

// Buckets for so many keys: between a third and two thirds full.
std::size_t bucket_count(std::size_t n_keys) { return std::max<std::size_t>(2, std::bit_ceil(n_keys * 3 / 8 + 1)); }

}  // namespace

void FoundRows::resize(std::size_t n_attributes) {
    // One more than can be found: what is of another kind is written too, before the next takes its place.
    dense.resize(n_attributes + 1);
    few.resize(n_attributes + 1);
    single.resize(n_attributes + 1);
    maybe.resize(n_attributes + 1);
}

// More codes than the 29 bits of a row can tell are too many bytes, too.
double ExpandedRows::bytes(const WeightRows& rows) {
    const double n_keys = rows.hashed() ? 0.0 : static_cast<double>(rows.table().slots.size());
    // A dense row has at most 8 places per weight (more where there are few labels, but then it is short), and fours
    // are at least half full.
    return (64.0 * 2.0 * 3.0 / 8.0 + 2.0) * n_keys + 512.0 + 8.0 * static_cast<double>(rows.n_codes()) +
           8.0 * static_cast<double>(rows.n_attributes()) + 80.0 * static_cast<double>(rows.n_weights());
}

ExpandedRows::ExpandedRows(const WeightRows& rows) {
    view_.n_codes = rows.n_codes();
    view_.padded = padded_row(rows.n_codes());
    weights_.assign(view_.padded, 0.0);  // the dense row of those that have none
    LargeArray<std::uint64_t> packed_rows(rows.n_attributes());
    for (std::uint32_t number = 0; number < packed_rows.size(); ++number) packed_rows[number] = pack(rows, number);
    if (rows.hashed()) {
        hashed_ = std::move(packed_rows);
        view_.hashed = hashed_.data();
        view_.hash_shift = static_cast<unsigned>(64 - std::countr_zero(hashed_.size()));
    } else {
        fill_table(rows, packed_rows);
    }
    weights_.resize(weights_.size() + 24);  // what is fetched ahead lies inside
    view_.weights = weights_.data();
}

std::uint64_t ExpandedRows::pack(const WeightRows& rows, std::uint32_t number) {
    const std::size_t size = rows.row_size(number), begin = weights_.size();
    std::uint64_t row = 0;
    if (size == 0) return row;  // as if it were unknown
    switch (rows.size(number)) {
        case WeightRows::Size::kSingle:
            rows.each(number, [&](std::uint32_t code, float weight) {
                row = packed(kSingle, code, std::bit_cast<std::uint32_t>(weight));
            });
            return row;
        case WeightRows::Size::kMany:
            weights_.resize(begin + view_.padded, 0.0);
            rows.each(number,
                      [&](std::uint32_t code, float weight) { weights_[begin + code] += static_cast<double>(weight); });
            return packed(kDense, 0, static_cast<std::uint32_t>(begin));
        case WeightRows::Size::kFew:
            break;
    }
    const std::size_t n_fours = (size + kFour - 1) / kFour;
    weights_.resize(begin + n_fours * kFour, 0.0);  // code 0 and weight 0, as bits
    char* at = reinterpret_cast<char*>(weights_.data() + begin);
    rows.each(number, [&](std::uint32_t code, float weight) {
        const Entry entry{code, weight};
        std::memcpy(at, &entry, sizeof entry);
        at += sizeof entry;
    });
    return packed(kFew, n_fours, static_cast<std::uint32_t>(begin));
}

void ExpandedRows::fill_table(const WeightRows& rows, const LargeArray<std::uint64_t>& packed_rows) {
    const KeyTable& table = rows.table();
    const auto n_free = static_cast<std::size_t>(std::ranges::count(table.slots, kNoAttribute));
    const std::size_t n_keys = table.slots.size() - n_free, n_words = std::bit_ceil(n_keys / kKeysAWord + 2);
    table_.reserve(n_keys);
    filter_.assign(n_words, 0);
    view_.filter = filter_.data();
    view_.filter_shift = static_cast<unsigned>(64 - std::countr_zero(n_words));
    for (std::size_t i = 0; i < table.keys.size(); ++i) {
        const std::uint32_t number = table.slots[i];
        // A table from outside may hold a key twice, or where no search finds it: what a search finds counts.
        if (number == kNoAttribute || table.find(table.keys[i]) != number) continue;
        table_.insert(table.keys[i], packed_rows[number]);
        filter_[table.keys[i] >> view_.filter_shift] |= std::uint64_t{1} << (table.keys[i] & kFilterBits);
    }
    view_.table = table_.view();
}

void ExpandedRows::Buckets::reserve(std::size_t n_keys) {
    buckets_.resize(bucket_count(n_keys));
    shift_ = static_cast<unsigned>(64 - std::countr_zero(buckets_.size()));
}

void ExpandedRows::Buckets::insert(Key key, std::uint64_t row) {
    // One round at most: there is room unless the table, in a mapped file, was overwritten since it was counted.
    std::size_t left = buckets_.size();
    for (std::size_t b = key >> shift_; left > 0; b = (b + 1) & (buckets_.size() - 1), --left) {
        for (std::size_t i = 0; i < kWays; ++i) {
            if (buckets_[b].rows[i] != 0 && buckets_[b].keys[i] == key) return;
            if (buckets_[b].rows[i] != 0) continue;
            buckets_[b].keys[i] = key;
            buckets_[b].rows[i] = row;
            return;
        }
        buckets_[b].rows[kWays - 1] |= kGoesOn;
    }
}

void ExpandedRows::sum(const AttributeList& attributes, FoundRows& scratch, double* out) const {
    std::size_t most = kAtATime;  // of one token alone there may be more
    for (std::size_t t = 0; t < attributes.n_sites(); ++t)
        most = std::max<std::size_t>(most, attributes.starts[t + 1] - attributes.starts[t]);
    scratch.resize(most);
    static const Sum sum_rows = chosen_sum();
    sum_rows(view_, attributes, scratch, out);
}

}  // namespace tw
