#include "row_layout.hpp"

#include <algorithm>
#include <bit>
#include <span>

#include "../base/parallel.hpp"
#include "../base/prefetch.hpp"
#include "../linear/key_table.hpp"

namespace tw::chain {
namespace {

constexpr std::size_t kMostEntries = 3;   // a unit with more labels is a row
constexpr std::size_t kMostImplied = 32;  // units implied by one: a set of bits
constexpr std::size_t kLeastHead = 16;    // occurrences of a unit that may imply others
constexpr std::size_t kLeastSaved = 3;    // rows that a composite must save in a pass
constexpr std::size_t kMostUnits = 64;    // units of one token: likewise

}  // namespace

// Finds which units imply which, and covers the units of every token with few composites. Threads share the tokens;
// what is found does not depend on how.
class RowLayout::Composer {
public:
    struct Variant {  // a unit and some of those it implies, together in some tokens
        std::uint32_t head, members, next;
        std::uint32_t uses, number;  // its composite, or kNoAttribute
    };

    Composer(const TrainingSet& set, const std::vector<std::uint8_t>& valued, std::size_t n_jobs)
        : set_(set), valued_(valued) {
        while (n_leading_ < set.units.size() && set.units.counts[n_leading_] >= kLeastHead) ++n_leading_;
        implied_.resize(n_leading_);
        const std::vector<std::size_t> cuts = set.cuts(n_jobs);
        find_implied(cuts);
        std::vector<Cover> covers;
        for (std::size_t part = 0; part < n_jobs; ++part) covers.emplace_back(set.storage);
        parallel_for(n_jobs, n_jobs, [&](std::size_t part, std::size_t) {
            covers[part].first_variant.assign(n_leading_, kNoAttribute);
            each_token(cuts[part], cuts[part + 1],
                       [&](std::uint32_t, const Present& present) { cover(present, covers[part]); });
        });
        for (std::size_t part = 1; part < n_jobs; ++part) append(covers[part], covers[0]);
        chosen = std::move(covers[0].chosen);
        variants = std::move(covers[0].variants);
        choose();
    }

    // Units below this number are frequent enough to imply others; no other is part of a composite.
    std::uint32_t n_leading() const { return n_leading_; }

    // Calls visit(unit) for the members of a variant, its head included.
    template <class Visit>
    void each_member(const Variant& variant, Visit visit) const {
        visit(variant.head);
        for (std::uint32_t left = variant.members; left; left &= left - 1)
            visit(implied_by(variant.head)[std::countr_zero(left)]);
    }

    Lists chosen;  // variants of each token
    std::vector<Variant> variants;
    std::vector<std::uint32_t> composites;  // variants that are used

private:
    struct Implied {  // what a unit implies, as far as tokens were seen
        std::uint32_t start = kNoAttribute, size = 0;
    };
    struct Implications {  // of a run of tokens
        std::vector<Implied> of_unit;
        std::vector<std::uint32_t> pool;
    };
    struct Mark {
        std::uint32_t token, position;
    };
    struct Present {  // the units of a token that can be part of composites
        std::vector<std::uint32_t> units;
        std::vector<Mark> marks;  // of each unit, where it was met last
    };
    struct Cover {  // of a run of tokens
        explicit Cover(const StoragePointer& storage) : chosen(storage) {}
        Lists chosen;
        std::vector<Variant> variants;
        std::vector<std::uint32_t> first_variant;  // of each head
    };

    const std::uint32_t* implied_by(std::uint32_t unit) const { return pool_.data() + implied_[unit].start; }

    // What the tokens of every part imply, and then what all parts have in common.
    void find_implied(const std::vector<std::size_t>& cuts) {
        std::vector<Implications> parts(cuts.size() - 1);
        parallel_for(parts.size(), parts.size(), [&](std::size_t part, std::size_t) {
            parts[part].of_unit.resize(n_leading_);
            each_token(cuts[part], cuts[part + 1],
                       [&](std::uint32_t t, const Present& present) { narrow(t, present, parts[part]); });
        });
        std::vector<std::uint32_t> common;
        InterruptCheck check;
        for (std::uint32_t unit = 0; unit < n_leading_; ++unit) {
            check();
            common.clear();
            bool any = false;
            for (const Implications& part : parts) {
                if (part.of_unit[unit].start == kNoAttribute) continue;
                const std::uint32_t* begin = part.pool.data() + part.of_unit[unit].start;
                const std::uint32_t* end = begin + part.of_unit[unit].size;
                if (!any) common.assign(begin, end);
                if (any)
                    std::erase_if(common, [&](std::uint32_t other) { return std::find(begin, end, other) == end; });
                any = true;
            }
            if (common.size() > kMostImplied) common.resize(kMostImplied);
            implied_[unit] = {static_cast<std::uint32_t>(pool_.size()), static_cast<std::uint32_t>(common.size())};
            pool_.insert(pool_.end(), common.begin(), common.end());
        }
    }
    // Calls visit(token, units present) for the tokens of the given groups. Units are numbered by how often they occur.
    template <class Visit>
    void each_token(std::size_t first_group, std::size_t last_group, Visit visit) const {
        const auto begin = static_cast<std::uint32_t>(set_.first_token(first_group));
        const auto end = static_cast<std::uint32_t>(set_.first_token(last_group));
        const Occurrences& o = set_.occurrences;
        const bool values = !o.values.empty();
        Present present;
        present.marks.assign(n_leading_, Mark{kNoAttribute, 0});
        InterruptCheck check;
        Touches touched(set_.storage);
        for (std::uint32_t t = begin; t < end; ++t) {
            check();
            touched(o.bytes(t, t + 1));
            present.units.clear();
            for (std::size_t i = o.starts[t]; i < o.starts[t + 1]; ++i) {
                if (i + 32 < o.numbers.size() && o.numbers[i + 32] < n_leading_) {
                    fetch_ahead(&present.marks[o.numbers[i + 32]]);
                    fetch_to_read(&implied_[o.numbers[i + 32]]);
                }
                const std::uint32_t unit = o.numbers[i];
                if (unit >= n_leading_ || (values && valued_[unit])) continue;
                present.marks[unit] = {t, static_cast<std::uint32_t>(present.units.size())};
                present.units.push_back(unit);
            }
            if (present.units.size() > kMostUnits) present.units.clear();
            visit(t, present);
        }
    }

    // What is implied must occur in every token that has the unit. Only units that occur more often can be: with equal
    // counts the two would be one unit.
    static void narrow(std::uint32_t token, const Present& present, Implications& out) {
        for (const std::uint32_t unit : present.units) {
            Implied& implied = out.of_unit[unit];
            if (implied.start == kNoAttribute) {
                implied.start = static_cast<std::uint32_t>(out.pool.size());
                for (const std::uint32_t other : present.units)
                    if (other < unit) out.pool.push_back(other);
                implied.size = static_cast<std::uint32_t>(out.pool.size()) - implied.start;
                continue;
            }
            std::uint32_t* others = out.pool.data() + implied.start;
            std::uint32_t kept = 0;
            for (std::uint32_t j = 0; j < implied.size; ++j) {
                const std::uint32_t other = others[j];
                others[kept] = other;
                kept += present.marks[other].token == token;
            }
            implied.size = kept;
        }
    }

    // Units that imply most come first, equal ones in the order of the token; each takes what is still open.
    void cover(const Present& present, Cover& out) const {
        const std::vector<std::uint32_t>& units = present.units;
        std::uint64_t open = units.size() == kMostUnits ? ~std::uint64_t{0} : (std::uint64_t{1} << units.size()) - 1;
        std::uint64_t sizes = 0, of_size[kMostUnits];  // which there are, and the units that imply so many others
        for (std::uint32_t i = 0; i < units.size(); ++i) {
            if (implied_[units[i]].size == 0) continue;
            const std::uint32_t size = implied_[units[i]].size;
            of_size[size] = (sizes >> size & 1 ? of_size[size] : 0) | std::uint64_t{1} << i;
            sizes |= std::uint64_t{1} << size;
        }
        while (sizes) {
            const int size = 63 - std::countl_zero(sizes);
            for (std::uint64_t left = of_size[size] & open; left; left &= left - 1) {
                const int position = std::countr_zero(left);
                if (open >> position & 1) open = take(present, static_cast<std::uint32_t>(position), open, out);
            }
            sizes ^= std::uint64_t{1} << size;
        }
        out.chosen.end();
    }

    // What is left open.
    std::uint64_t take(const Present& present, std::uint32_t position, std::uint64_t open, Cover& out) const {
        const std::uint32_t head = present.units[position], *implied = implied_by(head);
        std::uint32_t members = 0;
        std::uint64_t left = open & ~(std::uint64_t{1} << position);
        for (std::uint32_t j = 0; j < implied_[head].size; ++j) {
            const std::uint32_t at = present.marks[implied[j]].position;
            members |= static_cast<std::uint32_t>(open >> at & 1) << j;
            left &= ~(std::uint64_t{1} << at);
        }
        if (members == 0) return open;  // nothing gained: the unit stays by itself
        const std::uint32_t v = variant(head, members, out);
        ++out.variants[v].uses;
        out.chosen.items.push_back(v);
        return left;
    }

    // The number of a variant, in order of first sight.
    static std::uint32_t variant(std::uint32_t head, std::uint32_t members, Cover& in) {
        std::uint32_t v = in.first_variant[head];
        while (v != kNoAttribute && in.variants[v].members != members) v = in.variants[v].next;
        if (v == kNoAttribute) {
            v = static_cast<std::uint32_t>(in.variants.size());
            in.variants.push_back({head, members, in.first_variant[head], 0, kNoAttribute});
            in.first_variant[head] = v;
        }
        return v;
    }

    static void append(const Cover& from, Cover& to) {
        std::vector<std::uint32_t> number(from.variants.size());
        for (std::size_t i = 0; i < number.size(); ++i) {
            number[i] = variant(from.variants[i].head, from.variants[i].members, to);
            to.variants[number[i]].uses += from.variants[i].uses;
        }
        to.chosen.append(from.chosen);
        Touches touched(to.chosen.items.storage());
        for (std::size_t i = to.chosen.items.size() - from.chosen.items.size(); i < to.chosen.items.size(); ++i) {
            touched(sizeof(std::uint32_t));
            to.chosen.items[i] = number[to.chosen.items[i]];
        }
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

    const TrainingSet& set_;
    const std::vector<std::uint8_t>& valued_;
    std::vector<Implied> implied_;
    std::vector<std::uint32_t> pool_;  // of implied units
    std::uint32_t n_leading_ = 0;      // units frequent enough to imply others, and so to be implied
};

RowLayout::RowLayout(const TrainingSet& set, std::size_t n_jobs) : tokens(set.storage), set_(set) {
    const Occurrences& o = set.occurrences;
    std::vector<std::uint8_t> valued(set.units.size(), 0);
    Touches touched(set.storage);
    for (std::size_t i = 0; i < o.values.size(); ++i) {
        touched(2 * sizeof(float));
        valued[o.numbers[i]] |= o.values[i] != 1.0f;
    }
    place_units(valued);
    const Composer composer(set, valued, n_jobs);
    for (const std::uint32_t v : composer.composites) {
        composer.each_member(composer.variants[v], [&](std::uint32_t unit) {
            add_unit(unit, composite_rows, composite_entries, composite_entry_labels);
        });
        composite_rows.end();
        composite_entries.end();
    }
    list_tokens(valued, composer, n_jobs);
    turn_composites_around();
}

void RowLayout::place_units(const std::vector<std::uint8_t>& valued) {
    place.resize(set_.units.size());
    index.assign(set_.units.size(), 0);
    for (std::size_t u = 0; u < set_.units.size(); ++u) {
        const std::size_t n = set_.unit_weights.starts[u + 1] - set_.unit_weights.starts[u];
        // Units that occur once: one a token, with a weight for gold alone. An earlier model may know other labels.
        if (set_.units.counts[u] == 1 && n == 1 && !valued[u] && !set_.units.from_model) {
            place[u] = Place::kOnce;  // its token is known when tokens are listed
            once_units.push_back(static_cast<std::uint32_t>(u));
        } else if (n <= kMostEntries) {
            place[u] = Place::kEntries;
            index[u] = static_cast<std::uint32_t>(n_entries);
            n_entries += n;
            for (std::uint32_t w = set_.unit_weights.starts[u]; w < set_.unit_weights.starts[u + 1]; ++w)
                entry_weights.push_back({static_cast<std::uint32_t>(u), w});
        } else {
            place[u] = Place::kRow;
            index[u] = static_cast<std::uint32_t>(n_unit_rows++);
            row_units.push_back(static_cast<std::uint32_t>(u));
        }
    }
}

template <class Labels>
void RowLayout::add_unit(std::uint32_t unit, Lists& row_list, Lists& entry_list, Labels& labels) const {
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

void RowLayout::list_tokens(const std::vector<std::uint8_t>& valued, const Composer& composer, std::size_t n_jobs) {
    const std::vector<std::size_t> cuts = set_.cuts(n_jobs);
    std::vector<Tokens> parts;
    for (std::size_t part = 0; part < n_jobs; ++part) parts.emplace_back(set_.storage);
    parallel_for(n_jobs, n_jobs, [&](std::size_t part, std::size_t) {
        list_groups(cuts[part], cuts[part + 1], valued, composer, parts[part]);
    });
    tokens = std::move(parts[0]);
    for (std::size_t part = 1; part < n_jobs; ++part) {
        tokens.append(parts[part]);
        parts[part] = Tokens();
    }
    for (Lists* lists : {&tokens.rows, &tokens.entries}) lists->items.resize(lists->items.size() + kListPadding, 0);
    for (Lists* lists : {&tokens.rows, &tokens.entries, &tokens.valued_rows, &tokens.valued_entries})
        lists->items.shrink_to_fit();
    tokens.entry_places.shrink_to_fit();
}

// Tokens of the given groups. The place of a unit that occurs once is known only now.
void RowLayout::list_groups(std::size_t first, std::size_t last, const std::vector<std::uint8_t>& valued,
                            const Composer& composer, Tokens& out) {
    const Occurrences& o = set_.occurrences;
    const bool values = !o.values.empty();
    std::vector<std::uint32_t> covered(composer.n_leading(), kNoAttribute);  // no other unit is part of a composite
    std::vector<std::uint16_t> labels;                                       // of the entries of a token
    Lists rows;                                                              // of a group, by token
    std::vector<std::uint64_t> order;  // of its tokens: how many rows each has, and which it is
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
                fetch_to_read(&place[later]);
                fetch_to_read(&index[later]);
                fetch_to_read(&set_.unit_weights.starts[later]);
            }
            const std::uint32_t unit = o.numbers[i];
            if (place[unit] == Place::kOnce) {
                index[unit] = t;
            } else if (values && valued[unit]) {
                add_unit(unit, out.valued_rows, out.valued_entries, out.valued_entry_labels);
                out.row_values.resize(out.valued_rows.items.size(), o.value(i));
                out.entry_values.resize(out.valued_entries.items.size(), o.value(i));
            } else if (unit >= covered.size() || covered[unit] != t) {
                add_unit(unit, rows, out.entries, labels);
            }
        }
        for (const std::uint16_t label : labels) out.entry_places.push_back(in_group << kLabelBits | label);
        for (Lists* lists : {&rows, &out.entries, &out.valued_rows, &out.valued_entries}) lists->end();
    };
    InterruptCheck check;
    Touches touched(set_.storage);
    for (std::size_t g = first; g < last; ++g) {
        check();
        const auto begin = static_cast<std::uint32_t>(set_.first_token(g));
        const auto end = static_cast<std::uint32_t>(set_.first_token(g + 1));
        touched(o.bytes(begin, end) +
                sizeof(std::uint32_t) * (composer.chosen.starts[end] - composer.chosen.starts[begin]));
        rows.starts.assign(1, 0);
        rows.items.clear();
        for (std::uint32_t t = begin; t < end; ++t) list(t, t - begin);
        order.clear();
        for (std::uint64_t t = 0; t < end - begin; ++t)
            order.push_back(std::uint64_t{rows.starts[t + 1] - rows.starts[t]} << 32 | t);
        std::ranges::sort(order);
        for (const std::uint64_t next : order) {
            const auto t = static_cast<std::uint32_t>(next);
            out.rows.items.append(std::span(rows.items.data() + rows.starts[t], next >> 32));
            out.rows.end();
            out.row_tokens.push_back(t);
        }
    }
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

void RowLayout::Tokens::append(const Tokens& more) {
    rows.append(more.rows);
    entries.append(more.entries);
    valued_rows.append(more.valued_rows);
    valued_entries.append(more.valued_entries);
    const auto add = [](auto& to, const auto& from) { to.append(from); };
    add(row_tokens, more.row_tokens);
    add(entry_places, more.entry_places);
    add(valued_entry_labels, more.valued_entry_labels);
    add(row_values, more.row_values);
    add(entry_values, more.entry_values);
}

TokenLists RowLayout::token_lists() const {
    const auto& [rows, entries, valued_rows, valued_entries, row_tokens, entry_places, valued_entry_labels, row_values,
                 entry_values] = tokens;
    const bool values = !row_values.empty() || !entry_values.empty();
    return {row_tokens.data(),
            rows.starts.data(),
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

std::size_t RowLayout::bytes(std::size_t begin, std::size_t end) const {
    std::size_t total = (end - begin) * (3 * sizeof(std::uint32_t) + sizeof(std::uint16_t));
    const auto add = [&](const Lists& lists, std::size_t each) {
        if (!lists.items.empty()) total += each * (lists.starts[end] - lists.starts[begin]);
    };
    add(tokens.rows, 4);
    add(tokens.entries, 8);
    add(tokens.valued_rows, 8);
    add(tokens.valued_entries, 10);
    return total;
}

void RowLayout::read_ahead(std::size_t begin, std::size_t end) const {
    const auto fetch = [&](const Lists& lists, const auto&... others) {
        if (lists.items.empty() || !lists.items.mapped()) return;
        const std::size_t first = lists.starts[begin], last = lists.starts[end];
        lists.starts.read_ahead(end, 2 * end - begin);  // those that the next call looks at
        lists.items.read_ahead(first, last);
        (others.read_ahead(first, last), ...);
    };
    fetch(tokens.rows);
    fetch(tokens.entries, tokens.entry_places);
    fetch(tokens.valued_rows, tokens.row_values);
    fetch(tokens.valued_entries, tokens.valued_entry_labels, tokens.entry_values);
    set_.gold.read_ahead(begin, end);
}

std::size_t RowLayout::memory_bytes() const {
    const auto bytes = [](const auto& v) {
        if constexpr (requires { v.memory_bytes(); })
            return v.memory_bytes();
        else
            return v.capacity() * sizeof(v[0]);
    };
    std::size_t total = bytes(place) + bytes(index) + bytes(row_units) + bytes(once_units) + bytes(entry_weights) +
                        bytes(tokens.row_tokens) + bytes(tokens.entry_places) + bytes(tokens.valued_entry_labels) +
                        bytes(tokens.row_values) + bytes(tokens.entry_values) + bytes(composite_entry_labels);
    for (const Lists* lists : {&tokens.rows, &tokens.entries, &tokens.valued_rows, &tokens.valued_entries,
                               &composite_rows, &composite_entries, &row_composites, &entry_composites})
        total += bytes(lists->starts) + bytes(lists->items);
    return total;
}

}  // namespace tw::chain
