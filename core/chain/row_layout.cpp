#include "row_layout.hpp"

#include <algorithm>
#include <bit>

#include "../features/key_table.hpp"
#include "../prefetch.hpp"

namespace tw::chain {
namespace {

constexpr std::size_t kLeastHead = 16;  // occurrences of a unit that may imply others
constexpr std::size_t kLeastSaved = 3;  // rows that a composite must save in a pass
constexpr std::size_t kMostUnits = 64;  // units of one token: likewise

}  // namespace

// Finds which units imply which, and covers the units of every token with few composites.
class RowLayout::Composer {
public:
    struct Variant {  // a unit and some of those it implies, together in some tokens
        std::uint32_t head, members, next;
        std::uint32_t uses, number;  // its composite, or kNoAttribute
    };

    Composer(const TrainingSet& set, const std::vector<std::uint8_t>& valued) : set_(set), valued_(valued) {
        while (n_leading_ < set.units.size() && set.units.counts[n_leading_] >= kLeastHead) ++n_leading_;
        n_repeated_ = n_leading_;
        while (n_repeated_ < set.units.size() && set.units.counts[n_repeated_] > 1) ++n_repeated_;
        implied_.resize(n_leading_);
        marks_.resize(n_repeated_);
        each_token([&](std::uint32_t token) { narrow(token); });
        first_variant_.assign(n_leading_, kNoAttribute);
        each_token([&](std::uint32_t) { cover(); });
        choose();
    }

    // Calls visit(unit) for the members of a variant, its head included.
    template <class Visit>
    void each_member(const Variant& variant, Visit visit) const {
        visit(variant.head);
        for (std::uint32_t left = variant.members; left; left &= left - 1)
            visit(pool_[implied_[variant.head].start + static_cast<std::uint32_t>(std::countr_zero(left))]);
    }

    Lists chosen;  // variants of each token
    std::vector<Variant> variants;
    std::vector<std::uint32_t> composites;  // variants that are used

private:
    struct Implied {  // what a unit implies, as far as tokens were seen
        std::uint32_t start = kNoAttribute, size = 0;
    };
    struct Mark {
        std::uint32_t token, position;
    };

    // The units of a token that can be part of composites, marked as present. Units are numbered by how often they
    // occur.
    template <class Visit>
    void each_token(Visit visit) {
        const Occurrences& o = set_.occurrences;
        const bool values = !o.values.empty();
        std::ranges::fill(marks_, Mark{kNoAttribute, 0});
        for (std::uint32_t t = 0; t + 1 < o.starts.size(); ++t) {
            present_.clear();
            for (std::size_t i = o.starts[t]; i < o.starts[t + 1]; ++i) {
                if (i + 32 < o.numbers.size() && o.numbers[i + 32] < n_repeated_) {
                    fetch_ahead(&marks_[o.numbers[i + 32]]);
                    if (o.numbers[i + 32] < n_leading_) fetch_ahead(&implied_[o.numbers[i + 32]]);
                }
                const std::uint32_t unit = o.numbers[i];
                if (unit >= n_repeated_ || (values && valued_[unit])) continue;
                marks_[unit] = {t, static_cast<std::uint32_t>(present_.size())};
                present_.push_back(unit);
            }
            if (present_.size() > kMostUnits) present_.clear();
            visit(t);
        }
    }

    // What is implied must occur in every token that has the unit. Only units that occur more often can be: with equal
    // counts the two would be one unit.
    void narrow(std::uint32_t token) {
        for (const std::uint32_t unit : present_) {
            if (unit >= n_leading_) continue;
            Implied& implied = implied_[unit];
            if (implied.start == kNoAttribute) {
                implied = {static_cast<std::uint32_t>(pool_.size()), 0};
                for (const std::uint32_t other : present_)
                    if (other < unit && implied.size < kMostImplied) {
                        pool_.push_back(other);
                        ++implied.size;
                    }
                continue;
            }
            std::uint32_t kept = 0;
            for (std::uint32_t j = 0; j < implied.size; ++j) {
                const std::uint32_t other = pool_[implied.start + j];
                pool_[implied.start + kept] = other;
                kept += marks_[other].token == token;
            }
            implied.size = kept;
        }
    }

    // Units that imply most come first, equal ones in the order of the token; each takes what is still open.
    void cover() {
        std::uint64_t open =
            present_.size() == kMostUnits ? ~std::uint64_t{0} : (std::uint64_t{1} << present_.size()) - 1;
        heads_.clear();
        for (std::uint32_t i = 0; i < present_.size(); ++i) {
            if (present_[i] >= n_leading_ || implied_[present_[i]].size == 0) continue;
            const std::uint32_t size = implied_[present_[i]].size;
            std::size_t at = heads_.size();
            heads_.push_back({i, size});
            for (; at > 0 && heads_[at - 1].size < size; --at) heads_[at] = heads_[at - 1];
            heads_[at] = {i, size};
        }
        for (const Head& head : heads_)
            if (open >> head.position & 1) open = take(present_[head.position], head.position, open);
        chosen.end();
    }

    // What is left open.
    std::uint64_t take(std::uint32_t head, std::uint32_t position, std::uint64_t open) {
        const Implied& implied = implied_[head];
        std::uint32_t members = 0;
        std::uint64_t left = open & ~(std::uint64_t{1} << position);
        for (std::uint32_t j = 0; j < implied.size; ++j) {
            const std::uint32_t at = marks_[pool_[implied.start + j]].position;
            members |= static_cast<std::uint32_t>(open >> at & 1) << j;
            left &= ~(std::uint64_t{1} << at);
        }
        if (members == 0) return open;  // nothing gained: the unit stays by itself
        std::uint32_t v = first_variant_[head];
        while (v != kNoAttribute && variants[v].members != members) v = variants[v].next;
        if (v == kNoAttribute) {
            v = static_cast<std::uint32_t>(variants.size());
            variants.push_back({head, members, first_variant_[head], 0, kNoAttribute});
            first_variant_[head] = v;
        }
        ++variants[v].uses;
        chosen.items.push_back(v);
        return left;
    }

    // Most used first: their rows are neighbours. A variant that saves too little is taken apart again.
    void choose() {
        std::vector<std::uint32_t> order;
        for (std::uint32_t v = 0; v < variants.size(); ++v) {
            const auto members = static_cast<std::uint64_t>(std::popcount(variants[v].members));
            if ((variants[v].uses - 1) * members >= kLeastSaved) order.push_back(v);
        }
        std::ranges::stable_sort(order,
                                 [&](std::uint32_t a, std::uint32_t b) { return variants[a].uses > variants[b].uses; });
        for (std::uint32_t i = 0; i < order.size(); ++i) variants[order[i]].number = i;
        composites = std::move(order);
    }

    struct Head {
        std::uint32_t position, size;
    };
    const TrainingSet& set_;
    const std::vector<std::uint8_t>& valued_;
    std::vector<Implied> implied_;
    std::vector<std::uint32_t> pool_;
    std::vector<Mark> marks_;
    std::vector<std::uint32_t> present_;
    std::vector<Head> heads_;
    std::vector<std::uint32_t> first_variant_;
    std::uint32_t n_leading_ = 0, n_repeated_ = 0;  // units frequent enough to imply others; to be implied
};

RowLayout::RowLayout(const TrainingSet& set) : set_(set) {
    const Occurrences& o = set.occurrences;
    std::vector<std::uint8_t> valued(set.units.size(), 0);
    for (std::size_t i = 0; i < o.values.size(); ++i) valued[o.numbers[i]] |= o.values[i] != 1.0f;
    place_units(valued);
    const Composer composer(set, valued);
    for (const std::uint32_t v : composer.composites) {
        composer.each_member(composer.variants[v], [&](std::uint32_t unit) {
            add_unit(unit, composite_rows, composite_entries, composite_entry_labels);
        });
        composite_rows.end();
        composite_entries.end();
    }
    list_tokens(valued, composer);
    turn_composites_around();
    composite_rows.items.resize(composite_rows.items.size() + kListPadding, 0);
}

void RowLayout::place_units(const std::vector<std::uint8_t>& valued) {
    place.resize(set_.units.size());
    index.assign(set_.units.size(), 0);
    for (std::size_t u = 0; u < set_.units.size(); ++u) {
        const std::size_t n = set_.unit_weights.starts[u + 1] - set_.unit_weights.starts[u];
        if (set_.units.counts[u] == 1 && n == 1 && !valued[u]) {
            place[u] = Place::kOnce;  // its token is known when tokens are listed
        } else if (n <= kMostEntries) {
            place[u] = Place::kEntries;
            index[u] = static_cast<std::uint32_t>(n_entries);
            n_entries += n;
        } else {
            place[u] = Place::kRow;
            index[u] = static_cast<std::uint32_t>(n_unit_rows++);
        }
    }
}

void RowLayout::add_unit(std::uint32_t unit, Lists& row_list, Lists& entry_list,
                         std::vector<std::uint16_t>& labels) const {
    if (place[unit] == Place::kRow) {
        row_list.items.push_back(index[unit]);
        return;
    }
    const std::uint32_t begin = set_.unit_weights.starts[unit];
    for (std::uint32_t w = begin; w < set_.unit_weights.starts[unit + 1]; ++w) {
        entry_list.items.push_back(index[unit] + (w - begin));
        labels.push_back(static_cast<std::uint16_t>(set_.unit_weights.labels[w]));
    }
}

void RowLayout::list_tokens(const std::vector<std::uint8_t>& valued, const Composer& composer) {
    const Occurrences& o = set_.occurrences;
    std::vector<std::uint32_t> covered(set_.units.size(), kNoAttribute);
    std::vector<std::uint16_t> labels;  // of the entries of a token
    for (Lists* lists : {&rows, &entries, &valued_rows, &valued_entries}) lists->starts.reserve(o.starts.size());
    const auto list = [&](std::uint32_t t, std::uint32_t in_group) {
        labels.clear();
        for (std::uint32_t i = composer.chosen.starts[t]; i < composer.chosen.starts[t + 1]; ++i) {
            const Composer::Variant& variant = composer.variants[composer.chosen.items[i]];
            if (variant.number == kNoAttribute) continue;
            rows.items.push_back(static_cast<std::uint32_t>(n_unit_rows) + variant.number);
            composer.each_member(variant, [&](std::uint32_t unit) { covered[unit] = t; });
        }
        for (std::size_t i = o.starts[t]; i < o.starts[t + 1]; ++i) {
            if (i + 32 < o.numbers.size()) {
                const std::uint32_t later = o.numbers[i + 32];
                fetch_ahead(&place[later]);
                fetch_ahead(&index[later]);
                fetch_ahead(&covered[later]);
                fetch_ahead(&set_.unit_weights.starts[later]);
            }
            const std::uint32_t unit = o.numbers[i];
            if (place[unit] == Place::kOnce) {
                index[unit] = t;
            } else if (valued[unit]) {
                add_unit(unit, valued_rows, valued_entries, valued_entry_labels);
                row_values.resize(valued_rows.items.size(), o.value(i));
                entry_values.resize(valued_entries.items.size(), o.value(i));
            } else if (covered[unit] != t) {
                add_unit(unit, rows, entries, labels);
            }
        }
        for (const std::uint16_t label : labels) entry_places.push_back(in_group << kLabelBits | label);
        for (Lists* lists : {&rows, &entries, &valued_rows, &valued_entries}) lists->end();
    };
    for (const Group& group : set_.groups) {
        const auto begin = static_cast<std::uint32_t>(set_.starts[group.first]);
        const auto end = static_cast<std::uint32_t>(set_.starts[group.first + group.size]);
        for (std::uint32_t t = begin; t < end; ++t) list(t, t - begin);
    }
    for (Lists* lists : {&rows, &entries}) lists->items.resize(lists->items.size() + kListPadding, 0);
    for (Lists* lists : {&rows, &entries, &valued_rows, &valued_entries}) lists->items.shrink_to_fit();
    entry_places.shrink_to_fit();
}

// From parts to composites: sums spread row by row, each row written by one thread.
void RowLayout::turn_composites_around() {
    const auto turned = [](const Lists& from, std::size_t n) {
        Lists to;
        to.starts.assign(n + 1, 0);
        for (const std::uint32_t item : from.items) ++to.starts[item + 1];
        for (std::size_t i = 0; i < n; ++i) to.starts[i + 1] += to.starts[i];
        to.items.resize(from.items.size());
        std::vector<std::uint32_t> next(to.starts.begin(), to.starts.end() - 1);
        for (std::uint32_t c = 0; c + 1 < from.starts.size(); ++c)
            for (std::uint32_t i = from.starts[c]; i < from.starts[c + 1]; ++i) to.items[next[from.items[i]]++] = c;
        return to;
    };
    row_composites = turned(composite_rows, n_unit_rows);
    entry_composites = turned(composite_entries, n_entries);
}

TokenLists RowLayout::token_lists() const {
    const bool values = !row_values.empty() || !entry_values.empty();
    return {rows.starts.data(),
            rows.items.data(),
            entries.starts.data(),
            entries.items.data(),
            entry_places.data(),
            set_.gold.data(),
            values ? valued_rows.starts.data() : nullptr,
            valued_rows.items.data(),
            row_values.data(),
            values ? valued_entries.starts.data() : nullptr,
            valued_entries.items.data(),
            valued_entry_labels.data(),
            entry_values.data()};
}

CompositeLists RowLayout::composite_lists() const {
    return {n_unit_rows,
            n_composites(),
            composite_rows.starts.data(),
            composite_rows.items.data(),
            composite_entries.starts.data(),
            composite_entries.items.data(),
            composite_entry_labels.data()};
}

std::size_t RowLayout::memory_bytes() const {
    const auto bytes = [](const auto& v) { return v.capacity() * sizeof(v[0]); };
    std::size_t total = bytes(place) + bytes(index) + bytes(entry_places) + bytes(valued_entry_labels) +
                        bytes(row_values) + bytes(entry_values) + bytes(composite_entry_labels);
    for (const Lists* lists : {&rows, &entries, &valued_rows, &valued_entries, &composite_rows, &composite_entries,
                               &row_composites, &entry_composites})
        total += bytes(lists->starts) + bytes(lists->items);
    return total;
}

}  // namespace tw::chain
