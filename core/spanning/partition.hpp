// The k best outputs where the best and the second best of a set can be found (Lawler 1972). The second best lacks a
// part of the best. Those that have the part, and those that do not, are two smaller sets whose best outputs are known;
// the next output of all is the best among the second ones of all sets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "../structures/structure.hpp"

namespace tw::spanning {

// What all outputs of a set have in common.
struct Condition {
    Part part;
    bool has_it;
};
struct SecondBest {
    Answer answer;
    Part lacks;  // of the best
};

// find_second(conditions, best) returns an optional SecondBest. Of equal scores, the one whose set was made first.
template <class FindSecond>
void k_best(std::size_t k, Answer best, const FindSecond& find_second, std::vector<Answer>& out) {
    struct Set {
        std::size_t within;  // the set that it is part of
        Condition condition;
        std::size_t best;  // in out
    };
    struct Waiting {
        SecondBest second;
        std::size_t set;
        bool operator<(const Waiting& other) const {
            const double a = second.answer.score, b = other.second.answer.score;
            return a != b ? a < b : set > other.set;
        }
    };
    std::vector<Set> sets{{0, {kNoPart, true}, 0}};
    std::vector<Waiting> heap;
    std::vector<Condition> conditions;
    const auto search = [&](std::size_t set) {
        conditions.clear();
        for (std::size_t s = set; s != 0; s = sets[s].within) conditions.push_back(sets[s].condition);
        std::optional<SecondBest> second = find_second(conditions, out[sets[set].best]);
        if (!second) return;
        heap.push_back({std::move(*second), set});
        std::push_heap(heap.begin(), heap.end());
    };
    out.push_back(std::move(best));
    if (k > 1) search(0);
    while (out.size() < k && !heap.empty()) {
        std::pop_heap(heap.begin(), heap.end());
        Waiting next = std::move(heap.back());
        heap.pop_back();
        out.push_back(std::move(next.second.answer));
        if (out.size() == k) return;
        sets.push_back({next.set, {next.second.lacks, true}, sets[next.set].best});
        sets.push_back({next.set, {next.second.lacks, false}, out.size() - 1});
        search(sets.size() - 2);
        search(sets.size() - 1);
    }
}

}  // namespace tw::spanning
