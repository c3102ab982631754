// From an attribute's key to its number while examples are being read: a table that grows, with a count for each key.
//
// Numbers are given in order of first sight. A key, its number and its count share sixteen bytes, so one occurrence
// costs one cache line; the lines of a run of keys are fetched ahead of their use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "../base/prefetch.hpp"
#include "../text/hashing.hpp"
#include "key_table.hpp"

namespace tw {

// Readable names in one block of text; name i ends at ends[i].
struct Names {
    std::vector<char> text;
    std::vector<std::uint32_t> ends;
    void add(std::string_view name);
    void append(const Names& more);
    std::size_t growth_bytes() const;  // as that of an index
};

class Index {
public:
    Index() : entries_(kFirstCapacity, Entry{0, kNoAttribute, 0}) {}

    std::size_t size() const { return keys_.size(); }
    std::span<const Key> keys() const { return keys_; }  // by number
    std::vector<std::uint32_t> counts() const;           // by number; what exceeds 32 bits stays there
    std::size_t memory_bytes() const;
    // What it would need besides while an eighth more keys come: a table that grows is there twice.
    std::size_t growth_bytes() const;

    // Writes the numbers of `keys`. on_new(i) is called for every i whose key was never seen before.
    template <class OnNew>
    void intern(std::span<const Key> keys, std::uint32_t* numbers, OnNew on_new) {
        for (std::size_t i = 0; i < keys.size() && i < kAhead; ++i) fetch(keys[i]);
        for (std::size_t i = 0; i < keys.size(); ++i) {
            if (i + kAhead < keys.size()) fetch(keys[i + kAhead]);
            Entry& entry = place(keys[i]);
            if (entry.number == kNoAttribute) {
                numbers[i] = add(entry, keys[i]);
                on_new(i);
            } else {
                numbers[i] = entry.number;
                entry.count += entry.count != 0xffffffffu;
            }
        }
    }

    // The same of keys that may be unknown, kNoAttribute; nothing is counted.
    void find(std::span<const Key> keys, std::uint32_t* numbers) const {
        for (std::size_t i = 0; i < keys.size(); ++i) {
            if (i + kAhead < keys.size()) fetch(keys[i + kAhead]);
            const std::size_t mask = entries_.size() - 1;
            std::size_t at = KeyTable::home(keys[i], entries_.size());
            while (entries_[at].number != kNoAttribute && entries_[at].key != keys[i]) at = (at + 1) & mask;
            numbers[i] = entries_[at].number;
        }
    }

private:
    struct Entry {
        Key key;
        std::uint32_t number, count;
    };
    static constexpr std::size_t kFirstCapacity = 1024, kAhead = 24;

    void fetch(Key key) const { fetch_ahead(&entries_[KeyTable::home(key, entries_.size())]); }
    Entry& place(Key key) {
        const std::size_t mask = entries_.size() - 1;
        std::size_t i = KeyTable::home(key, entries_.size());
        while (entries_[i].number != kNoAttribute && entries_[i].key != key) i = (i + 1) & mask;
        return entries_[i];
    }
    std::uint32_t add(Entry& entry, Key key);
    void grow();

    std::vector<Entry> entries_;  // a power of two of them, at most two thirds in use
    std::vector<Key> keys_;
};

}  // namespace tw
