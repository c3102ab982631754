#include "tag_dictionary.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace tw {
namespace {

void require(bool holds, const char* message) {
    if (!holds) throw std::invalid_argument(message);
}

}  // namespace

void TagDictionary::check(std::size_t n_labels) const {
    require(starts.size() == keys.size() + 1 && starts.front() == 0 && starts.back() == labels.size(),
            "the tables of the tag dictionary do not fit together");
    for (std::size_t i = 0; i < keys.size(); ++i) {
        require(i == 0 || keys[i - 1] < keys[i], "the words of the tag dictionary are not sorted");
        require(starts[i] < starts[i + 1] && starts[i + 1] <= labels.size(),
                "the tables of the tag dictionary do not fit together");
        for (std::size_t j = starts[i]; j < starts[i + 1]; ++j)
            require(labels[j] < n_labels && (j == starts[i] || labels[j - 1] < labels[j]),
                    "the tag dictionary has labels that are not there, or not sorted");
    }
}

std::uint32_t TagDictionary::find(std::span<const Key> attributes, std::size_t& place) const {
    for (std::size_t tried = 0; tried < attributes.size(); ++tried) {
        const std::size_t i = (place + tried) % attributes.size();
        const auto found = std::ranges::lower_bound(keys, attributes[i]);
        if (found == keys.end() || *found != attributes[i]) continue;
        place = i;
        return static_cast<std::uint32_t>(found - keys.begin());
    }
    return kNone;
}

void TagDictionary::limit(std::uint32_t word, std::size_t n_labels, double* scores) const {
    const auto taken = labels.subspan(starts[word], starts[word + 1] - starts[word]);
    std::size_t next = 0;
    for (std::size_t y = 0; y < n_labels; ++y) {
        if (next < taken.size() && taken[next] == y)
            ++next;
        else
            scores[y] = -std::numeric_limits<double>::infinity();
    }
}

void TagDictionary::limit(const AttributeList& tokens, std::size_t n_labels, double* scores) const {
    std::size_t place = 0;  // of the word among the attributes of the token before: mostly the same
    for (std::size_t t = 0; t < tokens.n_sites(); ++t, scores += n_labels) {
        const auto all = std::span(tokens.keys).subspan(tokens.starts[t], tokens.starts[t + 1] - tokens.starts[t]);
        if (const std::uint32_t word = find(all, place); word != kNone) limit(word, n_labels, scores);
    }
}

}  // namespace tw
