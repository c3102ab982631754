#include "expanded.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "../kernels/kernels.hpp"
#include "model.hpp"

#if defined(__GNUC__) || defined(__clang__)
#define TW_ALWAYS_INLINE inline __attribute__((always_inline))
#define TW_PREFETCH(address) __builtin_prefetch(address)
#else
#define TW_ALWAYS_INLINE __forceinline
#define TW_PREFETCH(address) (void)(address)
#endif

namespace tw {
namespace {

using View = ExpandedRows::View;
using Bucket = ExpandedRows::Bucket;
using Entry = ExpandedRows::Entry;

constexpr std::size_t kLane = 8;        // rows are padded to a multiple of this
constexpr std::size_t kMostLanes = 8;   // rows up to 64 codes are summed in registers
constexpr std::size_t kAtATime = 256;   // attributes found before their rows, by then in cache, are summed
constexpr std::size_t kKeysAhead = 24;  // keys between asking for a bucket and reading it

constexpr std::uint64_t kind_of(std::uint64_t row) { return row >> 62; }
constexpr std::uint32_t middle_of(std::uint64_t row) { return static_cast<std::uint32_t>(row >> 32) & 0x3fffffffu; }
constexpr std::uint32_t low_of(std::uint64_t row) { return static_cast<std::uint32_t>(row); }
constexpr std::uint64_t packed(ExpandedRows::Kind kind, std::uint64_t middle, std::uint32_t low) {
    return static_cast<std::uint64_t>(kind) << 62 | middle << 32 | low;
}

// ---- the loops; each is compiled once per instruction set, by being inlined into the functions below ----------------

#if defined(__GNUC__) || defined(__clang__)
typedef std::uint64_t Word4 __attribute__((vector_size(32)));
typedef float Float8 __attribute__((vector_size(32)));
typedef double Double8 __attribute__((vector_size(64)));

TW_ALWAYS_INLINE std::uint64_t row_in(const Bucket& bucket, Key key) {
    Word4 keys, rows;
    std::memcpy(&keys, bucket.keys.data(), sizeof keys);
    std::memcpy(&rows, bucket.rows.data(), sizeof rows);
    const Word4 hit = (Word4)(keys == key) & rows;  // no key is there twice
    return (hit[0] | hit[1]) | (hit[2] | hit[3]);
}

struct Lane {
    Double8 sum;
    TW_ALWAYS_INLINE void clear() { sum = Double8{}; }
    TW_ALWAYS_INLINE void add(const float* row) {
        Float8 values;
        std::memcpy(&values, row, sizeof values);
        sum += __builtin_convertvector(values, Double8);
    }
    TW_ALWAYS_INLINE void add(const float* row, double factor) {
        Float8 values;
        std::memcpy(&values, row, sizeof values);
        sum += __builtin_convertvector(values, Double8) * factor;
    }
    TW_ALWAYS_INLINE void store(double* out) const { std::memcpy(out, &sum, sizeof sum); }
};
#else
TW_ALWAYS_INLINE std::uint64_t row_in(const Bucket& bucket, Key key) {
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < ExpandedRows::kWays; ++i) found |= bucket.keys[i] == key ? bucket.rows[i] : 0;
    return found;
}

struct Lane {
    double sum[kLane];
    TW_ALWAYS_INLINE void clear() { std::fill_n(sum, kLane, 0.0); }
    TW_ALWAYS_INLINE void add(const float* row) { add(row, 1.0); }
    TW_ALWAYS_INLINE void add(const float* row, double factor) {
        for (std::size_t i = 0; i < kLane; ++i) sum[i] += factor * row[i];
    }
    TW_ALWAYS_INLINE void store(double* out) const { std::copy_n(sum, kLane, out); }
};
#endif

TW_ALWAYS_INLINE std::uint64_t find_row(const View& v, Key key) {
    if (v.hashed) return v.hashed[key >> v.shift];
    for (std::size_t b = key >> v.shift;; b = (b + 1) & v.bucket_mask) {
        const std::uint64_t row = row_in(v.buckets[b], key);
        if (row != 0 || v.buckets[b].rows[ExpandedRows::kWays - 1] == 0) return row;
    }
}

TW_ALWAYS_INLINE void ask_for_key(const View& v, Key key) {
    if (v.hashed)
        TW_PREFETCH(v.hashed + (key >> v.shift));
    else
        TW_PREFETCH(v.buckets + (key >> v.shift));
}

TW_ALWAYS_INLINE void ask_for_row(const View& v, std::uint64_t row) {
    const char* at = nullptr;
    const auto* dense = reinterpret_cast<const char*>(v.dense + low_of(row) * v.padded);
    const auto* sparse = reinterpret_cast<const char*>(v.sparse + low_of(row));
    at = kind_of(row) == ExpandedRows::kSparse ? sparse : at;
    at = kind_of(row) == ExpandedRows::kDense ? dense : at;
    TW_PREFETCH(at);  // of nothing at all is no fault
    TW_PREFETCH(at + 64);
}

// Rows of tokens begin .. end - 1, dense ones apart. Nothing branches on what was found: it could not be predicted.
template <bool kValued>
TW_ALWAYS_INLINE void find_rows(const View& v, const AttributeList& a, std::size_t begin, std::size_t end,
                                FoundRows& found) {
    std::uint64_t* dense = found.dense.data();
    std::uint64_t* rest = found.rest.data();
    std::size_t n_dense = 0, n_rest = 0;
    const std::size_t n_keys = a.keys.size();
    for (std::size_t t = begin; t < end; ++t) {
        for (std::size_t i = a.starts[t]; i < a.starts[t + 1]; ++i) {
            ask_for_key(v, a.keys[i + kKeysAhead < n_keys ? i + kKeysAhead : i]);
            const std::uint64_t row = find_row(v, a.keys[i]);
            ask_for_row(v, row);
            dense[n_dense] = row;
            rest[n_rest] = row;
            if constexpr (kValued) found.dense_values[n_dense] = found.rest_values[n_rest] = a.values[i];
            n_dense += kind_of(row) == ExpandedRows::kDense;
            n_rest += kind_of(row) == ExpandedRows::kSingle || kind_of(row) == ExpandedRows::kSparse;
        }
        found.dense_ends[t - begin] = static_cast<std::uint32_t>(n_dense);
        found.rest_ends[t - begin] = static_cast<std::uint32_t>(n_rest);
    }
}

// The dense rows of one token, summed in kLanes registers; or, for 0, through memory.
template <bool kValued, std::size_t kLanes>
TW_ALWAYS_INLINE void sum_dense(const View& v, const std::uint64_t* rows, const float* values, std::size_t n,
                                double* out) {
    if constexpr (kLanes > 0) {
        Lane lanes[kLanes];
        for (std::size_t j = 0; j < kLanes; ++j) lanes[j].clear();
        for (std::size_t i = 0; i < n; ++i) {
            const float* row = v.dense + low_of(rows[i]) * (kLanes * kLane);
            for (std::size_t j = 0; j < kLanes; ++j) {
                if constexpr (kValued)
                    lanes[j].add(row + j * kLane, static_cast<double>(values[i]));
                else
                    lanes[j].add(row + j * kLane);
            }
        }
        for (std::size_t j = 0; j < kLanes; ++j) lanes[j].store(out + j * kLane);
    } else {
        for (std::size_t k = 0; k < v.n_codes; ++k) out[k] = 0.0;
        for (std::size_t i = 0; i < n; ++i) {
            const float* row = v.dense + low_of(rows[i]) * v.padded;
            const double factor = kValued ? static_cast<double>(values[i]) : 1.0;
            for (std::size_t k = 0; k < v.n_codes; ++k) out[k] += factor * static_cast<double>(row[k]);
        }
    }
}

template <bool kValued>
TW_ALWAYS_INLINE void sum_rest(const View& v, const std::uint64_t* rows, const float* values, std::size_t n,
                               double* out) {
    for (std::size_t i = 0; i < n; ++i) {
        const double factor = kValued ? static_cast<double>(values[i]) : 1.0;
        if (kind_of(rows[i]) == ExpandedRows::kSingle) {
            out[middle_of(rows[i])] += factor * static_cast<double>(std::bit_cast<float>(low_of(rows[i])));
        } else {
            const Entry* entry = v.sparse + low_of(rows[i]);
            for (const Entry* last = entry + middle_of(rows[i]); entry != last; ++entry)
                out[entry->code] += factor * static_cast<double>(entry->weight);
        }
    }
}

template <bool kValued, std::size_t kLanes>
TW_ALWAYS_INLINE void sum_all(const View& v, const AttributeList& a, FoundRows& found, double* out) {
    const std::size_t n_tokens = a.n_tokens();
    for (std::size_t begin = 0, end; begin < n_tokens; begin = end) {
        end = begin + 1;
        while (end < n_tokens && a.starts[end + 1] - a.starts[begin] <= kAtATime) ++end;
        find_rows<kValued>(v, a, begin, end, found);
        std::size_t dense = 0, rest = 0;
        for (std::size_t t = begin; t < end; ++t, out += v.n_codes) {
            const std::size_t dense_end = found.dense_ends[t - begin], rest_end = found.rest_ends[t - begin];
            sum_dense<kValued, kLanes>(v, found.dense.data() + dense, found.dense_values.data() + dense,
                                       dense_end - dense, out);
            sum_rest<kValued>(v, found.rest.data() + rest, found.rest_values.data() + rest, rest_end - rest, out);
            dense = dense_end;
            rest = rest_end;
        }
    }
}

template <bool kValued>
TW_ALWAYS_INLINE void sum_by_width(const View& v, const AttributeList& a, FoundRows& found, double* out) {
    switch (v.padded / kLane) {
        case 1:
            return sum_all<kValued, 1>(v, a, found, out);
        case 2:
            return sum_all<kValued, 2>(v, a, found, out);
        case 3:
            return sum_all<kValued, 3>(v, a, found, out);
        case 4:
            return sum_all<kValued, 4>(v, a, found, out);
        case 5:
        case 6:
            return sum_all<kValued, 6>(v, a, found, out);
        case 7:
        case 8:
            return sum_all<kValued, 8>(v, a, found, out);
        default:
            return sum_all<kValued, 0>(v, a, found, out);
    }
}

using Sum = void (*)(const View&, const AttributeList&, FoundRows&, double*);

void sum_baseline(const View& v, const AttributeList& a, FoundRows& found, double* out) {
    a.values.empty() ? sum_by_width<false>(v, a, found, out) : sum_by_width<true>(v, a, found, out);
}
#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
__attribute__((target("avx2"))) void sum_avx2(const View& v, const AttributeList& a, FoundRows& found, double* out) {
    a.values.empty() ? sum_by_width<false>(v, a, found, out) : sum_by_width<true>(v, a, found, out);
}
__attribute__((target("avx2,avx512f,avx512dq"))) void sum_avx512(const View& v, const AttributeList& a,
                                                                 FoundRows& found, double* out) {
    a.values.empty() ? sum_by_width<false>(v, a, found, out) : sum_by_width<true>(v, a, found, out);
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

// Rows of 5 and 7 lanes are padded to 6 and 8, which saves two copies of every loop.
std::size_t padded_row(std::size_t n_codes) {
    const std::size_t lanes = (n_codes + kLane - 1) / kLane;
    return (lanes == 5 || lanes == 7 ? lanes + 1 : lanes) * kLane;
}

// Buckets for a table of keys: about half full.
std::size_t bucket_count(const KeyTable& table) {
    const auto n_keys = table.slots.size() - static_cast<std::size_t>(std::ranges::count(table.slots, kNoAttribute));
    return std::max<std::size_t>(2, std::bit_ceil(n_keys / 2 + 1));
}

}  // namespace

double ExpandedRows::bytes(const WeightRows& rows) {
    const double table = rows.hashed() ? 0.0 : 64.0 * static_cast<double>(bucket_count(rows.table()));
    // A row in every form: 8 bytes; dense rows have at most 4 places per weight, and a little padding.
    return table + 8.0 * static_cast<double>(rows.n_attributes()) + 20.0 * static_cast<double>(rows.n_weights());
}

ExpandedRows::ExpandedRows(const WeightRows& rows) {
    view_.n_codes = rows.n_codes();
    view_.padded = padded_row(rows.n_codes());
    std::vector<std::uint64_t> packed_rows(rows.n_attributes());
    for (std::uint32_t number = 0; number < packed_rows.size(); ++number) packed_rows[number] = pack(rows, number);
    if (rows.hashed()) {
        hashed_ = std::move(packed_rows);
        view_.shift = static_cast<unsigned>(64 - std::countr_zero(hashed_.size()));
    } else {
        buckets_.resize(bucket_count(rows.table()));
        view_.shift = static_cast<unsigned>(64 - std::countr_zero(buckets_.size()));
        view_.bucket_mask = buckets_.size() - 1;
        for (std::size_t i = 0; i < rows.table().keys.size(); ++i) {
            // A table from outside may hold a key twice, or where no search finds it: the answer of the table counts.
            if (rows.table().slots[i] == kNoAttribute) continue;
            const Key key = rows.table().keys[i];
            const std::uint32_t number = rows.find(key);
            if (number == rows.table().slots[i]) insert(key, packed_rows[number]);
        }
    }
    view_.buckets = buckets_.data();
    view_.hashed = rows.hashed() ? hashed_.data() : nullptr;
    view_.dense = dense_.data();
    view_.sparse = sparse_.data();
}

std::uint64_t ExpandedRows::pack(const WeightRows& rows, std::uint32_t number) {
    const std::size_t size = rows.row_size(number);
    std::uint64_t row = 0;
    if (size == 1) {
        rows.each(number, [&](std::uint32_t code, float weight) {
            row = packed(kSingle, code, std::bit_cast<std::uint32_t>(weight));
        });
    } else if (rows.many_codes(size)) {
        row = packed(kDense, 0, static_cast<std::uint32_t>(dense_.size() / view_.padded));
        const std::size_t begin = dense_.size();
        dense_.resize(begin + view_.padded, 0.0f);
        rows.each(number, [&](std::uint32_t code, float weight) { dense_[begin + code] += weight; });
    } else {
        row = packed(kSparse, size, static_cast<std::uint32_t>(sparse_.size()));
        rows.each(number, [&](std::uint32_t code, float weight) { sparse_.push_back({code, weight}); });
    }
    return row;
}

void ExpandedRows::insert(Key key, std::uint64_t row) {
    for (std::size_t b = key >> view_.shift;; b = (b + 1) & view_.bucket_mask)
        for (std::size_t i = 0; i < kWays; ++i) {
            if (buckets_[b].rows[i] != 0 && buckets_[b].keys[i] == key) return;
            if (buckets_[b].rows[i] != 0) continue;
            buckets_[b].keys[i] = key;
            buckets_[b].rows[i] = row;
            return;
        }
}

void ExpandedRows::sum(const AttributeList& attributes, FoundRows& scratch, double* out) const {
    std::size_t most = kAtATime;  // of one token alone there may be more
    for (std::size_t t = 0; t < attributes.n_tokens(); ++t)
        most = std::max<std::size_t>(most, attributes.starts[t + 1] - attributes.starts[t]);
    // One more than found: a row that does not count is written before the next takes its place.
    scratch.dense.resize(most + 1);
    scratch.rest.resize(most + 1);
    scratch.dense_values.resize(most + 1);
    scratch.rest_values.resize(most + 1);
    scratch.dense_ends.resize(attributes.n_tokens());
    scratch.rest_ends.resize(attributes.n_tokens());
    static const Sum sum_rows = chosen_sum();
    sum_rows(view_, attributes, scratch, out);
}

}  // namespace tw
