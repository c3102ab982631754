// The weights of a model of CRFsuite laid out for many sentences.
//
//     places:  (key, first entry, number of entries) by the key of an attribute, open addressing, at most half full
//     entries: (weight, label) of the attributes with few weights
//     dense:   rows of n_labels weights of those with many
//
// Making it costs about as much as looking every attribute up twice, so it is made for those who tag more than that.
// Scores are those of CrfsuiteFile::scores to the last bit: the same products, added up in the same order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "crfsuite_file.hpp"

namespace tw::linear {

// A sequence of items whose attributes are keys, the hashes of their names.
struct KeyedItems {
    std::vector<Key> keys;
    std::vector<double> values;
    std::vector<std::size_t> items{0};

    std::size_t size() const { return items.size() - 1; }
    void add(std::string_view name, double value) {  // a name ends at its first zero
        keys.push_back(hash_bytes(has_zero(name) ? name.substr(0, name.find('\0')) : name));
        values.push_back(value);
    }
    void end_item() { items.push_back(keys.size()); }
    void drop_item() {
        keys.resize(items.back());
        values.resize(items.back());
    }
    void clear() {
        keys.clear();
        values.clear();
        items.assign(1, 0);
    }
    void assign(const Items& from);

private:
    static bool has_zero(std::string_view name) noexcept {
        constexpr std::uint64_t kOnes = 0x0101010101010101u, kHighs = 0x8080808080808080u;
        const char* at = name.data();
        std::size_t left = name.size();
        std::uint64_t found = 0;
        for (; left >= 8; at += 8, left -= 8) {
            const std::uint64_t bytes = load_little(at, 8);
            found |= (bytes - kOnes) & ~bytes & kHighs;
        }
        if (left > 0) {
            const std::uint64_t bytes = load_little(at, left) | ~std::uint64_t{0} << (8 * left);
            found |= (bytes - kOnes) & ~bytes & kHighs;
        }
        return found != 0;
    }
};

class CrfsuiteRows {
public:
    // Throws std::invalid_argument where the file contradicts itself.
    explicit CrfsuiteRows(const CrfsuiteFile& file);

    void scores(const KeyedItems& items, double* out) const;  // as CrfsuiteFile::scores

private:
    struct Place {
        Key key;
        std::uint32_t first;
        std::uint32_t count;  // kDense: a dense row
    };
    struct Entry {
        double weight;
        std::uint64_t label;
    };
    static constexpr std::uint32_t kEmpty = 0xffffffffu, kDense = 0xfffffffeu;

    std::size_t home(Key key) const noexcept { return key >> shift_; }

    std::size_t n_labels_;
    unsigned shift_ = 63;
    std::vector<Place> places_;
    std::vector<Entry> entries_;
    std::vector<double> dense_;
};

}  // namespace tw::linear
