// Lists of numbers, one after the other in one array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tw {

struct Lists {
    std::vector<std::size_t> starts{0};
    std::vector<std::uint32_t> items;

    std::size_t size() const { return starts.size() - 1; }
    bool empty() const { return starts.size() == 1; }
    std::span<const std::uint32_t> operator[](std::size_t i) const {
        return {items.data() + starts[i], starts[i + 1] - starts[i]};
    }
    void push_back(std::span<const std::uint32_t> list) {
        items.insert(items.end(), list.begin(), list.end());
        starts.push_back(items.size());
    }
};

}  // namespace tw
