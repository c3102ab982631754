// A sum of few of many numbers: what is met is kept in the order in which it was met first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
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
    // Hands over what is not zero and starts again. `sorted`: by index, not as met.
    void end(SparseVector& out, bool sorted = false) {
        out.clear();
        if (sorted) {
            order_ = indices_;
            std::ranges::sort(order_);
        }
        for (const std::uint32_t index : sorted ? order_ : indices_) {
            const double value = values_[at_[index] - 1];
            at_[index] = 0;
            if (value == 0.0) continue;
            out.indices.push_back(index);
            out.values.push_back(value);
        }
        indices_.clear();
        values_.clear();
    }

private:
    std::vector<std::uint32_t> at_;  // by index: 1 + its place among those met, or 0
    std::vector<std::uint32_t> indices_, order_;
    std::vector<double> values_;
};

}  // namespace tw
