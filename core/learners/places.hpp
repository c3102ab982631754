// Sums and products of two sparse vectors whose indices are in no order: where each weight lies in one of them is
// written down in an array over all weights, and wiped out after.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../oracle.hpp"

namespace tw::learners {

class Places {
public:
    void grow(std::size_t n_weights) {
        if (place_.size() < n_weights) place_.resize(n_weights, 0);
    }

    double dot(const SparseVector& x, const SparseVector& y) {
        mark(x);
        double sum = 0.0;
        for (std::size_t i = 0; i < y.size(); ++i)
            if (const std::uint32_t place = place_[y.indices[i]]) sum += y.values[i] * x.values[place - 1];
        wipe(x);
        return sum;
    }

    // to += factor * x
    void add(SparseVector& to, const SparseVector& x, double factor) {
        mark(to);
        for (std::size_t i = 0; i < x.size(); ++i) {
            std::uint32_t& place = place_[x.indices[i]];
            if (place == 0) {
                to.indices.push_back(x.indices[i]);
                to.values.push_back(0.0);
                place = static_cast<std::uint32_t>(to.size());
            }
            to.values[place - 1] += factor * x.values[i];
        }
        wipe(to);
    }

    std::size_t memory_bytes() const { return place_.capacity() * sizeof(place_[0]); }

private:
    void mark(const SparseVector& x) {
        for (std::size_t i = 0; i < x.size(); ++i) place_[x.indices[i]] = static_cast<std::uint32_t>(i + 1);
    }
    void wipe(const SparseVector& x) {
        for (const std::uint32_t j : x.indices) place_[j] = 0;
    }

    std::vector<std::uint32_t> place_;  // plus one; zero where there is none
};

}  // namespace tw::learners
