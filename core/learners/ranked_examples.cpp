#include "ranked_examples.hpp"

#include <stdexcept>

#include "../base/parallel.hpp"

namespace tw::learners {

bool RankedExamples::complete(const AveragedWeights& w, std::size_t example) {
    Output best = partial_->best_allowed(w.view(), example);
    const bool changed = gold_[example] && gold_[example]->code != best.code;
    gold_[example] = std::move(best);
    return changed;
}

std::vector<std::uint32_t> RankedExamples::stale(const AveragedWeights& w, std::size_t n_jobs) const {
    std::vector<std::uint8_t> other(gold_.size(), 0);
    parallel_for(gold_.size(), n_jobs, [&](std::size_t i, std::size_t) {
        if (example_weight(i) != 0.0 && gold_[i]) other[i] = gold_[i]->code != partial_->best_allowed(w.view(), i).code;
    });
    std::vector<std::uint32_t> out;
    for (std::uint32_t i = 0; i < other.size(); ++i)
        if (other[i]) out.push_back(i);
    return out;
}

void RankedExamples::save(State& state) const {
    if (!partial_) return;
    std::vector<double> sizes, codes;  // sizes: -1 where gold was not yet looked for
    for (const std::optional<Output>& gold : gold_) {
        sizes.push_back(gold ? static_cast<double>(gold->code.size()) : -1.0);
        if (gold) codes.insert(codes.end(), gold->code.begin(), gold->code.end());
    }
    state["gold_sizes"] = std::move(sizes);
    state["gold_codes"] = std::move(codes);
}

void RankedExamples::load(const State& state) {
    if (!partial_) return;
    const auto& sizes = numbers(state, "gold_sizes", gold_.size());
    const auto& codes = any_numbers(state, "gold_codes");
    std::size_t from = 0;
    for (std::size_t i = 0; i < gold_.size(); ++i) {
        gold_[i].reset();
        if (sizes[i] < 0.0) continue;
        if (!(sizes[i] <= static_cast<double>(codes.size() - from)))
            throw std::invalid_argument("state['gold_codes'] is of another training set");
        Output& gold = gold_[i].emplace();
        for (const std::size_t end = from + static_cast<std::size_t>(sizes[i]); from < end; ++from) {
            if (!(codes[from] >= 0.0 && codes[from] < 4294967296.0))
                throw std::invalid_argument("state['gold_codes'] is of another training set");
            gold.code.push_back(static_cast<std::uint32_t>(codes[from]));
        }
    }
}

}  // namespace tw::learners
