#include "subsets.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "../base/interrupt.hpp"
#include "../base/semiring.hpp"
#include "../spanning/distinct_trees.hpp"

namespace tw::matching {
namespace {

constexpr std::size_t kMostBits = 22, kMostNumbers = std::size_t{1} << 26;  // 32 MB, and half a gigabyte

// out[S + i] += weight * in[S] for all S without bit i, in runs that lie together.
template <bool kTowardsMore>
void add_bit(const double* in, double* out, std::size_t n_sets, std::size_t i, double weight) {
    const std::size_t run = std::size_t{1} << i;
    for (std::size_t base = 0; base < n_sets; base += 2 * run) {
        const double* from = in + base + (kTowardsMore ? 0 : run);
        double* to = out + base + (kTowardsMore ? run : 0);
        for (std::size_t s = 0; s < run; ++s) to[s] += weight * from[s];
    }
}

}  // namespace

bool SubsetSums::reaches(const Sizes& sizes) {
    const std::size_t bits = std::min(sizes.n, sizes.m), steps = std::max(sizes.n, sizes.m);
    if (bits > kMostBits) return false;
    return (!sizes.open && bits == steps) || steps < kMostNumbers >> bits;
}

void SubsetSums::weigh(const Problem& problem) {
    rows_are_bits_ = problem.n_rows <= problem.n_columns;
    n_bits_ = std::min(problem.n_rows, problem.n_columns);
    n_steps_ = std::max(problem.n_rows, problem.n_columns);
    pair_.assign(n_steps_ * n_bits_, 0.0);
    stay_.clear();
    rest_.clear();
    for (std::size_t i = 0; i < problem.n_rows; ++i)
        for (std::size_t j = 0; j < problem.n_columns; ++j) {
            const auto [t, bit] = rows_are_bits_ ? std::pair(j, i) : std::pair(i, j);
            if (problem.score(i, j) != kLogZero) pair_[t * n_bits_ + bit] = std::exp(-problem.loss(i, j));
        }
    for (std::size_t i = 0; i < problem.n_rows; ++i)
        (rows_are_bits_ ? rest_ : stay_).push_back(std::exp(-problem.left_loss(i)));
    for (std::size_t j = 0; j < problem.n_columns; ++j)
        (rows_are_bits_ ? stay_ : rest_).push_back(std::exp(-problem.right_loss(j)));
    const auto none = [](std::span<const double> of) {
        return std::ranges::all_of(of, [](double x) { return x == 0.0; });
    };
    square_ = n_bits_ == n_steps_ && none(stay_) && none(rest_);
}

double SubsetSums::log_partition(const Problem& problem) {
    weigh(problem);
    square_ ? fill_square() : fill_layers();
    return std::log(layer(0)[0]);
}

void SubsetSums::fill_square() {
    g_.assign(n_sets(), 0.0);
    g_.back() = 1.0;
    InterruptCheck check;
    for (std::size_t S = n_sets() - 1; S-- > 0;) {
        if (S % 4096 == 0) check();
        const double* weights = pair_.data() + static_cast<std::size_t>(std::popcount(S)) * n_bits_;
        double total = 0.0;
        for (std::size_t left = ~S & (n_sets() - 1); left; left &= left - 1)
            total += weights[std::countr_zero(left)] * g_[S | (left & (~left + 1))];
        g_[S] = total;
    }
}

void SubsetSums::fill_layers() {
    g_.assign((n_steps_ + 1) * n_sets(), 0.0);
    double* last = g_.data() + n_steps_ * n_sets();
    last[n_sets() - 1] = 1.0;
    for (std::size_t S = n_sets() - 1; S-- > 0;) {
        const std::size_t left = ~S & (n_sets() - 1);
        last[S] = rest_[static_cast<std::size_t>(std::countr_zero(left))] * last[S | (left & (~left + 1))];
    }
    InterruptCheck check;
    for (std::size_t t = n_steps_; t-- > 0;) {
        const double* after = g_.data() + (t + 1) * n_sets();
        double* here = g_.data() + t * n_sets();
        for (std::size_t S = 0; S < n_sets(); ++S) here[S] = stay_[t] * after[S];
        for (std::size_t i = 0; i < n_bits_; ++i) {
            check();
            if (weight(t, i) != 0.0) add_bit<false>(after, here, n_sets(), i, weight(t, i));
        }
    }
}

void SubsetSums::marginals(const Problem& problem, std::span<double> out) {
    std::ranges::fill(out, 0.0);
    const double scale = 1.0 / layer(0)[0];
    const auto put = [&](Part part, double sum) {
        if (part != kNoPart) out[part] = std::min(sum * scale, 1.0);
    };
    const auto put_pair = [&](std::size_t t, std::size_t i, double sum) {
        put(rows_are_bits_ ? problem.pair_part(i, t) : problem.pair_part(t, i), sum);
    };
    const auto put_stay = [&](std::size_t t, double sum) {
        stays_[t] = sum * scale;
        put(rows_are_bits_ ? problem.right_part(t) : problem.left_part(t), sum);
    };
    const auto put_rest = [&](std::size_t i, double sum) {
        put(rows_are_bits_ ? problem.left_part(i) : problem.right_part(i), sum);
    };
    InterruptCheck check;
    stays_.assign(n_steps_, 0.0);
    f_.assign(n_sets(), 0.0);
    f_[0] = 1.0;
    if (square_) {  // all steps in one array, as g
        std::vector<double> sums(n_steps_ * n_bits_, 0.0);
        for (std::size_t S = 0; S + 1 < n_sets(); ++S) {
            if (S % 4096 == 0) check();
            const std::size_t first = static_cast<std::size_t>(std::popcount(S)) * n_bits_;
            if (f_[S] == 0.0) continue;
            for (std::size_t left = ~S & (n_sets() - 1); left; left &= left - 1) {
                const std::size_t at = first + static_cast<std::size_t>(std::countr_zero(left));
                const std::size_t next = S | (left & (~left + 1));
                const double moved = f_[S] * pair_[at];
                f_[next] += moved;
                sums[at] += moved * g_[next];
            }
        }
        for (std::size_t t = 0; t < n_steps_; ++t)
            for (std::size_t i = 0; i < n_bits_; ++i) put_pair(t, i, sums[t * n_bits_ + i]);
        return;
    }
    next_.resize(n_sets());
    for (std::size_t t = 0; t < n_steps_; ++t) {
        const double* after = layer(t + 1);
        double stays = 0.0;
        for (std::size_t S = 0; S < n_sets(); ++S) {
            next_[S] = stay_[t] * f_[S];
            stays += next_[S] * after[S];
        }
        put_stay(t, stays);
        for (std::size_t i = 0; i < n_bits_; ++i) {
            check();
            if (weight(t, i) == 0.0) continue;
            const std::size_t run = std::size_t{1} << i;
            double sum = 0.0;
            for (std::size_t base = 0; base < n_sets(); base += 2 * run)
                for (std::size_t s = base; s < base + run; ++s) sum += f_[s] * after[s + run];
            put_pair(t, i, weight(t, i) * sum);
            add_bit<true>(f_.data(), next_.data(), n_sets(), i, weight(t, i));
        }
        f_.swap(next_);
    }
    for (std::size_t i = 0; i < n_bits_; ++i) {
        double sum = 0.0;
        for (std::size_t S = 0; S < n_sets(); ++S)
            if (!(S >> i & 1)) sum += f_[S] * layer(n_steps_)[S];
        put_rest(i, sum);
    }
}

// log Z less the mean score, both relative to the best: a sum of terms that are not negative.
double SubsetSums::entropy(const Problem& problem) {
    const double log_z = log_partition(problem);
    std::size_t n_parts = problem.n_rows * problem.n_columns;
    if (problem.left_part(0) != kNoPart) n_parts += problem.n_rows + problem.n_columns;
    std::vector<double> p(n_parts);
    marginals(problem, p);
    CompensatedSum total;
    total.add(log_z);
    const auto add = [&](Part part, double loss) {
        if (part != kNoPart && p[part] > 0.0) total.add(p[part] * loss);
    };
    for (std::size_t i = 0; i < problem.n_rows; ++i)
        for (std::size_t j = 0; j < problem.n_columns; ++j) add(problem.pair_part(i, j), problem.loss(i, j));
    for (std::size_t i = 0; i < problem.n_rows; ++i) add(problem.left_part(i), problem.left_loss(i));
    for (std::size_t j = 0; j < problem.n_columns; ++j) {
        if (problem.right_part(j) != kNoPart)
            add(problem.right_part(j), problem.right_loss(j));
        else if (stays_[j] > 0.0)  // columns that are more than the rows have no part for being unmatched
            total.add(stays_[j] * problem.right_loss(j));
    }
    return std::max(total.value(), 0.0);
}

std::vector<Parts> SubsetSums::sample(const Problem& problem, std::size_t n, bool distinct,
                                      const std::function<double()>& draw) {
    log_partition(problem);
    const auto stay = static_cast<std::uint32_t>(n_bits_);  // a choice: a bit, or none
    const auto weights = [&](std::size_t t, std::size_t S, std::vector<double>& out) {
        const double* after = layer(t + 1);
        out.assign(n_bits_ + 1, 0.0);
        for (std::size_t i = 0; i < n_bits_; ++i)
            if (!(S >> i & 1)) out[i] = weight(t, i) * after[S | std::size_t{1} << i];
        if (!square_) out[stay] = stay_[t] * after[S];
    };
    std::vector<double> now;
    std::vector<std::uint32_t> choices(n_steps_);
    InterruptCheck check;
    const auto one = [&] {
        check();
        std::size_t S = 0;
        for (std::size_t t = 0; t < n_steps_; ++t) {
            weights(t, S, now);
            double total = 0.0;
            for (const double x : now) total += x;
            double left = draw() * total;
            for (std::uint32_t i = 0; i <= stay; ++i) {
                if (now[i] == 0.0) continue;
                choices[t] = i;  // the last possible one, should rounding leave a remainder
                if ((left -= now[i]) < 0.0) break;
            }
            if (choices[t] != stay) S |= std::size_t{1} << choices[t];
        }
        return parts_of(problem, choices);
    };
    std::vector<Parts> out;
    while (!distinct && out.size() < n) out.push_back(one());
    if (!distinct) return out;
    const auto conditional = [&](std::span<const std::uint32_t> begun, std::vector<double>& log_p) {
        std::size_t S = 0;
        for (const std::uint32_t i : begun)
            if (i != stay) S |= std::size_t{1} << i;
        weights(begun.size(), S, log_p);
        double total = 0.0;
        for (const double x : log_p) total += x;
        for (double& x : log_p) x = x == 0.0 ? kLogZero : std::log(x / total);
    };
    const auto complete = [&](std::span<const std::uint32_t> all) { return parts_of(problem, all); };
    return spanning::distinct_trees(n, n_steps_, draw, one, conditional, complete);
}

Parts SubsetSums::parts_of(const Problem& problem, std::span<const std::uint32_t> choices) const {
    std::vector<std::uint32_t> columns(problem.n_rows, kNone);
    for (std::uint32_t t = 0; t < n_steps_; ++t) {
        if (choices[t] == n_bits_) continue;
        if (rows_are_bits_)
            columns[choices[t]] = t;
        else
            columns[t] = choices[t];
    }
    Parts parts;
    problem.parts_of(columns, parts);
    return parts;
}

}  // namespace tw::matching
