#include "crfsuite_rows.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "../base/interrupt.hpp"
#include "../base/prefetch.hpp"

namespace tw::linear {

void KeyedItems::assign(const Items& from) {
    keys.resize(from.n_attributes());
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = hash_bytes(from.name(i));
    values = from.values;
    items = from.items;
}

CrfsuiteRows::CrfsuiteRows(const CrfsuiteFile& file) : n_labels_(file.n_labels()) {
    const CrfsuiteFile::Weights all = file.weights();
    const std::size_t capacity = std::max<std::size_t>(4, std::bit_ceil(2 * file.n_attributes() + 1));
    places_.assign(capacity, Place{0, 0, kEmpty});
    shift_ = 64 - static_cast<unsigned>(std::countr_zero(capacity));
    const std::size_t many = std::max<std::size_t>(5, n_labels_ / 4);
    std::string with_zero;
    InterruptCheck check;
    for (std::size_t a = 0; a < file.n_attributes(); ++a) {
        check();
        const std::string_view name = file.attribute(a);
        with_zero.assign(name);
        with_zero.push_back('\0');
        if (file.find(with_zero, jenkins_hash(with_zero)) != a) throw std::invalid_argument("a name has two numbers");
        const Key key = hash_bytes(name);
        std::size_t at = home(key);
        for (; places_[at].count != kEmpty; at = (at + 1) & (capacity - 1))
            if (places_[at].key == key) throw std::invalid_argument("two names have one key");
        const std::size_t begin = all.starts[a], n = all.starts[a + 1] - begin;
        if (n < many) {
            places_[at] = {key, static_cast<std::uint32_t>(entries_.size()), static_cast<std::uint32_t>(n)};
            for (std::size_t i = begin; i < begin + n; ++i) entries_.push_back({all.weights[i], all.labels[i]});
        } else {
            std::vector<std::uint8_t> seen(n_labels_, 0);
            places_[at] = {key, static_cast<std::uint32_t>(dense_.size() / n_labels_), kDense};
            dense_.resize(dense_.size() + n_labels_, 0.0);
            for (std::size_t i = begin; i < begin + n; ++i) {
                if (seen[all.labels[i]]++) throw std::invalid_argument("a feature is there twice");
                dense_[dense_.size() - n_labels_ + all.labels[i]] = all.weights[i];
            }
        }
    }
}

void CrfsuiteRows::scores(const KeyedItems& items, double* out) const {
    constexpr std::size_t kAhead = 12;
    const std::size_t n = items.keys.size(), mask = places_.size() - 1, K = n_labels_;
    for (std::size_t i = 0; i < std::min(n, kAhead); ++i) fetch_to_read(&places_[home(items.keys[i])]);
    std::fill_n(out, items.size() * K, 0.0);
    InterruptCheck check;
    for (std::size_t t = 0; t < items.size(); ++t, out += K) {
        check();
        for (std::size_t i = items.items[t]; i < items.items[t + 1]; ++i) {
            if (i + kAhead < n) fetch_to_read(&places_[home(items.keys[i + kAhead])]);
            const Key key = items.keys[i];
            std::size_t at = home(key);
            while (places_[at].count != kEmpty && places_[at].key != key) at = (at + 1) & mask;
            const Place& place = places_[at];
            if (place.count == kEmpty) continue;
            const double value = items.values[i];
            if (place.count == kDense) {
                const double* row = dense_.data() + place.first * K;
                for (std::size_t y = 0; y < K; ++y) out[y] += value * row[y];
            } else {
                const Entry* entry = entries_.data() + place.first;
                for (std::uint32_t j = 0; j < place.count; ++j) out[entry[j].label] += value * entry[j].weight;
            }
        }
    }
}

}  // namespace tw::linear
