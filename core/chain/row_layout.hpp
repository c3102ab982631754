// Where the weights of each token lie, for training in the common case: gold labels, and no pair attributes.
//
// What costs time in training is memory, not arithmetic, so a token should touch few and small places:
//   - a unit with many labels is a dense row, one with few labels that many single entries;
//   - a unit that occurs in one token only has one weight, kept in the order of tokens;
//   - a unit implied by another one (it occurs in every token that has the other) needs no place of its own there: the
//     rows of both are added up once before a pass, and the sums that arrive there spread after it. A trigram of tags,
//     for example, implies its bigrams and tags. Implication is read off the data, so it needs no hint and is never
//     wrong, whatever the attributes mean.
//
//     rows      row of unit 0 | row of unit 1 | ... | composite 0 | ...      n_rows() of one number a label
//     entries   e e e e ...                                                  n_entries single numbers
//     once      o o o o ...                                                  a number a token
//
//     token t   its rows:    3 17 n_unit_rows + 2      added as they are (with a value, where it is not 1)
//               its entries: 5 6 40                    each added to one label
//               once[t]                                added to its gold label
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../kernels/training.hpp"
#include "training_set.hpp"

namespace tw::chain {

// Lists one after the other; list i is items[starts[i]] .. items[starts[i + 1] - 1].
struct Lists {
    Stored<std::uint32_t> starts, items;

    explicit Lists(const StoragePointer& storage = nullptr) : starts(storage), items(storage) { starts.push_back(0); }
    void end() { starts.push_back(static_cast<std::uint32_t>(items.size())); }
    void append(const Lists& more) {
        const auto before = static_cast<std::uint32_t>(items.size());
        if (!starts.storage()) starts.reserve(starts.size() + more.starts.size() - 1);
        for (std::size_t i = 1; i < more.starts.size(); ++i) starts.push_back(before + more.starts[i]);
        items.append(more.items);
    }
};

enum class Place : std::uint8_t { kRow, kEntries, kOnce };

class RowLayout {
public:
    // A unit with more labels than `most_entries` is a row.
    RowLayout(const TrainingSet& set, std::size_t n_jobs, std::size_t most_entries = kMostEntries);
    static constexpr std::size_t kMostEntries = 3;

    // What any layout says: where the gold label of a token is in a row; which transition leads to a token; how many
    // transitions sums are kept of, and which of these weight i is.
    std::size_t gold_at(std::size_t token) const { return set_.gold[token]; }
    std::uint32_t edge_to(std::size_t token) const {  // which is not the first of its sequence
        return static_cast<std::uint32_t>(set_.gold[token - 1] * set_.n_labels() + set_.gold[token]);
    }
    std::size_t n_edges() const { return set_.n_labels() * set_.n_labels(); }
    std::size_t edge_of(std::size_t transition) const { return set_.transition_pairs[transition]; }

    TokenLists token_lists() const;
    CompositeLists composite_lists() const;

    std::size_t n_rows() const { return n_unit_rows + n_composites(); }
    std::size_t n_composites() const { return composite_rows.starts.size() - 1; }
    std::size_t memory_bytes() const;
    // What the lists of tokens begin .. end - 1 take; and that these will be read soon.
    std::size_t bytes(std::size_t begin, std::size_t end) const;
    void read_ahead(std::size_t begin, std::size_t end) const;

    std::vector<Place> place;          // of each unit
    std::vector<std::uint32_t> index;  // its row, its first entry, or its token
    std::size_t n_unit_rows = 0, n_entries = 0;
    // The way back: each kind of place in a loop of its own.
    struct Entry {
        std::uint32_t unit, weight;
    };
    std::vector<std::uint32_t> row_units, once_units;  // the unit of each row; those that occur once
    std::vector<Entry> entry_weights;                  // the unit and the weight of each entry

    struct Tokens {  // what each has; rows from n_unit_rows on are composites
        Lists rows, entries, valued_rows, valued_entries;
        Stored<std::uint32_t> row_tokens;  // whose list of rows each is, counted from the first token of its group
        Stored<std::uint32_t> entry_places;
        Stored<std::uint16_t> valued_entry_labels;
        Stored<float> row_values, entry_values;
        explicit Tokens(const StoragePointer& storage = nullptr)
            : rows(storage),
              entries(storage),
              valued_rows(storage),
              valued_entries(storage),
              row_tokens(storage),
              entry_places(storage),
              valued_entry_labels(storage),
              row_values(storage),
              entry_values(storage) {}
        void append(const Tokens& more);
    };
    Tokens tokens;
    Lists composite_rows, composite_entries;  // parts of each composite
    std::vector<std::uint16_t> composite_entry_labels;
    Lists row_composites, entry_composites;  // the composites of each row, and of each entry

private:
    class Composer;
    void place_units(const std::vector<std::uint8_t>& valued, std::size_t most_entries);
    template <class Labels>
    void add_unit(std::uint32_t unit, Lists& row_list, Lists& entry_list, Labels& labels) const;
    void list_tokens(const std::vector<std::uint8_t>& valued, const Composer& composer, std::size_t n_jobs);
    void list_groups(std::size_t first, std::size_t last, const std::vector<std::uint8_t>& valued,
                     const Composer& composer, Tokens& out);
    void turn_composites_around();

    const TrainingSet& set_;
};

}  // namespace tw::chain
