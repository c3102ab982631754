// A training set as it is read: attributes as numbers, token by token, with the labels that each token may carry.
//
// Sources are added block by block. Keys become numbers at once and are not kept; blocks may be extracted by several
// threads, but are numbered in order, so the result does not depend on how many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../text/attributes.hpp"
#include "index.hpp"

namespace tw {

// Attribute numbers of all tokens: those of token t are numbers[starts[t]] .. numbers[starts[t + 1] - 1].
struct Occurrences {
    std::vector<std::uint32_t> starts{0};
    std::vector<std::uint32_t> numbers;
    std::vector<float> values;  // one per number, or empty when every value is 1

    float value(std::size_t i) const { return values.empty() ? 1.0f : values[i]; }
};

// What is known of the labels of a source's tokens, all sequences one after the other.
struct Gold {
    std::span<const std::int32_t> codes;
    std::span<const std::int64_t> starts;  // empty: one code per token; else token t allows codes[starts[t]] ..
                                           // codes[starts[t + 1] - 1], and any label where there are none
    std::span<const double> sequence_weight, token_weight;  // empty: all ones
};

class Examples {
public:
    Examples(unsigned hash_bits, bool keep_names);

    void add(const Source& source, const Gold& gold, std::size_t n_jobs);

    std::size_t n_sequences() const { return sequence_starts.size() - 1; }
    std::size_t n_tokens() const { return sequence_starts.back(); }
    std::size_t n_attributes() const { return hash_bits ? std::size_t{1} << hash_bits : label_index.size(); }
    std::size_t memory_bytes() const;

    // Changes when sequences, attributes, labels or weights do, and never with the number of threads.
    Key checksum() const;

    // Where the allowed labels of a token are.
    std::span<const std::int32_t> allowed(std::size_t token) const {
        if (code_starts.empty()) return {codes.data() + token, 1};
        return {codes.data() + code_starts[token], code_starts[token + 1] - code_starts[token]};
    }
    bool partly_labelled() const { return !code_starts.empty(); }

    // For those who compile examples to something faster; they take what they need away.
    unsigned hash_bits;  // 0: every key has its own number; else the number is the key's top bits
    bool keep_names;
    Index label_index, pair_index;
    Names label_names, pair_names;
    Occurrences label, pair;
    std::vector<std::uint64_t> sequence_starts{0};
    std::vector<std::int32_t> codes;
    std::vector<std::uint64_t> code_starts;               // empty while every token has exactly one code
    std::vector<double> sequence_weights, token_weights;  // empty while all are one
    bool usable = true;                                   // false after a failure half way, or once taken

private:
    void check(const Source& source, const Gold& gold, std::size_t n_tokens) const;
    void add_labels(const Source& source, const Gold& gold, std::size_t n_tokens);
    void add_attributes(const Source& source, std::size_t n_tokens, std::size_t n_jobs);
    struct Unnamed {  // an attribute met for the first time, and where
        std::size_t sequence;
        std::uint32_t token, i;
    };
    void intern(const Source& source, std::size_t first_sequence, const AttributeList& from, bool pairs);
    void add_names(const Source& source, bool pairs, std::size_t n_jobs);

    std::vector<Unnamed> unnamed_, unnamed_pairs_;
};

}  // namespace tw
