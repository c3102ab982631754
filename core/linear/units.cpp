#include "units.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "../base/interrupt.hpp"
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

}  // namespace

Units merge(const Occurrences& occurrences, const Candidates& candidates) {
    Refinement refinement(candidates.counts.size());
    std::vector<std::uint32_t> members;
    std::vector<char> valued;
    InterruptCheck check;
    Touches touched(occurrences.numbers.storage());
    for (std::size_t t = 0; t + 1 < occurrences.starts.size(); ++t) {
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
    return numbered(candidates, refinement.n_classes(), [&](std::uint32_t a) { return refinement.class_of(a); });
}

Units apart(const Candidates& candidates) {
    return numbered(candidates, candidates.counts.size(), [](std::uint32_t a) { return a; });
}

Occurrences unit_occurrences(const Occurrences& attributes, Units& units,
                             std::span<const std::uint64_t> sequence_starts, std::span<const std::uint32_t> sequences) {
    struct Seen {
        std::uint32_t token, place, number;
    };
    std::vector<Seen> seen(units.size(), Seen{kNoAttribute, 0, kNoAttribute});
    std::uint32_t once = 0;  // the next number of a unit that occurs once
    while (once < units.size() && units.counts[once] > 1) {
        seen[once].number = once;
        ++once;
    }
    Occurrences out(attributes.numbers.storage());
    if (!attributes.numbers.storage()) {
        out.starts.reserve(attributes.starts.size());
        out.numbers.reserve(attributes.numbers.size());
    }
    std::uint32_t token = 0;
    InterruptCheck check;
    Touches touched(attributes.numbers.storage());
    bool ahead = false;
    for (std::size_t s = 0; s < sequences.size(); ++s) {
        const std::uint32_t sequence = sequences[s];
        touched.elsewhere(attributes.bytes(sequence_starts[sequence], sequence_starts[sequence + 1]),
                          attributes.values.empty() ? 2 : 3);
        if (s % kSequencesAhead == 0) ahead = attributes.numbers.mapped() && attributes.numbers.storage()->reads_disk();
        if (ahead && s + kSequencesAhead < sequences.size()) {
            const std::uint32_t later = sequences[s + kSequencesAhead];
            attributes.numbers.read_ahead(attributes.starts[sequence_starts[later]],
                                          attributes.starts[sequence_starts[later + 1]]);
        }
        for (std::uint64_t t = sequence_starts[sequence]; t < sequence_starts[sequence + 1]; ++t, ++token) {
            check();
            for (std::size_t i = attributes.starts[t]; i < attributes.starts[t + 1]; ++i) {
                if (i + 2 * kAhead < attributes.numbers.size()) {
                    fetch_ahead(&units.of_attribute[attributes.numbers[i + 2 * kAhead]]);
                    const std::uint32_t later = units.of_attribute[attributes.numbers[i + kAhead]];
                    if (later != kNoAttribute) fetch_ahead(&seen[later]);
                }
                const std::uint32_t unit = units.of_attribute[attributes.numbers[i]];
                if (unit == kNoAttribute) continue;
                Seen& here = seen[unit];
                if (here.token != token) {
                    if (here.number == kNoAttribute) here.number = once++;
                    here.token = token;
                    here.place = static_cast<std::uint32_t>(out.numbers.size());
                    out.numbers.push_back(here.number);
                    if (!attributes.values.empty() || !out.values.empty()) out.values.push_back(attributes.value(i));
                } else if (units.n_members[unit] == 1) {  // the same attribute again
                    if (out.values.empty()) out.values.assign(out.numbers.size(), 1.0f);
                    out.values[here.place] += attributes.value(i);
                }
            }
            out.starts.push_back(static_cast<std::uint32_t>(out.numbers.size()));
        }
    }
    std::vector<std::uint32_t> n_members(units.size());
    for (std::size_t u = 0; u < units.size(); ++u) n_members[seen[u].number] = units.n_members[u];
    units.n_members.swap(n_members);
    for (std::uint32_t& unit : units.of_attribute)
        if (unit != kNoAttribute) unit = seen[unit].number;
    return out;
}

}  // namespace tw
