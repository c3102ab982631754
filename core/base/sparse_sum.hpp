// A sum of few of many numbers: what is met is kept in the order in which it was met first.
//
//     table   by hash of an index: (stamp, index, place among those met); entries of earlier sums have other stamps
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "../oracle.hpp"
#include "prefetch.hpp"

namespace tw {

class SparseSum {
public:
    // `counted`: some numbers stand for several, and add() says for how many.
    explicit SparseSum(bool counted = false) : counted_(counted) {}

    void begin() {
        n_ = 0;
        if (++stamp_ == 0) {
            std::ranges::fill(table_, Slot{});
            stamp_ = 1;
        }
    }
    // What the next sum will be added to: fetched as soon as it is known which numbers of it.
    void prefetch_update(const PrefetchTarget& touched) { touched_ = touched; }
    // To be called before so many numbers are added.
    void expect(std::size_t more) {
        const std::size_t most = n_ + more;
        if (most > indices_.size()) {
            indices_.resize(2 * most);
            values_.resize(2 * most);
            if (counted_) counts_.resize(2 * most);
        }
        if (2 * most > table_.size()) enlarge(2 * most);
    }
    void add(std::uint32_t index, double value, double count = 1.0) {
        Slot& slot = place(index);
        if (slot.stamp == stamp_) {
            values_[slot.at] += value;
            return;
        }
        slot = {stamp_, index, static_cast<std::uint32_t>(n_)};
        append(index, value, count);
    }
    // The same for an index that is met once only: it need not be looked for.
    void append(std::uint32_t index, double value, double count = 1.0) {
        if (touched_.numbers) fetch_ahead(static_cast<const char*>(touched_.numbers) + index * touched_.stride);
        indices_[n_] = index;
        if (counted_) counts_[n_] = count;
        values_[n_++] = value;
    }
    // Hands over what has not cancelled. `sorted`: by index, not as met.
    void end(SparseVector& out, bool sorted = false) {
        const auto resize = [&](std::size_t n) {
            out.indices.resize(n);
            out.values.resize(n);
            if (counted_) out.counts.resize(n);
        };
        resize(n_);
        std::size_t n = 0;
        for (std::size_t i = 0; i < n_; ++i) {
            out.indices[n] = indices_[i];
            out.values[n] = values_[i];
            if (counted_) out.counts[n] = counts_[i];
            n += values_[i] != 0.0;
        }
        resize(n);
        touched_ = {};
        if (!sorted || std::ranges::is_sorted(out.indices)) return;
        order_.resize(n);
        std::iota(order_.begin(), order_.end(), 0u);
        std::ranges::sort(order_, {}, [&](std::uint32_t i) { return out.indices[i]; });
        std::ranges::copy(out.indices, indices_.begin());
        std::ranges::copy(out.values, values_.begin());
        if (counted_) std::ranges::copy(out.counts, counts_.begin());
        for (std::size_t i = 0; i < n; ++i) {
            out.indices[i] = indices_[order_[i]];
            out.values[i] = values_[order_[i]];
            if (counted_) out.counts[i] = counts_[order_[i]];
        }
    }

private:
    struct Slot {
        std::uint32_t stamp = 0, index = 0, at = 0;
    };
    Slot& place(std::uint32_t index) {
        const std::size_t mask = table_.size() - 1;
        std::size_t i = (index * 0x9e3779b97f4a7c15ULL) >> shift_;
        while (table_[i].stamp == stamp_ && table_[i].index != index) i = (i + 1) & mask;
        return table_[i];
    }
    void enlarge(std::size_t size) {
        size = std::bit_ceil(std::max<std::size_t>(256, size));
        table_.assign(size, Slot{});
        shift_ = 64 - static_cast<unsigned>(std::countr_zero(size));
        stamp_ = 1;
        for (std::size_t i = 0; i < n_; ++i) place(indices_[i]) = {stamp_, indices_[i], static_cast<std::uint32_t>(i)};
    }

    bool counted_;
    std::size_t n_ = 0;
    std::vector<std::uint32_t> indices_, order_;
    std::vector<double> values_, counts_;
    std::vector<Slot> table_;
    std::uint32_t stamp_ = 0;
    unsigned shift_ = 0;
    PrefetchTarget touched_;
};

}  // namespace tw
