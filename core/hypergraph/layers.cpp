#include "layers.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "../base/interrupt.hpp"
#include "../base/semiring.hpp"

namespace tw::hypergraph {
namespace {

constexpr double kSmallest = 1e-100, kLargest = 1e100;  // what is not zero stays between these
constexpr double kRescaleBelow = 1e-20, kRescaleAbove = 1e20;

std::size_t padded(std::size_t n) { return (n + kRunLanes - 1) / kRunLanes * kRunLanes; }

// Takes a power of two out of the values where they are far from one; false when they leave the safe range even so.
bool rescale(std::span<double> values, const Range& range, double& factor) {
    factor = 1.0;
    if (range.most < kRescaleBelow || range.most > kRescaleAbove) {
        factor = std::ldexp(1.0, -std::ilogb(range.most));
        for (double& x : values) x *= factor;
    }
    return range.least * factor >= kSmallest && range.most * factor <= kLargest;
}

}  // namespace

Layers::Lists Layers::grouped(std::size_t n, std::span<const std::uint32_t> group_of) {
    Lists out{std::vector<std::uint32_t>(n + 1, 0), std::vector<std::uint32_t>(group_of.size())};
    for (const std::uint32_t g : group_of) ++out.begins[g + 1];
    std::partial_sum(out.begins.begin(), out.begins.end(), out.begins.begin());
    std::vector<std::uint32_t> next(out.begins.begin(), out.begins.end() - 1);
    for (std::uint32_t i = 0; i < group_of.size(); ++i) out.items[next[group_of[i]]++] = i;
    return out;
}

Layers::Matrix Layers::matrix(const Lists& lists) {
    Matrix out;
    for (std::uint32_t i = 0; i < lists.size(); ++i)
        if (!lists.of(i).empty()) out.lists.push_back(i);
    std::ranges::stable_sort(out.lists, std::greater<>(), [&](std::uint32_t i) { return lists.of(i).size(); });
    out.lists.resize(padded(out.lists.size()), kNone);
    out.begins.push_back(0);
    for (std::size_t c = 0; c < out.lists.size(); c += kRunLanes) {
        const std::size_t longest = lists.of(out.lists[c]).size();
        for (std::size_t r = 0; r < longest; ++r)
            for (std::size_t lane = c; lane < c + kRunLanes; ++lane) {
                const std::uint32_t i = out.lists[lane];
                out.item.push_back(i != kNone && r < lists.of(i).size() ? lists.of(i)[r] : kNone);
            }
        out.begins.push_back(out.begins.back() + static_cast<std::uint32_t>(longest));
    }
    return out;
}

Layers::Layers(std::size_t n_labels, std::vector<Arc> arcs, std::vector<std::uint8_t> final)
    : n_labels_(n_labels), arcs_(std::move(arcs)), final_(std::move(final)) {
    std::vector<std::uint64_t> keys;
    const auto key = [&](const Arc& arc) { return std::uint64_t{arc.label} * final_.size() + arc.to; };
    for (const Arc& arc : arcs_) keys.push_back(key(arc));
    std::ranges::sort(keys);
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    std::vector<std::uint32_t> state_of, from;
    for (const std::uint64_t k : keys) {
        arrivals_.push_back(
            {static_cast<std::uint32_t>(k / final_.size()), static_cast<std::uint32_t>(k % final_.size())});
        state_of.push_back(arrivals_.back().state);
    }
    for (const Arc& arc : arcs_) {
        arrival_.push_back(static_cast<std::uint32_t>(std::ranges::lower_bound(keys, key(arc)) - keys.begin()));
        from.push_back(arc.from);
    }
    into_ = grouped(arrivals_.size(), arrival_);
    in_state_ = grouped(final_.size(), state_of);
    for (std::size_t s = 0; s < final_.size(); ++s) single_ = single_ && in_state_.of(s).size() <= 1;

    arriving_ = matrix(into_);
    joining_ = matrix(in_state_);
    const Lists leaving = grouped(final_.size(), from);
    leaving_ = matrix(leaving);
    row_.resize(arrivals_.size());
    for (std::uint32_t r = 0; r < n_rows(); ++r)
        if (arriving_.lists[r] != kNone) row_[arriving_.lists[r]] = r;
    slot_.assign(final_.size(), kNone);
    for (std::uint32_t r = 0; r < joining_.n_rows(); ++r)
        if (joining_.lists[r] != kNone) slot_[joining_.lists[r]] = r;
    if (single_)
        for (std::size_t j = 0; j < arrivals_.size(); ++j) slot_[arrivals_[j].state] = row_[j];
    n_slots_ = single_ ? n_rows() : joining_.n_rows();
    for (std::uint32_t& slot : slot_)
        if (slot == kNone) slot = static_cast<std::uint32_t>(n_slots_++);
    n_slots_ = padded(n_slots_ + 1);
    const auto nowhere = static_cast<std::uint32_t>(n_slots_ - 1), no_row = static_cast<std::uint32_t>(n_rows());
    arriving_.find(nowhere, [&](std::uint32_t arc) { return slot_[arcs_[arc].from]; });
    joining_.find(no_row, [&](std::uint32_t arrival) { return row_[arrival]; });
    leaving_.find(no_row, [&](std::uint32_t arc) { return row_[arrival_[arc]]; });
    std::vector<std::uint32_t> label_of;
    for (const Arrival& arrival : arrivals_) label_of.push_back(arrival.label);
    labelling_ = matrix(grouped(n_labels_, label_of));
    labelling_.find(no_row, [&](std::uint32_t arrival) { return row_[arrival]; });
    row_label_.resize(n_rows(), 0);
    row_slot_.resize(n_rows(), nowhere);
    for (std::size_t j = 0; j < arrivals_.size(); ++j) {
        row_label_[row_[j]] = arrivals_[j].label;
        row_slot_[row_[j]] = slot_[arrivals_[j].state];
    }
    for (const std::uint32_t s : leaving_.lists) leaving_slot_.push_back(s == kNone ? nowhere : slot_[s]);
    find_blocks(leaving);
    slot_final_.resize(n_slots_, 0.0);
    for (std::size_t s = 0; s < final_.size(); ++s) slot_final_[slot_[s]] = final_[s] ? 1.0 : 0.0;
}

// A state joins the block with which it shares most arrivals, unless a label leads elsewhere there.
void Layers::find_blocks(const Lists& leaving) {
    struct Block {
        std::vector<std::uint32_t> states, by_label;  // by_label: the arrival, or kNone
    };
    std::vector<Block> found;
    std::vector<std::vector<std::uint32_t>> with(arrivals_.size());  // blocks that have an arrival
    std::vector<std::uint32_t> shared;
    for (std::uint32_t s = 0; s < final_.size(); ++s) {
        if (leaving.of(s).empty()) continue;
        shared.assign(found.size(), 0);
        for (const std::uint32_t a : leaving.of(s))
            for (const std::uint32_t b : with[arrival_[a]]) ++shared[b];
        std::uint32_t best = kNone;
        for (std::uint32_t b = 0; b < found.size(); ++b) {
            if (2 * shared[b] < leaving.of(s).size() || (best != kNone && shared[b] <= shared[best])) continue;
            const bool fits = std::ranges::all_of(leaving.of(s), [&](std::uint32_t a) {
                const std::uint32_t there = found[b].by_label[arcs_[a].label];
                return there == kNone || there == arrival_[a];
            });
            if (fits) best = b;
        }
        if (best == kNone) {
            best = static_cast<std::uint32_t>(found.size());
            found.push_back({{}, std::vector<std::uint32_t>(n_labels_, kNone)});
        }
        found[best].states.push_back(s);
        for (const std::uint32_t a : leaving.of(s)) {
            std::uint32_t& there = found[best].by_label[arcs_[a].label];
            if (there == kNone) with[arrival_[a]].push_back(best);
            there = arrival_[a];
        }
    }
    for (const Block& block : found) {
        std::vector<std::uint32_t> labels;
        for (std::uint32_t k = 0; k < n_labels_; ++k)
            if (block.by_label[k] != kNone) labels.push_back(k);
        labels.resize(padded(labels.size()), kNone);
        for (const std::uint32_t k : labels)
            blocks_.columns.push_back(k == kNone ? static_cast<std::uint32_t>(n_rows()) : row_[block.by_label[k]]);
        for (const std::uint32_t s : block.states) blocks_.sources.push_back(slot_[s]);
        blocks_.entry_begins.push_back(static_cast<std::uint32_t>(blocks_.item.size() / kRunLanes));
        for (std::size_t c = 0; c < labels.size(); c += kRunLanes)
            for (const std::uint32_t s : block.states)
                for (std::size_t i = c; i < c + kRunLanes; ++i) {
                    std::uint32_t item = kNone;
                    for (const std::uint32_t a : leaving.of(s))
                        if (arcs_[a].label == labels[i]) item = a;
                    blocks_.item.push_back(item);
                }
        blocks_.source_begins.push_back(static_cast<std::uint32_t>(blocks_.sources.size()));
        blocks_.pack_begins.push_back(static_cast<std::uint32_t>(blocks_.columns.size() / kRunLanes));
    }
    // A pack of entries, or one column, takes about as long as three single edges.
    blocked_ = arcs_.size() >= 3 * (blocks_.item.size() / kRunLanes + blocks_.columns.size());
    if (!blocked_) blocks_ = {};
}

// Vectors of states and arrivals with zeros where nothing is ever written, and the first layer.
void Layers::make_room(std::size_t length, double zero, double one, Space& space) const {
    space.states.resize((length + 1) * n_slots_);
    if (!single_) space.arrived.resize(length * (n_rows() + kRunLanes));
    std::fill_n(states(space, 0), n_slots_, zero);
    states(space, 0)[slot_[0]] = one;
    for (std::size_t t = 0; t < length; ++t) {
        const std::size_t written = single_ ? n_rows() : joining_.n_rows();
        std::fill(states(space, t + 1) + written, states(space, t + 1) + n_slots_, zero);
        if (!single_) std::fill_n(arrived(space, t) + n_rows(), kRunLanes, zero);
    }
}

void Layers::spread(const std::vector<double>& of_arcs, const std::vector<std::uint32_t>& items,
                    std::vector<double>& out) const {
    out.resize(items.size());
    const auto none = static_cast<std::uint32_t>(arcs_.size());
    for (std::size_t e = 0; e < out.size(); ++e) out[e] = of_arcs[std::min(items[e], none)];
}

// ---- the best -------------------------------------------------------------------------------------------------------

void Layers::max_forward(const LayerScores& scores, Space& space) const {
    make_room(scores.length, kLogZero, 0.0, space);
    space.rest.assign(joining_.n_entries(), 0.0);
    InterruptCheck check;
    for (std::size_t t = 0; t < scores.length; ++t) {
        check();
        if (t == 0 || !scores.tied) {
            const double* own = scores.arcs + (scores.tied ? 0 : t * arcs_.size());
            space.arcs.assign(own, own + arcs_.size());
            space.arcs.push_back(kLogZero);
            spread(space.arcs, items_in(), space.in);
        }
        if (blocked_) {
            std::fill_n(arrived(space, t), n_rows(), kLogZero);
            run_loops().max_blocks(blocks_.runs(), space.in.data(), states(space, t), arrived(space, t));
        } else {
            run_loops().max(arriving_.runs(), space.in.data(), states(space, t), arrived(space, t));
        }
        run_loops().add(scores.labels + t * n_labels_, row_label_.data(), n_rows(), arrived(space, t));
        if (!single_) run_loops().max(joining_.runs(), space.rest.data(), arrived(space, t), states(space, t + 1));
    }
}

double Layers::best(const LayerScores& scores, Space& space, std::vector<std::uint32_t>& chosen) const {
    max_forward(scores, space);
    double highest = kLogZero;
    std::uint32_t last = kNone;
    for (std::uint32_t j = 0; j < arrivals_.size(); ++j) {
        const double score = arrived(space, scores.length - 1)[row_[j]];
        if (!final_[arrivals_[j].state] || !(score > highest)) continue;
        highest = score;
        last = j;
    }
    if (last != kNone) trace(scores, space, last, chosen);
    return highest;
}

std::vector<double> Layers::inside_best(const LayerScores& scores, Space& space) const {
    max_forward(scores, space);
    std::vector<double> out{0.0};
    out.reserve(2 + scores.length * (arrivals_.size() + final_.size()));
    double highest = kLogZero;
    for (std::size_t t = 0; t < scores.length; ++t) {
        for (const std::uint32_t row : row_) out.push_back(arrived(space, t)[row]);
        for (const std::uint32_t slot : slot_) out.push_back(states(space, t + 1)[slot]);
    }
    for (std::size_t s = 0; s < final_.size(); ++s)
        if (final_[s]) highest = std::max(highest, states(space, scores.length)[slot_[s]]);
    out.push_back(highest);
    return out;
}

// The arcs of the best way to an arrival at the last position: found again, as the forward pass rounded them.
void Layers::trace(const LayerScores& scores, Space& space, std::uint32_t arrival,
                   std::vector<std::uint32_t>& chosen) const {
    chosen.resize(scores.length);
    for (std::size_t t = scores.length; t-- > 0;) {
        const double* own = scores.arcs + (scores.tied ? 0 : t * arcs_.size());
        double highest = kLogZero;
        for (const std::uint32_t a : into_.of(arrival)) {
            const double score = states(space, t)[slot_[arcs_[a].from]] + own[a];
            if (!(score > highest)) continue;
            highest = score;
            chosen[t] = a;
        }
        highest = kLogZero;
        for (const std::uint32_t j : in_state_.of(arcs_[chosen[t]].from)) {
            if (t == 0 || !(arrived(space, t - 1)[row_[j]] > highest)) continue;
            highest = arrived(space, t - 1)[row_[j]];
            arrival = j;
        }
    }
}

// ---- sums -----------------------------------------------------------------------------------------------------------

bool Layers::sums(const LayerScores& scores, Space& space, double& log_z, double* labels, double* arcs) const {
    if (!sum_forward(scores, space, log_z)) return false;
    return log_z == kLogZero || !labels || sum_backward(scores, space, labels, arcs);
}

// The weights of arcs into position t; false when some are too small.
bool Layers::weigh(const LayerScores& scores, std::size_t t, Space& space, double& shift) const {
    space.arcs.resize(arcs_.size() + 1);
    const double* own = scores.arcs + (scores.tied ? 0 : t * arcs_.size());
    if (run_loops().exponentials(own, arcs_.size(), space.arcs.data(), &shift)) return false;
    space.arcs.back() = 0.0;
    spread(space.arcs, items_in(), space.in);
    return true;
}

bool Layers::sum_forward(const LayerScores& scores, Space& space, double& log_z) const {
    make_room(scores.length, 0.0, 1.0, space);
    space.local.resize(scores.length * n_labels_ + kRunLanes);
    space.factors.resize(scores.length);
    space.rest.assign(joining_.n_entries(), 1.0);
    CompensatedSum taken_out;
    double shift_of_arcs = 0.0, shift = 0.0, exponent = 0.0;
    InterruptCheck check;
    log_z = kLogZero;
    for (std::size_t t = 0; t < scores.length; ++t) {
        check();
        if ((t == 0 || !scores.tied) && !weigh(scores, t, space, shift_of_arcs)) return false;
        double* local = space.local.data() + t * n_labels_;
        if (run_loops().exponentials(scores.labels + t * n_labels_, n_labels_, local, &shift)) return false;
        double* here = arrived(space, t);
        if (blocked_) {
            std::fill_n(here, n_rows(), 0.0);
            run_loops().sum_blocks(blocks_.runs(), space.in.data(), states(space, t), here);
        } else {
            run_loops().sum(arriving_.runs(), space.in.data(), states(space, t), here);
        }
        const Range range = run_loops().multiply(local, row_label_.data(), n_rows(), here);
        if (range.most == 0.0) return true;  // nothing vanished, so there is no way
        if (!rescale({here, n_rows()}, range, space.factors[t])) return false;
        exponent -= std::log2(space.factors[t]);
        taken_out.add(shift);
        taken_out.add(shift_of_arcs);
        if (!single_) run_loops().sum(joining_.runs(), space.rest.data(), here, states(space, t + 1));
    }
    const double* last = states(space, scores.length);
    const double total = std::inner_product(last, last + n_slots_, slot_final_.begin(), 0.0);
    if (total > 0.0) {
        taken_out.add(exponent * 0.69314718055994530942);
        taken_out.add(std::log(total));
        log_z = taken_out.value();
    }
    return true;
}

// p(arrival at t) = alpha beta / Z, with the Z of the layer itself; p(arc) = alpha weight local beta / Z. Products
// only.
bool Layers::sum_backward(const LayerScores& scores, Space& space, double* labels, double* arcs) const {
    space.after = slot_final_;
    space.row.resize(n_rows() + kRunLanes);
    space.products.assign(n_rows() + kRunLanes, 0.0);
    space.ones.assign(labelling_.n_entries(), 1.0);
    space.by_label.resize(labelling_.n_rows());
    space.rest.resize(std::max(2 * leaving_.n_rows(), n_slots_));
    space.counts.assign(items_out().size(), 0.0);
    std::fill_n(labels, scores.length * n_labels_, 0.0);
    const auto write_counts = [&](double* to) {
        for (std::size_t e = 0; e < space.counts.size(); ++e)
            if (items_out()[e] != kNone) to[items_out()[e]] = space.counts[e] * space.out[e];
    };
    InterruptCheck check;
    double* row = space.row.data();
    double *const before = space.rest.data(), *const next = before + leaving_.n_rows();
    for (std::size_t t = scores.length; t-- > 0;) {
        check();
        if (double shift; !scores.tied) weigh(scores, t, space, shift);
        if (t + 1 == scores.length || !scores.tied) spread(space.arcs, items_out(), space.out);
        const double* here = arrived(space, t);
        run_loops().take(space.after.data(), row_slot_.data(), n_rows(), row);
        const double one = 1.0 / run_loops().products(row, here, n_rows(), space.products.data());
        run_loops().sum(labelling_.runs(), space.ones.data(), space.products.data(), space.by_label.data());
        for (std::size_t r = 0; r < labelling_.n_rows(); ++r)
            if (const std::uint32_t label = labelling_.lists[r]; label != kNone)
                labels[t * n_labels_ + label] = space.by_label[r] * one;
        run_loops().multiply(space.local.data() + t * n_labels_, row_label_.data(), n_rows(), row);
        std::fill_n(row + n_rows(), kRunLanes, 0.0);

        const double scale = space.factors[t] * one;
        double factor;
        if (blocked_) {
            const double* now = states(space, t);
            for (std::size_t i = 0; i < n_slots_; ++i) space.rest[i] = now[i] * scale;
            std::ranges::fill(space.after, 0.0);
            run_loops().sum_and_count_blocks(blocks_.runs(), space.out.data(), row, space.rest.data(),
                                             space.after.data(), space.counts.data());
            if (!rescale(space.after, run_loops().range(space.after.data(), n_slots_), factor)) return false;
        } else {
            const std::span<double> now(before, leaving_.n_rows()), then(next, leaving_.n_rows());
            run_loops().take(states(space, t), leaving_slot_.data(), now.size(), before);
            for (double& x : now) x *= scale;
            run_loops().sum_and_count(leaving_.runs(), space.out.data(), row, before, next, space.counts.data());
            if (!rescale(then, run_loops().range(next, then.size()), factor)) return false;
            std::ranges::fill(space.after, 0.0);
            for (std::size_t r = 0; r < then.size(); ++r) space.after[leaving_slot_[r]] = next[r];
        }
        if (scores.tied) continue;
        write_counts(arcs + t * arcs_.size());
        std::ranges::fill(space.counts, 0.0);
    }
    if (scores.tied) write_counts(arcs);
    return true;
}

}  // namespace tw::hypergraph
