#include "vocabulary.hpp"

#include <algorithm>
#include <stdexcept>

#include "../base/interrupt.hpp"
#include "../linear/units.hpp"

namespace tw::chain {
namespace {

void require_order(const Examples& examples, std::span<const std::int32_t> order, std::size_t n_labels) {
    for (const std::int32_t code : examples.codes)
        if (static_cast<std::size_t>(code) >= order.size()) throw std::invalid_argument("order has too few entries");
    for (const std::int32_t label : order)
        if (label < 0 || static_cast<std::size_t>(label) >= n_labels)
            throw std::invalid_argument("order holds a label out of range");
}

// Calls visit(token, code) for every pair of labels that may stand at a token and the one before it.
template <class Visit>
void each_label_pair(const Examples& examples, std::span<const std::int32_t> order, std::size_t n_labels, Visit visit) {
    InterruptCheck check;
    const auto& starts = examples.sequence_starts;
    for (std::size_t s = 0; s + 1 < starts.size(); ++s)
        for (std::uint64_t t = starts[s] + 1; t < starts[s + 1]; ++t) {
            check();
            for (const std::int32_t a : examples.allowed(t - 1))
                for (const std::int32_t b : examples.allowed(t))
                    visit(t, static_cast<std::uint32_t>(static_cast<std::size_t>(order[a]) * n_labels +
                                                        static_cast<std::size_t>(order[b])));
        }
}

// (attribute, code) as one number each, rising, none twice.
class SeenCodes {
public:
    explicit SeenCodes(const Occurrences& occurrences) : occurrences_(occurrences) {}
    void add(std::size_t site, std::uint32_t code) {
        for (std::size_t i = occurrences_.starts[site]; i < occurrences_.starts[site + 1]; ++i)
            found_.push_back(std::uint64_t{occurrences_.numbers[i]} << 32 | code);
        if (found_.size() >= most_) tidy();
    }
    std::vector<std::uint64_t> take() {
        tidy();
        return std::move(found_);
    }

private:
    void tidy() {
        std::ranges::sort(found_);
        found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
        most_ = std::max(kLeast, 2 * found_.size());
    }
    static constexpr std::size_t kLeast = std::size_t{1} << 22;
    const Occurrences& occurrences_;
    std::vector<std::uint64_t> found_;
    std::size_t most_ = kLeast;
};

}  // namespace

Vocabulary vocabulary(const Examples& examples, std::string_view name, std::span<const std::int32_t> order,
                      std::size_t n_labels, bool seen) {
    if (!examples.usable) throw std::invalid_argument("these examples were already made into an oracle");
    require_order(examples, order, n_labels);
    Vocabulary out;
    const auto found = std::ranges::find(examples.channels, name, &ChannelExamples::name);
    if (found == examples.channels.end()) return out;
    const Occurrences& occurrences = found->occurrences;
    std::vector<std::uint32_t> counts(examples.n_attributes(*found), 0);
    for (const std::uint32_t number : occurrences.numbers) counts[number] += counts[number] != 0xffffffffu;
    const bool of_pairs = name == kPairChannel;
    const Candidates all{counts, 1, {}, false};
    const Units units = of_pairs ? apart(all) : merge(occurrences, all);
    check_interrupt();

    SeenCodes codes(occurrences);
    InterruptCheck check;
    if (seen && of_pairs)
        each_label_pair(examples, order, n_labels, [&](std::uint64_t t, std::uint32_t pair) { codes.add(t, pair); });
    for (std::size_t t = 0; seen && !of_pairs && t < examples.n_tokens(); ++t) {
        check();
        for (const std::int32_t code : examples.allowed(t)) codes.add(t, static_cast<std::uint32_t>(order[code]));
    }
    const std::vector<std::uint64_t> pairs = codes.take();
    std::size_t i = 0;
    for (std::uint32_t a = 0; a < counts.size(); ++a) {
        if (counts[a] == 0) continue;
        out.keys.push_back(examples.hash_bits ? Key{a} : found->index.keys()[a]);
        out.counts.push_back(counts[a]);
        out.classes.push_back(units.of_attribute[a]);
        for (; i < pairs.size() && pairs[i] >> 32 == a; ++i) out.codes.push_back(static_cast<std::uint32_t>(pairs[i]));
        out.starts.push_back(static_cast<std::uint32_t>(out.codes.size()));
        if (found->names.ends.empty()) continue;
        const std::size_t begin = a == 0 ? 0 : found->names.ends[a - 1];
        out.names.add({found->names.text.data() + begin, found->names.ends[a] - begin});
    }
    return out;
}

std::vector<std::uint32_t> seen_transitions(const Examples& examples, std::span<const std::int32_t> order,
                                            std::size_t n_labels) {
    require_order(examples, order, n_labels);
    std::vector<std::uint8_t> seen(n_labels * n_labels, 0);
    each_label_pair(examples, order, n_labels, [&](std::uint64_t, std::uint32_t pair) { seen[pair] = 1; });
    std::vector<std::uint32_t> out;
    for (std::uint32_t pair = 0; pair < seen.size(); ++pair)
        if (seen[pair]) out.push_back(pair);
    return out;
}

}  // namespace tw::chain
