#include "dev_set.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "../base/checksum.hpp"
#include "../base/parallel.hpp"
#include "../base/semiring.hpp"
#include "../linear/key_table.hpp"
#include "batch.hpp"
#include "step_search.hpp"

namespace tw::chain {
namespace {

constexpr std::size_t kBlockTokens = 4096;

// Blocks of whole sequences, of about as many tokens each.
std::vector<std::size_t> block_ends(std::span<const std::uint64_t> starts, std::size_t tokens) {
    std::vector<std::size_t> ends;
    std::uint64_t from = 0;
    for (std::size_t s = 0; s + 1 < starts.size(); ++s)
        if (starts[s + 1] - from >= tokens || s + 2 == starts.size()) {
            ends.push_back(s + 1);
            from = starts[s + 1];
        }
    return ends;
}

// Makes of every step of one chain log-probabilities given the label before; what nothing may follow stays forbidden.
void normalise(std::size_t K, std::size_t length, std::vector<double>& unary, std::vector<double>& moves,
               std::vector<double>& start, std::vector<double>& end) {
    for (std::size_t y = 0; y < K; ++y) unary[(length - 1) * K + y] += end[y];
    const auto softmax = [K](double* row) {
        const double total = kernels().log_sum_exp(row, K);
        for (std::size_t y = 0; y < K && total != kLogZero; ++y) row[y] -= total;
    };
    for (std::size_t y = 0; y < K; ++y) unary[y] += start[y];
    softmax(unary.data());
    for (std::size_t t = 1; t < length; ++t) {
        double* row = unary.data() + t * K;
        double* step = moves.data() + (t - 1) * K * K;
        for (std::size_t x = 0; x < K; ++x, step += K) {
            for (std::size_t y = 0; y < K; ++y) step[y] += row[y];
            softmax(step);
        }
        std::fill_n(row, K, 0.0);
    }
    std::ranges::fill(start, 0.0);
    std::ranges::fill(end, 0.0);
}

std::vector<Key> table_of(const std::vector<Key>& keys, std::vector<std::uint32_t>& slots) {
    std::vector<Key> table(table_capacity(keys.size()));
    slots.resize(table.size());
    fill_table(keys, table, slots);
    return table;
}

}  // namespace

DevSet::DevSet(std::shared_ptr<const TrainingSet> set, std::shared_ptr<const WeightIndex> index,
               std::shared_ptr<const MadeDictionary> dictionary, const Source& source, std::size_t n_jobs)
    : set_(std::move(set)), index_(std::move(index)), dictionary_(std::move(dictionary)) {
    for (std::size_t i = 0; i < source.n_sequences(); ++i) starts_.push_back(starts_.back() + source.length(i));
    std::vector<std::uint32_t> slots, pair_slots;
    const std::vector<Key> keys = table_of(set_->keys, slots), pair_keys = table_of(set_->pair_keys, pair_slots);
    const auto ends = block_ends(starts_, kBlockTokens);
    const std::size_t per_round = std::max<std::size_t>(n_jobs, 1) * 4;
    const AttributeList none;
    std::vector<Attributes> blocks(std::min(per_round, ends.size()));
    for (std::size_t begin = 0; begin < ends.size(); begin += per_round) {
        const std::size_t n = std::min(per_round, ends.size() - begin);
        const auto first = [&](std::size_t i) { return begin + i == 0 ? std::size_t{0} : ends[begin + i - 1]; };
        parallel_for(n, n_jobs,
                     [&](std::size_t i, std::size_t) { source.attributes(first(i), ends[begin + i], blocks[i]); });
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t tokens = starts_[ends[begin + i]] - starts_[first(i)];
            const auto list = [&](std::string_view name) -> const AttributeList& {
                const std::size_t channel = source.find(name);
                return channel == kNoChannel ? none : blocks[i][channel];
            };
            add(list(kTokenChannel), false, keys, slots, tokens);
            add(list(kPairChannel), true, pair_keys, pair_slots, tokens);
        }
    }
}

Key DevSet::checksum() const {
    return checksum_of(starts_, terms_.starts, terms_.units, terms_.factors, pair_terms_.starts, pair_terms_.units,
                       pair_terms_.factors);
}

// Members of one unit that a token has, perhaps not all of them, add up: each counts for its share of the variable.
void DevSet::add(const AttributeList& list, bool pairs, std::span<const Key> keys, std::span<const std::uint32_t> slots,
                 std::size_t n_tokens) {
    Terms& terms = pairs ? pair_terms_ : terms_;
    if (dictionary_ && !pairs) {
        std::size_t place = 0;
        for (std::size_t t = 0; t < n_tokens; ++t)
            words_.push_back(
                list.keys.empty()
                    ? TagDictionary::kNone
                    : dictionary_->view().find(
                          std::span(list.keys).subspan(list.starts[t], list.starts[t + 1] - list.starts[t]), place));
    }
    const Units& units = pairs ? set_->pair_units : set_->units;
    if (list.keys.empty() || units.size() == 0) {
        terms.starts.resize(terms.starts.size() + n_tokens, terms.starts.back());
        return;
    }
    if (list.n_sites() != n_tokens)
        throw std::logic_error("a source gave attributes for another number of tokens than it has");
    InterruptCheck check;
    for (std::size_t t = 0; t < n_tokens; ++t) {
        check();
        const std::size_t begin = terms.units.size();
        for (std::size_t i = list.starts[t]; i < list.starts[t + 1]; ++i) {
            const std::uint32_t number = set_->hash_bits
                                             ? static_cast<std::uint32_t>(list.keys[i] >> (64 - set_->hash_bits))
                                             : KeyTable{keys, slots}.find(list.keys[i]);
            if (number == kNoAttribute || units.of_attribute[number] == kNoAttribute) continue;
            const std::uint32_t unit = units.of_attribute[number];
            const float factor =
                (list.values.empty() ? 1.0f : list.values[i]) * (pairs ? 1.0f : static_cast<float>(set_->share(unit)));
            std::size_t j = begin;
            while (j < terms.units.size() && terms.units[j] != unit) ++j;
            if (j < terms.units.size()) {
                terms.factors[j] += factor;
            } else {
                terms.units.push_back(unit);
                terms.factors.push_back(factor);
            }
        }
        if (terms.units.size() > 0xffffffffu) throw std::invalid_argument("too many attributes of tokens in all");
        terms.starts.push_back(static_cast<std::uint32_t>(terms.units.size()));
    }
}

void DevSet::argmax(std::span<const double> weights, std::span<std::int32_t> labels, std::size_t n_jobs, bool local,
                    std::size_t width) const {
    // A matrix per step belongs to one sequence: every sequence is then a block of its own.
    const auto ends = block_ends(starts_, set_->has_pair_attributes() || local ? 0 : kBlockTokens);
    parallel_for(ends.size(), n_jobs, [&](std::size_t i, std::size_t) {
        argmax_block(weights, i == 0 ? 0 : ends[i - 1], ends[i], local, width, labels.data());
    });
}

void DevSet::argmax_block(std::span<const double> weights, std::size_t first, std::size_t last, bool local,
                          std::size_t width, std::int32_t* labels) const {
    const std::size_t K = set_->n_labels(), begin = starts_[first], tokens = starts_[last] - begin;
    if (tokens == 0) return;
    std::vector<double> unary(tokens * K, 0.0), moves(K * K, 0.0), start(K, 0.0), end(K, 0.0);
    const auto add_terms = [&](const Terms& terms, const WeightTable& table, const linear::Additions& added,
                               std::size_t offset, std::size_t token, double* row) {
        for (std::size_t i = terms.starts[token]; i < terms.starts[token + 1]; ++i) {
            const double x = terms.factors[i];
            for (std::size_t w = table.starts[terms.units[i]]; w < table.starts[terms.units[i] + 1]; ++w)
                row[table.labels[w]] += x * weights[offset + w];
            added.each(terms.units[i], [&](std::uint32_t code, std::uint32_t w) { row[code] += x * weights[w]; });
        }
    };
    for (std::size_t t = 0; t < tokens; ++t)
        add_terms(terms_, set_->unit_weights, index_->added(TrainingSet::kUnits), 0, begin + t, unary.data() + t * K);
    for (std::size_t t = 0; t < tokens && dictionary_; ++t)
        if (const std::uint32_t word = words_[begin + t]; word != TagDictionary::kNone)
            dictionary_->view().limit(word, K, unary.data() + t * K);
    for (std::size_t i = 0; i < set_->transition_pairs.size(); ++i)
        moves[set_->transition_pairs[i]] = weights[set_->first_transition() + i];
    if (set_->constrained()) {
        const Constraints& c = set_->settings.constraints;
        for (std::size_t i = 0; i < K * K; ++i)
            if (!c.transitions[i]) moves[i] = kLogZero;
        for (std::size_t y = 0; y < K; ++y) {
            if (!c.start[y]) start[y] = kLogZero;
            if (!c.end[y]) end[y] = kLogZero;
        }
    }
    const auto add_pairs = [&](std::size_t t, double* step) {
        if (set_->has_pair_attributes())
            add_terms(pair_terms_, set_->pair_weights, index_->added(TrainingSet::kPairs), set_->n_unit_weights(),
                      begin + t, step);
    };
    const bool per_step = set_->has_pair_attributes() || local;
    if (per_step && !local && width == kExact) {  // one sequence
        LargeArray<double> step(K * K + kernels().width);
        StepSearch search;
        const auto moves_to = [&](std::size_t t) {
            std::ranges::copy(moves, step.begin());
            add_pairs(t, step.data());
            return step.data();
        };
        if (search.search(K, start.data(), end.data(), {unary.data(), tokens}, {}, moves_to)) {
            std::copy_n(search.labels(), tokens, labels + begin);
            return;
        }
    }
    if (per_step) {
        const std::vector<double> plain = moves;
        moves.resize(std::max<std::size_t>(tokens - 1, 1) * K * K);
        for (std::size_t t = 1; t < tokens; ++t) {
            double* step = moves.data() + (t - 1) * K * K;
            std::ranges::copy(plain, step);
            add_pairs(t, step);
        }
    }
    if (local) normalise(K, tokens, unary, moves, start, end);
    Batch batch;
    batch.potentials = {K, moves.data(), per_step, start.data(), end.data()};
    std::vector<std::int32_t*> out;
    for (std::size_t s = first; s < last; ++s) {
        batch.sequences.push_back({unary.data() + (starts_[s] - begin) * K, starts_[s + 1] - starts_[s]});
        out.push_back(labels + starts_[s]);
    }
    std::vector<double> scores(batch.sequences.size());
    tw::chain::argmax(batch, width, out, scores.data());
}

}  // namespace tw::chain
