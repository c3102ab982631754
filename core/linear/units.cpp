#include "units.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "../base/parallel.hpp"
#include "../base/prefetch.hpp"
#include "key_table.hpp"

namespace tw {
namespace {

constexpr std::size_t kAhead = 48;           // occurrences whose places are fetched before they are needed
constexpr std::size_t kSequencesAhead = 64;  // whose attributes are read from a file before they are needed

// Partition refinement: all attributes start in one class, "not yet seen". A token splits every class of which it has
// some members but not all. What is in one class at the end occurred together in every token.
class Refinement {
public:
    explicit Refinement(std::size_t n_attributes) : places_(n_attributes, Place{0, 0}) {
        classes_.push_back({0, 0, 0, 0});
    }

    // The members of a token; an attribute for which `alone` holds must not share a class.
    template <class Alone>
    void split(std::span<const std::uint32_t> members, Alone alone) {
        ++token_;
        for (std::size_t i = 0; i < members.size(); ++i) {
            Place& place = places_[members[i]];
            if (place.token == token_ || alone(i)) separate(place);
            if (place.token == token_) continue;  // a second time in one token
            place.token = token_;
            Class& c = classes_[place.number];
            if (c.token != token_) c = {token_, 0, c.size, 0};
            ++c.here;
        }
        for (const std::uint32_t member : members) {
            Place& place = places_[member];
            const std::uint32_t from = place.number;
            if (from != 0 && classes_[from].here == classes_[from].size) continue;
            if (from != 0 && classes_[from].token != token_) continue;  // made in this token
            if (classes_[from].split == 0) {
                classes_[from].split = static_cast<std::uint32_t>(classes_.size());
                classes_.push_back({0, 0, 0, 0});
            }
            place.number = classes_[from].split;
            ++classes_[place.number].size;
            if (from != 0) {
                --classes_[from].size;
                --classes_[from].here;
            }
        }
    }
    void fetch(std::uint32_t attribute) const { fetch_ahead(&places_[attribute]); }
    std::uint32_t class_of(std::uint32_t attribute) const { return places_[attribute].number; }
    std::size_t n_classes() const { return classes_.size(); }

private:
    struct Place {
        std::uint32_t number, token;
    };
    struct Class {
        std::uint32_t token;  // that last touched it
        std::uint32_t here;   // members in that token
        std::uint32_t size;
        std::uint32_t split;  // where members in that token go
    };

    // A class of its own. Whoever is alone stays alone, so the class it leaves never misses it.
    void separate(Place& place) {
        if (place.number != 0) {
            Class& c = classes_[place.number];
            if (c.size == 1) return;
            --c.size;
            if (place.token == token_ && c.token == token_) --c.here;
        }
        place.number = static_cast<std::uint32_t>(classes_.size());
        classes_.push_back({token_, place.token == token_ ? 1u : 0u, 1, 0});
    }

    std::vector<Place> places_;
    std::vector<Class> classes_;
    std::uint32_t token_ = 0;
};

// Numbers units by count, most frequent first; equal counts in order of first sight.
void number_by_count(Units& units) {
    std::vector<std::uint32_t> order(units.size()), number(units.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto once =
        std::stable_partition(order.begin(), order.end(), [&](std::uint32_t u) { return units.counts[u] > 1; });
    std::stable_sort(order.begin(), once,
                     [&](std::uint32_t a, std::uint32_t b) { return units.counts[a] > units.counts[b]; });
    std::vector<std::uint32_t> n_members(units.size()), counts(units.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        number[order[i]] = i;
        n_members[i] = units.n_members[order[i]];
        counts[i] = units.counts[order[i]];
    }
    units.n_members.swap(n_members);
    units.counts.swap(counts);
    for (std::uint32_t& unit : units.of_attribute)
        if (unit != kNoAttribute) unit = number[unit];
}

template <class ClassOf>
Units numbered(const Candidates& candidates, std::size_t n_classes, ClassOf class_of) {
    const auto& counts = candidates.counts;
    Units units;
    units.from_model = !candidates.known.empty();
    units.of_attribute.assign(counts.size(), kNoAttribute);
    std::vector<std::uint32_t> unit_of_class(n_classes, kNoAttribute);
    std::unordered_map<std::uint64_t, std::uint32_t> unit_of_known;  // by class and earlier weights
    for (std::uint32_t a = 0; a < counts.size(); ++a) {
        if (!candidates.has(a)) continue;
        const std::uint32_t known = candidates.known.empty() ? 0 : candidates.known[a];
        const std::uint64_t both = std::uint64_t{class_of(a)} << 32 | known;
        std::uint32_t& unit =
            known == 0 ? unit_of_class[class_of(a)] : unit_of_known.try_emplace(both, kNoAttribute).first->second;
        if (unit == kNoAttribute) {
            unit = static_cast<std::uint32_t>(units.size());
            units.n_members.push_back(0);
            units.counts.push_back(counts[a]);
        }
        units.of_attribute[a] = unit;
        ++units.n_members[unit];
    }
    check_interrupt();
    number_by_count(units);
    return units;
}

// What always occurs together in tokens begin .. end - 1.
Refinement refined(const Occurrences& occurrences, const Candidates& candidates, std::size_t begin, std::size_t end) {
    Refinement refinement(candidates.counts.size());
    std::vector<std::uint32_t> members;
    std::vector<char> valued;
    InterruptCheck check;
    Touches touched(occurrences.numbers.storage());
    for (std::size_t t = begin; t < end; ++t) {
        check();
        touched(occurrences.bytes(t, t + 1));
        members.clear();
        valued.clear();
        for (std::size_t i = occurrences.starts[t]; i < occurrences.starts[t + 1]; ++i) {
            if (i + kAhead < occurrences.numbers.size()) refinement.fetch(occurrences.numbers[i + kAhead]);
            if (candidates.min_count > 1 && !candidates.has(occurrences.numbers[i])) continue;
            members.push_back(occurrences.numbers[i]);
            if (!occurrences.values.empty()) valued.push_back(occurrences.values[i] != 1.0f);
        }
        refinement.split(members, [&](std::size_t i) { return !valued.empty() && valued[i]; });
    }
    return refinement;
}

// The coarsest classes that are within classes of both; their numbers are written over the first.
std::size_t intersect(std::vector<std::uint32_t>& classes, std::size_t n_classes, const Refinement& more) {
    std::vector<std::uint32_t> starts(n_classes + 1, 0), order(classes.size());
    for (const std::uint32_t c : classes) ++starts[c + 1];
    for (std::size_t c = 0; c < n_classes; ++c) starts[c + 1] += starts[c];
    std::vector<std::uint32_t> next(starts.begin(), starts.end() - 1);
    for (std::uint32_t a = 0; a < classes.size(); ++a) order[next[classes[a]]++] = a;
    struct Met {
        std::uint32_t with, number;  // with which class of the first it was met last, and what both are
    };
    std::vector<Met> met(more.n_classes(), Met{kNoAttribute, 0});
    std::uint32_t n = 0;
    for (std::uint32_t c = 0; c < n_classes; ++c)
        for (std::uint32_t i = starts[c]; i < starts[c + 1]; ++i) {
            Met& with = met[more.class_of(order[i])];
            if (with.with != c) with = {c, n++};
            classes[order[i]] = with.number;
        }
    return n;
}

// How many threads go over the lists when each needs tables with an entry for n attributes or units: all tables
// together are no larger than the lists, and there is one where memory is limited.
std::size_t parts_worth_tables(const Occurrences& occurrences, std::size_t n, std::size_t n_jobs) {
    constexpr std::size_t kBytes = 8, kLeast = std::size_t{1} << 15;
    const std::size_t lists = occurrences.numbers.bytes();
    if (occurrences.numbers.storage() || lists < kLeast) return 1;
    return std::clamp<std::size_t>(lists / (kBytes * std::max<std::size_t>(n, 1)), 1, std::max<std::size_t>(n_jobs, 1));
}

}  // namespace

// Threads refine runs of tokens. What is together in all of them is a unit, whichever runs they were.
Units merge(const Occurrences& occurrences, const Candidates& candidates, std::size_t n_jobs) {
    const std::size_t n_tokens = occurrences.starts.size() - 1;
    const std::size_t n = parts_worth_tables(occurrences, candidates.counts.size(), n_jobs);
    std::vector<std::optional<Refinement>> parts(n);
    parallel_for(n, n, [&](std::size_t part, std::size_t) {
        parts[part] = refined(occurrences, candidates, part * n_tokens / n, (part + 1) * n_tokens / n);
    });
    std::vector<std::uint32_t> classes(candidates.counts.size());
    for (std::uint32_t a = 0; a < classes.size(); ++a) classes[a] = parts[0]->class_of(a);
    std::size_t n_classes = parts[0]->n_classes();
    for (std::size_t part = 1; part < n; ++part) {
        check_interrupt();
        n_classes = intersect(classes, n_classes, *parts[part]);
    }
    return numbered(candidates, n_classes, [&](std::uint32_t a) { return classes[a]; });
}

Units apart(const Candidates& candidates) {
    return numbered(candidates, candidates.counts.size(), [](std::uint32_t a) { return a; });
}

namespace {

// The units of some sequences. Units that occur once are met in one run only: it numbers them from the first on.
class UnitLister {
public:
    UnitLister(const Occurrences& attributes, const Units& units, std::uint32_t n_often,
               std::span<const std::uint64_t> sequence_starts, std::span<const std::uint32_t> sequences)
        : out(attributes.numbers.storage()),
          attributes_(attributes),
          units_(units),
          n_often_(n_often),
          sequence_starts_(sequence_starts),
          sequences_(sequences),
          seen_(units.size(), Seen{kNoAttribute, 0}) {}

    void list() {
        InterruptCheck check;
        Touches touched(attributes_.numbers.storage());
        bool ahead = false;
        for (std::size_t s = 0; s < sequences_.size(); ++s) {
            const std::uint32_t sequence = sequences_[s];
            touched.elsewhere(attributes_.bytes(sequence_starts_[sequence], sequence_starts_[sequence + 1]),
                              attributes_.values.empty() ? 2 : 3);
            if (s % kSequencesAhead == 0)
                ahead = attributes_.numbers.mapped() && attributes_.numbers.storage()->reads_disk();
            if (ahead && s + kSequencesAhead < sequences_.size()) {
                const std::uint32_t later = sequences_[s + kSequencesAhead];
                attributes_.numbers.read_ahead(attributes_.starts[sequence_starts_[later]],
                                               attributes_.starts[sequence_starts_[later + 1]]);
            }
            for (std::uint64_t t = sequence_starts_[sequence]; t < sequence_starts_[sequence + 1]; ++t) {
                check();
                list_token(t);
            }
        }
    }

    Occurrences out;
    std::vector<std::uint32_t> once;  // units that occur once, as they were met

private:
    struct Seen {  // of a unit
        std::uint32_t token, place;
    };

    void list_token(std::uint64_t t) {
        for (std::size_t i = attributes_.starts[t]; i < attributes_.starts[t + 1]; ++i) {
            if (i + 2 * kAhead < attributes_.numbers.size()) {
                fetch_to_read(&units_.of_attribute[attributes_.numbers[i + 2 * kAhead]]);
                const std::uint32_t later = units_.of_attribute[attributes_.numbers[i + kAhead]];
                if (later != kNoAttribute) fetch_ahead(&seen_[later]);
            }
            const std::uint32_t unit = units_.of_attribute[attributes_.numbers[i]];
            if (unit == kNoAttribute) continue;
            Seen& here = seen_[unit];
            if (here.token != token_) {
                here = {token_, static_cast<std::uint32_t>(out.numbers.size())};
                out.numbers.push_back(unit < n_often_ ? unit : n_often_ + static_cast<std::uint32_t>(once.size()));
                if (unit >= n_often_) once.push_back(unit);
                if (!attributes_.values.empty() || !out.values.empty()) out.values.push_back(attributes_.value(i));
            } else if (units_.n_members[unit] == 1) {  // the same attribute again
                if (out.values.empty()) out.values.assign(out.numbers.size(), 1.0f);
                out.values[here.place] += attributes_.value(i);
            }
        }
        out.starts.push_back(static_cast<std::uint32_t>(out.numbers.size()));
        ++token_;
    }

    const Occurrences& attributes_;
    const Units& units_;
    const std::uint32_t n_often_;  // units that occur more than once, which come first and keep their numbers
    const std::span<const std::uint64_t> sequence_starts_;
    const std::span<const std::uint32_t> sequences_;
    std::vector<Seen> seen_;
    std::uint32_t token_ = 0;
};

// All lists one after the other, where those of a part begin with the `once` of the parts before.
Occurrences joined(std::vector<UnitLister>& parts, std::uint32_t n_often) {
    if (parts.size() == 1) return std::move(parts[0].out);
    std::size_t n_sites = 0, n_numbers = 0;
    bool valued = false;
    for (const UnitLister& part : parts) {
        n_sites += part.out.starts.size() - 1;
        n_numbers += part.out.numbers.size();
        valued |= !part.out.values.empty();
    }
    Occurrences out;
    out.starts.resize_anyhow(n_sites + 1);
    out.numbers.resize_anyhow(n_numbers);
    if (valued) out.values.resize_anyhow(n_numbers);
    parallel_for(parts.size(), parts.size(), [&](std::size_t p, std::size_t) {
        std::size_t site = 1, at = 0;
        std::uint32_t once = 0;
        for (std::size_t before = 0; before < p; ++before) {
            site += parts[before].out.starts.size() - 1;
            at += parts[before].out.numbers.size();
            once += static_cast<std::uint32_t>(parts[before].once.size());
        }
        const Occurrences& from = parts[p].out;
        check_interrupt();
        for (std::size_t i = 1; i < from.starts.size(); ++i)
            out.starts[site++] = from.starts[i] + static_cast<std::uint32_t>(at);
        for (std::size_t i = 0; i < from.numbers.size(); ++i)
            out.numbers[at + i] = from.numbers[i] + (from.numbers[i] < n_often ? 0 : once);
        for (std::size_t i = 0; valued && i < from.numbers.size(); ++i) out.values[at + i] = from.value(i);
    });
    return out;
}

}  // namespace

Occurrences unit_occurrences(const Occurrences& attributes, Units& units,
                             std::span<const std::uint64_t> sequence_starts, std::span<const std::uint32_t> sequences,
                             std::size_t n_jobs) {
    std::uint32_t n_often = 0;
    while (n_often < units.size() && units.counts[n_often] > 1) ++n_often;
    std::vector<std::size_t> tokens_before{0};
    for (const std::uint32_t s : sequences)
        tokens_before.push_back(tokens_before.back() + sequence_starts[s + 1] - sequence_starts[s]);
    // Lists of several parts are held twice while they are joined, so one thread makes those that are large.
    constexpr std::size_t kLarge = std::size_t{1} << 28;  // bytes
    const std::size_t n_tokens = tokens_before.back();
    const std::size_t n =
        attributes.numbers.bytes() > kLarge ? 1 : parts_worth_tables(attributes, units.size(), n_jobs);
    std::vector<UnitLister> parts;
    std::vector<std::size_t> cuts;  // of the sequences
    for (std::size_t part = 0; part <= n; ++part)
        cuts.push_back(static_cast<std::size_t>(std::ranges::lower_bound(tokens_before, part * n_tokens / n) -
                                                tokens_before.begin()));
    cuts.back() = sequences.size();
    for (std::size_t part = 0; part < n; ++part) {
        const auto some = sequences.subspan(cuts[part], cuts[part + 1] - cuts[part]);
        const std::size_t sites = tokens_before[cuts[part + 1]] - tokens_before[cuts[part]];
        Occurrences& out = parts.emplace_back(attributes, units, n_often, sequence_starts, some).out;
        if (attributes.numbers.storage()) continue;
        out.starts.reserve(sites + 1);
        out.numbers.reserve(attributes.numbers.size() * sites / std::max<std::size_t>(n_tokens, 1));
    }
    parallel_for(n, n, [&](std::size_t part, std::size_t) { parts[part].list(); });
    Occurrences out = joined(parts, n_often);
    std::vector<std::uint32_t> number(units.size()), n_members = units.n_members;
    std::iota(number.begin(), number.begin() + n_often, 0u);
    std::uint32_t next = n_often;
    for (const UnitLister& part : parts)
        for (const std::uint32_t unit : part.once) {
            n_members[next] = units.n_members[unit];
            number[unit] = next++;
        }
    units.n_members.swap(n_members);
    for (std::uint32_t& unit : units.of_attribute)
        if (unit != kNoAttribute) unit = number[unit];
    return out;
}

}  // namespace tw
