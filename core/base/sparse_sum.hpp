// A sum of few of many numbers: what is met is kept in the order in which it was met first.
#pragma once

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
    // Hands over what is not zero and starts again.
    void end(SparseVector& out) {
        out.clear();
        for (std::size_t i = 0; i < indices_.size(); ++i) {
            at_[indices_[i]] = 0;
            if (values_[i] == 0.0) continue;
            out.indices.push_back(indices_[i]);
            out.values.push_back(values_[i]);
        }
        indices_.clear();
        values_.clear();
    }

private:
    std::vector<std::uint32_t> at_;  // by index: 1 + its place among those met, or 0
    std::vector<std::uint32_t> indices_;
    std::vector<double> values_;
};

}  // namespace tw
