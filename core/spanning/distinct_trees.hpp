// Trees drawn one after the other without repetition: each from the distribution over those that are left.
//
// Trees are drawn again while repetitions are few. After that a tree is a sequence of choices, one for each word, which
// are made as in hypergraph/distinct_samples.hpp: beginnings of trees wait in a heap by the largest perturbed score of
// a tree that begins like them (Kool, van Hoof & Welling 2020, sec. 3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "../base/gumbel.hpp"
#include "../base/interrupt.hpp"
#include "../base/semiring.hpp"
#include "../structures/structure.hpp"

namespace tw::spanning {

// sample(parts) draws a tree. conditional(choices, log_p): the log-probabilities of the next choice. complete(choices,
// parts): the tree that n_choices of them make.
template <class Sample, class Conditional, class Complete>
std::vector<Parts> distinct_trees(std::size_t n, std::size_t n_choices, const std::function<double()>& draw,
                                  const Sample& sample, const Conditional& conditional, const Complete& complete) {
    struct Beginning {
        double perturbed, log_probability;
        std::vector<std::uint32_t> choices;
        bool operator<(const Beginning& other) const { return perturbed < other.perturbed; }
    };
    InterruptCheck check;
    std::vector<Parts> out;
    std::set<Parts> known;
    const auto add = [&](Parts parts) {
        if (known.insert(parts).second) out.push_back(std::move(parts));
    };
    // However many are wanted, there may be few: tries are counted against those that were found.
    for (std::size_t tries = 0; out.size() < n && tries < 2 * out.size() + 10; ++tries) {
        check();
        add(sample());
    }
    if (out.size() == n) return out;
    std::vector<Beginning> heap{{gumbel(draw()), 0.0, {}}};
    std::vector<double> log_p, perturbed;
    while (out.size() < n && !heap.empty()) {
        check();
        std::pop_heap(heap.begin(), heap.end());
        const Beginning from = std::move(heap.back());
        heap.pop_back();
        if (from.choices.size() == n_choices) {
            add(complete(from.choices));
            continue;
        }
        conditional(from.choices, log_p);
        perturbed.clear();
        for (double& p : log_p) perturbed.push_back((p += from.log_probability) + gumbel(draw()));
        const double largest = *std::ranges::max_element(perturbed);
        for (std::uint32_t i = 0; i < log_p.size(); ++i) {
            if (log_p[i] == kLogZero) continue;
            Beginning next{given_largest(perturbed[i], largest, from.perturbed), log_p[i], from.choices};
            next.choices.push_back(i);
            heap.push_back(std::move(next));
            std::push_heap(heap.begin(), heap.end());
        }
    }
    return out;
}

}  // namespace tw::spanning
