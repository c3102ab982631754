// Rows of weights laid out for speed: one cache line answers a key, and rows are summed by vectors.
//
// A bucket is a cache line of four keys and what is known of each: a single weight is there itself; rows with many
// codes become dense rows padded with zeros; the rest lie together as (code, weight). A key that finds its bucket full
// is in the next one. The sums are those of WeightRows::sum, to the last bit: products of two floats are exact in
// double precision, and the order of the additions is the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "attributes.hpp"

namespace tw {

class WeightRows;

// Scratch space of one thread: what was found for some tokens.
struct FoundRows {
    std::vector<std::uint64_t> dense, rest;
    std::vector<float> dense_values, rest_values;
    std::vector<std::uint32_t> dense_ends, rest_ends;
};

class ExpandedRows {
public:
    explicit ExpandedRows(const WeightRows& rows);

    // As WeightRows::sum, but up to 15 entries after the last row may be overwritten.
    void sum(const AttributeList& attributes, FoundRows& scratch, double* out) const;

    // How much memory the expanded form of some rows would take, at most.
    static double bytes(const WeightRows& rows);

    // A row in 64 bits: its kind (nothing, one weight, sparse, dense), 30 bits and 32 bits. One weight: the code, the
    // float. Sparse: how many, where. Dense: -, the number of the row.
    enum Kind : std::uint64_t { kNothing, kSingle, kSparse, kDense };
    static constexpr std::size_t kWays = 4;
    struct alignas(64) Bucket {
        std::array<Key, kWays> keys{};
        std::array<std::uint64_t, kWays> rows{};
    };
    struct Entry {
        std::uint32_t code;
        float weight;
    };

    // For the loops in expanded.cpp.
    struct View {
        const Bucket* buckets;
        std::size_t bucket_mask;
        unsigned shift;               // a key's bucket, or its number when hashed, is key >> shift
        const std::uint64_t* hashed;  // row by number, or null
        const float* dense;
        const Entry* sparse;
        std::size_t n_codes, padded;
    };

private:
    std::uint64_t pack(const WeightRows& rows, std::uint32_t number);
    void insert(Key key, std::uint64_t row);

    std::vector<Bucket> buckets_;
    std::vector<std::uint64_t> hashed_;
    std::vector<float> dense_;
    std::vector<Entry> sparse_;
    View view_{};
};

}  // namespace tw
