#include "examples.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "../base/checksum.hpp"
#include "../base/parallel.hpp"

namespace tw {
namespace {

constexpr std::size_t kBlockSites = 1024;     // extracted at a time: the keys stay in cache until they are numbered
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
template <class Weights>
void append_weights(Weights& weights, std::size_t before, std::span<const double> values, std::size_t size) {
    if (values.empty() && weights.empty()) return;
    weights.resize(before, 1.0);
    weights.resize(before + size, 1.0);
    std::copy(values.begin(), values.end(), weights.begin() + static_cast<std::ptrdiff_t>(before));
}

// Sequences first .. last - 1 of a source.
struct Block {
    std::size_t first, last;
};

std::vector<Block> blocks(const Source& source) {
    std::vector<Block> out;
    std::size_t first = 0, sites = 0;
    for (std::size_t i = 0; i < source.n_sequences(); ++i) {
        sites += source.length(i);
        if (sites >= kBlockSites || i + 1 == source.n_sequences()) {
            out.push_back({first, i + 1});
            first = i + 1;
            sites = 0;
        }
    }
    return out;
}

void check_list(const AttributeList& list, std::size_t n_sites) {
    if (list.n_sites() != n_sites || list.starts.back() != list.keys.size() ||
        (!list.values.empty() && list.values.size() != list.keys.size()))
        throw std::logic_error("a source gave attributes for another number of sites than it has");
}

template <class T>
std::size_t bytes(const std::vector<T>& v) {
    return v.capacity() * sizeof(T);
}
template <class T>
std::size_t bytes(const Stored<T>& v) {
    return v.memory_bytes();
}

// What is needed for each attribute while units are found and get weights.
constexpr std::size_t kBytesPerAttribute = 72;

}  // namespace

SiteExamples::SiteExamples(unsigned bits, bool names, StoragePointer where)
    : storage(std::move(where)), hash_bits(bits), keep_names(names && bits == 0) {
    if (bits > 30) refuse("hash_bits must be at most 30, found " + std::to_string(bits));
}

void SiteExamples::require_usable() const {
    if (!usable) refuse("these examples were already made into an oracle, or adding to them failed: make new ones");
}

// The index cannot be in a file. Units are found when it is gone; there is no more than half of it by then.
void SiteExamples::require_memory() const {
    if (!storage) return;
    std::size_t reading = 0, building = 0, freed = 0, n = 0;
    for (const ChannelExamples& channel : channels) {
        reading += channel.index.growth_bytes() + channel.names.growth_bytes();
        building += n_attributes(channel) * (kBytesPerAttribute + (hash_bits ? 0 : sizeof(Key)));
        freed += channel.index.memory_bytes();
        n += n_attributes(channel);
    }
    storage->require(std::max(reading, building > freed ? building - freed : 0), std::to_string(n) + " attributes",
                     ": hash them into fewer places (hash_bits=" + std::to_string(hash_bits > 18 ? hash_bits - 2 : 18) +
                         "), choose fewer features");
}

void SiteExamples::add(const Source& source, std::size_t n_jobs) {
    require_usable();
    usable = false;  // until all is there
    add_attributes(source, source.n_sites(), n_jobs);
    for (std::size_t i = 0; i < source.n_sequences(); ++i)
        sequence_starts.push_back(sequence_starts.back() + source.length(i));
    usable = true;
}

void SiteExamples::add_only(const Source& source, std::span<const std::uint64_t> sites) {
    require_usable();
    closed = hash_bits == 0;
    const auto names = source.channels();
    for (const std::string_view name : names) made(name);
    Attributes attributes;
    AttributeList kept;
    std::vector<std::uint32_t> numbers;
    std::size_t before = 0, next = 0;  // the site that a block begins with; and which of `sites` comes next
    for (const Block& block : closed ? blocks(source) : std::vector<Block>{}) {
        std::size_t n = 0;
        for (std::size_t i = block.first; i < block.last; ++i) n += source.length(i);
        source.attributes(block.first, block.last, attributes);
        const std::size_t first = next;
        for (std::size_t c = 0; c < names.size(); ++c) {
            ChannelExamples& to = made(names[c]);
            std::size_t sequence = block.first, begin = before;  // where the sequence of a site begins
            for (next = first; next < sites.size() && sites[next] < before + n; ++next) {
                while (sites[next] - begin >= source.length(sequence)) begin += source.length(sequence++);
                const AttributeList& list = attributes[c];
                const std::size_t at = sites[next] - before, start = list.starts[at];
                const std::span<const Key> keys(list.keys.data() + start, list.starts[at + 1] - start);
                numbers.resize(keys.size());
                to.index.intern(keys, numbers.data(), [&](std::size_t i) {
                    if (keep_names) to.names.add(source.name(sequence, sites[next] - begin, i, c));
                });
            }
        }
        before += n;
    }
}

const ChannelExamples& SiteExamples::channel(std::string_view name) const {
    const auto found = std::ranges::find(channels, name, &ChannelExamples::name);
    if (found == channels.end()) refuse("the examples have no channel " + std::string(name));
    return *found;
}

ChannelExamples& SiteExamples::made(std::string_view name) {
    const auto found = std::ranges::find(channels, name, &ChannelExamples::name);
    if (found != channels.end()) return *found;
    ChannelExamples& channel = channels.emplace_back();
    channel.name = name;
    channel.occurrences = Occurrences(storage);
    channel.occurrences.starts.resize(n_sites() + 1, 0);
    return channel;
}

// While a block is numbered, the next ones are extracted: item 0 of a round numbers what the round before extracted.
void SiteExamples::add_attributes(const Source& source, std::size_t n_new, std::size_t n_jobs) {
    const auto names = source.channels();
    for (const std::string_view name : names) made(name);
    std::vector<ChannelExamples*> to;  // by channel of the source
    for (const std::string_view name : names) to.push_back(&made(name));
    std::vector<std::vector<Unnamed>> unnamed(to.size());
    const std::vector<Block> all = blocks(source);
    const std::size_t per_round = n_jobs <= 1 ? 1 : n_jobs * kBlocksPerWorker;
    std::vector<Attributes> ready(std::min(per_round, all.size())), coming(ready.size());
    for (ChannelExamples* channel : to) channel->occurrences.starts.reserve(channel->occurrences.starts.size() + n_new);
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
                for (std::size_t c = 0; c < to.size(); ++c) {
                    check_list(ready[i][c], n);
                    intern(source, block.first, ready[i][c], *to[c], unnamed[c]);
                }
            }
        });
        for (std::size_t c = 0; c < to.size(); ++c)
            add_names(source, c, *to[c], unnamed[c], std::max<std::size_t>(n_jobs, 1));
        require_memory();
        for (ChannelExamples* channel : to) {  // of those that know their attributes, by the first sixteenth
            Occurrences& o = channel->occurrences;
            const std::size_t seen = o.starts.size() - 1 - n_sites();
            if (closed && !storage && n_sites() == 0 && seen * 16 >= n_new && seen * 8 < n_new)
                o.numbers.reserve(static_cast<std::size_t>(1.1 * static_cast<double>(o.numbers.size()) *
                                                           static_cast<double>(n_new) / static_cast<double>(seen)));
        }
        for (std::size_t c = 0; c < to.size() && begin == 0 && n_coming > 0;
             ++c) {  // room for all, by the first blocks
            if (!to[c]->occurrences.numbers.empty()) continue;
            std::size_t seen = 0, keys = 0;
            for (std::size_t i = 0; i < n_coming; ++i) {
                seen += coming[i][c].n_sites();
                keys += coming[i][c].keys.size();
            }
            if (seen > 0 && n_new > seen && !closed && !storage)
                to[c]->occurrences.numbers.reserve(static_cast<std::size_t>(
                    1.05 * static_cast<double>(keys) * static_cast<double>(n_new) / static_cast<double>(seen)));
        }
        ready.swap(coming);
        n_ready = n_coming;
    }
    for (ChannelExamples& channel : channels) {  // those that this source has not have no attributes here
        Occurrences& o = channel.occurrences;
        if (o.starts.size() == n_sites() + 1) o.starts.resize(n_sites() + n_new + 1, o.starts.back());
        if (o.starts.size() != n_sites() + n_new + 1)
            throw std::logic_error("a source gave attributes for another number of sites than it has");
    }
}

void SiteExamples::intern(const Source& source, std::size_t first_sequence, const AttributeList& from,
                          ChannelExamples& channel, std::vector<Unnamed>& unnamed) const {
    if (closed) return find_known(from, channel);
    Occurrences& to = channel.occurrences;
    const std::size_t before = to.numbers.size();
    if (from.keys.size() > std::numeric_limits<std::uint32_t>::max() - before)
        refuse("more than 4,294,967,295 attributes in all");
    to.numbers.resize_anyhow(before + from.keys.size());
    if (storage) storage->touch(from.keys.size() * sizeof(std::uint32_t));
    if (hash_bits) {
        for (std::size_t i = 0; i < from.keys.size(); ++i)
            to.numbers[before + i] = static_cast<std::uint32_t>(from.keys[i] >> (64 - hash_bits));
    } else {
        std::size_t sequence = first_sequence, sequence_site = 0, site = 0;  // of the latest new key
        channel.index.intern(from.keys, to.numbers.data() + before, [&](std::size_t i) {
            if (!keep_names) return;
            while (from.starts[site + 1] <= i) ++site;
            while (site - sequence_site >= source.length(sequence)) sequence_site += source.length(sequence++);
            unnamed.push_back({sequence, static_cast<std::uint32_t>(site - sequence_site),
                               static_cast<std::uint32_t>(i - from.starts[site])});
        });
    }
    if (!from.values.empty()) {
        for (const float value : from.values)
            if (!std::isfinite(value)) refuse("the value of an attribute is not a finite number");
        const bool all_one = std::ranges::all_of(from.values, [](float value) { return value == 1.0f; });
        if (!all_one || !to.values.empty()) {
            to.values.resize(before, 1.0f);
            to.values.append(from.values);
        }
    } else if (!to.values.empty()) {
        to.values.resize(to.numbers.size(), 1.0f);
    }
    for (std::size_t t = 1; t < from.starts.size(); ++t)
        to.starts.push_back(static_cast<std::uint32_t>(before + from.starts[t]));
}

void SiteExamples::find_known(const AttributeList& from, ChannelExamples& channel) const {
    Occurrences& to = channel.occurrences;
    if (from.keys.size() > std::numeric_limits<std::uint32_t>::max() - to.numbers.size())
        refuse("more than 4,294,967,295 attributes in all");
    if (!from.values.empty()) to.values.resize(to.numbers.size(), 1.0f);
    std::size_t at = 0;
    std::vector<std::uint32_t> numbers(from.keys.size());
    channel.index.find(from.keys, numbers.data());
    for (std::size_t t = 1; t < from.starts.size(); ++t) {
        for (; at < from.starts[t]; ++at) {
            if (numbers[at] == kNoAttribute) continue;
            to.numbers.push_back(numbers[at]);
            if (!from.values.empty() || !to.values.empty())
                to.values.push_back(from.values.empty() ? 1.0f : from.values[at]);
        }
        to.starts.push_back(static_cast<std::uint32_t>(to.numbers.size()));
    }
}

// Strings are made by all threads and joined in the order of the attributes.
void SiteExamples::add_names(const Source& source, std::size_t channel, ChannelExamples& to,
                             std::vector<Unnamed>& unnamed, std::size_t n_jobs) const {
    std::vector<Names> parts(std::clamp<std::size_t>(unnamed.size() / kNamesPerWorker, 1, n_jobs));
    parallel_for(parts.size(), n_jobs, [&](std::size_t part, std::size_t) {
        const std::size_t end = (part + 1) * unnamed.size() / parts.size();
        InterruptCheck check;
        for (std::size_t j = part * unnamed.size() / parts.size(); j < end; ++j) {
            check();
            parts[part].add(source.name(unnamed[j].sequence, unnamed[j].site, unnamed[j].i, channel));
        }
    });
    for (const Names& part : parts) to.names.append(part);
    unnamed.clear();
}

Key SiteExamples::checksum() const {
    Key sum = checksum_of(sequence_starts);
    for (const ChannelExamples& channel : channels) {
        const Occurrences& o = channel.occurrences;
        if (!o.numbers.empty())
            sum = checksum_of(std::array{sum}, channel.name, channel.index.keys(), o.starts, o.numbers, o.values);
    }
    return sum;
}

std::size_t SiteExamples::memory_bytes() const {
    std::size_t total = bytes(sequence_starts);
    for (const ChannelExamples& channel : channels) {
        const Occurrences& o = channel.occurrences;
        total += channel.index.memory_bytes() + bytes(o.starts) + bytes(o.numbers) + bytes(o.values) +
                 bytes(channel.names.text) + bytes(channel.names.ends);
    }
    return total;
}

void Examples::add(const Source& source, const Gold& gold, std::size_t n_jobs) {
    require_usable();
    const std::size_t n_before = n_sequences(), tokens_before = n_tokens();
    check(source, gold, source.n_sites());
    SiteExamples::add(source, n_jobs);
    usable = false;  // until all is there
    add_labels(gold, n_before, tokens_before);
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

void Examples::add_labels(const Gold& gold, std::size_t n_before, std::size_t tokens_before) {
    const std::size_t tokens = n_tokens() - tokens_before;
    append_weights(sequence_weights, n_before, gold.sequence_weight, n_sequences() - n_before);
    append_weights(token_weights, tokens_before, gold.token_weight, tokens);
    if (!gold.starts.empty() && code_starts.empty()) {  // from now on the codes of a token have to be counted
        code_starts.resize(tokens_before + 1);
        for (std::size_t t = 0; t <= tokens_before; ++t) code_starts[t] = t;
    }
    if (!code_starts.empty()) {
        const std::uint64_t before = codes.size();
        for (std::size_t t = 1; t <= tokens; ++t)
            code_starts.push_back(before + (gold.starts.empty() ? t : static_cast<std::uint64_t>(gold.starts[t])));
    }
    codes.append(gold.codes);
}

Key Examples::checksum() const {
    return checksum_of(std::array{SiteExamples::checksum()}, codes, code_starts, sequence_weights, token_weights);
}

std::size_t Examples::memory_bytes() const {
    return SiteExamples::memory_bytes() + bytes(codes) + bytes(code_starts) + bytes(sequence_weights) +
           bytes(token_weights);
}

}  // namespace tw
