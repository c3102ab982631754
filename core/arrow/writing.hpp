// Arrays of our own, and columns that somebody lent, as the Arrow C data interface hands them on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "abi.hpp"
#include "reading.hpp"

namespace tw::arrow {

// An array that never changes. What is exported shares its memory, so it may be exported again and again.
class Column {
public:
    using Shared = std::shared_ptr<const Column>;

    static Shared numbers(std::span<const double> values);
    static Shared numbers(std::span<const std::int32_t> values);
    static Shared strings(const std::vector<std::string_view>& values);
    // The values of list i are ends[i - 1] .. ends[i] - 1 of the child. `valid` is empty, or has a flag for each.
    static Shared lists(std::span<const std::int64_t> lengths, Shared child, std::span<const std::uint8_t> valid);
    static Shared structs(std::size_t length, std::vector<std::pair<std::string, Shared>> children);
    // Rows of a column that somebody lent; without an array, only its type.
    static Shared lent(std::shared_ptr<const void> owner, const Slice& slice);

    std::size_t length() const { return length_; }
    void export_schema(ArrowSchema* to, std::string_view name = "") const;
    void export_array(ArrowArray* to) const;

private:
    using Buffer = std::shared_ptr<const void>;

    Column(std::string format, std::size_t length) : format_(std::move(format)), length_(length) {}

    std::string format_;
    std::size_t length_, null_count_ = 0;
    std::vector<Buffer> buffers_;
    std::vector<std::pair<std::string, Shared>> children_;
    std::shared_ptr<const void> owner_;  // of a column that was lent
    Slice slice_{};
};

}  // namespace tw::arrow
