// The k best labellings of one chain, for a k so small that the search must cost no more than the Viterbi pass before
// it.
//
// The same search as BestFirst, in the same order: a further labelling leaves an earlier one at one position
// (seen from the end), then follows best predecessors. Here all that could still be needed is kept in one sorted list
// of at most k, losses come a row at a time from the kernels, and nothing is allocated once the space has grown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../kernels/kernels.hpp"

namespace tw::chain {

// A chain after its Viterbi pass.
struct Passed {
    const Potentials& potentials;
    PackedTransitions& packed;
    std::size_t padded;
    Sequence sequence;
    Rows scores;
};

class FewBest {
public:
    // `best` is the best labelling, `top` its score. Labellings may be fewer than k.
    void search(const Passed& chain, std::span<const std::int32_t> best, double top, std::size_t k);

    std::size_t size() const { return path_losses_.size(); }
    std::span<const std::int32_t> labels(std::size_t i) const { return {labels_.data() + i * length_, length_}; }
    double score(std::size_t i) const { return top_ - path_losses_[i]; }

private:
    struct Detour {  // to a label at a position; what comes after it is as in the path
        double loss;
        std::uint32_t path, at, label;
    };

    double look_at(std::size_t position, std::int32_t label, std::int32_t usual);
    void offer_best();
    void offer(std::size_t path, std::size_t position, const std::int32_t* labels, double least);
    void insert(const Detour& detour);
    bool earlier(const Detour& a, const Detour& b);
    bool has_room_for(double loss) const { return offers_.size() < wanted() || loss <= offers_.back().loss; }
    std::size_t wanted() const { return k_ - path_losses_.size(); }
    std::size_t follow(const Detour& detour, std::int32_t* labels);

    const Passed* chain_ = nullptr;
    std::size_t k_ = 0, length_ = 0;
    double top_ = 0.0;
    std::vector<double> path_losses_;
    std::vector<std::int32_t> labels_, compared_;  // [k][length]; two more when equal losses are compared
    std::vector<Detour> offers_, of_best_;         // in order; of_best_: those that leave the best labelling
    std::vector<double> losses_, least_, sorted_;
};

}  // namespace tw::chain
