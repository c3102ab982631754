#include "crfsuite_tagger.hpp"

#include <cmath>
#include <new>
#include <stdexcept>

namespace tw::chain {

CrfsuiteTagger::CrfsuiteTagger(std::string_view bytes) : file_(bytes), zeros_(file_.n_labels(), 0.0) {}

Potentials CrfsuiteTagger::potentials() const {
    return {file_.n_labels(), file_.transitions().data(), false, zeros_.data(), zeros_.data()};
}

void CrfsuiteTagger::set(const linear::Items& items) {
    look_for_rows(items.n_attributes());
    if (rows_) {
        keyed_.assign(items);
        set(keyed_);
    } else {
        set_scores(items.size(), [&](double* out) { file_.scores(items, hashes_, out); });
    }
}

void CrfsuiteTagger::set(const linear::KeyedItems& items) {
    set_scores(items.size(), [&](double* out) { rows_->scores(items, out); });
}

void CrfsuiteTagger::look_for_rows(std::size_t n_more) {
    constexpr std::size_t kMostFeatures = 50'000'000;  // a gigabyte
    n_found_ += n_more;
    if (tried_ || n_found_ < 2 * file_.n_attributes() + 2000) return;
    tried_ = true;
    if (file_.n_features() > kMostFeatures) return;
    try {
        rows_ = std::make_unique<linear::CrfsuiteRows>(file_);
    } catch (const std::invalid_argument&) {  // something is wrong with what nobody has asked for: it is used as it is
    } catch (const std::bad_alloc&) {
    }
}

template <class Score>
void CrfsuiteTagger::set_scores(std::size_t length, Score score) {
    const std::size_t size = length * file_.n_labels();
    if (length > (std::size_t{1} << 31) / file_.n_labels())
        throw std::invalid_argument("too many items times labels: at most 2^31");
    next_.resize(size);
    score(next_.data());
    bool finite = true;
    for (std::size_t i = 0; i < size; ++i) finite &= std::abs(next_[i]) <= 1e300;
    if (!finite) throw std::invalid_argument("the values of attributes are so large that a score is not finite");
    unary_.swap(next_);
    length_ = length;
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
