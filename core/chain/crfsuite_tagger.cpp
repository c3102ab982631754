#include "crfsuite_tagger.hpp"

#include <cmath>
#include <stdexcept>

namespace tw::chain {

CrfsuiteTagger::CrfsuiteTagger(std::string_view bytes) : file_(bytes), zeros_(file_.n_labels(), 0.0) {}

Potentials CrfsuiteTagger::potentials() const {
    return {file_.n_labels(), file_.transitions().data(), false, zeros_.data(), zeros_.data()};
}

void CrfsuiteTagger::set(const linear::Items& items) {
    const std::size_t size = items.size() * file_.n_labels();
    if (items.size() > (std::size_t{1} << 31) / file_.n_labels())
        throw std::invalid_argument("too many items times labels: at most 2^31");
    next_.resize(size);
    file_.scores(items, hashes_, next_.data());
    bool finite = true;
    for (std::size_t i = 0; i < size; ++i) finite &= std::abs(next_[i]) <= 1e300;
    if (!finite) throw std::invalid_argument("the values of attributes are so large that a score is not finite");
    unary_.swap(next_);
    length_ = items.size();
    found_best_ = found_sums_ = length_ == 0;
    if (length_ == 0) labels_.clear();
}

std::span<const std::int32_t> CrfsuiteTagger::best() {
    if (!found_best_) {
        search_.search(potentials(), sequence(), 1, packed_best_);
        packed_best_ = true;
        labels_.assign(search_.labels(0), search_.labels(0) + length_);
        found_best_ = true;
    }
    return labels_;
}

std::span<const double> CrfsuiteTagger::marginals() {
    if (!found_sums_) {
        const std::size_t K = file_.n_labels();
        marginals_.resize(length_ * K);
        edges_.resize(K * K);
        log_z_ = sums_(potentials(), sequence(), packed_sums_, marginals_.data(), edges_.data());
        packed_sums_ = true;
        found_sums_ = true;
    }
    return {marginals_.data(), length_ * file_.n_labels()};
}

double CrfsuiteTagger::probability(std::span<const std::int32_t> labels) {
    if (length_ == 0) return 0.0;
    marginals();
    const std::size_t K = file_.n_labels();
    double score = 0.0;
    for (std::size_t t = 0; t < length_; ++t) {
        const auto label = static_cast<std::size_t>(labels[t]);
        score += unary_[t * K + label];
        if (t > 0) score += file_.transitions()[static_cast<std::size_t>(labels[t - 1]) * K + label];
    }
    return std::exp(score - log_z_);
}

}  // namespace tw::chain
