#include "flat_layout.hpp"

#include <algorithm>
#include <cstring>

#include "../prefetch.hpp"

namespace tw::chain {
namespace {

constexpr std::uint32_t kCopied = 8;
static_assert(kCopied <= kListPadding);

// Whole runs of kCopied, also beyond the end: lists are short, and a call to copy one exactly costs more than copying.
std::uint32_t* copy_run(const std::uint32_t* from, std::uint32_t n, std::uint32_t* to) {
    for (std::uint32_t i = 0; i < n; i += kCopied) std::memcpy(to + i, from + i, kCopied * sizeof *to);
    return to + n;
}

}  // namespace

FlatLayout::FlatLayout(const TrainingSet& set, const RowLayout& layout) : set_(set), layout_(layout) {
    list_tokens();
    count_members();
}

void FlatLayout::list_tokens() {
    const Lists &cr = layout_.composite_rows, &ce = layout_.composite_entries;
    const auto n_unit_rows = static_cast<std::uint32_t>(layout_.n_unit_rows);
    const std::size_t n_tokens = set_.starts.back();
    rows_.starts.resize(n_tokens + 1);
    entries_.starts.resize(n_tokens + 1);
    for (std::size_t t = 0; t < n_tokens; ++t) {
        std::uint32_t n_rows = 0, n_entries = layout_.tokens.entries.starts[t + 1] - layout_.tokens.entries.starts[t];
        for (std::uint32_t i = layout_.tokens.rows.starts[t]; i < layout_.tokens.rows.starts[t + 1]; ++i) {
            const std::uint32_t row = layout_.tokens.rows.items[i];
            const bool composite = row >= n_unit_rows;
            n_rows += composite ? cr.starts[row - n_unit_rows + 1] - cr.starts[row - n_unit_rows] : 1;
            n_entries += composite ? ce.starts[row - n_unit_rows + 1] - ce.starts[row - n_unit_rows] : 0;
        }
        rows_.starts[t + 1] = rows_.starts[t] + n_rows;
        entries_.starts[t + 1] = entries_.starts[t] + n_entries;
    }
    rows_.items.resize(rows_.starts.back() + kListPadding);
    entries_.items.resize(entries_.starts.back() + kListPadding);
    entry_places_.resize(entries_.starts.back());
    std::uint32_t *row_to = rows_.items.data(), *entry_to = entries_.items.data(), *place_to = entry_places_.data();
    for (std::size_t s = 0; s < set_.n_sequences(); ++s)
        for (std::size_t t = set_.starts[s]; t < set_.starts[s + 1]; ++t) {
            const auto token = static_cast<std::uint32_t>(t - set_.starts[s]) << kLabelBits;
            for (std::uint32_t i = layout_.tokens.rows.starts[t]; i < layout_.tokens.rows.starts[t + 1]; ++i) {
                const std::uint32_t row = layout_.tokens.rows.items[i], c = row - n_unit_rows;
                if (row < n_unit_rows) {
                    *row_to++ = row;
                    continue;
                }
                row_to = copy_run(cr.items.data() + cr.starts[c], cr.starts[c + 1] - cr.starts[c], row_to);
                for (std::uint32_t j = ce.starts[c]; j < ce.starts[c + 1]; ++j) {
                    *entry_to++ = ce.items[j];
                    *place_to++ = token | layout_.composite_entry_labels[j];
                }
            }
            for (std::uint32_t j = layout_.tokens.entries.starts[t]; j < layout_.tokens.entries.starts[t + 1]; ++j) {
                *entry_to++ = layout_.tokens.entries.items[j];
                *place_to++ = token | (layout_.tokens.entry_places[j] & ((1u << kLabelBits) - 1));
            }
        }
    std::fill_n(row_to, kListPadding, 0u);  // copied runs went on beyond the last
}

void FlatLayout::count_members() {
    const std::size_t width = training_loops<float>().width;
    packs_ = (set_.n_labels() + width - 1) / width;
    row_members_.assign(layout_.n_unit_rows, 0.0f);
    cells_.assign(layout_.n_unit_rows * packs_, 0);
    entry_members_.assign(layout_.n_entries, 0.0f);
    once_members_.assign(set_.starts.back(), 0.0f);
    for (std::size_t u = 0; u < set_.units.size(); ++u) {
        const auto members = static_cast<float>(set_.units.n_members[u]);
        const std::uint32_t begin = set_.unit_weights.starts[u], end = set_.unit_weights.starts[u + 1];
        const std::size_t index = layout_.index[u];
        if (layout_.place[u] == Place::kRow) {
            row_members_[index] = members;
            for (std::uint32_t w = begin; w < end; ++w) {
                const std::uint32_t label = set_.unit_weights.labels[w];
                cells_[index * packs_ + label / width] |= static_cast<std::uint16_t>(1u << label % width);
            }
        } else if (layout_.place[u] == Place::kOnce) {
            once_members_[index] = members;
        } else {
            std::fill_n(entry_members_.begin() + static_cast<std::ptrdiff_t>(index), end - begin, members);
        }
    }
}

TokenLists FlatLayout::token_lists() const {
    TokenLists lists = layout_.token_lists();
    lists.row_starts = rows_.starts.data();
    lists.rows = rows_.items.data();
    lists.entry_starts = entries_.starts.data();
    lists.entries = entries_.items.data();
    lists.entry_places = entry_places_.data();
    return lists;
}

}  // namespace tw::chain
