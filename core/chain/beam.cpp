#include "beam.hpp"

#include <algorithm>

#include "../base/interrupt.hpp"
#include "../base/semiring.hpp"

namespace tw::chain {

void Beam::search(const Potentials& potentials, const Sequence& sequence, std::size_t width) {
    const std::size_t K = potentials.n_labels;
    potentials_ = potentials;
    sequence_ = sequence;
    starts_.assign(1, 0);
    kept_.clear();
    scores_.clear();
    tops_.clear();
    row_.resize(K);
    InterruptCheck check;
    for (std::size_t t = 0; t < sequence.length; ++t) {
        check();
        const double* unary = sequence.unary + t * K;
        if (t == 0) {
            for (std::size_t y = 0; y < K; ++y) row_[y] = potentials.start[y] + unary[y];
        } else {
            const double* moves = potentials.transitions + (potentials.per_step ? (t - 1) * K * K : 0);
            std::ranges::fill(row_, kLogZero);
            for (std::size_t i = starts_[t - 1]; i < starts_[t]; ++i) {
                const double before = scores_[i];
                const double* arriving = moves + kept_[i] * K;
                for (std::size_t y = 0; y < K; ++y) row_[y] = std::max(row_[y], before + arriving[y]);
            }
            for (std::size_t y = 0; y < K; ++y) row_[y] += unary[y];
        }
        if (!keep(row_, width, t + 1 == sequence.length)) return;
    }
}

// The best of a row, by score and then by label. False where there is none.
bool Beam::keep(std::span<const double> scores, std::size_t width, bool last) {
    order_.clear();
    for (std::uint32_t y = 0; y < scores.size(); ++y)
        if (scores[y] != kLogZero && !(last && potentials_.end[y] == kLogZero)) order_.push_back(y);
    if (order_.empty()) return false;
    const auto whole = [&](std::uint32_t y) { return last ? scores[y] + potentials_.end[y] : scores[y]; };
    const auto better = [&](std::uint32_t a, std::uint32_t b) {
        return whole(a) > whole(b) || (whole(a) == whole(b) && a < b);
    };
    const std::size_t n = std::min(width, order_.size());
    if (n < order_.size())
        std::ranges::nth_element(order_, order_.begin() + static_cast<std::ptrdiff_t>(n - 1), better);
    order_.resize(n);
    std::ranges::sort(order_);
    Top top{0, whole(order_.front())};
    for (std::uint32_t i = 0; i < n; ++i) {
        kept_.push_back(order_[i]);
        scores_.push_back(scores[order_[i]]);
        if (whole(order_[i]) > top.score) top = {i, whole(order_[i])};
    }
    tops_.push_back(top);
    starts_.push_back(kept_.size());
    return true;
}

void Beam::labels(std::size_t size, std::span<std::int32_t> out) const {
    const std::size_t K = potentials_.n_labels;
    std::size_t entry = starts_[size - 1] + tops_[size - 1].entry;
    for (std::size_t t = size - 1;; --t) {
        const std::size_t y = kept_[entry];
        out[t] = static_cast<std::int32_t>(y);
        if (t == 0) return;
        const double* moves = potentials_.transitions + (potentials_.per_step ? (t - 1) * K * K : 0);
        const double local = sequence_.unary[t * K + y], wanted = scores_[entry];
        std::size_t from = starts_[t - 1];
        while (from + 1 < starts_[t] && (scores_[from] + moves[kept_[from] * K + y]) + local != wanted) ++from;
        entry = from;
    }
}

double beam_argmax(Beam& beam, const Potentials& potentials, const Sequence& sequence, std::size_t width,
                   std::int32_t* labels) {
    for (;; width *= 2) {
        beam.search(potentials, sequence, width);
        if (beam.reached() == sequence.length) break;
        if (width >= potentials.n_labels) return kLogZero;
    }
    beam.labels(sequence.length, {labels, sequence.length});
    return beam.score(sequence.length);
}

}  // namespace tw::chain
