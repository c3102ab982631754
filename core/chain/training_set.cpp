#include "training_set.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "../base/interrupt.hpp"
#include "../base/parallel.hpp"
#include "../base/prefetch.hpp"
#include "../kernels/kernels.hpp"

namespace tw::chain {
namespace {

constexpr std::size_t kLong = 2048;            // tokens; such sequences go alone, their rows fill the cache
constexpr std::size_t kTokensPerShard = 4096;  // at least: below that, threads are not worth it

// Enough shards for as many threads as are worth it, few enough that their sums stay small beside the data.
std::size_t shard_count(std::size_t n_tokens) {
    const std::size_t most = std::clamp<std::size_t>(n_tokens / 100000, 4, kMostShards);
    return std::clamp<std::size_t>(n_tokens / kTokensPerShard, 1, most);
}

// A unit that is seen with more than a fourth of the labels, or an eighth as often as there are labels, may soon meet
// the others; a row of all labels is also read faster than a list of some.
constexpr std::size_t kFullRow = 4, kOften = 8;

[[noreturn]] void refuse(const std::string& message) { throw std::invalid_argument(message); }

std::vector<std::uint32_t> count(const Occurrences& occurrences, std::size_t n) {
    std::vector<std::uint32_t> counts(n, 0);
    InterruptCheck check;
    Touches touched(occurrences.numbers.storage());
    for (std::size_t t = 0; t + 1 < occurrences.starts.size(); ++t) {
        check();
        touched(occurrences.bytes(t, t + 1));
        for (std::size_t i = occurrences.starts[t]; i < occurrences.starts[t + 1]; ++i) {
            std::uint32_t& n = counts[occurrences.numbers[i]];
            n += n != 0xffffffffu;
        }
    }
    return counts;
}

// Attributes of a pair of labels have no say at the first token of a sequence. Those that an earlier model knows and
// that occur nowhere else keep the weights they have there.
std::vector<std::uint32_t> count_pairs(const Occurrences& occurrences, std::span<const std::uint64_t> sequence_starts,
                                       std::size_t n, bool keep_known) {
    std::vector<std::uint32_t> counts = count(occurrences, n);
    if (!keep_known) return counts;
    std::vector<std::uint8_t> used(n, 0);
    Touches touched(occurrences.numbers.storage());
    for (std::size_t s = 0; s + 1 < sequence_starts.size(); ++s) {
        touched(occurrences.bytes(sequence_starts[s], sequence_starts[s + 1]));
        if (sequence_starts[s] == sequence_starts[s + 1]) continue;
        const std::uint32_t end = occurrences.starts[sequence_starts[s + 1]];
        for (std::size_t i = occurrences.starts[sequence_starts[s] + 1]; i < end; ++i) used[occurrences.numbers[i]] = 1;
    }
    for (std::size_t a = 0; a < n; ++a)
        if (!used[a]) counts[a] = 0;
    return counts;
}

void check_weight_count(double n_weights) {
    if (n_weights > 4294967280.0) refuse("more than 4,294,967,280 weights: raise min_count, or hash the attributes");
}

}  // namespace

TrainingSet::TrainingSet(Examples&& examples, Settings given, std::size_t n_jobs)
    : settings(std::move(given)),
      storage(examples.storage),
      hash_bits(examples.hash_bits),
      n_examples(examples.n_sequences()),
      token_weights(storage),
      gold(storage),
      allowed_starts(storage),
      occurrences(storage),
      pair_occurrences(storage) {
    if (!examples.usable) refuse("these examples were already made into an oracle, or adding to them failed");
    if (examples.n_tokens() >= kNoAttribute) refuse("more than 4,294,967,294 tokens");
    examples.usable = false;
    for (std::size_t g = 0; g < kRoots; ++g) roots_[g] = std::sqrt(static_cast<double>(g));
    order_sequences(examples);
    n_jobs = std::clamp<std::size_t>(n_jobs, 1, shards.size() - 1);  // what is worth it
    check_interrupt();
    take_labels(examples);
    check_interrupt();
    take_weights(examples);
    check_constraints();

    if (settings.earlier) check(*settings.earlier, n_labels(), hash_bits ? std::size_t{1} << hash_bits : 0);
    take_attributes(examples, n_jobs);
    find_weights(n_jobs);
    find_pair_weights();
    find_transitions();
    drop_rare_weights();
    settings.earlier = nullptr;
    settings.also_seen = {};
    check_weight_count(static_cast<double>(n_weights()));
}

// By length, groups side by side, dealt out to the shards one after the other: shards come out equally long.
void TrainingSet::order_sequences(const Examples& examples) {
    std::vector<std::uint32_t> order;
    const auto& from = examples.sequence_starts;
    for (std::uint32_t i = 0; i < n_examples; ++i)
        if (from[i + 1] > from[i]) order.push_back(i);
    const auto length_of = [&](std::uint32_t i) { return from[i + 1] - from[i]; };
    std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) { return length_of(a) > length_of(b); });
    std::vector<Group> sorted;
    for (std::uint32_t i = 0; i < order.size();) {
        const bool alone = length_of(order[i]) > kLong;
        const auto size = alone ? 1u : static_cast<std::uint32_t>(std::min(kSideBySide, order.size() - i));
        sorted.push_back({i, size});
        i += size;
    }
    const std::size_t n_shards = shard_count(examples.n_tokens());
    sequence.assign(n_examples, kNoAttribute);
    shards.assign(1, 0);
    for (std::size_t shard = 0; shard < n_shards; ++shard) {
        for (std::size_t g = shard; g < sorted.size(); g += n_shards) {
            groups.push_back({static_cast<std::uint32_t>(example.size()), sorted[g].size});
            for (std::uint32_t i = sorted[g].first; i < sorted[g].first + sorted[g].size; ++i) {
                sequence[order[i]] = static_cast<std::uint32_t>(example.size());
                example.push_back(order[i]);
                starts.push_back(starts.back() + length_of(order[i]));
            }
        }
        shards.push_back(static_cast<std::uint32_t>(groups.size()));
    }
}

std::vector<std::size_t> TrainingSet::cuts(std::size_t n) const {
    std::vector<std::size_t> out{0};
    for (std::size_t g = 0; g < groups.size(); ++g)
        if (first_token(g) * n >= starts.back() * out.size()) out.push_back(g);
    out.resize(n, groups.size());
    out.push_back(groups.size());
    return out;
}

void TrainingSet::take_labels(const Examples& examples) {
    Touches touched(storage);
    for (const std::int32_t code : examples.codes) {
        touched(sizeof code);
        if (static_cast<std::size_t>(code) >= settings.order.size())
            refuse("order has " + std::to_string(settings.order.size()) + " entries but code " + std::to_string(code) +
                   " was used");
    }
    for (const std::int32_t label : settings.order)
        if (label < 0 || static_cast<std::size_t>(label) >= n_labels()) refuse("order holds a label out of range");
    bool partial = false;
    for (std::size_t t = 0; t < examples.n_tokens() && examples.partly_labelled() && !partial; ++t) {
        touched(sizeof examples.code_starts[0]);
        partial = examples.allowed(t).size() != 1;
    }
    if (partial) allowed_starts.push_back(0);
    if (!storage) gold.reserve(examples.codes.size());
    for (const std::uint32_t i : example) {
        touched.elsewhere(4 * (examples.sequence_starts[i + 1] - examples.sequence_starts[i]), 2);
        for (std::uint64_t t = examples.sequence_starts[i]; t < examples.sequence_starts[i + 1]; ++t) {
            for (const std::int32_t code : examples.allowed(t))
                gold.push_back(static_cast<std::uint16_t>(settings.order[static_cast<std::size_t>(code)]));
            if (partial) allowed_starts.push_back(gold.size());
        }
    }
}

// Token weights that are equal within every sequence are weights of sequences.
void TrainingSet::take_weights(const Examples& examples) {
    const auto& from = examples.sequence_starts;
    const auto& v = examples.token_weights;
    bool equal = !settings.weigh_costs || v.empty();
    for (std::size_t i = 0; i < n_examples && !v.empty() && equal; ++i)
        for (std::uint64_t t = from[i] + 1; t < from[i + 1]; ++t) equal &= v[t] == v[from[i]];
    if (examples.sequence_weights.empty() && v.empty()) return;
    for (const std::uint32_t i : example) {
        weights.push_back((examples.sequence_weights.empty() ? 1.0 : examples.sequence_weights[i]) *
                          (v.empty() || !equal ? 1.0 : v[from[i]]));
        if (!equal)
            for (std::uint64_t t = from[i]; t < from[i + 1]; ++t) token_weights.push_back(v[t]);
    }
    if (std::ranges::all_of(weights, [](double w) { return w == 1.0; })) weights.clear();
}

// Every example must have a labelling that is both allowed by its labels and possible under the constraints.
void TrainingSet::check_constraints() const {
    if (!constrained()) return;
    const std::size_t K = n_labels();
    const Constraints& c = settings.constraints;
    std::vector<std::uint16_t> everything(K);
    std::iota(everything.begin(), everything.end(), std::uint16_t{0});
    std::vector<std::uint8_t> reached(K), next(K);
    InterruptCheck check;
    Touches touched(storage);
    for (std::size_t s = 0; s < n_sequences(); ++s) {
        touched(2 * length(s));
        for (std::uint64_t t = starts[s]; t < starts[s + 1]; ++t) {
            check();
            const auto labels = allowed(t).empty() ? std::span<const std::uint16_t>(everything) : allowed(t);
            std::ranges::fill(next, std::uint8_t{0});
            bool any = false;
            for (const std::uint16_t b : labels) {
                bool possible = t == starts[s] && c.start[b];
                for (std::size_t a = 0; a < K && t > starts[s] && !possible; ++a)
                    possible = reached[a] && c.transitions[a * K + b];
                if (t + 1 == starts[s + 1]) possible = possible && c.end[b];
                next[b] = possible;
                any |= possible;
            }
            if (!any)
                refuse("the labels of example " + std::to_string(example[s]) + " break the constraints at its token " +
                       std::to_string(t - starts[s]) + ": mend the labels or allow this");
            reached.swap(next);
        }
    }
}

// The lists of the examples are given up one by one as they are made into those of units.
void TrainingSet::take_attributes(Examples& examples, std::size_t n_jobs) {
    examples.made(kTokenChannel);
    ChannelExamples& pairs = examples.made(kPairChannel);
    ChannelExamples& tokens = examples.made(kTokenChannel);
    n_attributes = examples.n_attributes(tokens);
    n_pair_attributes = examples.n_attributes(pairs);
    const auto taken = [](Index& index) {
        const Index old = std::move(index);
        index = Index();
        return std::vector<Key>(old.keys().begin(), old.keys().end());
    };
    const auto label_counts =
        examples.counts_all(tokens) ? tokens.index.counts() : count(tokens.occurrences, n_attributes);
    keys = taken(tokens.index);
    pair_keys = taken(pairs.index);
    names = std::move(tokens.names);
    pair_names = std::move(pairs.names);
    {
        const Occurrences from = std::exchange(tokens.occurrences, Occurrences());
        const bool also = !settings.also_seen.empty();
        const auto known =
            also ? also_seen_classes() : known_weights(&ModelView::attribute, keys, n_attributes, n_labels());
        units = merge(from, {label_counts, settings.min_count, known, settings.keep_known}, n_jobs);
        if (also) units.from_model = false;  // what occurs once has a weight for gold, and no other if it has one
        check_interrupt();
        occurrences = unit_occurrences(from, units, examples.sequence_starts, example, n_jobs);
    }
    if (!pairs.occurrences.numbers.empty()) {
        const Occurrences from = std::exchange(pairs.occurrences, Occurrences());
        const auto pair_counts = count_pairs(from, examples.sequence_starts, n_pair_attributes, settings.keep_known);
        const auto known = known_weights(&ModelView::pair, pair_keys, n_pair_attributes, n_labels() * n_labels());
        pair_units = apart({pair_counts, settings.min_count, known, settings.keep_known});
        pair_occurrences = unit_occurrences(from, pair_units, examples.sequence_starts, example);
    }
}

std::vector<std::uint32_t> TrainingSet::known_weights(const AttributeView ModelView::* kind, std::span<const Key> of,
                                                      std::size_t n, std::size_t n_codes) const {
    if (!settings.earlier) return {};
    return kinds_of_weights(settings.earlier->*kind, of, n, n_codes);
}

// Attributes that count as seen with other labels than their occurrences say must not share weights with others, unless
// these do with the same: equal numbers for equal sets of labels, 0 for none.
std::vector<std::uint32_t> TrainingSet::also_seen_classes() const {
    if (settings.earlier) refuse("what counts as seen cannot be said when training starts from a model");
    const auto& also = settings.also_seen;
    std::unordered_map<Key, std::pair<std::size_t, std::size_t>> of_key;
    for (std::size_t i = 0; i < also.size(); ++i) {
        if (also[i].second >= n_labels()) refuse("also_seen holds a label out of range");
        of_key.try_emplace(also[i].first, i, i).first->second.second = i + 1;
    }
    std::map<std::vector<std::uint32_t>, std::uint32_t> classes;
    std::vector<std::uint32_t> out(n_attributes, 0), labels;
    for (std::size_t a = 0; a < n_attributes; ++a) {
        const auto found = of_key.find(keys[a]);
        if (found == of_key.end()) continue;
        labels.clear();
        for (std::size_t i = found->second.first; i < found->second.second; ++i) labels.push_back(also[i].second);
        out[a] = classes.try_emplace(labels, static_cast<std::uint32_t>(classes.size() + 1)).first->second;
    }
    return out;
}

// Calls visit(unit, code) for the weights that the earlier model has, if they are to be kept.
template <class Visit>
void TrainingSet::each_known(const AttributeView ModelView::* kind, const Units& of, std::span<const Key> from,
                             std::size_t n_codes, Visit visit) const {
    if (!settings.earlier || !settings.keep_known) return;
    const AttributeView& view = settings.earlier->*kind;
    for (std::size_t a = 0; a < of.of_attribute.size(); ++a) {
        const std::uint32_t unit = of.of_attribute[a];
        const std::size_t number = unit == kNoAttribute ? kNoAttribute : view.find(a, from);
        if (number != kNoAttribute) view.each(number, n_codes, [&](std::uint32_t code, float) { visit(unit, code); });
    }
}

// The labels that each unit meets in gold. Threads share the tokens where their sets are small.
LabelSets TrainingSet::seen_labels(std::size_t n_jobs) const {
    const std::size_t n_tokens = occurrences.starts.size() - 1;
    const std::size_t worth = occurrences.numbers.size() / (2 * std::max<std::size_t>(units.size(), 1));
    const bool few = n_labels() <= LabelSets::kFew && !storage;  // else the sets of one thread are large enough
    const std::size_t n = few ? std::clamp<std::size_t>(worth, 1, n_jobs) : 1;
    std::vector<LabelSets> parts(n, LabelSets(units.size(), n_labels()));
    parallel_for(n, n, [&](std::size_t part, std::size_t) {
        LabelSets& seen = parts[part];
        InterruptCheck check;
        Touches touched(storage);
        for (std::size_t t = part * n_tokens / n; t < (part + 1) * n_tokens / n; ++t) {
            check();
            touched(occurrences.bytes(t, t + 1));
            for (const std::uint16_t y : allowed(t))
                for (std::size_t i = occurrences.starts[t]; i < occurrences.starts[t + 1]; ++i) {
                    if (i + 32 < occurrences.numbers.size()) seen.fetch(occurrences.numbers[i + 32]);
                    seen.add(occurrences.numbers[i], y);
                }
        }
    });
    for (std::size_t part = 1; part < n; ++part) parts[0].add(parts[part]);
    return std::move(parts[0]);
}

void TrainingSet::find_weights(std::size_t n_jobs) {
    const std::size_t K = n_labels();
    WeightTable& table = unit_weights;
    table.starts.reserve(units.size() + 1);
    if (settings.combinations == Combinations::kAll || settings.combinations == Combinations::kStates) {
        check_weight_count(static_cast<double>(units.size()) * static_cast<double>(K));
        InterruptCheck check;
        for (std::size_t u = 0; u < units.size(); ++u) {
            check();
            for (std::uint32_t y = 0; y < K; ++y) table.labels.push_back(y);
            table.starts.push_back(static_cast<std::uint32_t>(table.labels.size()));
        }
        return;
    }
    LabelSets seen = seen_labels(n_jobs);
    InterruptCheck check;
    each_known(&ModelView::attribute, units, keys, K, [&](std::uint32_t u, std::uint32_t y) { seen.add(u, y); });
    for (std::size_t a = 0; a < units.of_attribute.size() && !settings.also_seen.empty(); ++a) {
        const std::uint32_t unit = units.of_attribute[a];
        if (unit == kNoAttribute) continue;
        const auto [begin, end] =
            std::ranges::equal_range(settings.also_seen, keys[a], {}, &std::pair<Key, std::uint32_t>::first);
        for (auto at = begin; at != end; ++at) seen.add(unit, at->second);
    }
    const bool grown = settings.combinations == Combinations::kGrown;
    for (std::size_t u = 0; u < units.size(); ++u) {
        check();
        const std::size_t before = table.labels.size();
        seen.each(u, [&](std::uint32_t y) { table.labels.push_back(y); });
        if (grown && (table.labels.size() - before > K / kFullRow || units.counts[u] * kOften >= K)) {
            table.labels.resize(before);
            for (std::uint32_t y = 0; y < K; ++y) table.labels.push_back(y);
        }
        table.starts.push_back(static_cast<std::uint32_t>(table.labels.size()));
    }
}

// Calls visit(token, pair) for every pair of labels that may stand at a token and the one before it.
template <class Visit>
void TrainingSet::each_label_pair(Visit visit) const {
    InterruptCheck check;
    Touches touched(storage);
    for (std::size_t s = 0; s < n_sequences(); ++s)
        for (std::uint64_t t = starts[s] + 1; t < starts[s + 1]; ++t) {
            check();
            touched(2);
            for (const std::uint16_t a : allowed(t - 1))
                for (const std::uint16_t b : allowed(t)) visit(t, static_cast<std::uint32_t>(a * n_labels() + b));
        }
}

bool TrainingSet::possible(std::uint32_t pair) const {
    return !constrained() || settings.constraints.transitions[pair];
}

// Label pairs are many: the seen ones of each attribute are collected and sorted, not kept as sets of bits.
void TrainingSet::find_pair_weights() {
    if (pair_units.size() == 0) return;
    const auto n_pairs = static_cast<std::uint32_t>(n_labels() * n_labels());
    WeightTable& table = pair_weights;
    std::vector<std::uint64_t> seen;
    if (settings.combinations == Combinations::kAll) {
        check_weight_count(static_cast<double>(pair_units.size()) * n_pairs);
        InterruptCheck check;
        for (std::uint64_t u = 0; u < pair_units.size(); ++u) {
            check();
            for (std::uint32_t pair = 0; pair < n_pairs; ++pair)
                if (possible(pair)) seen.push_back(u << 32 | pair);
        }
    } else {
        each_label_pair([&](std::size_t t, std::uint32_t pair) {
            if (!possible(pair)) return;
            for (std::size_t i = pair_occurrences.starts[t]; i < pair_occurrences.starts[t + 1]; ++i)
                seen.push_back(std::uint64_t{pair_occurrences.numbers[i]} << 32 | pair);
        });
        each_known(&ModelView::pair, pair_units, pair_keys, n_pairs, [&](std::uint64_t u, std::uint32_t pair) {
            if (possible(pair)) seen.push_back(u << 32 | pair);
        });
        std::ranges::sort(seen);
        seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    }
    std::size_t i = 0;
    for (std::uint64_t u = 0; u < pair_units.size(); ++u) {
        for (; i < seen.size() && seen[i] >> 32 == u; ++i) table.labels.push_back(static_cast<std::uint32_t>(seen[i]));
        table.starts.push_back(static_cast<std::uint32_t>(table.labels.size()));
    }
}

void TrainingSet::find_transitions() {
    if (!settings.transitions) return;
    const std::size_t n_pairs = n_labels() * n_labels();
    const bool only_seen =
        settings.combinations == Combinations::kSeen || settings.combinations == Combinations::kStates;
    std::vector<std::uint8_t> seen(n_pairs, !only_seen);
    if (only_seen) each_label_pair([&](std::size_t, std::uint32_t pair) { seen[pair] = 1; });
    if (settings.earlier && settings.keep_known)
        for (std::uint32_t pair = 0; pair < n_pairs; ++pair) seen[pair] |= settings.earlier->transitions[pair] != 0.0f;
    for (std::uint32_t pair = 0; pair < n_pairs; ++pair)
        if (seen[pair] && possible(pair)) transition_pairs.push_back(pair);
    transition_starts = {0, static_cast<std::uint32_t>(transition_pairs.size())};
}

void TrainingSet::drop_rare_weights() {
    const double least = settings.min_frequency;
    const auto negative = [](float value) { return value < 0.0f; };
    if (std::isinf(least) && least < 0.0) return;  // nobody wants this
    if (least <= 0.0 && std::ranges::none_of(occurrences.values, negative)) return;
    if (partly_labelled()) refuse("min_frequency counts gold labels: every token needs exactly one");
    WeightTable& table = unit_weights;
    std::vector<double> sums(table.labels.size(), 0.0), of_pair(n_labels() * n_labels(), 0.0);
    InterruptCheck check;
    Touches touched(storage);
    for (std::size_t t = 0; t + 1 < occurrences.starts.size(); ++t) {
        check();
        touched(occurrences.bytes(t, t + 1));
        for (std::size_t i = occurrences.starts[t]; i < occurrences.starts[t + 1]; ++i) {
            const std::uint32_t unit = occurrences.numbers[i];
            const auto begin = table.labels.begin() + table.starts[unit],
                       end = table.labels.begin() + table.starts[unit + 1];
            const auto at = std::lower_bound(begin, end, std::uint32_t{gold[t]});
            sums[static_cast<std::size_t>(at - table.labels.begin())] += occurrences.value(i);
        }
    }
    std::size_t kept = 0;
    for (std::size_t u = 0, begin = 0; u < units.size(); ++u) {
        const std::size_t end = table.starts[u + 1];
        for (std::size_t w = begin; w < end; ++w)
            if (frequent(sums[w], least)) table.labels[kept++] = table.labels[w];
        table.starts[u + 1] = static_cast<std::uint32_t>(kept);
        begin = end;
    }
    table.labels.resize(kept);
    each_label_pair([&](std::size_t, std::uint32_t pair) { of_pair[pair] += 1.0; });
    std::erase_if(transition_pairs, [&](std::uint32_t pair) { return !frequent(of_pair[pair], least); });
    transition_starts = {0, static_cast<std::uint32_t>(transition_pairs.size())};
}

WeightIndex TrainingSet::weight_index() const {
    const std::size_t K = n_labels();
    WeightIndex index(settings.combinations == Combinations::kGrown);
    index.add_channel(K, units.size(), unit_weights.starts, unit_weights.labels);
    index.add_channel(K * K, pair_units.size(), pair_weights.starts, pair_weights.labels);
    index.add_channel(K * K, 1, transition_starts, transition_pairs);
    return index;
}

std::size_t TrainingSet::memory_bytes() const {
    const auto bytes = [](const auto& v) {
        if constexpr (requires { v.memory_bytes(); })
            return v.memory_bytes();
        else
            return v.capacity() * sizeof(v[0]);
    };
    std::size_t total = bytes(starts) + bytes(example) + bytes(sequence) + bytes(weights) + bytes(token_weights) +
                        bytes(gold) + bytes(allowed_starts) + bytes(groups) + bytes(keys) + bytes(pair_keys) +
                        bytes(transition_pairs);
    for (const Occurrences* o : {&occurrences, &pair_occurrences})
        total += bytes(o->starts) + bytes(o->numbers) + bytes(o->values);
    for (const Units* u : {&units, &pair_units})
        total += bytes(u->of_attribute) + bytes(u->n_members) + bytes(u->counts);
    for (const WeightTable* w : {&unit_weights, &pair_weights}) total += bytes(w->starts) + bytes(w->labels);
    for (const Names* n : {&names, &pair_names}) total += bytes(n->text) + bytes(n->ends);
    return total;
}

}  // namespace tw::chain
