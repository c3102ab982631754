#include "problem.hpp"

#include <algorithm>
#include <stdexcept>

#include "../base/semiring.hpp"
#include "../kernels/kernels.hpp"

namespace tw::matching {

Sizes::Sizes(Shape shape) : n(0), m(0), open(false) {
    if (shape.size() < 2 || shape.size() > 3 || (shape.size() == 3 && shape[2] > 1))
        throw std::invalid_argument("the shape of a matching is two numbers, and 1 where parts may be unmatched");
    n = shape[0];
    m = shape[1];
    open = shape.size() == 3 && shape[2] == 1;
    if (n * m + n + m >= kNoPart) throw std::invalid_argument("a matching has too many pairs");
}

Problem::Problem(const Sizes& sizes, const PartScores& scores) : sizes_(sizes), flipped_(sizes.n > sizes.m) {
    const double* given = scores.masked(masked_);
    const double *of_rows = given + sizes.n_pairs(), *of_columns = of_rows + sizes.n;
    if (sizes.open) {  // rows that must be matched are easier than columns
        const auto needed = [](const double* from, std::size_t n) { return std::count(from, from + n, kLogZero) > 0; };
        const bool rows = needed(of_rows, sizes.n), columns = needed(of_columns, sizes.m);
        if (rows != columns) flipped_ = columns;
    }
    n_rows = flipped_ ? sizes.m : sizes.n;
    n_columns = flipped_ ? sizes.n : sizes.m;
    pairs_ = given;
    if (flipped_) {
        turned_.resize(sizes.n_pairs());
        constexpr std::size_t kTile = 32;  // so that neither side leaves the cache
        for (std::size_t first = 0; first < n_columns; first += kTile)
            for (std::size_t i = 0; i < n_rows; ++i)
                for (std::size_t j = first; j < std::min(first + kTile, n_columns); ++j)
                    turned_[i * n_columns + j] = given[j * n_rows + i];
        pairs_ = turned_.data();
    }
    if (sizes.open) {
        if (flipped_) std::swap(of_rows, of_columns);
        left.assign(of_rows, of_rows + n_rows);
        right.assign(of_columns, of_columns + n_columns);
    } else {
        left.assign(n_rows, kLogZero);
        right.assign(n_columns, n_rows == n_columns ? kLogZero : 0.0);
    }
}

bool Problem::solve() { return columns_look_after_themselves() ? solve_by_rows() : solve_both_sides(); }

double Problem::total() const {
    CompensatedSum sum;
    for (const double x : worth) sum.add(x);
    for (const double x : price) sum.add(x);
    return sum.value();
}

void Problem::parts_of(std::span<const std::uint32_t> columns, Parts& parts) const {
    parts.clear();
    std::vector<std::uint8_t> taken(sizes_.open ? n_columns : 0, 0);
    for (std::size_t i = 0; i < n_rows; ++i) {
        const Part part = columns[i] == kNone ? left_part(i) : pair_part(i, columns[i]);
        if (part != kNoPart) parts.push_back(part);
        if (sizes_.open && columns[i] != kNone) taken[columns[i]] = 1;
    }
    for (std::size_t j = 0; j < taken.size(); ++j)
        if (!taken[j]) parts.push_back(right_part(j));
    std::ranges::sort(parts);
}

// Whether every column that must be matched is, once every row is that must be: all are, or the column is the only one
// that such a row may have.
bool Problem::columns_look_after_themselves() const {
    std::size_t needed = 0, rows = 0;
    for (const double x : right) needed += x == kLogZero;
    if (needed == 0) return true;
    for (const double x : left) rows += x == kLogZero;
    if (n_rows == n_columns && rows == n_rows) return true;
    std::vector<std::uint8_t> sure(n_columns, 0);
    for (std::size_t i = 0; i < n_rows; ++i) {
        if (left[i] != kLogZero) continue;
        std::size_t found = 0, only = 0;
        for (std::size_t j = 0; j < n_columns && found < 2; ++j)
            if (score(i, j) != kLogZero) {
                only = j;
                ++found;
            }
        if (found == 1) sure[only] = 1;
    }
    for (std::size_t j = 0; j < n_columns; ++j)
        if (right[j] == kLogZero && !sure[j]) return false;
    return true;
}

// Pairs are worth what they score more than both sides unmatched.
bool Problem::solve_by_rows() {
    Assignment assignment;
    std::vector<double> relative, free;
    const auto known = [](double x) { return x == kLogZero ? 0.0 : x; };
    if (sizes_.open) {
        relative.resize(sizes_.n_pairs());
        for (std::size_t i = 0; i < n_rows; ++i) {
            free.push_back(left[i] == kLogZero ? kLogZero : 0.0);
            for (std::size_t j = 0; j < n_columns; ++j)
                relative[i * n_columns + j] = score(i, j) - known(left[i]) - known(right[j]);
        }
    }
    if (!assignment.solve(sizes_.open ? relative.data() : pairs_, n_rows, n_columns, free)) {
        fail(false, assignment.failed);
        return false;
    }
    column_of = std::move(assignment.column_of);
    row_of = std::move(assignment.row_of);
    worth = std::move(assignment.worth);
    price = std::move(assignment.price);
    if (sizes_.open) {
        for (std::size_t i = 0; i < n_rows; ++i) worth[i] += known(left[i]);
        for (std::size_t j = 0; j < n_columns; ++j) price[j] += known(right[j]);
    }
    return true;
}

// Columns have rows of their own, which stand for being unmatched, and rows columns:
//
//     pairs                 left on the diagonal
//     right on the diagonal 0
//
// Matched rows and columns leave as many of those, which all go with one another for nothing: their prices are one
// number c and its opposite. Taking c out leaves prices without them.
bool Problem::solve_both_sides() {
    const std::size_t n = n_rows, m = n_columns, N = n + m;
    std::vector<double> square(N * N, kLogZero);
    for (std::size_t i = 0; i < n; ++i) {
        std::copy_n(row(i), m, square.data() + i * N);
        square[i * N + m + i] = left[i];
    }
    for (std::size_t j = 0; j < m; ++j) {
        square[(n + j) * N + j] = right[j];
        std::fill_n(square.data() + (n + j) * N + m, n, 0.0);
    }
    Assignment assignment;
    if (!assignment.solve(square.data(), N, N)) {
        const bool column = assignment.failed >= n;
        fail(column, column ? assignment.failed - n : assignment.failed);
        return false;
    }
    column_of.assign(n, kNone);
    row_of.assign(m, kNone);
    for (std::uint32_t i = 0; i < n; ++i)
        if (const std::uint32_t j = assignment.column_of[i]; j < m) {
            column_of[i] = j;
            row_of[j] = i;
        }
    double c = m > 0 ? -kLogZero : 0.0;
    for (std::size_t j = 0; j < m; ++j) c = std::min(c, assignment.worth[n + j]);
    worth.resize(n);
    price.resize(m);
    for (std::size_t i = 0; i < n; ++i)
        worth[i] = column_of[i] == kNone ? left[i] : std::max(left[i], assignment.worth[i] - c);
    for (std::size_t j = 0; j < m; ++j)
        price[j] = row_of[j] == kNone ? right[j] : std::max(right[j], assignment.price[j] + c);
    return true;
}

void Problem::fail(bool column, std::size_t number) {
    if (!column)  // rather one that may have none at all, should there be
        for (std::size_t i = 0; i < n_rows; ++i) {
            if (left[i] != kLogZero) continue;
            const double* here = row(i);
            if (std::all_of(here, here + n_columns, [](double x) { return x == kLogZero; })) {
                number = i;
                break;
            }
        }
    dead_end = number + (column != flipped_ ? sizes_.n : 0);
}

}  // namespace tw::matching
