// Rows of numbers most of which are zero, one after the other (CSR).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "../oracle.hpp"

namespace tw {

struct SparseRows {
    std::vector<std::size_t> starts{0};  // [n_rows + 1]
    std::vector<std::uint32_t> columns;  // rising within a row
    std::vector<double> values;          // or empty: all ones

    std::size_t size() const { return starts.size() - 1; }
    double value(std::size_t i) const { return values.empty() ? 1.0 : values[i]; }

    std::span<const std::uint32_t> columns_of(std::size_t row) const {
        return {columns.data() + starts[row], starts[row + 1] - starts[row]};
    }
    std::span<const double> values_of(std::size_t row) const {
        return {values.data() + starts[row], starts[row + 1] - starts[row]};
    }

    template <class Visit>
    void each(std::size_t row, Visit visit) const {  // visit(column, value)
        for (std::size_t i = starts[row]; i < starts[row + 1]; ++i) visit(columns[i], value(i));
    }
};

// One row minus another, both with rising columns; nothing is left where they are equal.
template <class Column>
void subtract(std::span<const std::uint32_t> columns, std::span<const double> values,
              std::span<const Column> minus_columns, std::span<const double> minus_values, SparseVector& out) {
    out.clear();
    const auto append = [&out](std::uint32_t column, double value) {
        if (value == 0.0) return;
        out.indices.push_back(column);
        out.values.push_back(value);
    };
    std::size_t i = 0, j = 0;
    while (i < columns.size() || j < minus_columns.size()) {
        const auto theirs = j < minus_columns.size() ? static_cast<std::uint32_t>(minus_columns[j]) : 0u;
        if (j == minus_columns.size() || (i < columns.size() && columns[i] < theirs)) {
            append(columns[i], values[i]);
            ++i;
        } else if (i == columns.size() || theirs < columns[i]) {
            append(theirs, -minus_values[j++]);
        } else {
            append(theirs, values[i++] - minus_values[j++]);
        }
    }
}

// Puts the columns of each row in order and adds up those that occur twice in it. Zeros stay.
inline void tidy(SparseRows& rows) {
    std::vector<std::pair<std::uint32_t, double>> entries;
    std::size_t kept = 0, begin = 0;
    for (std::size_t row = 0; row < rows.size(); ++row) {
        const std::size_t end = rows.starts[row + 1];
        entries.clear();
        for (std::size_t i = begin; i < end; ++i) entries.emplace_back(rows.columns[i], rows.values[i]);
        const auto earlier = [](const auto& a, const auto& b) { return a.first < b.first; };
        if (!std::is_sorted(entries.begin(), entries.end(), earlier))
            std::stable_sort(entries.begin(), entries.end(), earlier);
        rows.starts[row] = kept;  // never ahead of what is still to be read
        for (const auto& [column, value] : entries) {
            if (kept > rows.starts[row] && rows.columns[kept - 1] == column) {
                rows.values[kept - 1] += value;
                continue;
            }
            rows.columns[kept] = column;
            rows.values[kept++] = value;
        }
        begin = end;
    }
    rows.starts[rows.size()] = kept;
    rows.columns.resize(kept);
    rows.values.resize(kept);
}

}  // namespace tw
