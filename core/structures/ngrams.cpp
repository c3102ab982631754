#include "ngrams.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <unordered_map>

#include "../base/interrupt.hpp"

namespace tw {
namespace {

using Key = std::uint64_t;

// Histories as numbers: digits of base K + 1, the newest label first, zero where there is none. So numbers ascend as
// histories do when they are read from the end.
struct Histories {
    std::size_t n_labels, order;
    const LabelRules& rules;
    Key base = n_labels + 1, top = order > 0 ? power(order - 1) : 0;

    Key power(std::size_t n) const { return n == 0 ? 1 : base * power(n - 1); }
    Key push(Key history, std::size_t label) const { return history / base + (label + 1) * top; }
    bool full(Key history) const { return order == 0 || history % base != 0; }
    Key without_oldest(Key history) const {
        Key unit = base;
        while (history % unit == 0) unit *= base;
        return history - history % unit;
    }
    bool may_come(Key history, std::size_t label) const {
        if (history == 0) return order == 0 || rules.may_start(label);
        return rules.may_follow(history / top - 1, label, n_labels);
    }
};

constexpr double kMostArcs = 1e7, kBytesPerArc = 100.0;

[[noreturn]] void refuse(std::size_t n_labels, std::size_t order) {
    double n = 0.0;
    for (std::size_t m = 0; m <= order; ++m) n += std::pow(static_cast<double>(n_labels), static_cast<double>(m + 1));
    char message[240];
    std::snprintf(message, sizeof message,
                  "order %zu with %zu labels makes %.2g n-grams, about %.1f GB, more than the %.0f allowed: lower the "
                  "order, or keep to the n-grams that occur",
                  order, n_labels, n, n * kBytesPerArc / 1e9, kMostArcs);
    throw std::invalid_argument(message);
}

// The automaton that is reached from the empty history. lead(history, label, to) says whether there is an arc, and
// where to.
template <class Lead>
NGrams automaton_of(const Histories& all, Lead lead) {
    std::vector<Key> states{0};
    std::unordered_map<Key, std::uint32_t> number{{0, 0}};
    InterruptCheck check;
    Key to;
    std::size_t n_arcs = 0;
    for (std::size_t i = 0; i < states.size(); ++i) {
        check();
        for (std::size_t k = 0; k < all.n_labels; ++k) {
            if (!lead(states[i], k, to)) continue;
            if (static_cast<double>(++n_arcs) > kMostArcs) refuse(all.n_labels, all.order);
            if (number.emplace(to, 0).second) states.push_back(to);
        }
    }
    std::ranges::sort(states);
    for (std::uint32_t s = 0; s < states.size(); ++s) number[states[s]] = s;
    NGrams out{all.n_labels, all.order, {}, {}, std::vector<std::uint32_t>(n_arcs * (all.order + 1), NGrams::kNone)};
    std::uint32_t* labels = out.labels.data();
    for (std::uint32_t s = 0; s < states.size(); ++s) {
        check();
        out.final.push_back(states[s] == 0 || all.order == 0 || all.rules.may_end(states[s] / all.top - 1));
        for (std::uint32_t k = 0; k < all.n_labels; ++k) {
            if (!lead(states[s], k, to)) continue;
            out.arcs.push_back({s, k, number.at(to)});
            Key rest = states[s];
            for (std::size_t m = 0; m < all.order; ++m, ++labels, rest /= all.base)
                if (rest % all.base != 0) *labels = static_cast<std::uint32_t>(rest % all.base - 1);
            *labels++ = k;
        }
    }
    return out;
}

void require_room(std::size_t n_labels, std::size_t order, bool all) {
    const double bits = static_cast<double>(order + 1) * std::log2(static_cast<double>(n_labels + 1));
    if (bits >= 64.0 || (all && std::pow(static_cast<double>(n_labels), static_cast<double>(order + 1)) > kMostArcs))
        refuse(n_labels, order);
}

}  // namespace

NGrams all_ngrams(std::size_t n_labels, std::size_t order, const LabelRules& rules,
                  std::span<const std::uint8_t> allowed) {
    require_room(n_labels, order, rules.moves.empty() && allowed.empty());
    const Histories all{n_labels, order, rules};
    return automaton_of(all, [&](Key history, std::size_t label, Key& to) {
        to = all.push(history, label);
        if (!all.may_come(history, label)) return false;
        if (allowed.empty() || !all.full(history)) return true;
        std::size_t at = 0;
        for (std::size_t m = 0; m < order; ++m, history /= all.base) at = at * n_labels + (history % all.base - 1);
        return allowed[at * n_labels + label] != 0;
    });
}

NGrams seen_ngrams(std::size_t n_labels, std::size_t order, std::span<const std::span<const std::uint32_t>> sequences,
                   const LabelRules& rules, Unseen unseen) {
    require_room(n_labels, order, false);
    const Histories all{n_labels, order, rules};
    std::unordered_map<Key, std::vector<std::uint8_t>> following;  // by history, a byte for each label
    const std::vector<std::uint8_t> none(n_labels, 0);
    following[0] = none;
    for (const auto sequence : sequences) {
        Key history = 0;
        for (const std::uint32_t label : sequence) {
            if (label >= n_labels) throw std::invalid_argument("a label of an n-gram is out of range");
            following[history][label] = 1;
            history = all.push(history, label);
            following.emplace(history, none);
        }
    }
    if (unseen == Unseen::kBackOff) {  // every suffix is a history too, each label at least
        std::vector<Key> met;
        for (const auto& [history, labels] : following) met.push_back(history);
        for (std::size_t k = 0; k < n_labels; ++k) met.push_back(all.push(0, k));
        for (Key history : met)
            for (; history != 0; history = all.without_oldest(history)) following.emplace(history, none);
    }
    for (auto& [history, labels] : following) {
        if (unseen == Unseen::kBackOff) std::ranges::fill(labels, 1);
        if (unseen != Unseen::kContinued) continue;
        for (Key from = history; from != 0 && labels == none;) {  // only seen at an end
            from = all.without_oldest(from);
            if (const auto found = following.find(from); found != following.end()) labels = found->second;
        }
    }
    return automaton_of(all, [&](Key history, std::size_t label, Key& to) {
        if (!following.at(history)[label] || !all.may_come(history, label)) return false;
        for (to = all.push(history, label); !following.contains(to);) to = all.without_oldest(to);
        return true;
    });
}

}  // namespace tw
