#include "few_best.hpp"

#include <algorithm>
#include <limits>

namespace tw::chain {
namespace {

constexpr double kForbidden = std::numeric_limits<double>::max();  // a loss above is infinite
constexpr std::size_t kNone = ~std::size_t{0};

}  // namespace

void FewBest::search(const Passed& chain, std::span<const std::int32_t> best, double top, std::size_t k) {
    chain_ = &chain;
    k_ = k;
    length_ = best.size();
    top_ = top;
    losses_.resize(chain.padded);
    path_losses_.assign(1, 0.0);
    labels_.assign(best.begin(), best.end());
    offers_.clear();
    offer_best();
    of_best_ = offers_;
    while (path_losses_.size() < k_ && !offers_.empty()) {
        const Detour taken = offers_.front();
        offers_.erase(offers_.begin());
        const std::size_t made = path_losses_.size();
        labels_.resize((made + 1) * length_);
        std::int32_t* labels = labels_.data() + made * length_;
        const std::size_t joined = follow(taken, labels);
        path_losses_.push_back(taken.loss);
        if (offers_.size() > wanted()) offers_.resize(wanted());
        if (wanted() == 0) break;
        for (std::size_t t = taken.at; t > (joined == kNone ? 0 : joined); --t)
            offer(made, t, labels, look_at(t, labels[t], labels[t - 1]));
        for (const Detour& d : of_best_)
            if (joined != kNone && d.at < joined && has_room_for(taken.loss + d.loss))
                insert({taken.loss + d.loss, static_cast<std::uint32_t>(made), d.at, d.label});
    }
}

// The losses of entering a label of a position (the end, if there is no such position) from each label before it;
// returns the least but for the usual one's.
double FewBest::look_at(std::size_t position, std::int32_t label, std::int32_t usual) {
    return kernels().max_losses(chain_->potentials, chain_->packed, chain_->padded, chain_->sequence, chain_->scores,
                                position, static_cast<std::size_t>(label), static_cast<std::size_t>(usual), top_,
                                losses_.data());
}

// The detours of the best labelling. The k least ones of different positions bound those worth looking at.
void FewBest::offer_best() {
    const std::int32_t* best = labels_.data();
    least_.clear();
    for (std::size_t t = length_; t > 0; --t) least_.push_back(look_at(t, t == length_ ? 0 : best[t], best[t - 1]));
    double bound = kForbidden;
    if (length_ >= wanted()) {
        sorted_ = least_;
        const auto last = sorted_.begin() + static_cast<std::ptrdiff_t>(wanted() - 1);
        std::nth_element(sorted_.begin(), last, sorted_.end());
        bound = std::min(bound, *last);
    }
    for (std::size_t t = length_; t > 0; --t) {
        if (!(least_[length_ - t] <= bound)) continue;
        look_at(t, t == length_ ? 0 : best[t], best[t - 1]);
        offer(0, t, best, least_[length_ - t]);
    }
}

// The detours into one position of a path, from losses_.
void FewBest::offer(std::size_t path, std::size_t position, const std::int32_t* labels, double least) {
    const double before = path_losses_[path];
    if (!has_room_for(before + std::max(0.0, least))) return;
    for (std::size_t x = 0; x < chain_->potentials.n_labels; ++x) {
        if (!(losses_[x] <= kForbidden) || static_cast<std::int32_t>(x) == labels[position - 1]) continue;
        const double loss = before + std::max(0.0, losses_[x]);
        if (has_room_for(loss))
            insert({loss, static_cast<std::uint32_t>(path), static_cast<std::uint32_t>(position - 1),
                    static_cast<std::uint32_t>(x)});
    }
}

void FewBest::insert(const Detour& detour) {
    std::size_t i = offers_.size();
    while (i > 0 && earlier(detour, offers_[i - 1])) --i;
    if (i == wanted()) return;
    offers_.insert(offers_.begin() + static_cast<std::ptrdiff_t>(i), detour);
    if (offers_.size() > wanted()) offers_.pop_back();
}

// Equal losses are ordered by the first label that differs, seen from the end.
bool FewBest::earlier(const Detour& a, const Detour& b) {
    if (a.loss != b.loss) return a.loss < b.loss;
    const auto usual = [&](std::size_t t) { return static_cast<std::uint32_t>(labels_[a.path * length_ + t]); };
    if (a.path == b.path) {
        if (a.at == b.at) return a.label < b.label;
        return a.at > b.at ? a.label < usual(a.at) : usual(b.at) < b.label;
    }
    compared_.resize(2 * length_);
    std::int32_t *first = compared_.data(), *second = first + length_;
    follow(a, first);
    follow(b, second);
    for (std::size_t t = length_; t-- > 0;)
        if (first[t] != second[t]) return first[t] < second[t];
    return false;
}

// Writes the labelling of a detour; returns where it meets the best one again, or kNone.
std::size_t FewBest::follow(const Detour& detour, std::int32_t* labels) {
    const std::int32_t *best = labels_.data(), *path = best + detour.path * length_;
    std::copy(path + detour.at + 1, path + length_, labels + detour.at + 1);
    std::size_t t = detour.at;
    labels[t] = static_cast<std::int32_t>(detour.label);
    while (labels[t] != best[t]) {
        if (t == 0) return kNone;
        kernels().max_trace(chain_->potentials, chain_->packed, chain_->padded, &chain_->sequence, &chain_->scores,
                            &labels, 1, t, t + 1);
        --t;
    }
    std::copy(best, best + t, labels);
    return t;
}

}  // namespace tw::chain
