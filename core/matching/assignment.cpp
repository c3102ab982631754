#include "assignment.hpp"

#include <algorithm>
#include <numeric>

#include "../base/semiring.hpp"

namespace tw::matching {

bool Assignment::solve(const double* scores, std::size_t n_rows, std::size_t n_columns, std::span<const double> free) {
    scores_ = scores;
    n_rows_ = n_rows;
    n_columns_ = n_columns;
    free_ = free;
    column_of.assign(n_rows, kNone);
    row_of.assign(n_columns, kNone);
    price.assign(n_columns, 0.0);
    waiting_.clear();
    if (n_rows == n_columns && free.empty()) {
        if (!reduce_columns()) return false;
        transfer();
    } else {
        waiting_.resize(n_rows);
        std::iota(waiting_.begin(), waiting_.end(), 0u);
    }
    for (int round = 0; round < 2 && !waiting_.empty(); ++round)
        if (!bid()) return false;
    distance_.resize(n_columns);
    before_.resize(n_columns);
    columns_.resize(n_columns);
    for (const std::uint32_t i : waiting_)
        if (!augment(i)) return false;
    worth.resize(n_rows);
    for (std::size_t i = 0; i < n_rows; ++i)
        worth[i] = column_of[i] == kNone ? value_of_freedom(i) : row(i)[column_of[i]] - price[column_of[i]];
    return true;
}

double Assignment::value_of_freedom(std::size_t i) const { return free_.empty() ? kLogZero : free_[i]; }

// Every column's price is the best that a row offers; a row takes the first column that it is the best for, from the
// last on. Only where all columns are taken in the end.
bool Assignment::reduce_columns() {
    std::ranges::fill(price, kLogZero);
    before_.assign(n_columns_, 0);
    for (std::uint32_t i = 0; i < n_rows_; ++i) {
        check_();
        const double* here = row(i);
        for (std::size_t j = 0; j < n_columns_; ++j)
            if (here[j] > price[j]) {
                price[j] = here[j];
                before_[j] = i;
            }
    }
    times_.assign(n_rows_, 0);
    for (std::size_t j = n_columns_; j-- > 0;) {
        if (price[j] == kLogZero) {  // no row may have it, so some row finds none: which one is seen without prices
            price.assign(n_columns_, 0.0);
            waiting_.resize(n_rows_);
            std::iota(waiting_.begin(), waiting_.end(), 0u);
            column_of.assign(n_rows_, kNone);
            row_of.assign(n_columns_, kNone);
            times_.assign(n_rows_, 0);
            return true;
        }
        const std::uint32_t i = before_[j];
        if (times_[i]++ > 0) continue;
        column_of[i] = static_cast<std::uint32_t>(j);
        row_of[j] = i;
    }
    for (std::uint32_t i = 0; i < n_rows_; ++i)
        if (times_[i] == 0) waiting_.push_back(i);
    return true;
}

// A row that took its only column gives up what its second best column leaves to it.
void Assignment::transfer() {
    for (std::size_t i = 0; i < n_rows_; ++i) {
        if (times_[i] != 1) continue;
        check_();
        const double* here = row(i);
        const std::uint32_t taken = column_of[i];
        double second = kLogZero;
        for (std::size_t j = 0; j < n_columns_; ++j) {
            const double value = here[j] - price[j];
            if (value > second && j != taken) second = value;
        }
        if (second != kLogZero) price[taken] -= second;
    }
}

// Rows bid for their best column as much as it is better than their second best, and drive others out. A row with one
// column left has no second best, and waits for the paths.
bool Assignment::bid() {
    std::vector<std::uint32_t> left;
    std::size_t next = 0, tries = 0;
    const std::size_t n = waiting_.size();
    while (next < n) {
        check_();
        const std::uint32_t i = waiting_[next];
        const double* here = row(i);
        double best = kLogZero, second = kLogZero;
        std::uint32_t first_column = kNone, second_column = kNone;
        for (std::size_t j = 0; j < n_columns_; ++j) {
            const double value = here[j] - price[j];
            if (value <= second) continue;
            if (value > best) {
                second = best;
                second_column = first_column;
                best = value;
                first_column = static_cast<std::uint32_t>(j);
            } else {
                second = value;
                second_column = static_cast<std::uint32_t>(j);
            }
        }
        const double alone = value_of_freedom(i);
        if (best == kLogZero && alone == kLogZero) {
            failed = i;
            return false;
        }
        ++next;
        if (alone >= best) continue;  // it stays free
        const bool to_freedom = alone >= second && alone != kLogZero;
        if (to_freedom) second = alone;
        if (second == kLogZero) {
            left.push_back(i);
            continue;
        }
        std::uint32_t driven = row_of[first_column];
        const bool rises = best > second;
        const double raised = price[first_column] + (best - second);
        const bool moves = rises && raised > price[first_column];
        if (rises) {
            price[first_column] = raised;
        } else if (driven != kNone) {
            first_column = second_column;
            driven = row_of[first_column];
        }
        row_of[first_column] = i;
        column_of[i] = first_column;
        if (driven == kNone) continue;
        column_of[driven] = kNone;
        // Driven out by a higher price, a row bids again at once. Not for ever: where many rows want the same columns,
        // prices rise by little, and paths are shorter.
        if (moves && tries < n_columns_)
            waiting_[--next] = driven;
        else
            left.push_back(driven);
        ++tries;
    }
    waiting_ = std::move(left);
    std::ranges::sort(waiting_);
    return true;
}

// The shortest path from a row to a column that is free, or to a row that may stay free; then rows along it move on.
//
//     columns_:  [0, done) distances are final  [done, near) at the least distance, to be gone on from  [near, ..)
//     others
bool Assignment::augment(std::uint32_t start) {
    const double* here = row(start);
    for (std::uint32_t j = 0; j < n_columns_; ++j) {
        columns_[j] = j;
        distance_[j] = price[j] - here[j];
        before_[j] = start;
    }
    std::size_t done = 0, near = 0, ready = 0;
    double least = 0.0, freedom = -value_of_freedom(start);
    std::uint32_t freed = start, end = kNone;
    bool ends_free = false;
    while (end == kNone && !ends_free) {
        if (done == near) {  // the columns at the least distance
            check_();
            ready = done;
            least = -kLogZero;
            for (std::size_t k = done; k < n_columns_; ++k) {
                const std::uint32_t j = columns_[k];
                if (distance_[j] > least) continue;
                if (distance_[j] < least) {
                    near = done;
                    least = distance_[j];
                }
                std::swap(columns_[k], columns_[near++]);
            }
            if (freedom <= least && freedom != -kLogZero) {
                ends_free = true;
                least = freedom;
                break;
            }
            if (least == -kLogZero || done == n_columns_) {
                failed = start;
                return false;
            }
            for (std::size_t k = done; k < near && end == kNone; ++k)
                if (row_of[columns_[k]] == kNone) end = columns_[k];
        }
        while (end == kNone && done < near) {
            const std::uint32_t from = columns_[done++], i = row_of[from];
            here = row(i);
            const double added = price[from] - here[from] - least;
            if (const double alone = -value_of_freedom(i) - added; alone < freedom) {
                freedom = alone;
                freed = i;
                if (freedom <= least) {
                    ends_free = true;
                    break;
                }
            }
            for (std::size_t k = near; k < n_columns_; ++k) {
                const std::uint32_t j = columns_[k];
                const double further = price[j] - here[j] - added;
                if (further >= distance_[j]) continue;
                distance_[j] = further;
                before_[j] = i;
                if (further > least) continue;
                if (row_of[j] == kNone) {
                    end = j;
                    break;
                }
                std::swap(columns_[k], columns_[near++]);
            }
        }
    }
    if (ends_free) least = std::min(least, freedom);
    for (std::size_t k = 0; k < ready; ++k) price[columns_[k]] += least - distance_[columns_[k]];
    if (ends_free) {
        end = column_of[freed];
        column_of[freed] = kNone;
        if (freed == start) return true;
    }
    std::uint32_t i;
    do {
        i = before_[end];
        row_of[end] = i;
        std::swap(end, column_of[i]);
    } while (i != start);
    return true;
}

}  // namespace tw::matching
