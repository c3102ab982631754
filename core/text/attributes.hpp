// What features say about tokens: attributes, each a 64-bit key and a value, and where they come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hashing.hpp"

namespace tw {

// Attributes of a run of tokens, token by token: those of token t are keys[starts[t]] .. keys[starts[t + 1] - 1].
struct AttributeList {
    std::vector<std::uint32_t> starts{0};
    std::vector<Key> keys;
    std::vector<float> values;  // one per key, or empty when every value is 1

    std::size_t n_tokens() const { return starts.size() - 1; }
    void clear() {
        starts.assign(1, 0);
        keys.clear();
        values.clear();
    }
};

// Attributes that meet the label of their token, and those that meet its label and the one before it.
struct Attributes {
    AttributeList label, pair;
    void clear() {
        label.clear();
        pair.clear();
    }
};

// Sequences of tokens whose attributes can be asked for. Immutable: any number of threads may ask.
class Source {
public:
    virtual ~Source() = default;
    virtual std::size_t n_sequences() const = 0;
    virtual std::size_t length(std::size_t sequence) const = 0;
    // Writes the attributes of sequences first .. last - 1, one after the other, over what `out` held.
    virtual void attributes(std::size_t first, std::size_t last, Attributes& out) const = 0;
    // The readable name of the i-th attribute (of `label`, or of `pair`) of a token, as `attributes` orders them.
    virtual std::string name(std::size_t sequence, std::size_t token, std::size_t i, bool pair) const = 0;
};

}  // namespace tw
