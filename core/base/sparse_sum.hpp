// A sum of few of many numbers: what is met is kept in the order in which it was met first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "../oracle.hpp"

namespace tw {

class SparseSum {
public:
    void add(std::uint32_t index, double value) {
        if (index >= at_.size()) at_.resize(2 * (index + std::size_t{1}), 0);
        std::uint32_t& at = at_[index];
        if (at == 0) {
            indices_.push_back(index);
            values_.push_back(0.0);
            at = static_cast<std::uint32_t>(indices_.size());
        }
        values_[at - 1] += value;
    }
    // The same for an index that is met once only: it need not be looked for.
    void append(std::uint32_t index, double value) {
        indices_.push_back(index);
        values_.push_back(value);
    }
    // Hands over what is not zero and starts again. `sorted`: by index, not as met.
    void end(SparseVector& out, bool sorted = false) {
        out.clear();
        out.indices.reserve(indices_.size());
        out.values.reserve(indices_.size());
        const auto take = [&](std::size_t i) {
            if (values_[i] == 0.0) return;
            out.indices.push_back(indices_[i]);
            out.values.push_back(values_[i]);
        };
        for (const std::uint32_t index : indices_)
            if (index < at_.size()) at_[index] = 0;
        if (sorted && !std::ranges::is_sorted(indices_)) {
            order_.resize(indices_.size());
            std::iota(order_.begin(), order_.end(), 0u);
            std::ranges::sort(order_, {}, [&](std::uint32_t i) { return indices_[i]; });
            for (const std::uint32_t i : order_) take(i);
        } else {
            for (std::size_t i = 0; i < indices_.size(); ++i) take(i);
        }
        indices_.clear();
        values_.clear();
    }

private:
    std::vector<std::uint32_t> at_;  // by index: 1 + its place among those met, or 0
    std::vector<std::uint32_t> indices_;
    std::vector<double> values_;
    std::vector<std::uint32_t> order_;
};

}  // namespace tw
