#include "flat_layout.hpp"

#include <algorithm>

#include "../base/parallel.hpp"

namespace tw::chain {

FlatLayout::FlatLayout(const TrainingSet& set, const RowLayout& layout, std::size_t n_jobs, bool cells)
    : set_(set),
      layout_(layout),
      row_starts_(set.storage),
      entry_starts_(set.storage),
      rows_(set.storage),
      entries_(set.storage),
      entry_places_(set.storage),
      once_members_(set.storage) {
    row_starts_.resize(set.starts.back() + 1);
    entry_starts_.resize(row_starts_.size());
    const std::vector<std::size_t> cuts = set.cuts(n_jobs);
    parallel_for(n_jobs, n_jobs, [&](std::size_t part, std::size_t) { count_groups(cuts[part], cuts[part + 1]); });
    for (Stored<std::uint32_t>* starts : {&row_starts_, &entry_starts_}) {
        Touches touched(set.storage);
        for (std::size_t t = 1; t < starts->size(); ++t) {
            touched(sizeof(std::uint32_t));
            (*starts)[t] += (*starts)[t - 1];
        }
    }
    const auto padded = [](Stored<std::uint32_t>& list, std::size_t n) {
        list.resize_anyhow(n + kListPadding);  // all its room at once: enlarging copies
        list.resize_anyhow(n);
        list.resize(n + kListPadding, 0u);
    };
    padded(rows_, row_starts_.back());
    padded(entries_, entry_starts_.back());
    entry_places_.resize_anyhow(entry_starts_.back());
    for (Stored<std::uint32_t>* list : {&row_starts_, &entry_starts_, &rows_, &entries_, &entry_places_})
        list->expect(StoredBytes::Access::kAnywhere);
    parallel_for(n_jobs, n_jobs, [&](std::size_t part, std::size_t) { list_groups(cuts[part], cuts[part + 1]); });
    check_interrupt();
    count_members(cells);
}

// Calls visit(token, its place in its sequence, its list of rows in the layout).
template <class Visit>
void FlatLayout::each_token(std::size_t first_group, std::size_t last_group, Visit visit) const {
    InterruptCheck check;
    Touches touched(set_.storage);
    std::vector<std::size_t> lists;
    for (std::size_t g = first_group; g < last_group; ++g) {
        const std::size_t begin = set_.first_token(g), end = set_.first_token(g + 1);
        touched(layout_.bytes(begin, end));
        lists.resize(end - begin);
        for (std::size_t i = begin; i < end; ++i) lists[layout_.tokens.row_tokens[i]] = i;
        for (std::size_t s = set_.first_sequence(g); s < set_.first_sequence(g + 1); ++s)
            for (std::size_t t = set_.starts[s]; t < set_.starts[s + 1]; ++t) {
                check();
                visit(t, t - set_.starts[s], lists[t - begin]);
            }
    }
}

void FlatLayout::count_groups(std::size_t first, std::size_t last) {
    const RowLayout::Tokens& from = layout_.tokens;
    const Lists &cr = layout_.composite_rows, &ce = layout_.composite_entries;
    each_token(first, last, [&](std::size_t t, std::size_t, std::size_t list) {
        std::uint32_t n_rows = 0, n_entries = from.entries.starts[t + 1] - from.entries.starts[t];
        for (std::uint32_t i = from.rows.starts[list]; i < from.rows.starts[list + 1]; ++i) {
            if (from.rows.items[i] < layout_.n_unit_rows) {
                ++n_rows;
                continue;
            }
            const std::size_t c = from.rows.items[i] - layout_.n_unit_rows;
            n_rows += cr.starts[c + 1] - cr.starts[c];
            n_entries += ce.starts[c + 1] - ce.starts[c];
        }
        row_starts_[t + 1] = n_rows;
        entry_starts_[t + 1] = n_entries;
    });
}

void FlatLayout::list_groups(std::size_t first, std::size_t last) {
    const RowLayout::Tokens& from = layout_.tokens;
    const Lists &cr = layout_.composite_rows, &ce = layout_.composite_entries;
    Touches touched(set_.storage);
    each_token(first, last, [&](std::size_t t, std::size_t in_sequence, std::size_t list) {
        touched(bytes(t, t + 1));
        const auto token = static_cast<std::uint32_t>(in_sequence) << kLabelBits;
        std::uint32_t* row = rows_.data() + row_starts_[t];
        std::uint32_t *entry = entries_.data() + entry_starts_[t], *place = entry_places_.data() + entry_starts_[t];
        for (std::uint32_t i = from.rows.starts[list]; i < from.rows.starts[list + 1]; ++i) {
            if (from.rows.items[i] < layout_.n_unit_rows) {
                *row++ = from.rows.items[i];
                continue;
            }
            const std::size_t c = from.rows.items[i] - layout_.n_unit_rows;
            row = std::copy(cr.items.data() + cr.starts[c], cr.items.data() + cr.starts[c + 1], row);
            for (std::uint32_t j = ce.starts[c]; j < ce.starts[c + 1]; ++j) {
                *entry++ = ce.items[j];
                *place++ = token | layout_.composite_entry_labels[j];
            }
        }
        for (std::uint32_t j = from.entries.starts[t]; j < from.entries.starts[t + 1]; ++j) {
            *entry++ = from.entries.items[j];
            *place++ = token | (from.entry_places[j] & ((1u << kLabelBits) - 1));
        }
    });
}

void FlatLayout::count_members(bool cells) {
    const std::size_t width = training_loops<float>().width;
    packs_ = (set_.n_labels() + width - 1) / width;
    row_members_.assign(layout_.n_unit_rows, 0.0f);
    cells_.assign(cells ? layout_.n_unit_rows * packs_ : 0, 0);
    entry_members_.assign(layout_.n_entries, 0.0f);
    once_members_.assign(set_.starts.back(), 0.0f);
    once_members_.expect(StoredBytes::Access::kAnywhere);
    InterruptCheck check;
    Touches touched(set_.storage);
    for (std::size_t u = 0; u < set_.units.size(); ++u) {
        check();
        const auto members = static_cast<float>(set_.units.n_members[u]);
        const std::uint32_t begin = set_.unit_weights.starts[u], end = set_.unit_weights.starts[u + 1];
        const std::size_t index = layout_.index[u];
        if (layout_.place[u] == Place::kRow) {
            row_members_[index] = members;
            for (std::uint32_t w = begin; w < end && cells; ++w) {
                const std::uint32_t label = set_.unit_weights.labels[w];
                cells_[index * packs_ + label / width] |= static_cast<std::uint16_t>(1u << label % width);
            }
        } else if (layout_.place[u] == Place::kOnce) {
            touched(sizeof members);
            once_members_[index] = members;
        } else {
            std::fill_n(entry_members_.begin() + static_cast<std::ptrdiff_t>(index), end - begin, members);
        }
    }
}

std::size_t FlatLayout::bytes(std::size_t begin, std::size_t end) const {
    return 14 * (end - begin) + 4 * std::size_t{row_starts_[end] - row_starts_[begin]} +
           8 * std::size_t{entry_starts_[end] - entry_starts_[begin]};
}

void FlatLayout::read_ahead(std::size_t begin, std::size_t end) const {
    if (!rows_.mapped()) return;
    rows_.read_ahead(row_starts_[begin], row_starts_[end]);
    entries_.read_ahead(entry_starts_[begin], entry_starts_[end]);
    entry_places_.read_ahead(entry_starts_[begin], entry_starts_[end]);
}

TokenLists FlatLayout::token_lists() const {
    TokenLists lists = layout_.token_lists();
    lists.row_tokens = nullptr;
    lists.row_starts = row_starts_.data();
    lists.rows = rows_.data();
    lists.entry_starts = entry_starts_.data();
    lists.entries = entries_.data();
    lists.entry_places = entry_places_.data();
    return lists;
}

}  // namespace tw::chain
