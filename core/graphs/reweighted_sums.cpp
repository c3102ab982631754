#include "reweighted_sums.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "../kernels/kernels.hpp"
#include "log_sums.hpp"
#include "pair_kernels.hpp"

namespace tw::graphs {
namespace {

using Form = LaidFactor::Form;

constexpr double kTooSmall = 1e-200;

// r * log sum exp(x / r), and probabilities in place of the values where they are wanted.
double power_sum(double* values, std::size_t n, double r, bool probabilities) {
    const double top = highest(values, n);
    if (top == kLogZero) {
        if (probabilities) std::fill(values, values + n, 0.0);
        return kLogZero;
    }
    double total = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        const double e = std::exp((values[i] - top) / r);
        total += e;
        if (probabilities) values[i] = e;
    }
    if (probabilities)
        for (std::size_t i = 0; i < n; ++i) values[i] /= total;
    return top + r * std::log(total);
}

class Buckets {
public:
    explicit Buckets(const Layout& layout)
        : shifts(layout.n_given, 0.0),
          layout_(layout),
          given_(layout.n_given, 0.0),
          message_(layout.n_given, 0.0),
          belief_(layout.n_given, 0.0),
          have_(layout.unary.size()),
          marginal_(layout.unary.size()),
          share_(layout.n_variables(), 0.0),
          in_(layout.most_labels),
          out_(layout.most_labels) {
        for (std::uint32_t v = 0; v < layout.n_variables(); ++v) {
            std::size_t above = 0;
            for (const std::uint32_t s : layout.slots_at(v)) above += !layout.slots[s].first;
            if (above > 0) share_[v] = 1.0 / static_cast<double>(above);
        }
        std::vector<std::uint32_t> rank(layout.n_variables());
        for (std::uint32_t i = 0; i < layout.order.size(); ++i) rank[layout.order[i]] = i;
        in_order_.resize(layout.slots.size());
        exp_at_.assign(layout.factors.size(), 0);
        std::size_t size = 0;
        for (std::size_t i = 0; i < layout.factors.size(); ++i) {
            const LaidFactor& f = layout.factors[i];
            if (f.form == Form::kStructure)
                throw std::invalid_argument(
                    "a factor is a structure: its sums cannot be reweighted; use "
                    "belief propagation");
            const auto begin = in_order_.begin() + f.slots_at;
            for (std::uint32_t k = 0; k < f.n_slots; ++k) begin[k] = f.slots_at + k;
            std::sort(begin, begin + f.n_slots, [&](std::uint32_t a, std::uint32_t b) {
                return rank[layout.slots[a].variable] < rank[layout.slots[b].variable];
            });
            exp_at_[i] = size;
            if (is_pair(f)) size += f.entries;
        }
        exponentiate(size);
    }

    // Shifts of another search; what they add up to is taken out, so that they are shifts here too.
    void start_from(std::span<const double> others) {
        if (others.size() != shifts.size()) return;
        for (std::size_t i = 0; i < shifts.size(); ++i) shifts[i] = std::isfinite(others[i]) ? others[i] : 0.0;
        for (std::uint32_t v = 0; v < layout_.n_variables(); ++v)
            for (std::size_t x = 0; x < layout_.n_labels(v); ++x) {
                double sum = 0.0;
                for (const std::uint32_t s : layout_.slots_at(v))
                    if (!layout_.slots[s].first) sum += shifts[layout_.slots[s].at + x];
                for (const std::uint32_t s : layout_.slots_at(v))
                    if (!layout_.slots[s].first) shifts[layout_.slots[s].at + x] -= share_[v] * sum;
            }
    }

    // The bound with the shifts as they are; -inf where nothing is allowed.
    double upwards() {
        InterruptCheck check;
        CompensatedSum bound;
        bound.add(layout_.constant);
        for (std::size_t i = layout_.order.size(); i-- > 0;) {
            check();
            const std::uint32_t v = layout_.order[i];
            const std::size_t K = layout_.n_labels(v);
            double* const have = have_.data() + layout_.label_at[v];
            std::copy_n(layout_.unary.begin() + static_cast<std::ptrdiff_t>(layout_.label_at[v]), K, have);
            for (const std::uint32_t s : layout_.slots_at(v)) {
                const Slot& slot = layout_.slots[s];
                if (!slot.first) continue;
                double* const message = message_.data() + slot.at;
                take_message(layout_.factors[slot.factor], slot.factor, message);
                for (std::size_t x = 0; x < K; ++x) have[x] += message[x];
            }
            const double top = highest(have, K);
            if (top == kLogZero || layout_.constant == kLogZero) return kLogZero;
            if (share_[v] == 0.0) {
                std::copy_n(have, K, out_.data());
                bound.add(log_sum(out_.data(), K));
                continue;
            }
            bound.add(top);  // it stays here; factors get what differs
            for (std::size_t x = 0; x < K; ++x) have[x] -= top;
            for (const std::uint32_t s : layout_.slots_at(v)) {
                const Slot& slot = layout_.slots[s];
                if (slot.first) continue;
                for (std::size_t x = 0; x < K; ++x)
                    given_[slot.at + x] = have[x] == kLogZero ? kLogZero : share_[v] * have[x] + shifts[slot.at + x];
            }
        }
        return bound.value();
    }

    // Beliefs of variables and of slots, from the top on.
    void downwards() {
        InterruptCheck check;
        for (const std::uint32_t v : layout_.order) {
            check();
            const std::size_t K = layout_.n_labels(v);
            double* const marginal = marginal_.data() + layout_.label_at[v];
            if (share_[v] == 0.0) {
                std::copy_n(have_.data() + layout_.label_at[v], K, marginal);
                normalise(marginal, K);
            } else {
                std::fill(marginal, marginal + K, 0.0);
                for (const std::uint32_t s : layout_.slots_at(v)) {
                    const Slot& slot = layout_.slots[s];
                    if (slot.first) continue;
                    for (std::size_t x = 0; x < K; ++x) marginal[x] += share_[v] * belief_[slot.at + x];
                }
            }
            for (const std::uint32_t s : layout_.slots_at(v)) {
                const Slot& slot = layout_.slots[s];
                if (slot.first) spread(layout_.factors[slot.factor], slot, marginal, nullptr);
            }
        }
    }

    // Towards agreement: the logarithm of a slot's belief moves by `step` to the mean of them. The largest difference
    // of beliefs.
    double move(double step) {
        constexpr double kMost = 10.0;
        double apart = 0.0;
        std::vector<double> mean(layout_.most_labels);
        for (std::uint32_t v = 0; v < layout_.n_variables(); ++v) {
            if (share_[v] == 0.0 || share_[v] == 1.0) continue;
            const std::size_t K = layout_.n_labels(v);
            const double* const marginal = marginal_.data() + layout_.label_at[v];
            std::fill(mean.begin(), mean.end(), 0.0);
            const auto level = [&](const Slot& slot, std::size_t x) {
                return std::log(std::max(belief_[slot.at + x], 1e-300));
            };
            for (const std::uint32_t s : layout_.slots_at(v)) {
                const Slot& slot = layout_.slots[s];
                if (slot.first) continue;
                for (std::size_t x = 0; x < K; ++x) {
                    apart = std::max(apart, std::abs(belief_[slot.at + x] - marginal[x]));
                    mean[x] += share_[v] * std::clamp(level(slot, x), -700.0, 0.0);
                }
            }
            // All move by what adds up to nothing, so the clamp is on the largest of them.
            double most = 0.0;
            for (const std::uint32_t s : layout_.slots_at(v)) {
                const Slot& slot = layout_.slots[s];
                if (slot.first) continue;
                for (std::size_t x = 0; x < K; ++x) most = std::max(most, std::abs(mean[x] - level(slot, x)));
            }
            const double by = step * share_[v] * (most > kMost ? kMost / most : 1.0);
            for (const std::uint32_t s : layout_.slots_at(v)) {
                const Slot& slot = layout_.slots[s];
                if (slot.first) continue;
                for (std::size_t x = 0; x < K; ++x) shifts[slot.at + x] += by * (mean[x] - level(slot, x));
            }
        }
        return apart;
    }

    void read(std::vector<double>& out) {
        out.assign(layout_.graph.n_scores, 0.0);
        for (std::uint32_t v = 0; v < layout_.n_variables(); ++v)
            for (std::size_t x = 0; x < layout_.n_labels(v); ++x)
                out[layout_.graph.unary_at[v] + x] += marginal_[layout_.label_at[v] + x];
        for (const LaidFactor& f : layout_.factors) {
            if (f.form == Form::kCount) continue;
            const Slot& first = layout_.slots[in_order_[f.slots_at]];
            spread(f, first, marginal_.data() + layout_.label_at[first.variable], out.data() + f.source->at);
        }
    }

    std::vector<double> shifts;

private:
    static bool is_pair(const LaidFactor& f) { return f.form == Form::kPair || f.form == Form::kPotts; }

    const Slot& in_order(const LaidFactor& f, std::size_t i) const { return layout_.slots[in_order_[f.slots_at + i]]; }

    void exponentiate(std::size_t size) {
        exp_.resize(size);
        top_.assign(layout_.factors.size(), 0.0);
        for (std::size_t i = 0; i < layout_.factors.size(); ++i) {
            const LaidFactor& f = layout_.factors[i];
            if (!is_pair(f)) continue;
            const double r = share_[in_order(f, 1).variable];
            top_[i] = highest(f.table, f.entries);
            if (top_[i] == kLogZero) top_[i] = 0.0;
            for (std::size_t e = 0; e < f.entries; ++e) exp_[exp_at_[i] + e] = (f.table[e] - top_[i]) / r;
        }
        kernels().exponentials(exp_.data(), exp_.size(), exp_.data());
    }

    // To the first variable of a factor.
    void take_message(const LaidFactor& f, std::size_t number, double* out) {
        if (f.form == Form::kCount) return count_up(f, out);
        if (is_pair(f)) {
            const Slot &above = in_order(f, 0), &below = in_order(f, 1);
            const double r = share_[below.variable];
            const std::size_t K = layout_.n_labels(above.variable), L = layout_.n_labels(below.variable);
            const double* given = given_.data() + below.at;
            const double top = highest(given, L);
            for (std::size_t x = 0; x < L; ++x) in_[x] = (given[x] - top) / r;
            kernels().exponentials(in_.data(), L, in_.data());
            const bool rows = above.place == 0;
            through_table<SumStep>(exp_.data() + exp_at_[number], rows ? K : L, rows ? L : K, rows, in_.data(), out);
            bool small = false;
            for (std::size_t x = 0; x < K; ++x) small = small || out[x] < kTooSmall;
            if (!small) {
                for (std::size_t x = 0; x < K; ++x) out[x] = top_[number] + top + r * std::log(out[x]);
                return;
            }
        }
        collapse(f);
        const double* left = levels_[1].data();
        std::copy(left, left + layout_.n_labels(in_order(f, 0).variable), out);
    }

    // The table with its variables in order, then with the last one summed out, and so on: levels_[i] has i variables.
    void collapse(const LaidFactor& f) {
        const std::size_t n = f.n_slots;
        levels_.resize(std::max(levels_.size(), n + 1));
        order_table(f, levels_[n]);
        for (std::size_t i = n; i-- > 1;) {
            const Slot& slot = in_order(f, i);
            const std::size_t K = layout_.n_labels(slot.variable);
            std::vector<double>& from = levels_[i + 1];
            std::vector<double>& to = levels_[i];
            to.resize(from.size() / K);
            for (std::size_t row = 0; row < to.size(); ++row) {
                for (std::size_t x = 0; x < K; ++x) from[row * K + x] += given_[slot.at + x];
                // What is left in the rows are probabilities given the variables before.
                to[row] = power_sum(from.data() + row * K, K, share_[slot.variable], true);
            }
        }
    }

    void order_table(const LaidFactor& f, std::vector<double>& to) {
        to.resize(f.entries);
        walk(f, [&](std::size_t entry, std::size_t at) { to[at] = f.table[entry]; });
    }

    // Entries of a table and where they are when its variables are in order.
    template <class Visit>
    void walk(const LaidFactor& f, const Visit& visit) const {
        const std::size_t n = f.n_slots;
        std::vector<std::uint32_t> sizes(n);
        std::vector<std::size_t> step(n), own(n, 1);
        for (std::size_t i = n - 1; i-- > 0;)
            own[i] = own[i + 1] * layout_.n_labels(layout_.slots[f.slots_at + i + 1].variable);
        for (std::size_t i = 0; i < n; ++i) {
            sizes[i] = layout_.graph.n_labels[in_order(f, i).variable];
            step[i] = own[in_order(f, i).place];
        }
        Labellings all(sizes, std::vector<std::uint32_t>(n, kFree));
        std::size_t at = 0;
        do {
            std::size_t entry = 0;
            for (std::size_t i = 0; i < n; ++i) entry += all.labels()[i] * step[i];
            visit(entry, at++);
        } while (all.next());
    }

    // From the marginal of a factor's first variable to the beliefs of its others, or of its entries.
    void spread(const LaidFactor& f, const Slot& first, const double* marginal, double* entries) {
        if (f.form == Form::kCount) return count_down(f, marginal);
        if (is_pair(f) && entries == nullptr && spread_pair(f, first, marginal)) return;
        collapse(f);
        const std::size_t n = f.n_slots;
        std::vector<double> joint(marginal, marginal + layout_.n_labels(first.variable));
        for (std::size_t i = 1; i < n; ++i) {
            const Slot& slot = in_order(f, i);
            const std::size_t K = layout_.n_labels(slot.variable);
            std::vector<double>& given_before = levels_[i + 1];
            double* const belief = belief_.data() + slot.at;
            std::fill(belief, belief + K, 0.0);
            for (std::size_t row = 0; row < joint.size(); ++row)
                for (std::size_t x = 0; x < K; ++x) {
                    given_before[row * K + x] *= joint[row];
                    belief[x] += given_before[row * K + x];
                }
            joint = given_before;
        }
        if (entries != nullptr) walk(f, [&](std::size_t entry, std::size_t at) { entries[entry] += joint[at]; });
    }

    bool spread_pair(const LaidFactor& f, const Slot& first, const double* marginal) {
        const Slot& below = in_order(f, 1);
        const double r = share_[below.variable];
        const std::size_t K = layout_.n_labels(first.variable), L = layout_.n_labels(below.variable);
        const double* message = message_.data() + first.at;
        const double* given = given_.data() + below.at;
        const double top = highest(given, L), base = top_[first.factor] + top;
        for (std::size_t x = 0; x < K; ++x) {
            const double down = marginal[x] == 0.0 ? kLogZero : (base - message[x]) / r;
            if (down > 400.0) return false;
            in_[x] = down == kLogZero ? 0.0 : marginal[x] * std::exp(down);
        }
        const bool rows = below.place == 0;
        through_table<SumStep>(exp_.data() + exp_at_[first.factor], rows ? L : K, rows ? K : L, rows, in_.data(),
                               out_.data());
        double* const belief = belief_.data() + below.at;
        for (std::size_t x = 0; x < L; ++x)
            belief[x] = given[x] == kLogZero ? 0.0 : out_[x] * std::exp((given[x] - top) / r);
        return true;
    }

    // by_count_[i][c]: the worth of the variables from the i-th on where c of those before are true.
    std::size_t counted(const LaidFactor& f, std::size_t before, bool one_more) const {
        if (!one_more) return before;
        if (before + 1 < f.states) return before + 1;
        return f.most == f.n_slots ? before : f.states;  // as many as told apart, or too many
    }

    void fill_counts(const LaidFactor& f) {
        const std::size_t n = f.n_slots;
        by_count_.assign((n + 1) * (f.states + 1), kLogZero);
        const auto at = [&](std::size_t i, std::size_t c) -> double& { return by_count_[i * (f.states + 1) + c]; };
        for (std::size_t c = f.least; c < f.states; ++c) at(n, c) = 0.0;
        std::vector<double> row(layout_.most_labels);
        for (std::size_t i = n; i-- > 1;) {
            const Slot& slot = in_order(f, i);
            const std::size_t K = layout_.n_labels(slot.variable);
            for (std::size_t c = 0; c < f.states; ++c) {
                for (std::size_t x = 0; x < K; ++x)
                    row[x] = given_[slot.at + x] + at(i + 1, counted(f, c, layout_.counts[slot.at + x]));
                at(i, c) = power_sum(row.data(), K, share_[slot.variable], false);
            }
        }
    }

    void count_up(const LaidFactor& f, double* out) {
        fill_counts(f);
        const Slot& first = in_order(f, 0);
        for (std::size_t x = 0; x < layout_.n_labels(first.variable); ++x)
            out[x] = by_count_[f.states + 1 + counted(f, 0, layout_.counts[first.at + x])];
    }

    void count_down(const LaidFactor& f, const double* marginal) {
        fill_counts(f);
        std::vector<double> now(f.states + 1, 0.0), next(f.states + 1), row(layout_.most_labels);
        const Slot& first = in_order(f, 0);
        for (std::size_t x = 0; x < layout_.n_labels(first.variable); ++x)
            now[counted(f, 0, layout_.counts[first.at + x])] += marginal[x];
        for (std::size_t i = 1; i < f.n_slots; ++i) {
            const Slot& slot = in_order(f, i);
            const std::size_t K = layout_.n_labels(slot.variable);
            std::ranges::fill(next, 0.0);
            double* const belief = belief_.data() + slot.at;
            std::fill(belief, belief + K, 0.0);
            for (std::size_t c = 0; c < f.states; ++c) {
                if (now[c] == 0.0) continue;
                for (std::size_t x = 0; x < K; ++x)
                    row[x] = given_[slot.at + x] +
                             by_count_[(i + 1) * (f.states + 1) + counted(f, c, layout_.counts[slot.at + x])];
                power_sum(row.data(), K, share_[slot.variable], true);
                for (std::size_t x = 0; x < K; ++x) {
                    belief[x] += now[c] * row[x];
                    next[counted(f, c, layout_.counts[slot.at + x])] += now[c] * row[x];
                }
            }
            std::swap(now, next);
        }
    }

    const Layout& layout_;
    std::vector<double> given_, message_, belief_, have_, marginal_, share_, in_, out_, exp_, top_, by_count_;
    std::vector<std::uint32_t> in_order_;  // slots of each factor by their variables' order
    std::vector<std::size_t> exp_at_;
    std::vector<std::vector<double>> levels_;
};

}  // namespace

Beliefs reweighted_sums(const Layout& layout, const Search& how, SearchState* warm, const Deadline& deadline) {
    Beliefs out;
    out.bound = true;
    Buckets buckets(layout);
    if (warm != nullptr) buckets.start_from(warm->shifts);
    double step = 0.5;
    out.log_z = buckets.upwards();
    if (out.log_z == kLogZero) {
        out.converged = true;
        out.beliefs.assign(layout.graph.n_scores, 0.0);
        return out;
    }
    std::vector<double> kept = buckets.shifts;
    while (true) {
        buckets.downwards();
        if (out.iterations >= how.iterations || deadline.passed()) break;
        kept = buckets.shifts;
        double apart = buckets.move(step);
        if (apart <= how.tolerance) {
            buckets.shifts = kept;
            out.converged = true;
            break;
        }
        ++out.iterations;
        double bound = buckets.upwards();
        while (bound > out.log_z && step > 1e-4 && !deadline.passed()) {
            for (std::size_t i = 0; i < kept.size(); ++i) buckets.shifts[i] = 0.5 * (buckets.shifts[i] + kept[i]);
            step *= 0.5;
            bound = buckets.upwards();
        }
        if (bound > out.log_z) {  // as low as steps of this kind get it
            buckets.shifts = kept;
            buckets.upwards();
            buckets.downwards();
            break;
        }
        out.log_z = bound;
        step = std::min(1.0, 1.2 * step);
    }
    if (layout.all_acyclic()) out.converged = true;
    buckets.read(out.beliefs);
    if (warm != nullptr) warm->shifts = buckets.shifts;
    return out;
}

}  // namespace tw::graphs
