// The best assignment of rows to columns: every row takes a column of its own, or stays free where it may.
//
//     scores   [row][column], -inf forbids; there are as many columns as rows or more, unless rows may stay free
//     free     [row] what staying free scores, -inf: it must not. Empty: no row may
//
// Shortest augmenting paths after a start that decides most rows (Jonker & Volgenant 1987): prices of columns rise
// until every row has one of the columns that are best for it, score less price. A row alone may stay free, so no path
// goes on from there. Prices of columns that no row has are zero unless all columns are taken. Rows are looked at in
// order, and of equal columns the lowest is taken first: the same scores give the same answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../base/interrupt.hpp"

namespace tw::matching {

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

class Assignment {
public:
    // False where there is none: `failed` is then a row that finds no column.
    bool solve(const double* scores, std::size_t n_rows, std::size_t n_columns, std::span<const double> free = {});

    std::vector<std::uint32_t> column_of, row_of;  // kNone: free
    std::vector<double> worth, price;              // of rows and columns: score <= worth + price, equal where assigned
    std::uint32_t failed = 0;

private:
    bool reduce_columns();
    void transfer();
    bool bid();
    bool augment(std::uint32_t row);
    const double* row(std::size_t i) const { return scores_ + i * n_columns_; }
    double value_of_freedom(std::size_t i) const;

    const double* scores_ = nullptr;
    std::size_t n_rows_ = 0, n_columns_ = 0;
    std::span<const double> free_;
    std::vector<std::uint32_t> waiting_, columns_, before_, times_;
    std::vector<double> distance_;
    InterruptCheck check_;
};

}  // namespace tw::matching
