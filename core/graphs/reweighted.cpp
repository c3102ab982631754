#include "reweighted.hpp"

#include <algorithm>
#include <cmath>

namespace tw::graphs {

namespace {
constexpr double kInfinite = std::numeric_limits<double>::infinity();
}

Reweighted::Reweighted(const Layout& layout)
    : unary(layout.unary),
      given(layout.n_given, 0.0),
      layout_(layout),
      below_(layout.unary.size(), 0.0),
      share_(layout.n_variables(), 0.0),
      in_structure_(layout.n_variables(), 0),
      bound_(kInfinite) {
    std::size_t widest = 0;
    for (std::uint32_t v = 0; v < layout.n_variables(); ++v) {
        std::size_t ends = 0, goes_on = 0;
        for (const std::uint32_t s : layout.slots_at(v)) {
            const Slot& slot = layout.slots[s];
            if (layout.factors[slot.factor].form == LaidFactor::Form::kStructure) {
                in_structure_[v] = 1;
                continue;
            }
            ends += !slot.first;
            goes_on += !slot.last;
        }
        if (std::max(ends, goes_on) > 0) share_[v] = 1.0 / static_cast<double>(std::max(ends, goes_on));
        widest = std::max(widest, layout.slots_at(v).size() * layout.n_labels(v));
    }
    messages_.resize(widest);
    one_.resize(layout.most_labels);
    bound_structures();
}

void Reweighted::start_from(std::span<const double> from) {
    if (from.size() != given.size()) return;
    for (std::size_t i = 0; i < given.size(); ++i) given[i] = std::isfinite(from[i]) ? from[i] : 0.0;
    bound_structures();
}

void Reweighted::take_out(std::uint32_t v, std::uint32_t x) {
    unary[layout_.label_at[v] + x] = kLogZero;
    for (const std::uint32_t s : layout_.slots_at(v)) given[layout_.slots[s].at + x] = kLogZero;
}

void Reweighted::bound_structures() {
    structures_ = layout_.constant;
    for (const LaidFactor& f : layout_.factors)
        if (f.form == LaidFactor::Form::kStructure) structures_ += layout_.best_of(f, given.data());
}

bool Reweighted::pass(bool forward, bool all, double best) {
    const double before = bound_, slack = layout_.slack();
    CompensatedSum total;
    InterruptCheck check;
    const std::size_t n = layout_.order.size();
    if (structures_ == kLogZero) {
        bound_ = kLogZero;
        return false;
    }
    total.add(structures_);
    for (std::size_t i = 0; i < n; ++i) {
        check();
        const std::uint32_t v = layout_.order[forward ? i : n - 1 - i];
        const std::size_t K = layout_.n_labels(v);
        double* const mine = unary.data() + layout_.label_at[v];
        double* const have = below_.data() + layout_.label_at[v];
        std::copy(mine, mine + K, have);
        double* message = messages_.data();
        const auto slots = layout_.slots_at(v);
        for (const std::uint32_t s : slots) {
            const Slot& slot = layout_.slots[s];
            const bool known = forward ? slot.first : slot.last;
            const bool structure = layout_.factors[slot.factor].form == LaidFactor::Form::kStructure;
            if (structure || (known && !all)) {
                for (std::size_t x = 0; x < K; ++x) message[x] = mine[x] == kLogZero ? 0.0 : -given[slot.at + x];
            } else {
                layout_.best_message(slot, given.data(), message);
            }
            for (std::size_t x = 0; x < K; ++x) have[x] += message[x];
            message += K;
        }
        double top = kLogZero;
        for (std::size_t x = 0; x < K; ++x) top = std::max(top, have[x]);
        if (top == kLogZero) {
            bound_ = kLogZero;
            return false;
        }
        // No labelling with label x scores above the bound before less what x is below the best.
        const double cut = best == kLogZero || before == kInfinite ? kLogZero : top - (before - best) - slack;
        for (std::size_t x = 0; x < K; ++x) {
            if (have[x] != kLogZero && have[x] >= cut) {
                have[x] -= top;
            } else if (mine[x] != kLogZero) {
                take_out(v, static_cast<std::uint32_t>(x));
                have[x] = kLogZero;
            } else {
                have[x] = kLogZero;
            }
        }
        total.add(top);
        message = messages_.data();
        for (const std::uint32_t s : slots) {
            const Slot& slot = layout_.slots[s];
            double* const to = given.data() + slot.at;
            if (layout_.factors[slot.factor].form != LaidFactor::Form::kStructure) {
                const double share = (forward ? slot.last : slot.first) ? 0.0 : share_[v];
                for (std::size_t x = 0; x < K; ++x)
                    to[x] = have[x] == kLogZero ? kLogZero : share * have[x] - message[x];
            }
            message += K;
        }
    }
    bound_ = std::min(before, total.value());
    return !(best != kLogZero && bound_ <= best + slack);
}

bool Reweighted::round(bool forward, std::span<std::uint32_t> labels) const {
    const std::size_t n = layout_.order.size();
    std::vector<double> have(layout_.most_labels), message(layout_.most_labels);
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t v = layout_.order[forward ? i : n - 1 - i];
        if (labels[v] != kFree) continue;
        const std::size_t K = layout_.n_labels(v);
        const double* const mine = unary.data() + layout_.label_at[v];
        std::copy(mine, mine + K, have.begin());
        for (const std::uint32_t s : layout_.slots_at(v)) {
            const Slot& slot = layout_.slots[s];
            if (layout_.factors[slot.factor].form == LaidFactor::Form::kStructure) {
                for (std::size_t x = 0; x < K; ++x)
                    if (mine[x] != kLogZero) have[x] -= given[slot.at + x];
                continue;
            }
            if (forward ? slot.first : slot.last) {
                for (std::size_t x = 0; x < K; ++x)
                    if (mine[x] != kLogZero) have[x] -= given[slot.at + x];
                continue;
            }
            layout_.best_message(slot, given.data(), message.data(), labels.data());
            for (std::size_t x = 0; x < K; ++x) have[x] += message[x];
        }
        const auto best = std::max_element(have.begin(), have.begin() + static_cast<std::ptrdiff_t>(K));
        if (*best == kLogZero) return false;
        labels[v] = static_cast<std::uint32_t>(best - have.begin());
    }
    return true;
}

PassesResult run_passes(const Layout& layout, Reweighted& dual, Labelling& best, std::size_t iterations,
                        double tolerance, bool prune, double least_progress, const Deadline& deadline) {
    constexpr std::size_t kWindow = 5;
    PassesResult result;
    Labelling tried;
    const auto read_off = [&](bool forward) {
        tried.labels.assign(layout.n_variables(), kFree);
        if (!dual.round(forward, tried.labels)) return;
        tried.score = layout.score(tried.labels);
        if (tried.score == kLogZero) return;
        improve(layout, tried);
        if (best.labels.empty() || tried.score > best.score) best = tried;
    };
    const auto ended = [&](bool goes_on) {
        return !goes_on || closed(layout, dual.bound(), best.score) ||
               (!best.labels.empty() && dual.bound() - best.score <= tolerance * std::abs(best.score));
    };
    double window = kInfinite;
    if (ended(dual.pass(false, true, prune ? best.score : kLogZero))) {
        result.converged = true;
        return result;
    }
    read_off(true);
    while (result.iterations < iterations && !deadline.passed()) {
        ++result.iterations;
        const double floor = prune ? best.score : kLogZero;
        const bool goes_on = dual.pass(true, false, floor) && dual.pass(false, false, floor);
        if (goes_on && (result.iterations <= 3 || result.iterations % 3 == 0)) read_off(true);
        if (ended(goes_on)) {
            result.converged = true;
            return result;
        }
        if (result.iterations % kWindow == 0) {
            const double gain = window - dual.bound();
            const double gap = best.labels.empty() ? kInfinite : dual.bound() - best.score;
            if (gain <= tolerance * std::abs(dual.bound()) || (gap < kInfinite && gain <= least_progress * gap)) {
                result.converged = gain <= tolerance * std::abs(dual.bound());
                break;
            }
            window = dual.bound();
        }
    }
    read_off(true);
    return result;
}

}  // namespace tw::graphs
