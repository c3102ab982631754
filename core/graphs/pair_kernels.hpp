// One step of max-plus or sum-product through a table of two variables, [row][column]:
//
//     over rows      out[b] = best over a of table[a][b] + in[a]        whole rows at a time
//     over columns   out[a] = best over b of table[a][b] + in[b]        four partial results, added up at the end
//
// Tables of a few labels are unrolled by the compiler.
#pragma once

#include <algorithm>
#include <cstddef>

#include "../base/semiring.hpp"

namespace tw::graphs {

struct MaxStep {
    static constexpr double zero = kLogZero;
    static double times(double a, double b) { return a + b; }
    static double plus(double a, double b) { return a < b ? b : a; }
};
struct SumStep {
    static constexpr double zero = 0.0;
    static double times(double a, double b) { return a * b; }
    static double plus(double a, double b) { return a + b; }
};

template <class Step>
inline void over_rows(const double* table, std::size_t rows, std::size_t columns, const double* in, double* out) {
    std::fill(out, out + columns, Step::zero);
    for (std::size_t a = 0; a < rows; ++a) {
        const double* row = table + a * columns;
        const double x = in[a];
        for (std::size_t b = 0; b < columns; ++b) out[b] = Step::plus(out[b], Step::times(row[b], x));
    }
}

template <class Step>
inline void over_columns(const double* table, std::size_t rows, std::size_t columns, const double* in, double* out) {
    for (std::size_t a = 0; a < rows; ++a) {
        const double* row = table + a * columns;
        double part[4] = {Step::zero, Step::zero, Step::zero, Step::zero};
        std::size_t b = 0;
        for (; b + 4 <= columns; b += 4)
            for (std::size_t k = 0; k < 4; ++k) part[k] = Step::plus(part[k], Step::times(row[b + k], in[b + k]));
        for (; b < columns; ++b) part[0] = Step::plus(part[0], Step::times(row[b], in[b]));
        out[a] = Step::plus(Step::plus(part[0], part[1]), Step::plus(part[2], part[3]));
    }
}

template <class Step, std::size_t K>
inline void small_rows(const double* table, const double* in, double* out) {
    double total[K];
    for (std::size_t b = 0; b < K; ++b) total[b] = Step::zero;
    for (std::size_t a = 0; a < K; ++a)
        for (std::size_t b = 0; b < K; ++b) total[b] = Step::plus(total[b], Step::times(table[a * K + b], in[a]));
    for (std::size_t b = 0; b < K; ++b) out[b] = total[b];
}

template <class Step, std::size_t K>
inline void small_columns(const double* table, const double* in, double* out) {
    double x[K];
    for (std::size_t b = 0; b < K; ++b) x[b] = in[b];
    for (std::size_t a = 0; a < K; ++a) {
        double total = Step::times(table[a * K], x[0]);
        for (std::size_t b = 1; b < K; ++b) total = Step::plus(total, Step::times(table[a * K + b], x[b]));
        out[a] = total;
    }
}

// out of the side that `to_rows` says, in from the other.
template <class Step>
void through_table(const double* table, std::size_t rows, std::size_t columns, bool to_rows, const double* in,
                   double* out) {
    if (rows == columns) {
        switch (rows) {
#define TW_SMALL(K) \
    case K:         \
        return to_rows ? small_columns<Step, K>(table, in, out) : small_rows<Step, K>(table, in, out);
            TW_SMALL(2)
            TW_SMALL(3)
            TW_SMALL(4)
            TW_SMALL(5)
            TW_SMALL(6)
            TW_SMALL(7)
            TW_SMALL(8)
#undef TW_SMALL
            default:
                break;
        }
    }
    if (to_rows)
        over_columns<Step>(table, rows, columns, in, out);
    else
        over_rows<Step>(table, rows, columns, in, out);
}

}  // namespace tw::graphs
