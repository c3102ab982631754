// Labels that tokens may take by choice: a tag dictionary says which ones their words have.
//
//     sets    starts [n_sets + 1], labels, rising within a set
//     tokens  of_token [n_tokens]   the set of each, or kAll
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace tw::chain {

struct Candidates {
    static constexpr std::uint32_t kAll = ~std::uint32_t{0};

    std::vector<std::uint32_t> starts{0};
    std::vector<std::uint16_t> labels;
    std::vector<std::uint32_t> of_token;

    bool empty() const { return of_token.empty(); }
    std::span<const std::uint16_t> of(std::size_t token) const {
        const std::uint32_t set = of_token[token];
        return std::span(labels).subspan(starts[set], starts[set + 1] - starts[set]);
    }
    bool all(std::size_t token) const { return of_token[token] == kAll; }

    void check(std::size_t n_labels, std::size_t n_tokens) const {
        const auto require = [](bool holds, const char* message) {
            if (!holds) throw std::invalid_argument(message);
        };
        require(of_token.size() == n_tokens, "candidates must have one set for each token");
        require(!starts.empty() && starts.front() == 0 && starts.back() == labels.size(),
                "the starts of the sets of candidates must lead from 0 to the number of their labels");
        for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
            require(starts[i] < starts[i + 1], "a set of candidates is empty");
            for (std::size_t j = starts[i] + 1; j < starts[i + 1]; ++j)
                require(labels[j - 1] < labels[j], "the labels of a set of candidates must rise");
            require(labels[starts[i + 1] - 1] < n_labels, "a candidate is no label");
        }
        for (const std::uint32_t set : of_token)
            require(set == kAll || set + 1 < starts.size(), "a token has a set of candidates that is not there");
    }
};

}  // namespace tw::chain
