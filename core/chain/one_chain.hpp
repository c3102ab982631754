// Questions about one chain after the other, with space that is kept: what a batch spends on grouping and memory would
// cost more than a short chain does. Transitions that are the same at all positions and have not changed since the last
// chain are used as they were packed then: callers know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../base/huge_pages.hpp"
#include "batch.hpp"
#include "few_best.hpp"

namespace tw::chain {

// Transition matrices packed for a kind of recursion.
class PackedOnce {
public:
    using Pack = void (*)(const Potentials&, std::size_t, std::size_t, PackedTransitions&);
    // As they were packed, unless they were forgotten; the kernels pack per-step ones at every step.
    PackedTransitions& operator()(const Potentials& potentials, std::size_t padded, Pack pack);
    void forget() { there_ = false; }

private:
    LargeArray<double> room_;
    bool there_ = false;
    PackedTransitions packed_{};
};

class BestOfChain {
public:
    // Finds the k best labellings of a sequence of at least one position, fewer where fewer exist. Equal scores: as
    // k-best Viterbi orders them. `same`: transitions are as in the last call. `guess`: what may be the best labelling,
    // which is then found sooner; or nothing.
    void search(const Potentials& potentials, const Sequence& sequence, std::size_t k, bool same,
                std::span<const std::uint16_t> guess = {});

    std::size_t size() const { return few_found_ ? few_.size() : scores_.size(); }
    double score(std::size_t i) const { return few_found_ ? few_.score(i) : scores_[i]; }
    const std::int32_t* labels(std::size_t i) const {
        return few_found_ ? few_.labels(i).data() : labels_.data() + i * length_;
    }

private:
    double viterbi(const Potentials& potentials, const Sequence& sequence, bool all_scores);

    std::size_t padded_ = 0, length_ = 0;
    PackedOnce packed_;
    PackedTransitions* transitions_ = nullptr;
    LargeArray<double> rows_;
    std::vector<double> scores_;
    std::vector<std::int32_t> labels_;
    FewBest few_;
    bool few_found_ = false;  // whether it has the answers
};

class SumsOfChain {
public:
    // As all_sums(): log Z, marginals of labels, and of pairs of labels, added up over the steps, or for each step
    // where transitions have one. Zeros where every labelling is forbidden.
    double operator()(const Potentials& potentials, const Sequence& sequence, bool same, double* nodes, double* edges);

private:
    PackedOnce packed_;
    LargeArray<double> rows_;
    std::vector<double> table_;
};

}  // namespace tw::chain
