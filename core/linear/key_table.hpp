// From an attribute's key to its number: an open-addressing table that a model file holds as it is.
//
// `slots[i]` is the number of the attribute with key `keys[i]`, or kNoAttribute where the place is empty. The home of a
// key is its top bits; the search goes on to the next place, around the end, until the key or an empty place is met.
// At least one place is empty; `valid` checks that of a table from outside. A search ends even where that is no longer
// so, after one round: the file that a table lies in may be overwritten while it is mapped.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "../text/hashing.hpp"

namespace tw {

inline constexpr std::uint32_t kNoAttribute = 0xffffffffu;

// A view; the sizes are one power of two.
struct KeyTable {
    std::span<const Key> keys;
    std::span<const std::uint32_t> slots;

    static std::size_t home(Key key, std::size_t capacity) noexcept {
        return capacity == 1 ? 0 : key >> (64 - std::countr_zero(capacity));
    }
    std::uint32_t find(Key key) const noexcept {
        const std::size_t mask = slots.size() - 1, first = home(key, slots.size());
        std::size_t i = first;
        do {
            if (slots[i] == kNoAttribute) return kNoAttribute;
            if (keys[i] == key) return slots[i];
            i = (i + 1) & mask;
        } while (i != first);
        return kNoAttribute;
    }
};

// Whether searches end and every number found is below n_attributes.
inline bool valid(const KeyTable& table, std::size_t n_attributes) noexcept {
    if (table.keys.size() != table.slots.size() || !std::has_single_bit(table.slots.size())) return false;
    bool some_empty = false;
    for (const std::uint32_t slot : table.slots) {
        some_empty |= slot == kNoAttribute;
        if (slot != kNoAttribute && slot >= n_attributes) return false;
    }
    return some_empty;
}

// Capacity of a table for n attributes: at most three quarters full.
inline std::size_t table_capacity(std::size_t n) { return std::bit_ceil(n + n / 3 + 1); }

// Fills a table of table_capacity(keys.size()) places; the number of an attribute is its index in `keys`.
inline void fill_table(std::span<const Key> keys, std::span<Key> table_keys, std::span<std::uint32_t> slots) {
    std::ranges::fill(table_keys, Key{0});
    std::ranges::fill(slots, kNoAttribute);
    const std::size_t mask = slots.size() - 1;
    for (std::uint32_t number = 0; number < keys.size(); ++number) {
        std::size_t i = KeyTable::home(keys[number], slots.size());
        while (slots[i] != kNoAttribute) i = (i + 1) & mask;
        table_keys[i] = keys[number];
        slots[i] = number;
    }
}

}  // namespace tw
