// Loops over rows of a square matrix: the sums that taking words out of a walk needs, and the maxima that contracting a
// cycle needs (core/spanning).
#pragma once

#include <cstddef>

namespace tw {

inline constexpr std::size_t kTakenTogether = 8;

struct EliminationLoops {
    // rows[b] += sum over j < n of factors[b][j] * from[j], for n_rows rows that lie `stride` apart, as those of `from`
    // do; factors have kTakenTogether entries a row, n is no more than that. `columns` is a multiple of that too.
    void (*add_products)(double* rows, std::size_t n_rows, const double* factors, const double* from, std::size_t n,
                         std::size_t stride, std::size_t columns);
    // out = max(out, in - score).
    void (*raise)(double* out, const double* in, double score, std::size_t size);
    // The first of the highest values; there is one or more.
    std::size_t (*first_highest)(const double* values, std::size_t size);
};

const EliminationLoops& elimination_loops() noexcept;

}  // namespace tw
