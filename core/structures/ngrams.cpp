#include "ngrams.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

#include "../base/interrupt.hpp"

namespace tw {
namespace {

constexpr double kMostArcs = 1e7, kBytesPerArc = 100.0;

using Key = std::uint64_t;

// Histories as numbers: digits of base K + 1, the newest label first, zero where there is none. So numbers ascend as
// histories do when they are read from the end.
struct Histories {
    std::size_t n_labels, order;
    Key base, top = 0;

    Histories(std::size_t labels, std::size_t length) : n_labels(labels), order(length), base(labels + 1) {
        if (static_cast<double>(order + 1) * std::log2(static_cast<double>(base)) >= 64.0)
            throw std::invalid_argument("order " + std::to_string(order) + " is too high for " +
                                        std::to_string(labels) + " labels: lower the order");
        if (order > 0) top = 1;
        for (std::size_t m = 1; m < order; ++m) top *= base;
    }
    Key push(Key history, std::size_t label) const { return history / base + (label + 1) * top; }
    bool full(Key history) const { return order == 0 || history % base != 0; }
    std::uint32_t newest(Key history) const {
        return history == 0 ? NGrams::kNone : static_cast<std::uint32_t>(history / top - 1);
    }
    // Without its oldest label.
    Key shorter(Key history) const {
        Key unit = 1;
        while (history % (unit * base) == 0) unit *= base;
        return history - history % (unit * base);
    }
};

bool may_come(const LabelRules& rules, const Histories& all, Key history, std::size_t label) {
    const std::uint32_t last = all.newest(history);
    return last == NGrams::kNone ? all.order == 0 || rules.may_start(label)
                                 : rules.may_follow(last, label, all.n_labels);
}

void require_room(double n_arcs, const Histories& all) {
    if (n_arcs <= kMostArcs) return;
    char message[240];
    std::snprintf(message, sizeof message,
                  "order %zu with %zu labels makes %.2g n-grams, about %.1f GB, more than the %.0f allowed: lower the "
                  "order, or keep to the n-grams that occur",
                  all.order, all.n_labels, n_arcs, n_arcs * kBytesPerArc / 1e9, kMostArcs);
    throw std::invalid_argument(message);
}

// Makes states of the histories, in ascending order, and arcs of all (history, label) for which target(history, label,
// to) says where they lead.
template <class Target>
NGrams automaton_of(std::vector<Key> states, const Histories& all, const LabelRules& rules, Target target) {
    NGrams out{all.n_labels, all.order, {}, {}, {}};
    std::ranges::sort(states);
    states.erase(std::unique(states.begin(), states.end()), states.end());
    std::unordered_map<Key, std::uint32_t> number;
    for (std::uint32_t s = 0; s < states.size(); ++s) number.emplace(states[s], s);
    InterruptCheck check;
    for (std::uint32_t s = 0; s < states.size(); ++s) {
        check();
        const std::uint32_t last = all.newest(states[s]);
        out.final.push_back(last == NGrams::kNone || rules.may_end(last));
        for (std::uint32_t k = 0; k < all.n_labels; ++k) {
            Key to;
            if (!target(states[s], k, to)) continue;
            out.arcs.push_back({s, k, number.at(to)});
            const std::size_t begin = out.labels.size();
            out.labels.resize(begin + all.order + 1, NGrams::kNone);
            out.labels.back() = k;
            Key rest = states[s];
            for (std::size_t m = 0; m < all.order; ++m, rest /= all.base)
                if (rest % all.base) out.labels[begin + m] = static_cast<std::uint32_t>(rest % all.base - 1);
        }
    }
    require_room(static_cast<double>(out.arcs.size()), all);
    return out;
}

// How many n-grams the rules leave, those of the beginning included: counted by their last labels.
double count(const Histories& all, const LabelRules& rules) {
    const std::size_t K = all.n_labels;
    std::vector<double> first(K), any(K, 1.0), next(K);
    for (std::size_t k = 0; k < K; ++k) first[k] = all.order == 0 || rules.may_start(k);
    const auto extend = [&](std::vector<double>& by_last) {
        std::ranges::fill(next, 0.0);
        for (std::size_t a = 0; a < K; ++a)
            for (std::size_t b = 0; b < K; ++b)
                if (rules.may_follow(a, b, K)) next[b] += by_last[a];
        by_last.swap(next);
    };
    double total = 0.0;
    for (std::size_t m = 0; m < all.order; ++m) {
        total += std::accumulate(first.begin(), first.end(), 0.0);
        extend(first);
        extend(any);
    }
    return total + std::accumulate(any.begin(), any.end(), 0.0);
}

}  // namespace

NGrams all_ngrams(std::size_t n_labels, std::size_t order, const LabelRules& rules,
                  std::span<const std::uint8_t> allowed) {
    const Histories all(n_labels, order);
    require_room(count(all, rules), all);
    const auto target = [&](Key history, std::size_t label, Key& to) {
        if (!may_come(rules, all, history, label)) return false;
        to = all.push(history, label);
        if (allowed.empty() || !all.full(history)) return true;
        std::size_t at = 0;
        Key rest = history;
        for (std::size_t m = 0; m < order; ++m, rest /= all.base) at = at * n_labels + (rest % all.base - 1);
        return allowed[at * n_labels + label] != 0;
    };
    std::vector<Key> states{0};
    std::unordered_set<Key> met{0};
    Key to;
    for (std::size_t i = 0; i < states.size(); ++i)
        for (std::size_t k = 0; k < n_labels; ++k)
            if (target(states[i], k, to) && met.insert(to).second) states.push_back(to);
    return automaton_of(std::move(states), all, rules, target);
}

NGrams seen_ngrams(std::size_t n_labels, std::size_t order, std::span<const std::span<const std::uint32_t>> sequences,
                   const LabelRules& rules, Unseen unseen) {
    const Histories all(n_labels, order);
    std::unordered_map<Key, std::vector<std::uint8_t>> following;  // by history, a byte for each label
    following[0].resize(n_labels);
    for (const auto sequence : sequences) {
        Key history = 0;
        for (const std::uint32_t label : sequence) {
            if (label >= n_labels) throw std::invalid_argument("a label of an n-gram is out of range");
            following[history][label] = 1;
            history = all.push(history, label);
            following[history].resize(n_labels);
        }
    }
    if (unseen == Unseen::kBackOff) {  // every suffix is a history too, each label at least
        std::vector<Key> met;
        for (const auto& [history, labels] : following) met.push_back(history);
        for (std::size_t k = 0; k < n_labels; ++k) met.push_back(all.push(0, k));
        for (Key history : met)
            for (; history != 0; history = all.shorter(history)) following[history].resize(n_labels);
    }
    std::vector<Key> states;
    for (auto& [history, labels] : following) {
        states.push_back(history);
        if (unseen == Unseen::kBackOff) std::ranges::fill(labels, 1);
        if (unseen == Unseen::kForbidden) continue;
        for (Key from = history; from != 0 && std::ranges::find(labels, 1) == labels.end();) {
            from = all.shorter(from);
            if (const auto found = following.find(from); found != following.end()) labels = found->second;
        }
    }
    return automaton_of(std::move(states), all, rules, [&](Key history, std::size_t label, Key& to) {
        if (!following.at(history)[label] || !may_come(rules, all, history, label)) return false;
        for (to = all.push(history, label); to != 0 && !following.contains(to);) to = all.shorter(to);
        return true;
    });
}

NGrams::Codes NGrams::codes(std::size_t n) const {
    if (n == 0 || n > order + 1) throw std::invalid_argument("n-grams have from 1 to order + 1 labels");
    Codes out;
    const auto ngram = [&](std::size_t arc) { return std::span(labels).subspan((arc + 1) * (order + 1) - n, n); };
    std::vector<std::uint32_t> by_ngram;
    for (std::uint32_t a = 0; a < arcs.size(); ++a)
        if (ngram(a)[0] != kNone) by_ngram.push_back(a);
    std::ranges::sort(by_ngram, [&](std::uint32_t a, std::uint32_t b) {
        return std::ranges::lexicographical_compare(ngram(a), ngram(b));
    });
    out.of_arcs.assign(arcs.size(), kNone);
    for (std::size_t i = 0; i < by_ngram.size(); ++i) {
        if (i == 0 || !std::ranges::equal(ngram(by_ngram[i]), ngram(by_ngram[i - 1])))
            out.ngrams.insert(out.ngrams.end(), ngram(by_ngram[i]).begin(), ngram(by_ngram[i]).end());
        out.of_arcs[by_ngram[i]] = static_cast<std::uint32_t>(out.ngrams.size() / n - 1);
    }
    return out;
}

}  // namespace tw
