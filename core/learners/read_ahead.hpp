// Tells an oracle in time which examples a learner will visit, so that what is in files has been read by then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "../oracle.hpp"

namespace tw::learners {

class ReadAhead {
public:
    // `hints` may be null; the order must stay.
    ReadAhead(const Hints* hints, std::span<const std::uint32_t> order) : hints_(hints), order_(order) {}

    // To be called before the visit with this place in the order.
    void at(std::size_t i) {
        if (hints_ == nullptr || i + kExamples <= next_ || next_ == order_.size()) return;
        const std::size_t n = std::min(kExamples, order_.size() - next_);
        hints_->read_ahead(order_.subspan(next_, n));
        next_ += n;
    }

private:
    static constexpr std::size_t kExamples = 64;

    const Hints* hints_;
    std::span<const std::uint32_t> order_;
    std::size_t next_ = 0;
};

}  // namespace tw::learners
