// Where the weights of each token lie, for training in the common case: gold labels, and no pair attributes.
//
// What costs time in training is memory, not arithmetic, so a token should touch few and small places:
//   - a unit with many labels is a dense row, one with few labels that many single entries;
//   - a unit that occurs in one token only has one weight, kept in the order of tokens;
//   - a unit implied by another one (it occurs in every token that has the other) needs no place of its own there: the
//     rows of both are added up once before a pass, and the sums that arrive there spread after it. A trigram of tags,
//     for example, implies its bigrams and tags. Implication is read off the data, so it needs no hint and is never
//     wrong, whatever the attributes mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../kernels/training.hpp"
#include "training_set.hpp"

namespace tw::chain {

// Lists one after the other; list i is items[starts[i]] .. items[starts[i + 1] - 1].
struct Lists {
    std::vector<std::uint32_t> starts{0}, items;
    void end() { starts.push_back(static_cast<std::uint32_t>(items.size())); }
    void append(const Lists& more) {
        const auto before = static_cast<std::uint32_t>(items.size());
        starts.reserve(starts.size() + more.starts.size() - 1);
        for (std::size_t i = 1; i < more.starts.size(); ++i) starts.push_back(before + more.starts[i]);
        items.insert(items.end(), more.items.begin(), more.items.end());
    }
};

enum class Place : std::uint8_t { kRow, kEntries, kOnce };

class RowLayout {
public:
    RowLayout(const TrainingSet& set, std::size_t n_jobs);

    TokenLists token_lists() const;
    CompositeLists composite_lists() const;

    std::size_t n_rows() const { return n_unit_rows + n_composites(); }
    std::size_t n_composites() const { return composite_rows.starts.size() - 1; }
    std::size_t memory_bytes() const;

    std::vector<Place> place;          // of each unit
    std::vector<std::uint32_t> index;  // its row, its first entry, or its token
    std::size_t n_unit_rows = 0, n_entries = 0;

    struct Tokens {  // what each has; rows from n_unit_rows on are composites
        Lists rows, entries, valued_rows, valued_entries;
        std::vector<std::uint32_t> entry_places;
        std::vector<std::uint16_t> valued_entry_labels;
        std::vector<float> row_values, entry_values;
        void append(const Tokens& more);
    };
    Tokens tokens;
    Lists composite_rows, composite_entries;  // parts of each composite
    std::vector<std::uint16_t> composite_entry_labels;
    Lists row_composites, entry_composites;  // the composites of each row, and of each entry

private:
    class Composer;
    void place_units(const std::vector<std::uint8_t>& valued);
    void add_unit(std::uint32_t unit, Lists& row_list, Lists& entry_list, std::vector<std::uint16_t>& labels) const;
    void list_tokens(const std::vector<std::uint8_t>& valued, const Composer& composer, std::size_t n_jobs);
    void list_groups(std::size_t first, std::size_t last, const std::vector<std::uint8_t>& valued,
                     const Composer& composer, Tokens& out);
    void turn_composites_around();

    const TrainingSet& set_;
};

}  // namespace tw::chain
