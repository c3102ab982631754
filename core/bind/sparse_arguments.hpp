// Rows of sparse numbers (CSR) on their way in.
#pragma once

#include "../base/sparse_rows.hpp"
#include "arrays.hpp"

namespace tw::bind {

// The offsets of consecutive ranges that end at `end`.
inline std::vector<std::size_t> starts_of(const Indices& starts, std::size_t end) {
    require(starts.size() >= 1, "indptr must not be empty");
    std::vector<std::size_t> out;
    out.reserve(starts.size());
    std::int64_t before = 0;
    for (std::size_t i = 0; i < starts.size(); ++i) {
        const std::int64_t start = starts.data()[i];
        require(start >= before && (i > 0 || start == 0), "indptr must begin with 0 and never fall");
        out.push_back(static_cast<std::size_t>(start));
        before = start;
    }
    require(out.back() == end, "indptr must end with the number of values");
    return out;
}

inline SparseRows rows_of(const Indices& indptr, const Indices& indices, const Vector& data, std::size_t n_columns) {
    require(indices.size() == data.size(), "indices and data must have the same length");
    require(n_columns < (std::size_t{1} << 32), "there are more columns than 2**32");
    SparseRows rows;
    rows.starts = starts_of(indptr, data.size());
    rows.values.assign(data.data(), data.data() + data.size());
    rows.columns.reserve(indices.size());
    for (std::size_t i = 0; i < indices.size(); ++i) {
        const std::int64_t column = indices.data()[i];
        require(column >= 0 && static_cast<std::size_t>(column) < n_columns, "indices holds a column outside X");
        rows.columns.push_back(static_cast<std::uint32_t>(column));
    }
    tidy(rows);
    return rows;
}

}  // namespace tw::bind
