#include "eisner.hpp"

#include <algorithm>
#include <cmath>

#include "../base/interrupt.hpp"
#include "../base/semiring.hpp"

namespace tw {

namespace {

// Projective trees of n words are no more than 6.75^n, and no more than ways to choose a head for each word.
constexpr double kGrowth = 6.75;
bool in_range(double x) { return x > 1e-200 && x < 1e200; }

}  // namespace

void Eisner::lay_out(const DependencyArcs& arcs, bool single_root, Use use) {
    first_ = single_root ? 1 : 0;
    const std::size_t n = arcs.n_words() + 1 - first_;
    std::size_t stride = (n + kSpanPad + 7) / 8 * 8;
    if (stride % 64 == 0) stride += 8;  // rows would share few lines of the cache
    const std::size_t size = (n + 2) * stride, n_tables = use == Use::kOutside ? 11 : 6;
    std::vector<double>& memory = use == Use::kBest ? best_memory_ : memory_;
    if (memory.size() < n_tables * size + kSpanPad) memory.assign(n_tables * size + kSpanPad, 0.0);
    double* next = memory.data() + kSpanPad;
    const auto table = [&] { return std::exchange(next, next + size); };
    tables_ = {n, stride, table(), table(), table(), table(), nullptr, table(), table()};
    if (use != Use::kOutside) return;
    double* const begin = next - kSpanPad;
    around_ = {n, stride, table(), table(), nullptr, nullptr, table(), nullptr, nullptr};
    std::fill(begin, next, 0.0);
    around_.right_arcs = table();
    around_.left_arcs = table();
}

template <class Visit>
void Eisner::each_site(const DependencyArcs& arcs, Visit visit) const {
    for (std::uint32_t m = 1; m <= arcs.n_words(); ++m) {
        if (m % 128 == 0) check_interrupt();
        arcs.each_head(m, [&](std::uint32_t h, std::uint32_t site) { visit(h, m, site); });
    }
}

void Eisner::fill_diagonals(const DependencyArcs& arcs, const double* of_sites, const double* factors, double nothing) {
    const std::size_t size = tables_.n * tables_.stride;
    if (arcs.pruned()) {
        std::fill_n(tables_.right_scores, size, nothing);
        std::fill_n(tables_.left_scores, size, nothing);
    }
    each_site(arcs, [&](std::uint32_t h, std::uint32_t m, std::uint32_t site) {
        if (h < first_) return;
        const double value = factors ? of_sites[site] * factors[m] : of_sites[site];
        if (h < m)
            at(tables_.right_scores, m - h, h - first_) = value;
        else
            at(tables_.left_scores, h - m, m - first_) = value;
    });
    for (std::size_t w = 0; w < tables_.n; ++w)
        for (double* table : {tables_.right_scores, tables_.left_scores})
            std::fill_n(&at(table, w, tables_.n - w), kSpanPad, nothing);
    for (double* table : {tables_.right, tables_.left}) std::fill_n(table + tables_.n, kSpanPad, nothing);
    for (std::size_t w = 1; first_ == 0 && w < tables_.n; ++w)
        at(tables_.left_scores, w, 0) = nothing;  // into the root
}

bool Eisner::best(const DependencyArcs& arcs, bool single_root, const PartScores& scores, Answer& answer) {
    const std::size_t n_labels = arcs.n_labels();
    if (arcs.n_words() == 0) return false;
    const double* values = scores.masked(masked_);
    const double* of_sites = values;
    if (n_labels > 1) {
        of_sites_.resize(arcs.n_sites());
        span_loops().row_maxima(values, arcs.n_sites(), n_labels, of_sites_.data());
        of_sites = of_sites_.data();
    }
    lay_out(arcs, single_root, Use::kBest);
    fill_diagonals(arcs, of_sites, nullptr, kLogZero);
    span_loops().best(tables_);

    const auto& t = tables_;
    std::uint32_t root = 0;
    answer.parts.clear();
    answer.score = single_root ? kLogZero : at(t.right, t.n - 1, 0);
    for (std::uint32_t r = 0; single_root && r < t.n; ++r) {
        const std::uint32_t site = arcs.site(0, r + 1);
        if (site == DependencyArcs::kNone) continue;
        const double score = at(t.left, r, 0) + at(t.right, t.n - 1 - r, r) + of_sites[site];
        if (!(score > answer.score)) continue;
        answer.score = score;
        root = r + 1;
    }
    if (answer.score != kLogZero) trace(arcs, values, root, answer.parts);
    return true;
}

// The arcs of the best tree: what is best is found again along the tree, the first of equals.
void Eisner::trace(const DependencyArcs& arcs, const double* scores, std::uint32_t root, Parts& parts) {
    const auto& t = tables_;
    const auto n = static_cast<std::uint32_t>(t.n);
    const auto add_arc = [&](std::size_t head, std::size_t modifier) {
        const double* row = scores + arcs.site(head, modifier) * arcs.n_labels();
        const std::size_t label = static_cast<std::size_t>(std::max_element(row, row + arcs.n_labels()) - row);
        parts.push_back(static_cast<Part>(static_cast<std::size_t>(row - scores) + label));
    };
    const auto first_best = [](std::uint32_t begin, std::uint32_t end, auto value) {
        std::uint32_t best = begin;
        double highest = value(begin);
        for (std::uint32_t k = begin + 1; k < end; ++k)
            if (const double x = value(k); x > highest) {
                highest = x;
                best = k;
            }
        return best;
    };
    open_.clear();
    if (root > 0) {
        add_arc(0, root);
        open_.push_back({root - 1, 0, false});
        open_.push_back({n - root, root - 1, true});
    } else {
        open_.push_back({n - 1, 0, true});
    }
    while (!open_.empty()) {
        const auto [w, i, right] = open_.back();
        open_.pop_back();
        if (w == 0) continue;
        std::uint32_t arc_width, arc_start;
        if (right) {
            arc_width =
                first_best(1, w + 1, [&](auto k) { return at(t.right_arcs, k, i) + at(t.right, w - k, i + k); });
            arc_start = i;
            add_arc(i + first_, i + arc_width + first_);
            open_.push_back({w - arc_width, i + arc_width, true});
        } else {
            const auto k = first_best(0, w, [&](auto s) { return at(t.left_arcs, w - s, i + s) + at(t.left, s, i); });
            arc_width = w - k;
            arc_start = i + k;
            add_arc(i + w + first_, i + k + first_);
            open_.push_back({k, i, false});
        }
        const auto split = first_best(0, arc_width, [&](auto k) {
            return at(t.right, k, arc_start) + at(t.left, arc_width - 1 - k, arc_start + k + 1);
        });
        open_.push_back({split, arc_start, true});
        open_.push_back({arc_width - 1 - split, arc_start + split + 1, false});
    }
    std::ranges::sort(parts);
}

double Eisner::total(const DependencyArcs& arcs, const double* of_sites) {
    fill_diagonals(arcs, of_sites, factors_.data(), 0.0);
    span_loops().inside(tables_);
    const auto& t = tables_;
    of_left_.assign(t.n, 0.0);
    of_right_.assign(t.n, 0.0);
    if (first_ == 0) {
        of_right_[t.n - 1] = 1.0;
        return at(t.right, t.n - 1, 0);
    }
    double sum = 0.0;
    for (std::size_t r = 0; r < t.n; ++r) {
        const std::uint32_t site = arcs.site(0, r + 1);
        if (site == DependencyArcs::kNone) continue;
        const double own = of_sites[site] * factors_[r + 1];
        of_left_[r] = own * at(t.right, t.n - 1 - r, r);
        of_right_[t.n - 1 - r] = own * at(t.left, r, 0);
        sum += of_left_[r] * at(t.left, r, 0);
    }
    return sum;
}

double Eisner::growth() const {
    for (std::size_t w = tables_.n - 1; w > 0; --w) {
        const double* row = tables_.right + w * tables_.stride;
        const double most = *std::max_element(row, row + tables_.n - w);
        if (in_range(most)) return std::pow(most, 1.0 / static_cast<double>(w));
    }
    return 1.0;
}

bool Eisner::keeps_range() const {
    for (std::size_t w = 1; w < tables_.n; ++w)
        for (const double* table : {tables_.right, tables_.left}) {
            const double* row = table + w * tables_.stride;
            if (first_ == 0 && table == tables_.left) ++row;  // the root is below no word
            for (std::size_t i = 0; row + i < table + w * tables_.stride + tables_.n - w; ++i)
                if (!(row[i] > 1e-250)) return false;
        }
    return true;
}

bool Eisner::sums(const DependencyArcs& arcs, bool single_root, const PartScores& scores, double& log_z,
                  double* expected) {
    const std::size_t n_words = arcs.n_words(), n_labels = arcs.n_labels(), n_parts = arcs.size();
    if (n_words == 0) return false;
    const double* values = scores.masked(masked_);
    const double* maxima = values;
    of_sites_.resize(arcs.n_sites());
    if (n_labels > 1) {
        span_loops().row_maxima(values, arcs.n_sites(), n_labels, of_sites_.data());
        maxima = of_sites_.data();
    }

    // exp(score - the best of the modifier's), and for each modifier a factor that keeps sums over trees near one.
    centres_.assign(n_words + 1, kLogZero);
    each_site(arcs, [&](std::uint32_t, std::uint32_t m, std::uint32_t site) {
        centres_[m] = std::max(centres_[m], maxima[site]);
    });
    if (std::find(centres_.begin() + 1, centres_.end(), kLogZero) != centres_.end()) return false;
    weights_.assign(n_parts, kLogZero);
    each_site(arcs, [&](std::uint32_t, std::uint32_t m, std::uint32_t site) {
        for (std::size_t i = site * n_labels; i < (site + 1) * n_labels; ++i) weights_[i] = values[i] - centres_[m];
    });
    kernels().exponentials(weights_.data(), n_parts, weights_.data());
    const double* of_sites = weights_.data();
    if (n_labels > 1) {
        span_loops().row_sums(weights_.data(), arcs.n_sites(), n_labels, of_sites_.data());
        of_sites = of_sites_.data();
    }
    CompensatedSum scale;
    factors_.resize(n_words + 1);
    for (std::uint32_t m = 1; m <= n_words; ++m) {
        double sum = 0.0, most = 0.0;
        arcs.each_head(m, [&](std::uint32_t, std::uint32_t site) {
            sum += of_sites[site];
            most = std::max(most, of_sites[site]);
        });
        const double divisor = std::min(sum, kGrowth * most);
        factors_[m] = 1.0 / divisor;
        scale.add(centres_[m]);
        scale.add(std::log(divisor));
    }

    // Long sentences whose trees are fewer, or of which few count, grow by less than was taken out: then once more.
    lay_out(arcs, single_root, expected ? Use::kOutside : Use::kInside);
    double z = total(arcs, of_sites);
    if (!in_range(z)) {
        const double more = growth();
        for (double& factor : factors_) factor /= more;
        scale.add(static_cast<double>(n_words) * std::log(more));
        z = total(arcs, of_sites);
        if (!in_range(z) || !keeps_range()) {
            memory_.clear();  // may hold infinities
            return false;
        }
    }
    log_z = scale.value() + std::log(z);
    if (!expected) return true;

    const auto& t = tables_;
    span_loops().outside(t, of_left_.data(), of_right_.data(), around_);
    std::fill_n(expected, n_parts, 0.0);
    each_site(arcs, [&](std::uint32_t h, std::uint32_t m, std::uint32_t site) {
        double p = 0.0;
        if (h < first_)
            p = of_sites[site] * factors_[m] * at(t.right, t.n - m, m - 1) * at(t.left, m - 1, 0);
        else if (h < m)
            p = at(t.right_arcs, m - h, h - first_) * at(around_.right_arcs, m - h, h - first_);
        else
            p = at(t.left_arcs, h - m, m - first_) * at(around_.left_arcs, h - m, m - first_);
        p /= z;
        if (n_labels == 1) {
            expected[site] = p;
        } else if (p > 0.0) {
            const double share = p / of_sites[site];
            for (std::size_t i = site * n_labels; i < (site + 1) * n_labels; ++i) expected[i] = share * weights_[i];
        }
    });
    return true;
}

}  // namespace tw
