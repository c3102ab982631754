// Beam search over one chain: at each position the best few labels stay, each with the best prefix that ends in it.
//
//     position      0          1          2
//     kept       [a b . .]  [c . . .]  [d e f .]     rising labels; at most `width` of them
//     scores     [s s . .]  [s . . .]  [s s s .]     of the best prefix that ends there and went through what was kept
//
// Prefixes with the same last label are one entry, since nothing that follows tells them apart (Huang & Sagae 2010): a
// step costs width * K, and a beam of all K labels is Viterbi, ties included. Where a prefix came from is looked up
// along the one path that is wanted, by the sum that rounding made of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../kernels/kernels.hpp"

namespace tw::chain {

class Beam {
public:
    // Searches a sequence of at least one position. It ends early where nothing that was kept can go on.
    void search(const Potentials& potentials, const Sequence& sequence, std::size_t width);

    std::size_t reached() const { return starts_.size() - 1; }  // positions that have a prefix
    // The best prefix of the first `size` positions, 1 <= size <= reached(): its score, that of the end among it where
    // it is the whole sequence, and its labels.
    double score(std::size_t size) const { return tops_[size - 1].score; }
    void labels(std::size_t size, std::span<std::int32_t> out) const;

private:
    struct Top {
        std::uint32_t entry;  // of those kept at its position
        double score;
    };
    bool keep(std::span<const double> scores, std::size_t width, bool last);

    Potentials potentials_{};
    Sequence sequence_{};
    std::vector<std::size_t> starts_;  // of the entries of each position
    std::vector<std::uint32_t> kept_;
    std::vector<double> scores_;
    std::vector<Top> tops_;
    std::vector<double> row_;
    std::vector<std::uint32_t> order_;
};

// The best labelling of a sequence that a beam finds, into `labels`, and its score. Where everything that was kept is
// forbidden to go on, the beam is made twice as wide; -inf where every labelling is forbidden.
double beam_argmax(Beam& beam, const Potentials& potentials, const Sequence& sequence, std::size_t width,
                   std::int32_t* labels);

}  // namespace tw::chain
