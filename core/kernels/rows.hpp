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
    const Real* rows;  // the one of the first record
    const std::uint32_t* places;
    std::size_t record;  // numbers from one record to the next
};

// Records that do not stay near the processor: those of places[t + kRowsAhead] are asked for at token t.
struct FarRecords {
    const char* records;
    const std::uint32_t* places;
    std::size_t record;  // bytes
};

struct RowLists {
    const RowList<float>* single;
    std::size_t n_single;
    const RowList<double>* twice;
    std::size_t n_twice;
    const FarRecords* far;
    std::size_t n_far;
};

struct RowSumLoops {
    // Adds to out[t], [n_labels], the row that each list has for token t, list after list. Rows have `padded` numbers,
    // a multiple of 8, which are zeros from n_labels on; as many are written behind the last row of `out`.
    void (*add_rows)(const RowLists& lists, std::size_t n_tokens, std::size_t n_labels, std::size_t padded,
                     double* out);

    // The same in single precision, of single rows alone, and with rows of their own to begin with:
    // out[t], [out_padded] = first[t], [n_labels], rounded, and the row that each list has for token t, list after
    // list. Behind the labels there is anything finite; out_padded is the next multiple of RoundedLoops::width. As many
    // numbers are read of each row, and of the last of `first`. The absolute values of the labels in `first` and in
    // `out` raise what is in largest[0] and largest[1].
    void (*add_rounded)(const RowLists& lists, std::size_t n_tokens, std::size_t n_labels, const double* first,
                        float* out, std::size_t out_padded, float* largest);
};

const RowSumLoops& row_sum_loops() noexcept;

}  // namespace tw
