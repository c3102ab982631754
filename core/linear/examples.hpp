// A training set as it is read: attributes as numbers, site by site and channel by channel; for sequences of tokens,
// with the labels that each token may carry.
//
//     channel "token":  index, names     occurrences [site 0: numbers] [site 1: ...] ...
//     channel "pair":   index, names     occurrences [site 0: ...
//
// Sources are added block by block. Keys become numbers at once and are not kept; blocks may be extracted by several
// threads, but are numbered in order, so the result does not depend on how many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../base/storage.hpp"
#include "../text/attributes.hpp"
#include "index.hpp"

namespace tw {

// Attribute numbers of all sites: those of site s are numbers[starts[s]] .. numbers[starts[s + 1] - 1].
struct Occurrences {
    Stored<std::uint32_t> starts, numbers;
    Stored<float> values;  // one per number, or empty when every value is 1

    explicit Occurrences(const StoragePointer& storage = nullptr) : starts(storage), numbers(storage), values(storage) {
        starts.push_back(0);
    }
    // What the lists of some sites take.
    std::size_t bytes(std::size_t first, std::size_t last) const {
        return 4 * (last - first) + (values.empty() ? 4 : 8) * std::size_t{starts[last] - starts[first]};
    }
    float value(std::size_t i) const { return values.empty() ? 1.0f : values[i]; }
};

// What is known of the labels of a source's tokens, all sequences one after the other.
struct Gold {
    std::span<const std::int32_t> codes;
    std::span<const std::int64_t> starts;  // empty: one code per token; else token t allows codes[starts[t]] ..
                                           // codes[starts[t + 1] - 1], and any label where there are none
    std::span<const double> sequence_weight, token_weight;  // empty: all ones
};

// The attributes of one channel, numbered as they are met.
struct ChannelExamples {
    std::string name;
    Index index;
    Names names;
    Occurrences occurrences;
};

// Attributes of the sites of sequences.
class SiteExamples {
public:
    // With a storage, what grows with the number of sites may be in files.
    SiteExamples(unsigned hash_bits, bool keep_names, StoragePointer storage = nullptr);
    SiteExamples(SiteExamples&&) = default;
    SiteExamples& operator=(SiteExamples&&) = default;

    void add(const Source& source, std::size_t n_jobs);
    // Takes the attributes of some sites of a source, in rising order over all its sequences, and from then on no
    // others: `add` leaves out what is not known. With hash_bits there is nothing to be known.
    void add_only(const Source& source, std::span<const std::uint64_t> sites);

    std::size_t n_sequences() const { return sequence_starts.size() - 1; }
    std::size_t n_sites() const { return sequence_starts.back(); }
    // Throws std::invalid_argument when there is no such channel.
    const ChannelExamples& channel(std::string_view name) const;
    std::size_t n_attributes(const ChannelExamples& channel) const {
        return hash_bits ? std::size_t{1} << hash_bits : channel.index.size();
    }
    // Whether the index of a channel has counted all that occurs.
    bool counts_all(const ChannelExamples& channel) const {
        return hash_bits == 0 && !closed && channel.index.size() > 0;
    }
    std::size_t memory_bytes() const;
    Key checksum() const;  // changes when sequences or attributes do, and never with the number of threads

    // For those who compile examples to something faster; they take what they need away.
    StoragePointer storage;  // or null
    unsigned hash_bits;      // 0: every key has its own number; else the number is the key's top bits
    bool keep_names;
    std::vector<ChannelExamples> channels;
    std::vector<std::uint64_t> sequence_starts{0};  // in sites
    bool usable = true;                             // false after a failure half way, or once taken
    bool closed = false;                            // no further attributes are taken

    // The channel of this name; an empty one where there is none yet.
    ChannelExamples& made(std::string_view name);

protected:
    void require_usable() const;
    void require_memory() const;

private:
    struct Unnamed {  // an attribute met for the first time, and where
        std::size_t sequence;
        std::uint32_t site, i;
    };
    void add_attributes(const Source& source, std::size_t n_sites, std::size_t n_jobs);
    void find_known(const AttributeList& from, ChannelExamples& to) const;
    void intern(const Source& source, std::size_t first_sequence, const AttributeList& from, ChannelExamples& to,
                std::vector<Unnamed>& unnamed) const;
    void add_names(const Source& source, std::size_t channel, ChannelExamples& to, std::vector<Unnamed>& unnamed,
                   std::size_t n_jobs) const;
};

// Sequences of tokens with the labels that they may carry.
class Examples : public SiteExamples {
public:
    Examples(unsigned hash_bits, bool keep_names, const StoragePointer& storage = nullptr)
        : SiteExamples(hash_bits, keep_names, storage), codes(storage), code_starts(storage), token_weights(storage) {}

    void add(const Source& source, const Gold& gold, std::size_t n_jobs);

    std::size_t n_tokens() const { return n_sites(); }
    std::size_t memory_bytes() const;
    Key checksum() const;  // as that of the attributes; also changes when labels or weights do

    // Where the allowed labels of a token are.
    std::span<const std::int32_t> allowed(std::size_t token) const {
        if (code_starts.empty()) return {codes.data() + token, 1};
        return {codes.data() + code_starts[token], code_starts[token + 1] - code_starts[token]};
    }
    bool partly_labelled() const { return !code_starts.empty(); }

    Stored<std::int32_t> codes;
    Stored<std::uint64_t> code_starts;     // empty while every token has exactly one code
    std::vector<double> sequence_weights;  // empty while all are one
    Stored<double> token_weights;          // likewise

private:
    void check(const Source& source, const Gold& gold, std::size_t n_tokens) const;
    void add_labels(const Gold& gold, std::size_t n_before, std::size_t tokens_before);  // of what was added since
};

}  // namespace tw
