// Where the weights of each token lie when there are many labels: rows with gaps, drawn in kernels/many_labels.hpp.
//
// Which unit is a row, and which rows are added up to composites, is as in row_layout.hpp; only here every unit that
// occurs more than once is a row, since a row of few labels takes little.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../kernels/many_labels.hpp"
#include "row_layout.hpp"
#include "training_set.hpp"

namespace tw::chain {

class BlockLayout {
public:
    BlockLayout(const TrainingSet& set, std::size_t n_jobs);

    std::size_t gold_at(std::size_t token) const { return gold[token]; }
    std::uint32_t edge_to(std::size_t token) const { return gold_pairs[token]; }  // or kNoAttribute
    std::size_t n_edges() const { return set_.transition_pairs.size(); }
    std::size_t edge_of(std::size_t transition) const { return transition; }

    TokenLists token_lists() const;
    BlockRows block_rows() const { return {starts.data(), columns.data()}; }
    std::size_t n_values() const { return std::size_t{starts.back()} * kBlockLabels; }
    std::size_t n_unit_values() const { return std::size_t{starts[rows.n_unit_rows]} * kBlockLabels; }
    std::size_t memory_bytes() const;
    std::size_t bytes(std::size_t begin, std::size_t end) const {
        return rows.bytes(begin, end) + (end - begin) * sizeof(std::uint16_t);
    }
    void read_ahead(std::size_t begin, std::size_t end) const { rows.read_ahead(begin, end); }

    // Calls visit(value of the part, value of the composite) for the blocks of a row that is part of a composite, by
    // the number of their first values.
    template <class Visit>
    void each_block(std::size_t row, std::size_t composite, Visit visit) const {
        std::size_t to = starts[rows.n_unit_rows + composite];
        for (std::size_t from = starts[row]; from < starts[row + 1]; ++from, ++to) {
            while (columns[to] != columns[from]) ++to;
            visit(from * kBlockLabels, to * kBlockLabels);
        }
    }

    RowLayout rows;
    std::vector<std::uint16_t> position;  // of each label in rows: those that occur often come first
    Stored<std::uint16_t> gold;           // of each token, its position
    Stored<std::uint32_t> gold_pairs;     // of each token: which transition leads to it, or kNoAttribute
    std::vector<std::uint32_t> starts;    // of each row, its first block
    std::vector<std::uint16_t> columns;   // of each block
    std::vector<std::uint32_t> slots;     // of each weight of units: its value; of those that occur once, its token

private:
    void order_labels();
    void find_gold_pairs();
    void list_blocks();
    void find_slots();

    const TrainingSet& set_;
};

}  // namespace tw::chain
