// Rows of weights laid out for speed: one cache line answers a key, and rows are summed by vectors.
//
// A bucket is a cache line of four keys and what is known of each; a key that finds its bucket full is in the next one,
// and the full one says so.
// A single weight is in the bucket itself. Attributes with many weights have a dense row, the others their weights in
// fours, as (code, weight), so that most are added without a branch.
//
// Pairs of words are mostly unknown, and each search for one would read a line from far away. A filter, one bit for
// some keys, stays near the processor and says of most of them that they are not there. It is asked while it pays:
// where few of the attributes of the last tokens were known.
//
// The sums are those of WeightRows::sum, to the last bit: products of two floats are exact in double precision, and the
// order of the additions is the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../base/huge_pages.hpp"
#include "../text/attributes.hpp"

namespace tw {

class WeightRows;

// Scratch space of one thread: what was found for the attributes of some tokens. Loops over these lists do not stop at
// every token, where their ends could not be predicted: every entry knows the scores that it belongs to.
struct FoundRows {
    struct Item {
        std::uint64_t row;
        std::uint64_t place;  // 32 bits: the first entry of the token's scores; 32 bits: which attribute
    };
    std::vector<std::uint32_t> dense;  // one per attribute: where its dense row is; zeros for one that has none
    std::vector<Item> few, single;
    std::vector<std::uint64_t> maybe;  // places of attributes that the filter lets through
    bool mostly_known = true;          // of the attributes of the last tokens
    std::vector<double> of_codes;      // sums, of a model whose labels have parts
    void resize(std::size_t n_attributes);
};

class ExpandedRows {
public:
    explicit ExpandedRows(const WeightRows& rows);

    // As WeightRows::sum, but up to 15 entries after the last row may be overwritten.
    void sum(const AttributeList& attributes, FoundRows& scratch, double* out) const;

    // How much memory the expanded form of some rows would take, at most.
    static double bytes(const WeightRows& rows);

    // A row in 64 bits: its kind (2 bits), a bit for its bucket, 29 bits and 32 bits. Single: the code, the float. Few:
    // how many fours, and where. Dense: -, and where. Places are counted in 8 bytes of one block.
    enum Kind : std::uint64_t { kNothing, kSingle, kFew, kDense };  // the highest bit: weights elsewhere
    struct Entry {
        std::uint32_t code;
        float weight;
    };
    static constexpr std::size_t kFour = 4;

    static constexpr std::size_t kWays = 4;
    struct alignas(64) Bucket {
        std::array<Key, kWays> keys{};
        std::array<std::uint64_t, kWays> rows{};
    };
    struct Table {  // a view, for the loops in expanded.cpp
        const Bucket* buckets;
        std::size_t mask;
        unsigned shift;  // the home of a key is key >> shift
    };
    struct View {
        Table table;
        const std::uint64_t* filter;  // a word for each first bits of a key, in it a bit for its last six
        unsigned filter_shift;
        const std::uint64_t* hashed;  // row by number, key >> hash_shift, or null
        unsigned hash_shift;
        const double* weights;  // dense rows of doubles, and fours of entries
        std::size_t n_codes, padded;
    };

private:
    class Buckets {
    public:
        void reserve(std::size_t n_keys);
        void insert(Key key, std::uint64_t row);
        Table view() const { return {buckets_.data(), buckets_.size() - 1, shift_}; }

    private:
        LargeArray<Bucket> buckets_;
        unsigned shift_ = 63;
    };
    std::uint64_t pack(const WeightRows& rows, std::uint32_t number);
    void fill_table(const WeightRows& rows, const LargeArray<std::uint64_t>& packed_rows);

    Buckets table_;
    LargeArray<std::uint64_t> filter_, hashed_;
    LargeArray<double> weights_;
    View view_{};
};

}  // namespace tw
