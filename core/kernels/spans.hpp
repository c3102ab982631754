// Eisner's algorithm by diagonals (Eisner 1996): for one width all spans are independent, and one step is contiguous in
// the start, so nothing is added across lanes.
//
//     table    [width][start]: a row is kSpanPad doubles before its first start, then up to n starts; rows lie one
//              after the other, so what follows a row is the pad of the next
//
//     splits(w, i)       = sum over k of  right(k, i) left(w - 1 - k, i + k + 1)     two spans with their heads outside
//     right_arcs(w, i)   = splits(w, i) right_scores(w, i)                           arc i -> i + w
//     left_arcs(w, i)    = splits(w, i) left_scores(w, i)                            arc i + w -> i
//     right(w, i)        = sum over k > 0 of  right_arcs(k, i) right(w - k, i + k)   head i
//     left(w, i)         = sum over k < w of  left(k, i) left_arcs(w - k, i + k)     head i + w
//
// Every sum is one of a_k(j) b_k(j) for neighbouring j, where a and b go on by a constant from k to k + 1.
#pragma once

#include <cstddef>

namespace tw {

inline constexpr std::size_t kSpanPad = 16;  // two of the widest vectors

struct SpanTables {
    std::size_t n, stride;                                   // positions; from row to row, at least n + kSpanPad
    double *right, *left, *right_arcs, *left_arcs, *splits;  // where row 0 begins, after its pad
    double *right_scores, *left_scores;
};

struct SpanLoops {
    // Over the max-plus semiring, and sums of products. `splits` is not touched.
    void (*best)(const SpanTables&);
    void (*inside)(const SpanTables&);
    // Derivatives of a total by everything in `in`, given those of the total itself by left(w, 0) and by right(w, n - 1
    // - w), [n] each. right, left and splits of `out` are zero before, pads too; what lies beyond rows of `in` is
    // finite. Spans of width 0 have none.
    void (*outside)(const SpanTables& in, const double* of_left, const double* of_right, const SpanTables& out);
    // The largest of each row of codes, and their sum.
    void (*row_maxima)(const double* values, std::size_t n_rows, std::size_t n_codes, double* out);
    void (*row_sums)(const double* values, std::size_t n_rows, std::size_t n_codes, double* out);
};

const SpanLoops& span_loops() noexcept;

}  // namespace tw
