#include "local_search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "pair_kernels.hpp"

namespace tw::graphs {
namespace {

using Form = LaidFactor::Form;

bool in_structure(const Layout& layout, std::uint32_t v) {
    return layout.has_structures && std::ranges::any_of(layout.slots_at(v), [&](std::uint32_t s) {
               return layout.factors[layout.slots[s].factor].form == Form::kStructure;
           });
}

// The score of a factor's labels, -inf where they are forbidden.
double factor_score(const Layout& layout, const LaidFactor& f, std::span<const std::uint32_t> labels) {
    std::size_t entry = 0, n_true = 0;
    for (const Slot& slot : layout.slots_of_factor(f)) {
        const std::uint32_t x = labels[slot.variable];
        entry = entry * layout.n_labels(slot.variable) + x;
        if (f.form == Form::kCount) n_true += layout.counts[slot.at + x];
    }
    if (f.form == Form::kCount) return n_true < f.least || n_true > f.most ? kLogZero : 0.0;
    return f.table[entry];
}

class Forests {
public:
    Forests(const Layout& layout, std::uint64_t seed)
        : layout_(layout),
          random_(seed),
          order_(layout.n_variables()),
          root_(layout.n_variables()),
          chosen_(layout.n_variables()),
          in_factor_(layout.factors.size()),
          have_(layout.unary.size()) {
        std::iota(order_.begin(), order_.end(), 0u);
        std::erase_if(order_, [&](std::uint32_t v) { return in_structure(layout, v); });
    }

    // Labels become the best ones of a forest given the others.
    void move(std::vector<std::uint32_t>& labels) {
        choose();
        upwards(labels);
        downwards(labels);
    }

private:
    struct Join {  // of a variable to the one above it in the forest
        std::uint32_t variable, above, factor;
    };

    std::uint32_t find(std::uint32_t v) {
        while (root_[v] != v) v = root_[v] = root_[root_[v]];
        return v;
    }

    void choose() {
        for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random_() % i]);
        std::iota(root_.begin(), root_.end(), 0u);
        std::ranges::fill(chosen_, std::uint8_t{0});
        std::ranges::fill(in_factor_, kFree);
        std::vector<std::uint32_t> roots;
        for (const std::uint32_t v : order_) {
            roots.clear();
            bool fits = true;
            for (const std::uint32_t s : layout_.slots_at(v)) {
                const std::uint32_t other = in_factor_[layout_.slots[s].factor];
                if (other == kFree) continue;
                if (other == kFull) {
                    fits = false;
                    break;
                }
                const std::uint32_t r = find(other);
                if (std::ranges::find(roots, r) != roots.end()) {
                    fits = false;
                    break;
                }
                roots.push_back(r);
            }
            if (!fits) continue;
            chosen_[v] = 1;
            for (const std::uint32_t r : roots) root_[r] = v;
            for (const std::uint32_t s : layout_.slots_at(v)) {
                std::uint32_t& in = in_factor_[layout_.slots[s].factor];
                in = in == kFree ? v : kFull;
            }
        }
    }

    // Best scores of subtrees by the label of their root.
    void upwards(std::vector<std::uint32_t>& labels) {
        joins_.clear();
        std::vector<std::uint8_t> seen(layout_.n_variables(), 0);
        for (const std::uint32_t start : order_) {
            if (!chosen_[start] || seen[start]) continue;
            seen[start] = 1;
            joins_.push_back({start, kFree, 0});
            for (std::size_t i = joins_.size() - 1; i < joins_.size(); ++i) {
                const std::uint32_t v = joins_[i].variable;
                for (const std::uint32_t s : layout_.slots_at(v)) {
                    const std::uint32_t f = layout_.slots[s].factor;
                    if (in_factor_[f] != kFull) continue;
                    for (const Slot& slot : layout_.slots_of_factor(layout_.factors[f])) {
                        if (!chosen_[slot.variable] || seen[slot.variable]) continue;
                        seen[slot.variable] = 1;
                        joins_.push_back({slot.variable, v, f});
                    }
                }
            }
        }
        for (const Join& join : joins_) alone(join.variable, labels);
        out_.resize(layout_.most_labels);
        for (std::size_t i = joins_.size(); i-- > 0;) {
            const Join& join = joins_[i];
            if (join.above == kFree) continue;
            const double* table = joint(join, labels);
            const std::size_t above = layout_.n_labels(join.above), below = layout_.n_labels(join.variable);
            const bool rows = rows_;
            through_table<MaxStep>(table, rows ? above : below, rows ? below : above, rows,
                                   have_.data() + layout_.label_at[join.variable], out_.data());
            double* const to = have_.data() + layout_.label_at[join.above];
            for (std::size_t x = 0; x < above; ++x) to[x] += out_[x];
        }
    }

    void downwards(std::vector<std::uint32_t>& labels) {
        for (const Join& join : joins_) {
            double* const have = have_.data() + layout_.label_at[join.variable];
            const std::size_t K = layout_.n_labels(join.variable);
            if (join.above != kFree) {
                const double* table = joint(join, labels);
                const std::size_t above = layout_.n_labels(join.above), x = labels[join.above];
                for (std::size_t y = 0; y < K; ++y) have[y] += rows_ ? table[x * K + y] : table[y * above + x];
            }
            // The label it has stays unless another is better: what is forbidden all the same stays as it was.
            std::uint32_t best = labels[join.variable];
            for (std::uint32_t y = 0; y < K; ++y)
                if (have[y] > have[best]) best = y;
            labels[join.variable] = best;
        }
    }

    // Scores of a variable by itself: its own, and those of factors in which nothing else moves.
    void alone(std::uint32_t v, std::vector<std::uint32_t>& labels) {
        const std::size_t K = layout_.n_labels(v);
        double* const have = have_.data() + layout_.label_at[v];
        std::copy_n(layout_.unary.begin() + static_cast<std::ptrdiff_t>(layout_.label_at[v]), K, have);
        for (const std::uint32_t s : layout_.slots_at(v)) {
            const Slot& slot = layout_.slots[s];
            const LaidFactor& f = layout_.factors[slot.factor];
            if (in_factor_[slot.factor] == kFull) continue;
            if (f.n_slots == 2 && f.table != nullptr) {
                const Slot& other = layout_.slots[f.slots_at + 1 - slot.place];
                const std::size_t step = slot.place == 0 ? layout_.n_labels(other.variable) : 1;
                const double* at = f.table + labels[other.variable] * (slot.place == 0 ? 1 : K);
                for (std::size_t x = 0; x < K; ++x) have[x] += at[x * step];
                continue;
            }
            const std::uint32_t now = labels[v];
            for (std::uint32_t x = 0; x < K; ++x) {
                labels[v] = x;
                have[x] += factor_score(layout_, f, labels);
            }
            labels[v] = now;
        }
    }

    // The table of a join given all other labels; rows_: its rows are those of the variable above.
    const double* joint(const Join& join, std::vector<std::uint32_t>& labels) {
        const LaidFactor& f = layout_.factors[join.factor];
        if (f.n_slots == 2 && f.table != nullptr) {
            rows_ = layout_.slots[f.slots_at].variable == join.above;
            return f.table;
        }
        rows_ = true;
        const std::uint32_t above = labels[join.above], below = labels[join.variable];
        table_.clear();
        for (labels[join.above] = 0; labels[join.above] < layout_.n_labels(join.above); ++labels[join.above])
            for (labels[join.variable] = 0; labels[join.variable] < layout_.n_labels(join.variable);
                 ++labels[join.variable])
                table_.push_back(factor_score(layout_, f, labels));
        labels[join.above] = above;
        labels[join.variable] = below;
        return table_.data();
    }

    static constexpr std::uint32_t kFull = kFree - 1;  // two variables of the factor move

    const Layout& layout_;
    std::mt19937_64 random_;
    std::vector<std::uint32_t> order_, root_;
    std::vector<std::uint8_t> chosen_;
    std::vector<std::uint32_t> in_factor_;  // of factors: the variable of it that moves, kFree or kFull
    std::vector<double> have_, out_, table_;
    std::vector<Join> joins_;
    bool rows_ = true;
};

}  // namespace

void improve(const Layout& layout, Labelling& labelling) {
    constexpr int kMostSweeps = 10;
    std::vector<double> out(layout.most_labels);
    std::vector<std::uint8_t> stale(layout.n_variables(), 1);
    InterruptCheck check;
    bool any = false;
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
        bool moved = false;
        for (const std::uint32_t v : layout.order) {
            if (!stale[v]) continue;
            stale[v] = 0;
            check();
            if (in_structure(layout, v)) continue;
            layout.conditional(v, labelling.labels, out.data());
            const auto best =
                std::max_element(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(layout.n_labels(v)));
            if (!(*best > out[labelling.labels[v]])) continue;
            labelling.labels[v] = static_cast<std::uint32_t>(best - out.begin());
            moved = any = true;
            for (const std::uint32_t s : layout.slots_at(v))
                for (const Slot& other : layout.slots_of_factor(layout.factors[layout.slots[s].factor]))
                    stale[other.variable] = other.variable != v;
        }
        if (!moved) break;
    }
    if (any) labelling.score = layout.score(labelling.labels);
}

void improve_by_forests(const Layout& layout, Labelling& labelling, std::size_t most, const Deadline& deadline) {
    constexpr std::size_t kPatience = 30;
    constexpr double kLeastGain = 1e-5;  // of the score, in that many forests
    if (labelling.labels.empty()) return;
    Forests forests(layout, 20061);
    Labelling tried = labelling;
    double before = labelling.score;
    std::size_t without_gain = 0;
    for (std::size_t i = 0; i < most && without_gain < kPatience && !deadline.passed(); ++i) {
        check_interrupt();
        forests.move(tried.labels);
        tried.score = layout.score(tried.labels);
        if (tried.score > labelling.score + layout.slack())
            labelling = tried;
        else if (tried.score < labelling.score)
            tried = labelling;
        ++without_gain;
        if (labelling.score - before <= kLeastGain * std::abs(before)) continue;
        before = labelling.score;
        without_gain = 0;
    }
}

}  // namespace tw::graphs
