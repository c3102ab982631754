#include "one_chain.hpp"

#include <algorithm>

#include "../base/semiring.hpp"
#include "pruned_search.hpp"

namespace tw::chain {
namespace {

constexpr std::size_t kFew = 32;                        // labellings that a short search finds
constexpr std::size_t kLongest = std::size_t{1} << 22;  // bytes of rows kept at once; longer chains go in blocks

std::size_t padded_size(std::size_t n_labels) {
    const std::size_t w = std::max<std::size_t>(kernels().width, 4);
    return (n_labels + w - 1) / w * w;
}

bool is_long(std::size_t length, std::size_t padded) { return length * padded * sizeof(double) > kLongest; }

}  // namespace

PackedTransitions& PackedOnce::operator()(const Potentials& p, std::size_t padded, Pack pack) {
    if (room_.size() != 2 * padded * padded) {
        room_.resize(2 * padded * padded);
        there_ = false;
    }
    if (there_ && !p.per_step) return packed_;
    packed_ = {room_.data(), room_.data() + padded * padded, 0.0, Bound::kLower, false};
    if (!p.per_step) pack(p, 0, padded, packed_);
    there_ = !p.per_step;
    return packed_;
}

void BestOfChain::search(const Potentials& potentials, const Sequence& sequence, std::size_t k, bool same,
                         std::span<const std::uint16_t> guess) {
    padded_ = padded_size(potentials.n_labels);
    length_ = sequence.length;
    scores_.clear();
    few_found_ = false;
    if (!same) packed_.forget();  // even if this call has another way
    if (k == 0) return;
    if (is_long(length_, padded_) || k > kFew) {
        const KBestResult found = std::move(kbest({potentials, {sequence}, 1}, k, KBestMethod::kAstar).front());
        scores_ = found.scores;
        labels_.assign(found.labels.get(), found.labels.get() + scores_.size() * length_);
        return;
    }
    labels_.resize(length_);
    std::ranges::copy(guess, labels_.begin());
    const double best = viterbi(potentials, sequence, k > 1);
    if (best == kLogZero) return;
    scores_.push_back(best);
    if (k == 1) return;
    few_.search({potentials, *transitions_, padded_, sequence, {rows_.data(), kKeepAll}}, labels_, best, k);
    few_found_ = true;
}

double BestOfChain::viterbi(const Potentials& potentials, const Sequence& sequence, bool all_scores) {
    transitions_ = &packed_(potentials, padded_, kernels().pack_max);
    if (rows_.size() < (length_ + 1) * padded_) rows_.resize((length_ + 1) * padded_);
    const Rows rows{rows_.data(), kKeepAll};
    std::int32_t* labels = labels_.data();
    if (!all_scores && !potentials.per_step && length_ > 1 && !many_labels(potentials.n_labels)) {
        const double total = kernels().max_meet(potentials, *transitions_, padded_, sequence, rows.data, labels);
        if (total == kLogZero || labels[0] != kTied) return total;
    }
    kernels().max_forward(potentials, *transitions_, padded_, &sequence, &rows, 1, 0, length_);
    const double total = kernels().max_last(potentials, padded_, sequence, rows, labels);
    if (total == kLogZero) return total;
    kernels().max_trace(potentials, *transitions_, padded_, &sequence, &rows, &labels, 1, 1, length_);
    return total;
}

double SumsOfChain::operator()(const Potentials& p, const Sequence& sequence, bool same, double* nodes, double* edges) {
    const std::size_t K = p.n_labels, length = sequence.length, padded = padded_size(K);
    if (!same) packed_.forget();  // even if this call has another way
    if (is_long(length, padded)) return all_sums(p, sequence, nodes, edges);
    PackedTransitions& transitions = packed_(p, padded, kernels().pack_sum);
    if (rows_.size() < (2 * length + 3) * padded) rows_.resize((2 * length + 3) * padded);
    double *alpha = rows_.data() + length * padded, *scratch = alpha + length * padded;
    SumTrellis trellis{sequence, {rows_.data(), kKeepAll}, {alpha, kKeepAll}, scratch, {}, 0.0, false, false};
    kernels().sum_forward(p, transitions, padded, &trellis, 1, 0, length);
    const double total = kernels().sum_total(trellis, padded);
    const std::size_t n_steps = p.per_step ? length - 1 : 1;
    if (total == kLogZero && !trellis.tiny && !trellis.underflow) {
        std::fill_n(nodes, length * K, 0.0);
        std::fill_n(edges, n_steps * K * K, 0.0);
        return total;
    }
    table_.assign(p.per_step ? 0 : K * padded, 0.0);
    const SumOutputs wanted{nodes, p.per_step ? edges : nullptr, p.per_step ? nullptr : table_.data()};
    kernels().sum_backward(p, transitions, padded, &trellis, &wanted, 1, 0, length);
    if (trellis.tiny || trellis.underflow) return all_sums(p, sequence, nodes, edges);
    for (std::size_t a = 0; !p.per_step && a < K; ++a)
        for (std::size_t b = 0; b < K; ++b)
            edges[a * K + b] = table_[a * padded + b] * transitions.forward[a * padded + b];
    return total;
}

}  // namespace tw::chain
