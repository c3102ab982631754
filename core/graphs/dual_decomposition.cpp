#include "dual_decomposition.hpp"

#include <algorithm>
#include <cmath>

#include "log_sums.hpp"
#include "projections.hpp"

namespace tw::graphs {
namespace {

using Form = LaidFactor::Form;

// A joint labelling of a factor's variables.
struct Member {
    std::vector<std::uint32_t> labels;  // by place
    double score = 0.0, weight = 0.0;   // its own score, without what was given
    Parts parts = {};                   // of structures
};

// Shares of forbidden entries that are left out; where there would be more, there are no shares.
constexpr double kMostForbidden = 1e-4;

// Solves a small system in place, with pivots; false where it is singular.
bool solve(std::vector<double>& a, std::vector<double>& b, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        std::size_t pivot = i;
        for (std::size_t r = i + 1; r < n; ++r)
            if (std::abs(a[r * n + i]) > std::abs(a[pivot * n + i])) pivot = r;
        if (std::abs(a[pivot * n + i]) < 1e-10) return false;
        if (pivot != i) {
            std::swap_ranges(a.begin() + static_cast<std::ptrdiff_t>(pivot * n),
                             a.begin() + static_cast<std::ptrdiff_t>(pivot * n + n),
                             a.begin() + static_cast<std::ptrdiff_t>(i * n));
            std::swap(b[pivot], b[i]);
        }
        for (std::size_t r = i + 1; r < n; ++r) {
            const double by = a[r * n + i] / a[i * n + i];
            if (by == 0.0) continue;
            for (std::size_t c = i; c < n; ++c) a[r * n + c] -= by * a[i * n + c];
            b[r] -= by * b[i];
        }
    }
    for (std::size_t i = n; i-- > 0;) {
        for (std::size_t c = i + 1; c < n; ++c) b[i] -= a[i * n + c] * b[c];
        b[i] /= a[i * n + i];
    }
    return true;
}

class Decomposition {
public:
    Decomposition(const Layout& layout, const Reweighted& from)
        : layout_(layout),
          given(layout.n_given, 0.0),
          opinion_(layout.n_given, 0.0),
          wanted_(layout.n_given, 0.0),
          mixtures_(layout.factors.size()),
          in_closed_form_(layout.factors.size(), 0),
          shares(layout.unary.size(), 0.0) {
        for (std::uint32_t v = 0; v < layout.n_variables(); ++v) give(v, from);
        for (std::size_t f = 0; f < layout.factors.size(); ++f) in_closed_form_[f] = closed_form(layout.factors[f]);
    }

    // The bound of what is given; -inf where a factor forbids everything.
    double bound() const {
        CompensatedSum total;
        total.add(layout_.constant + alone_);
        InterruptCheck check;
        for (const LaidFactor& f : layout_.factors) {
            check();
            const double best = layout_.best_of(f, given.data());
            if (best == kLogZero) return kLogZero;
            total.add(best);
        }
        return total.value();
    }

    void round(double penalty, const Deadline& deadline) {
        InterruptCheck check;
        for (std::size_t i = 0; i < layout_.factors.size(); ++i) {
            check();
            if ((i & 255) == 255 && deadline.passed()) break;  // the old opinion stays
            const LaidFactor& f = layout_.factors[i];
            for (const Slot& slot : layout_.slots_of_factor(f)) {
                const double* p = shares.data() + layout_.label_at[slot.variable];
                for (std::size_t x = 0; x < layout_.n_labels(slot.variable); ++x)
                    wanted_[slot.at + x] = p[x] + given[slot.at + x] / penalty;
            }
            if (in_closed_form_[i])
                project(f);
            else
                mix(f, mixtures_[i], penalty);
        }
        primal = dual = 0.0;
        for (std::uint32_t v = 0; v < layout_.n_variables(); ++v) agree(v, penalty);
        const double size = std::max<double>(1.0, static_cast<double>(layout_.n_given));
        primal = std::sqrt(primal / size);
        dual = std::sqrt(dual / size);
    }

    // Shares by part, repaired to lie in the local polytope; empty where a forbidden entry would have some.
    std::vector<double> by_part() const;

private:
    const Layout& layout_;

public:
    std::vector<double> given;

private:
    std::vector<double> opinion_, wanted_;
    std::vector<std::vector<Member>> mixtures_;
    std::vector<std::uint8_t> in_closed_form_;
    double alone_ = 0.0;  // of variables without factors

public:
    std::vector<double> shares;
    double primal = 0.0, dual = 0.0;  // residuals

private:
    void give(std::uint32_t v, const Reweighted& from) {
        const std::size_t K = layout_.n_labels(v), at = layout_.label_at[v];
        const auto slots = layout_.slots_at(v);
        std::size_t n_left = 0, best = 0;
        for (std::size_t x = 0; x < K; ++x) {
            double rest = from.unary[at + x];
            n_left += rest != kLogZero;
            for (const std::uint32_t s : slots)
                if (rest != kLogZero) rest -= from.given[layout_.slots[s].at + x];
            for (const std::uint32_t s : slots)
                given[layout_.slots[s].at + x] =
                    rest == kLogZero ? kLogZero
                                     : from.given[layout_.slots[s].at + x] + rest / static_cast<double>(slots.size());
            if (from.unary[at + x] > from.unary[at + best]) best = x;
        }
        for (std::size_t x = 0; x < K; ++x)
            if (from.unary[at + x] != kLogZero) shares[at + x] = 1.0 / static_cast<double>(n_left);
        if (!slots.empty()) return;
        for (std::size_t x = 0; x < K; ++x) shares[at + x] = x == best;
        alone_ += from.unary[at + best];
    }

    bool closed_form(const LaidFactor& f) const {
        if (f.form != Form::kCount) return false;
        return std::ranges::all_of(layout_.slots_of_factor(f), [&](const Slot& slot) {
            return layout_.n_labels(slot.variable) == 2 && layout_.counts[slot.at] + layout_.counts[slot.at + 1] == 1 &&
                   given[slot.at] != kLogZero && given[slot.at + 1] != kLogZero;
        });
    }

    // (1 - t, t) nearest to what is wanted: t nearest to (wanted[true] + 1 - wanted[false]) / 2.
    void project(const LaidFactor& f) {
        const auto mine = layout_.slots_of_factor(f);
        std::vector<double> point(mine.size());
        for (const Slot& slot : mine) {
            const std::size_t yes = layout_.counts[slot.at] ? 0 : 1;
            point[slot.place] = 0.5 * (wanted_[slot.at + yes] + 1.0 - wanted_[slot.at + 1 - yes]);
        }
        project_to_counts(point, f.least, f.most);
        for (const Slot& slot : mine) {
            const std::size_t yes = layout_.counts[slot.at] ? 0 : 1;
            opinion_[slot.at + yes] = point[slot.place];
            opinion_[slot.at + 1 - yes] = 1.0 - point[slot.place];
        }
    }

    double overlap(const Member& a, const Member& b) const {
        double n = 0.0;
        for (std::size_t i = 0; i < a.labels.size(); ++i) n += a.labels[i] == b.labels[i];
        return n;
    }

    void set_opinion(const LaidFactor& f, const std::vector<Member>& mixture) {
        for (const Slot& slot : layout_.slots_of_factor(f)) {
            double* const to = opinion_.data() + slot.at;
            std::fill(to, to + layout_.n_labels(slot.variable), 0.0);
            for (const Member& one : mixture) to[one.labels[slot.place]] += one.weight;
        }
    }

    // The best member for scores `toward` (by slot and label), with its value.
    double best_member(const LaidFactor& f, const double* toward, Member& out) const {
        out.labels.resize(f.n_slots);
        out.parts.clear();
        const double value = layout_.best_of(f, toward, out.labels.data(), &out.parts);
        if (f.form == Form::kCount) {
            out.score = 0.0;
        } else if (f.form == Form::kStructure) {
            out.score = 0.0;
            for (const Part part : out.parts) out.score += f.table[part];
        } else {
            std::size_t entry = 0;
            for (const Slot& slot : layout_.slots_of_factor(f))
                entry = entry * layout_.n_labels(slot.variable) + out.labels[slot.place];
            out.score = f.table[entry];
        }
        return value;
    }

    // The point of the factor's polytope that is best, from the mixture it was last.
    void mix(const LaidFactor& f, std::vector<Member>& mixture, double penalty) {
        const auto mine = layout_.slots_of_factor(f);
        const std::size_t most_rounds = 20 + 10 * mine.size();
        toward_.resize(std::max(toward_.size(), layout_.n_given));
        Member fresh;
        if (mixture.empty()) {
            if (best_member(f, given.data(), fresh) == kLogZero) return;
            fresh.weight = 1.0;
            mixture.push_back(fresh);
        }
        const auto worth = [&](const Member& one) {
            double total = one.score / penalty;
            for (const Slot& slot : mine) total += wanted_[slot.at + one.labels[slot.place]];
            return total;
        };
        for (std::size_t rounds = 0; rounds < most_rounds; ++rounds) {
            // Best weights of these members, of any sign; then as far towards them as all stay positive.
            const std::size_t m = mixture.size(), n = m + 1;
            matrix_.assign(n * n, 0.0);
            right_.assign(n, 1.0);
            for (std::size_t a = 0; a < m; ++a) {
                for (std::size_t b = 0; b < m; ++b) matrix_[a * n + b] = overlap(mixture[a], mixture[b]);
                matrix_[a * n + m] = matrix_[m * n + a] = 1.0;
                right_[a] = worth(mixture[a]);
            }
            if (!solve(matrix_, right_, n)) {
                // Members that depend on each other: the lightest goes.
                const auto lightest = std::ranges::min_element(mixture, {}, &Member::weight);
                const double lost = lightest->weight;
                mixture.erase(lightest);
                for (Member& one : mixture) one.weight /= 1.0 - lost;
                continue;
            }
            double step = 1.0;
            std::size_t leaves = m;
            for (std::size_t a = 0; a < m; ++a) {
                if (right_[a] >= 0.0) continue;
                const double reach = mixture[a].weight / (mixture[a].weight - right_[a]);
                if (reach < step) {
                    step = reach;
                    leaves = a;
                }
            }
            for (std::size_t a = 0; a < m; ++a)
                mixture[a].weight = std::max(0.0, mixture[a].weight + step * (right_[a] - mixture[a].weight));
            if (leaves < m) {
                mixture.erase(mixture.begin() + static_cast<std::ptrdiff_t>(leaves));
                continue;
            }
            // Whether another labelling would help: its worth less what it shares with the point is above the price.
            set_opinion(f, mixture);
            for (const Slot& slot : mine)
                for (std::size_t x = 0; x < layout_.n_labels(slot.variable); ++x)
                    toward_[slot.at + x] = given[slot.at + x] == kLogZero
                                               ? kLogZero
                                               : penalty * (wanted_[slot.at + x] - opinion_[slot.at + x]);
            const double value = best_member(f, toward_.data(), fresh) / penalty, price = right_[m];
            if (!(value > price + 1e-9 * (1.0 + std::abs(price)))) return;
            if (std::ranges::any_of(mixture, [&](const Member& one) { return one.labels == fresh.labels; })) return;
            admit(mixture, fresh);
        }
        set_opinion(f, mixture);
    }

    // A new member comes in with no weight. Where its labels are those of a combination of the others, weight is moved
    // to it from that combination until one of them has none: the point stays, the score rises.
    void admit(std::vector<Member>& mixture, Member& fresh) {
        const std::size_t m = mixture.size(), n = m + 1;
        matrix_.assign(n * n, 0.0);
        right_.assign(n, 1.0);
        std::vector<double> with(m);
        for (std::size_t a = 0; a < m; ++a) {
            for (std::size_t b = 0; b < m; ++b) matrix_[a * n + b] = overlap(mixture[a], mixture[b]);
            matrix_[a * n + m] = matrix_[m * n + a] = 1.0;
            right_[a] = with[a] = overlap(mixture[a], fresh);
        }
        fresh.weight = 0.0;
        if (solve(matrix_, right_, n)) {
            double far = static_cast<double>(fresh.labels.size());
            for (std::size_t a = 0; a < m; ++a) {
                far -= 2.0 * right_[a] * with[a];
                for (std::size_t b = 0; b < m; ++b) far += right_[a] * right_[b] * overlap(mixture[a], mixture[b]);
            }
            if (far < 1e-7) {
                double reach = 1.0;
                std::size_t leaves = m;
                for (std::size_t a = 0; a < m; ++a)
                    if (right_[a] > 1e-12 && mixture[a].weight < reach * right_[a]) {
                        reach = mixture[a].weight / right_[a];
                        leaves = a;
                    }
                for (std::size_t a = 0; a < m; ++a)
                    mixture[a].weight = std::max(0.0, mixture[a].weight - reach * right_[a]);
                fresh.weight = reach;
                if (leaves < m) mixture.erase(mixture.begin() + static_cast<std::ptrdiff_t>(leaves));
            }
        }
        mixture.push_back(fresh);
    }

    void agree(std::uint32_t v, double penalty) {
        const auto slots = layout_.slots_at(v);
        if (slots.empty()) return;
        const std::size_t K = layout_.n_labels(v);
        double* const p = shares.data() + layout_.label_at[v];
        for (std::size_t x = 0; x < K; ++x) {
            double mean = 0.0;
            for (const std::uint32_t s : slots) mean += opinion_[layout_.slots[s].at + x];
            mean /= static_cast<double>(slots.size());
            dual += static_cast<double>(slots.size()) * (mean - p[x]) * (mean - p[x]);
            p[x] = mean;
            for (const std::uint32_t s : slots) {
                const std::size_t at = layout_.slots[s].at + x;
                const double over = opinion_[at] - mean;
                primal += over * over;
                given[at] -= penalty * over;
            }
        }
    }

    bool table_shares(const LaidFactor& f, const std::vector<Member>& mixture, double* out) const;

    std::vector<double> toward_, matrix_, right_;
};

// The mixture scaled down until no variable has more than its share, then what is missing as a product (the rounding of
// Altschuler, Weed & Rigollet 2017, for any number of variables).
bool Decomposition::table_shares(const LaidFactor& f, const std::vector<Member>& mixture, double* out) const {
    const auto mine = layout_.slots_of_factor(f);
    std::vector<Member> scaled = mixture;
    std::vector<std::vector<double>> missing(mine.size());
    for (const Slot& slot : mine) {
        const std::size_t K = layout_.n_labels(slot.variable);
        std::vector<double> has(K, 0.0);
        const double* p = shares.data() + layout_.label_at[slot.variable];
        for (const Member& one : scaled) has[one.labels[slot.place]] += one.weight;
        for (Member& one : scaled) {
            const std::uint32_t x = one.labels[slot.place];
            if (has[x] > p[x]) one.weight *= p[x] / has[x];
        }
    }
    double total = 0.0;
    for (const Slot& slot : mine) {
        const std::size_t K = layout_.n_labels(slot.variable);
        const double* p = shares.data() + layout_.label_at[slot.variable];
        std::vector<double>& less = missing[slot.place];
        less.assign(p, p + K);
        for (const Member& one : scaled) less[one.labels[slot.place]] -= one.weight;
        total = 0.0;
        for (double& x : less) total += x = std::max(x, 0.0);
    }
    for (const Member& one : scaled) {
        std::size_t entry = 0;
        for (const Slot& slot : mine) entry = entry * layout_.n_labels(slot.variable) + one.labels[slot.place];
        out[entry] += one.weight;
    }
    if (total <= 0.0) return true;
    std::vector<std::uint32_t> n(mine.size());
    for (std::size_t i = 0; i < mine.size(); ++i) n[i] = layout_.graph.n_labels[mine[i].variable];
    Labellings all(std::move(n), std::vector<std::uint32_t>(mine.size(), kFree));
    std::size_t entry = 0;
    double forbidden = 0.0;
    do {
        double more = total;
        for (std::size_t i = 0; i < mine.size(); ++i) more *= missing[i][all.labels()[i]] / total;
        if (f.table[entry] == kLogZero)
            forbidden += more;
        else
            out[entry] += more;
        ++entry;
    } while (all.next());
    return forbidden <= kMostForbidden;
}

std::vector<double> Decomposition::by_part() const {
    std::vector<double> out(layout_.graph.n_scores, 0.0);
    for (std::uint32_t v = 0; v < layout_.n_variables(); ++v)
        for (std::size_t x = 0; x < layout_.n_labels(v); ++x)
            out[layout_.graph.unary_at[v] + x] += shares[layout_.label_at[v] + x];
    for (std::size_t i = 0; i < layout_.factors.size(); ++i) {
        const LaidFactor& f = layout_.factors[i];
        if (f.form == Form::kCount) continue;
        double* const to = out.data() + f.source->at;
        if (f.form != Form::kStructure) {
            if (!table_shares(f, mixtures_[i], to)) return {};
            continue;
        }
        // Parts that stand for labels have the labels' shares, the others those of the mixture.
        for (const Member& one : mixtures_[i])
            for (const Part part : one.parts)
                if (f.source->literals[part].variable == kNoVariable) to[part] += one.weight;
        for (std::size_t p = 0; p < f.entries; ++p) {
            const Literal literal = f.source->literals[p];
            if (literal.variable != kNoVariable) to[p] += shares[layout_.label_at[literal.variable] + literal.label];
        }
    }
    return out;
}

// Labels with the largest shares; those of the best output of structures first.
void read_off(const Layout& layout, const Decomposition& state, Labelling& best) {
    Labelling tried{std::vector<std::uint32_t>(layout.n_variables(), 0), kLogZero};
    for (std::uint32_t v = 0; v < layout.n_variables(); ++v) {
        const double* p = state.shares.data() + layout.label_at[v];
        tried.labels[v] = static_cast<std::uint32_t>(std::max_element(p, p + layout.n_labels(v)) - p);
    }
    const auto try_it = [&](Labelling labelling) {
        labelling.score = layout.score(labelling.labels);
        improve(layout, labelling);
        if (labelling.score != kLogZero && (best.labels.empty() || labelling.score > best.score))
            best = std::move(labelling);
    };
    try_it(tried);
    if (!layout.has_structures) return;
    std::vector<std::uint32_t> labels;
    for (const LaidFactor& f : layout.factors) {
        if (f.form != Form::kStructure) continue;
        labels.resize(f.n_slots);
        if (layout.best_of(f, state.given.data(), labels.data()) == kLogZero) continue;
        Labelling with = tried;
        for (const Slot& slot : layout.slots_of_factor(f)) with.labels[slot.variable] = labels[slot.place];
        try_it(std::move(with));
    }
}

}  // namespace

Relaxation decompose(const Layout& layout, const Reweighted& from, Labelling& best, const Search& how, bool to_the_end,
                     const Deadline& deadline) {
    constexpr std::size_t kEvery = 5;
    Relaxation out;
    Decomposition state(layout, from);
    out.bound = std::min(from.bound(), state.bound());
    out.given = state.given;
    if (out.bound == kLogZero) {
        out.converged = true;
        return out;
    }
    // Of the size of the differences that labels make.
    double penalty = std::max(1e-3, layout.scale / std::max<double>(1.0, static_cast<double>(layout.n_given)));
    const auto ended = [&] {
        return closed(layout, out.bound, best.score) ||
               (!best.labels.empty() && out.bound - best.score <= how.tolerance * std::abs(best.score));
    };
    while (out.iterations < how.iterations && !deadline.passed()) {
        if (!to_the_end && ended()) break;
        ++out.iterations;
        state.round(penalty, deadline);
        const bool small = state.primal < how.tolerance && state.dual < how.tolerance;
        if (small || out.iterations % kEvery == 0) {
            const double bound = state.bound();
            if (bound < out.bound) {
                out.bound = bound;
                out.given = state.given;
            }
            if (bound == kLogZero) break;
            read_off(layout, state, best);
        }
        if (small) {
            out.converged = true;
            break;
        }
        if (out.iterations % kEvery == 0) {
            if (state.primal > 5.0 * state.dual) penalty *= 1.5;
            if (state.dual > 5.0 * state.primal) penalty /= 1.5;
        }
    }
    if (out.iterations == 0) state.round(penalty, deadline);
    read_off(layout, state, best);
    out.converged = out.converged || ended();
    out.shares = state.by_part();
    return out;
}

}  // namespace tw::graphs
