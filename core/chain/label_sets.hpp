// Sets of labels, one for each of n things, as bits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../base/prefetch.hpp"

namespace tw::chain {

class LabelSets {
public:
    static constexpr std::size_t kFew = 64;  // labels: a set is one word
    LabelSets(std::size_t n, std::size_t n_labels) : words_((n_labels + 63) / 64), bits_(n * words_) {}
    void add(std::size_t i, std::size_t label) { bits_[i * words_ + label / 64] |= std::uint64_t{1} << (label % 64); }
    bool has(std::size_t i, std::size_t label) const { return bits_[i * words_ + label / 64] >> (label % 64) & 1; }
    void add(const LabelSets& more) {
        for (std::size_t i = 0; i < bits_.size(); ++i) bits_[i] |= more.bits_[i];
    }
    // How many labels of a set are smaller.
    std::uint32_t rank(std::size_t i, std::size_t label) const {
        const std::uint64_t* bits = &bits_[i * words_];
        const std::uint64_t smaller = bits[label / 64] & ((std::uint64_t{1} << (label % 64)) - 1);
        int total = std::popcount(smaller);
        for (std::size_t w = 0; w < label / 64; ++w) total += std::popcount(bits[w]);
        return static_cast<std::uint32_t>(total);
    }
    void fetch(std::size_t i) const { fetch_to_read(&bits_[i * words_]); }
    template <class Visit>
    void each(std::size_t i, Visit visit) const {
        for (std::size_t w = 0; w < words_; ++w)
            for (std::uint64_t left = bits_[i * words_ + w]; left; left &= left - 1)
                visit(static_cast<std::uint32_t>(w * 64 + static_cast<std::size_t>(std::countr_zero(left))));
    }

private:
    std::size_t words_;
    std::vector<std::uint64_t> bits_;
};

}  // namespace tw::chain
