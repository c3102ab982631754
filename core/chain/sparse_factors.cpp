#include "sparse_factors.hpp"

#include <algorithm>
#include <cmath>

namespace tw::chain {
namespace {

// A pack of labels to which so large a part of all labels leads that the others may as well be listed, too.
constexpr std::size_t kWholeOf = 4, kWholeFrom = 3;

}  // namespace

template <class Real>
SparseFactors<Real>::SparseFactors(const TrainingSet& set, const BlockLayout& layout)
    : FixedScores<Real>(set, padded_to(set.n_labels(), std::max(many_label_loops<Real>().width, kBlockLabels)),
                        layout.position, layout.gold),
      set_(set),
      layout_(layout),
      K_(set.n_labels()),
      width_(many_label_loops<Real>().width),
      rest_(this->stride(), Real{0}) {
    list_pairs();
}

template <class Real>
void SparseFactors<Real>::list_pairs() {
    std::vector<Kind> kind(K_ * K_, kOther);  // by positions
    const auto at = [&](std::size_t pair) { return layout_.position[pair / K_] * K_ + layout_.position[pair % K_]; };
    for (std::size_t pair = 0; pair < K_ * K_ && set_.constrained(); ++pair)
        if (!set_.settings.constraints.transitions[pair]) kind[at(pair)] = kForbidden;
    for (const std::uint32_t pair : set_.transition_pairs) kind[at(pair)] = kWeight;
    others_ = std::ranges::find(kind, kOther) != kind.end();
    find_whole_columns(kind);
    lay_out(forward_, false, kind);
    lay_out(backward_, true, kind);
    for (const std::uint32_t pair : set_.transition_pairs) {
        const std::size_t a = layout_.position[pair / K_], b = layout_.position[pair % K_];
        const auto slot = [&](const Matrix& matrix, std::size_t from, std::size_t to) {
            const auto begin = matrix.from.begin() + matrix.starts[to / width_],
                       end = matrix.from.begin() + matrix.starts[to / width_ + 1];
            const auto found = std::lower_bound(begin, end, static_cast<std::uint16_t>(from)) - matrix.from.begin();
            return static_cast<std::uint32_t>(static_cast<std::size_t>(found) * width_ + to % width_);
        };
        forward_.slots.push_back(slot(forward_, a, b));
        backward_.slots.push_back(slot(backward_, b, a));
        offset_.push_back(!whole_[b]);
    }
    scores_.assign(padded_to(set_.transition_pairs.size(), width_), Real{0});
    factors_.assign(scores_.size(), Real{0});
    moves_ = {forward_.view(), backward_.view(), rest_.data(), 0.0};
}

template <class Real>
template <class Kinds>
void SparseFactors<Real>::find_whole_columns(const Kinds& kind) {
    whole_.assign(K_, 0);
    for (std::size_t b = 0; b < K_; ++b)
        for (std::size_t a = 0; a < K_ && !whole_[b]; ++a) whole_[b] = kind[a * K_ + b] == kForbidden;
    for (std::size_t first = 0; first < K_; first += width_) {
        const std::size_t last = std::min(first + width_, K_);
        std::size_t n = 0;
        for (std::size_t a = 0; a < K_; ++a) {
            bool listed = false;
            for (std::size_t b = first; b < last; ++b)
                listed |= kind[a * K_ + b] == kWeight || (whole_[b] && kind[a * K_ + b] == kOther);
            n += listed;
        }
        if (n * kWholeOf >= K_ * kWholeFrom) std::fill(whole_.begin() + first, whole_.begin() + last, std::uint8_t{1});
    }
}

// Packs of `to`, which are labels before others when turned around.
template <class Real>
template <class Kinds>
void SparseFactors<Real>::lay_out(Matrix& matrix, bool turned, const Kinds& kind) {
    for (std::size_t first = 0; first < this->stride(); first += width_) {
        const std::size_t last = std::min(first + width_, K_);
        for (std::size_t from = 0; from < K_; ++from) {
            bool listed = false;
            for (std::size_t to = first; to < last; ++to) {
                const std::size_t a = turned ? to : from, b = turned ? from : to;
                const bool other = kind[a * K_ + b] == kOther && whole_[b];
                listed |= other || kind[a * K_ + b] == kWeight;
                if (other)
                    matrix.others.push_back(static_cast<std::uint32_t>(matrix.from.size() * width_ + to - first));
            }
            if (listed) matrix.from.push_back(static_cast<std::uint16_t>(from));
        }
        matrix.starts.push_back(static_cast<std::uint32_t>(matrix.from.size()));
    }
    matrix.values.assign(matrix.from.size() * width_, Real{0});
}

// The largest factor is at most e^move_ceiling; the rest stays 1 as long as that allows it, so that it need not be set.
template <class Real>
void SparseFactors<Real>::set_transitions(std::span<const double> scores) {
    const ManyLabelLoops<Real>& loops = many_label_loops<Real>();
    double best = others_ ? 0.0 : kLogZero, least = best == 0.0 ? 0.0 : -kLogZero;
    for (const double score : scores) {
        best = std::max(best, score);
        least = std::min(least, score);
    }
    const double shift =
        best > kLogZero && !(best <= loops.move_ceiling && best >= 0.0) ? best - loops.move_ceiling : 0.0;
    moves_.shift = std::isfinite(shift) ? shift : 0.0;
    usable_ = std::isfinite(shift) && (!others_ || -shift >= loops.move_floor);
    raised_ = least - moves_.shift < loops.move_floor;
    if (!usable_) return;
    const Real rest = others_ ? static_cast<Real>(std::exp(-moves_.shift)) : Real{0};
    if (rest != rest_factor_) {
        for (std::size_t y = 0; y < K_; ++y) rest_[y] = whole_[y] ? Real{0} : rest;
        for (Matrix* matrix : {&forward_, &backward_})
            for (const std::uint32_t slot : matrix->others) matrix->values[slot] = rest;
        rest_factor_ = rest;
    }
    for (std::size_t i = 0; i < scores.size(); ++i) scores_[i] = static_cast<Real>(scores[i] - moves_.shift);
    loops.exponentials(scores_.data(), scores_.size(), factors_.data());
    for (std::size_t i = 0; i < scores.size(); ++i) {
        const Real value = offset_[i] ? factors_[i] - rest : factors_[i];
        forward_.values[forward_.slots[i]] = value;
        backward_.values[backward_.slots[i]] = value;
    }
}

template <class Real>
void SparseFactors<Real>::add(const Real* edges, std::span<double> out) const {
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] += static_cast<double>(edges[forward_.slots[i]]) * static_cast<double>(factors_[i]);
}

template <class Real>
void SparseFactors<Real>::add_squares(const Real* squares, std::span<double> out) const {
    for (std::size_t i = 0; i < out.size(); ++i) {
        const auto factor = static_cast<double>(factors_[i]);
        out[i] += static_cast<double>(squares[forward_.slots[i]]) * factor * factor;
    }
}

template <class Real>
double SparseFactors<Real>::raised(const Real* edges) const {
    double total = 0.0;
    if (!raised_) return total;
    const Real floor = static_cast<Real>(many_label_loops<Real>().move_floor);
    for (std::size_t i = 0; i < set_.transition_pairs.size(); ++i)
        if (scores_[i] < floor)
            total += static_cast<double>(edges[forward_.slots[i]]) * static_cast<double>(factors_[i]);
    return total;
}

template class SparseFactors<float>;
template class SparseFactors<double>;

}  // namespace tw::chain
