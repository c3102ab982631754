// Matchings of two sides, as every question about them sees them: a score for each pair, and for each row and column
// that is left unmatched; -inf where it must not be.
//
//     score of a matching = sum over its pairs and over what is unmatched
//
//     given                       rows      left        right
//     n < m, every row matched    the n     -inf        0
//     n > m, every column         the m     -inf        0         flipped: rows are what the caller calls columns
//     n = m                       the n     -inf        -inf
//     open: scores of unmatched   the fewer as given    as given
//
// A solved problem has prices with  left <= worth,  right <= price,  score of a pair <= worth + price,  equal where the
// best matching has it (the dual program). So every matching loses, against the best, the sum of the non-negative
// differences at its own parts. Sums, further matchings and max-marginals live on these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../structures/structure.hpp"
#include "assignment.hpp"

namespace tw::matching {

struct Sizes {
    std::size_t n, m;  // as the caller has them
    bool open;         // whether there are scores of what is unmatched

    explicit Sizes(Shape shape);  // throws std::invalid_argument
    std::size_t n_pairs() const { return n * m; }
};

class Problem {
public:
    // Keeps views of the scores.
    Problem(const Sizes& sizes, const PartScores& scores);

    std::size_t n_rows, n_columns;
    std::vector<double> left, right;

    double score(std::size_t i, std::size_t j) const { return pairs_[i * n_columns + j]; }
    const double* row(std::size_t i) const { return pairs_ + i * n_columns; }
    // Parts by row and column here; kNoPart where there is none for being unmatched.
    Part pair_part(std::size_t i, std::size_t j) const {
        return static_cast<Part>(flipped_ ? j * sizes_.m + i : i * sizes_.m + j);
    }
    Part left_part(std::size_t i) const { return unmatched_part(i, flipped_); }
    Part right_part(std::size_t j) const { return unmatched_part(j, !flipped_); }

    // False where no matching is allowed: `dead_end` is then a row that cannot be matched, or the number of rows plus
    // that of a column, as the caller counts.
    bool solve();
    std::size_t dead_end = 0;

    std::vector<std::uint32_t> column_of, row_of;  // of the best matching; kNone: unmatched
    std::vector<double> worth, price;

    // What parts lose, never below zero.
    double loss(std::size_t i, std::size_t j) const { return positive(worth[i] + price[j] - score(i, j)); }
    double left_loss(std::size_t i) const { return positive(worth[i] - left[i]); }
    double right_loss(std::size_t j) const { return positive(price[j] - right[j]); }
    // The sum of all prices: the score of the best matching, up to rounding, which losses are relative to.
    double total() const;

    // The parts of a matching by rows, in ascending order.
    void parts_of(std::span<const std::uint32_t> columns, Parts& parts) const;

private:
    static double positive(double x) { return x > 0.0 ? x : 0.0; }
    Part unmatched_part(std::size_t k, bool of_columns) const {
        if (!sizes_.open) return kNoPart;
        return static_cast<Part>(sizes_.n_pairs() + (of_columns ? sizes_.n : 0) + k);
    }
    bool columns_look_after_themselves() const;
    bool solve_by_rows();
    bool solve_both_sides();
    void fail(bool column, std::size_t number);

    Sizes sizes_;
    bool flipped_;
    std::vector<double> masked_, turned_;
    const double* pairs_;
};

}  // namespace tw::matching
