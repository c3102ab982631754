#include "examples.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "../base/checksum.hpp"
#include "../base/parallel.hpp"

namespace tw {
namespace {

constexpr std::size_t kBlockTokens = 1024;    // extracted at a time: the keys stay in cache until they are numbered
constexpr std::size_t kBlocksPerWorker = 16;  // between two meetings of the threads
constexpr std::size_t kNamesPerWorker = 256;  // new names that are worth a thread

void refuse(const std::string& message) { throw std::invalid_argument(message); }

void check_weights(std::span<const double> weights, std::size_t size, const char* name, const char* each) {
    if (weights.empty()) return;
    if (weights.size() != size)
        refuse(std::string(name) + " has " + std::to_string(weights.size()) + " entries for " + std::to_string(size) +
               " " + each);
    for (std::size_t i = 0; i < size; ++i)
        if (!(weights[i] >= 0.0 && weights[i] <= 1e100))
            refuse(std::string(name) + "[" + std::to_string(i) + "] is " + std::to_string(weights[i]) +
                   "; weights must be finite and not negative");
}

// Appends `values`, or ones, to weights that are left empty as long as all are one.
void append_weights(std::vector<double>& weights, std::size_t before, std::span<const double> values,
                    std::size_t size) {
    if (values.empty() && weights.empty()) return;
    weights.resize(before, 1.0);
    if (values.empty())
        weights.resize(before + size, 1.0);
    else
        weights.insert(weights.end(), values.begin(), values.end());
}

// Sequences first .. last - 1 of a source.
struct Block {
    std::size_t first, last;
};

std::vector<Block> blocks(const Source& source) {
    std::vector<Block> out;
    std::size_t first = 0, tokens = 0;
    for (std::size_t i = 0; i < source.n_sequences(); ++i) {
        tokens += source.length(i);
        if (tokens >= kBlockTokens || i + 1 == source.n_sequences()) {
            out.push_back({first, i + 1});
            first = i + 1;
            tokens = 0;
        }
    }
    return out;
}

void check_list(const AttributeList& list, std::size_t n_tokens) {
    if (list.n_tokens() != n_tokens || list.starts.back() != list.keys.size() ||
        (!list.values.empty() && list.values.size() != list.keys.size()))
        throw std::logic_error("a source gave attributes for another number of tokens than it has");
}

}  // namespace

Examples::Examples(unsigned bits, bool names) : hash_bits(bits), keep_names(names && bits == 0) {
    if (bits > 30) refuse("hash_bits must be at most 30, found " + std::to_string(bits));
}

void Examples::add(const Source& source, const Gold& gold, std::size_t n_jobs) {
    if (!usable) refuse("these examples were already made into an oracle, or adding to them failed: make new ones");
    std::size_t tokens = 0;
    for (std::size_t i = 0; i < source.n_sequences(); ++i) tokens += source.length(i);
    check(source, gold, tokens);
    usable = false;  // until all is there
    add_labels(source, gold, tokens);
    add_attributes(source, tokens, n_jobs);
    usable = true;
}

void Examples::check(const Source& source, const Gold& gold, std::size_t tokens) const {
    if (gold.starts.empty()) {
        if (gold.codes.size() != tokens)
            refuse("codes has " + std::to_string(gold.codes.size()) + " labels for " + std::to_string(tokens) +
                   " tokens");
    } else {
        if (gold.starts.size() != tokens + 1 || gold.starts.front() != 0 ||
            gold.starts.back() != static_cast<std::int64_t>(gold.codes.size()))
            refuse("label_starts must have one entry more than there are tokens, from 0 to the number of codes");
        if (!std::is_sorted(gold.starts.begin(), gold.starts.end())) refuse("label_starts must not decrease");
    }
    for (std::size_t i = 0; i < gold.codes.size(); ++i)
        if (gold.codes[i] < 0) refuse("codes[" + std::to_string(i) + "] is negative");
    check_weights(gold.sequence_weight, source.n_sequences(), "sequence_weight", "sequences");
    check_weights(gold.token_weight, tokens, "token_weight", "tokens");
}

void Examples::add_labels(const Source& source, const Gold& gold, std::size_t tokens) {
    append_weights(sequence_weights, n_sequences(), gold.sequence_weight, source.n_sequences());
    append_weights(token_weights, n_tokens(), gold.token_weight, tokens);
    if (!gold.starts.empty() && code_starts.empty()) {  // from now on the codes of a token have to be counted
        code_starts.resize(n_tokens() + 1);
        for (std::size_t t = 0; t <= n_tokens(); ++t) code_starts[t] = t;
    }
    if (!code_starts.empty()) {
        const std::uint64_t before = codes.size();
        for (std::size_t t = 1; t <= tokens; ++t)
            code_starts.push_back(before + (gold.starts.empty() ? t : static_cast<std::uint64_t>(gold.starts[t])));
    }
    codes.insert(codes.end(), gold.codes.begin(), gold.codes.end());
    for (std::size_t i = 0; i < source.n_sequences(); ++i)
        sequence_starts.push_back(sequence_starts.back() + source.length(i));
}

// While a block is numbered, the next ones are extracted: item 0 of a round numbers what the round before extracted.
void Examples::add_attributes(const Source& source, std::size_t tokens, std::size_t n_jobs) {
    const std::vector<Block> all = blocks(source);
    const std::size_t per_round = n_jobs <= 1 ? 1 : n_jobs * kBlocksPerWorker;
    std::vector<Attributes> ready(std::min(per_round, all.size())), coming(ready.size());
    const std::size_t tokens_before = label.starts.size() - 1;
    label.starts.reserve(label.starts.size() + tokens);
    for (std::size_t begin = 0, n_ready = 0; begin < all.size() + per_round; begin += per_round) {
        const std::size_t end = std::min(begin + per_round, all.size());
        const std::size_t n_coming = begin < end ? end - begin : 0;
        parallel_for(n_coming + 1, n_jobs, [&](std::size_t item, std::size_t) {
            if (item > 0) {
                const Block block = all[begin + item - 1];
                source.attributes(block.first, block.last, coming[item - 1]);
                return;
            }
            InterruptCheck check;
            for (std::size_t i = 0; i < n_ready; ++i) {
                check();
                const Block block = all[begin - per_round + i];
                std::size_t n = 0;
                for (std::size_t s = block.first; s < block.last; ++s) n += source.length(s);
                check_list(ready[i].label, n);
                intern(source, block.first, ready[i].label, false);
                if (ready[i].pair.keys.empty()) {
                    pair.starts.resize(pair.starts.size() + n, pair.starts.back());
                } else {
                    check_list(ready[i].pair, n);
                    intern(source, block.first, ready[i].pair, true);
                }
            }
        });
        add_names(source, false, std::max<std::size_t>(n_jobs, 1));
        add_names(source, true, std::max<std::size_t>(n_jobs, 1));
        if (begin == 0 && label.numbers.empty() && n_coming > 0) {  // room for all, judged by the first blocks
            std::size_t seen = 0, keys = 0;
            for (std::size_t i = 0; i < n_coming; ++i) {
                seen += coming[i].label.n_tokens();
                keys += coming[i].label.keys.size();
            }
            if (seen > 0 && tokens > seen)
                label.numbers.reserve(static_cast<std::size_t>(
                    1.05 * static_cast<double>(keys) * static_cast<double>(tokens) / static_cast<double>(seen)));
        }
        ready.swap(coming);
        n_ready = n_coming;
    }
    if (label.starts.size() != tokens_before + tokens + 1)
        throw std::logic_error("a source gave attributes for another number of tokens than it has");
}

void Examples::intern(const Source& source, std::size_t first_sequence, const AttributeList& from, bool pairs) {
    Occurrences& to = pairs ? pair : label;
    Index& index = pairs ? pair_index : label_index;
    std::vector<Unnamed>& unnamed = pairs ? unnamed_pairs_ : unnamed_;
    const std::size_t before = to.numbers.size();
    if (from.keys.size() > std::numeric_limits<std::uint32_t>::max() - before)
        refuse("more than 4,294,967,295 attributes of tokens in all");
    to.numbers.resize(before + from.keys.size());
    if (hash_bits) {
        for (std::size_t i = 0; i < from.keys.size(); ++i)
            to.numbers[before + i] = static_cast<std::uint32_t>(from.keys[i] >> (64 - hash_bits));
    } else {
        std::size_t sequence = first_sequence, sequence_token = 0, token = 0;  // of the latest new key
        index.intern(from.keys, to.numbers.data() + before, [&](std::size_t i) {
            if (!keep_names) return;
            while (from.starts[token + 1] <= i) ++token;
            while (token - sequence_token >= source.length(sequence)) sequence_token += source.length(sequence++);
            unnamed.push_back({sequence, static_cast<std::uint32_t>(token - sequence_token),
                               static_cast<std::uint32_t>(i - from.starts[token])});
        });
    }
    if (!from.values.empty()) {
        for (const float value : from.values)
            if (!std::isfinite(value)) refuse("the value of an attribute is not a finite number");
        const bool all_one = std::ranges::all_of(from.values, [](float value) { return value == 1.0f; });
        if (!all_one || !to.values.empty()) {
            to.values.resize(before, 1.0f);
            to.values.insert(to.values.end(), from.values.begin(), from.values.end());
        }
    } else if (!to.values.empty()) {
        to.values.resize(to.numbers.size(), 1.0f);
    }
    for (std::size_t t = 1; t < from.starts.size(); ++t)
        to.starts.push_back(static_cast<std::uint32_t>(before + from.starts[t]));
}

// Strings are made by all threads and joined in the order of the attributes.
void Examples::add_names(const Source& source, bool pairs, std::size_t n_jobs) {
    std::vector<Unnamed>& unnamed = pairs ? unnamed_pairs_ : unnamed_;
    std::vector<Names> parts(std::clamp<std::size_t>(unnamed.size() / kNamesPerWorker, 1, n_jobs));
    parallel_for(parts.size(), n_jobs, [&](std::size_t part, std::size_t) {
        const std::size_t end = (part + 1) * unnamed.size() / parts.size();
        InterruptCheck check;
        for (std::size_t j = part * unnamed.size() / parts.size(); j < end; ++j) {
            check();
            parts[part].add(source.name(unnamed[j].sequence, unnamed[j].token, unnamed[j].i, pairs));
        }
    });
    for (const Names& part : parts) (pairs ? pair_names : label_names).append(part);
    unnamed.clear();
}

Key Examples::checksum() const {
    return checksum_of(label_index.keys(), pair_index.keys(), label.starts, label.numbers, label.values, pair.starts,
                       pair.numbers, pair.values, sequence_starts, codes, code_starts, sequence_weights, token_weights);
}

std::size_t Examples::memory_bytes() const {
    const auto bytes = [](const auto& v) { return v.capacity() * sizeof(v[0]); };
    std::size_t total = bytes(sequence_starts) + bytes(codes) + bytes(code_starts) + bytes(sequence_weights) +
                        bytes(token_weights) + label_index.memory_bytes() + pair_index.memory_bytes();
    for (const Occurrences* o : {&label, &pair}) total += bytes(o->starts) + bytes(o->numbers) + bytes(o->values);
    for (const Names* n : {&label_names, &pair_names}) total += bytes(n->text) + bytes(n->ends);
    return total;
}

}  // namespace tw
