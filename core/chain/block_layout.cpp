#include "block_layout.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "../base/interrupt.hpp"

namespace tw::chain {

BlockLayout::BlockLayout(const TrainingSet& set, std::size_t n_jobs)
    : rows(set, n_jobs, 0), gold(set.storage), gold_pairs(set.storage), set_(set) {
    order_labels();
    find_gold_pairs();
    list_blocks();
    find_slots();
}

void BlockLayout::order_labels() {
    const std::size_t K = set_.n_labels();
    std::vector<std::size_t> counts(K, 0);
    Touches touched(set_.storage);
    for (const std::uint16_t label : set_.gold) {
        touched(sizeof label);
        ++counts[label];
    }
    std::vector<std::uint16_t> order(K);
    std::iota(order.begin(), order.end(), std::uint16_t{0});
    std::ranges::stable_sort(order, [&](std::uint16_t a, std::uint16_t b) { return counts[a] > counts[b]; });
    position.resize(K);
    for (std::size_t i = 0; i < K; ++i) position[order[i]] = static_cast<std::uint16_t>(i);
    gold.resize_anyhow(set_.gold.size());
    for (std::size_t t = 0; t < gold.size(); ++t) {
        touched(2 * sizeof(std::uint16_t));
        gold[t] = position[set_.gold[t]];
    }
}

void BlockLayout::find_gold_pairs() {
    const std::size_t K = set_.n_labels();
    std::vector<std::uint32_t> of_pair(K * K, kNoAttribute);
    for (std::uint32_t i = 0; i < set_.transition_pairs.size(); ++i) of_pair[set_.transition_pairs[i]] = i;
    gold_pairs.assign(set_.gold.size(), kNoAttribute);
    Touches touched(set_.storage);
    for (std::size_t s = 0; s < set_.n_sequences(); ++s)
        for (std::size_t t = set_.starts[s] + 1; t < set_.starts[s + 1]; ++t) {
            touched(sizeof(std::uint16_t) + sizeof(std::uint32_t));
            gold_pairs[t] = of_pair[set_.gold[t - 1] * K + set_.gold[t]];
        }
}

// Composites have the blocks of all their parts.
void BlockLayout::list_blocks() {
    const std::size_t n_columns = (set_.n_labels() + kBlockLabels - 1) / kBlockLabels;
    const WeightTable& table = set_.unit_weights;
    std::vector<std::uint8_t> found(n_columns, 0);
    starts.assign(1, 0);
    InterruptCheck check;
    const auto end_row = [&] {
        check();
        for (std::size_t c = 0; c < n_columns; ++c)
            if (found[c]) columns.push_back(static_cast<std::uint16_t>(c));
        std::ranges::fill(found, std::uint8_t{0});
        if (columns.size() > 0xffffffffu / kBlockLabels)
            throw std::invalid_argument("more than 4,294,967,280 weights: raise min_count, or hash the attributes");
        starts.push_back(static_cast<std::uint32_t>(columns.size()));
    };
    for (std::size_t u = 0; u < set_.units.size(); ++u) {
        if (rows.place[u] != Place::kRow) continue;
        for (std::uint32_t w = table.starts[u]; w < table.starts[u + 1]; ++w)
            found[position[table.labels[w]] / kBlockLabels] = 1;
        end_row();
    }
    for (std::size_t c = 0; c < rows.n_composites(); ++c) {
        for (std::uint32_t i = rows.composite_rows.starts[c]; i < rows.composite_rows.starts[c + 1]; ++i) {
            const std::uint32_t row = rows.composite_rows.items[i];
            for (std::uint32_t j = starts[row]; j < starts[row + 1]; ++j) found[columns[j]] = 1;
        }
        end_row();
    }
    columns.shrink_to_fit();
}

void BlockLayout::find_slots() {
    const WeightTable& table = set_.unit_weights;
    slots.resize(table.labels.size());
    InterruptCheck check;
    for (std::size_t u = 0; u < set_.units.size(); ++u) {
        check();
        const std::uint32_t index = rows.index[u];
        for (std::uint32_t w = table.starts[u]; w < table.starts[u + 1]; ++w) {
            slots[w] = index;
            if (rows.place[u] != Place::kRow) continue;
            const std::uint16_t at = position[table.labels[w]];
            const auto begin = columns.begin() + starts[index], end = columns.begin() + starts[index + 1];
            const auto block = std::lower_bound(begin, end, static_cast<std::uint16_t>(at / kBlockLabels));
            slots[w] = static_cast<std::uint32_t>(static_cast<std::size_t>(block - columns.begin()) * kBlockLabels +
                                                  at % kBlockLabels);
        }
    }
}

TokenLists BlockLayout::token_lists() const {
    TokenLists lists = rows.token_lists();
    lists.gold = gold.data();
    return lists;
}

std::size_t BlockLayout::memory_bytes() const {
    return rows.memory_bytes() + gold.memory_bytes() + gold_pairs.memory_bytes() +
           2 * (position.capacity() + columns.capacity()) + 4 * (starts.capacity() + slots.capacity());
}

}  // namespace tw::chain
