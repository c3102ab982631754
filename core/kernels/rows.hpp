// Sums of rows of numbers, token by token.
//
//     list     rows     | record 0: row .. | record 1: row .. | ...     a row of each record belongs to the list
//              places   [token]: which record
#pragma once

#include <cstddef>
#include <cstdint>

namespace tw {

inline constexpr std::size_t kRowsAhead = 12;  // tokens between asking for rows that are far away and adding them

template <class Real>
struct RowList {
    const Real* rows;             // the one of the first record
    const std::uint32_t* places;  // as many more as kRowsAhead must be readable
    std::size_t record;           // numbers from one record to the next
    bool far;                     // whether there are more than stay near the processor
};

struct RowLists {
    const RowList<float>* single;
    std::size_t n_single;
    const RowList<double>* twice;
    std::size_t n_twice;
};

struct RowSumLoops {
    // Adds to out[t], [n_labels], the row that each list has for token t, list after list. Rows have `padded` numbers,
    // a multiple of 8, which are zeros from n_labels on; as many are written behind the last row of `out`.
    void (*add_rows)(const RowLists& lists, std::size_t n_tokens, std::size_t n_labels, std::size_t padded,
                     double* out);
};

const RowSumLoops& row_sum_loops() noexcept;

}  // namespace tw
