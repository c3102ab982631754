#include "observed.hpp"

#include <stdexcept>
#include <string>

#include "../base/parallel.hpp"
#include "../base/prefetch.hpp"
#include "label_sets.hpp"

namespace tw::chain {
namespace {

void count(const TrainingSet& set, std::size_t first_group, std::size_t last_group, const LabelSets& labels,
           std::vector<double>& out) {
    out.assign(set.n_weights(), 0.0);
    const Occurrences& o = set.occurrences;
    const WeightTable& table = set.unit_weights;
    std::vector<std::uint32_t> of_pair(set.n_labels() * set.n_labels(), kNoAttribute);
    for (std::uint32_t i = 0; i < set.transition_pairs.size(); ++i) of_pair[set.transition_pairs[i]] = i;
    InterruptCheck check;
    Touches touched(set.storage);
    for (std::size_t s = set.first_sequence(first_group); s < set.first_sequence(last_group); ++s) {
        check();
        touched(o.bytes(set.starts[s], set.starts[s + 1]));
        const double weight = set.weight(s);
        for (std::size_t t = set.starts[s]; t < set.starts[s + 1]; ++t) {
            const std::uint32_t gold = set.gold[t];
            for (std::size_t i = o.starts[t]; i < o.starts[t + 1]; ++i) {
                if (i + 64 < o.numbers.size()) {  // the tables are larger than the cache
                    fetch_to_read(&table.starts[o.numbers[i + 64]]);
                    labels.fetch(o.numbers[i + 64]);
                    fetch_ahead(&out[table.starts[o.numbers[i + 32]]]);
                }
                const std::uint32_t unit = o.numbers[i];
                if (!labels.has(unit, gold)) continue;  // too rare together
                out[table.starts[unit] + labels.rank(unit, gold)] += weight * static_cast<double>(o.value(i));
            }
            if (t == set.starts[s]) continue;
            const std::uint32_t pair = of_pair[set.gold[t - 1] * set.n_labels() + gold];
            if (pair != kNoAttribute) out[set.first_transition() + pair] += weight;
        }
    }
}

}  // namespace

// Two halves, whatever the number of threads.
std::vector<double> observed_counts(const TrainingSet& set, std::size_t n_jobs) {
    const WeightTable& table = set.unit_weights;
    LabelSets labels(set.units.size(), set.n_labels());  // to find a label's weight without a search
    for (std::size_t u = 0; u < set.units.size(); ++u)
        for (std::size_t w = table.starts[u]; w < table.starts[u + 1]; ++w) labels.add(u, table.labels[w]);
    const std::vector<std::size_t> cuts = set.cuts(2);
    std::vector<double> observed, second;
    parallel_for(2, n_jobs, [&](std::size_t half, std::size_t) {
        count(set, cuts[half], cuts[half + 1], labels, half == 0 ? observed : second);
    });
    for (std::size_t w = 0; w < observed.size(); ++w) observed[w] += second[w];
    for (std::size_t u = 0; u < set.units.size(); ++u)
        for (std::size_t w = table.starts[u]; w < table.starts[u + 1]; ++w) observed[w] *= set.factor(u);
    return observed;
}

bool is_plain(const TrainingSet& set) {
    return !set.partly_labelled() && set.token_weights.empty() && set.pair_units.size() == 0;
}

void require_scale(double nu) {
    if (!(nu >= 0.0 && nu <= 1e100)) throw std::invalid_argument("the scale of the cost must be finite, not negative");
}

std::vector<std::uint32_t> sequences_of(const TrainingSet& set, std::span<const std::uint32_t> examples) {
    std::vector<std::uint32_t> sequences;
    for (const std::uint32_t i : examples) {
        if (i >= set.n_examples) throw std::invalid_argument("there is no example " + std::to_string(i));
        if (set.sequence[i] != kNoAttribute) sequences.push_back(set.sequence[i]);
    }
    return sequences;
}

}  // namespace tw::chain
