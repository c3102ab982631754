// Losses of a batch of padded sequences and the gradient of their weighted sum, in one call and in the caller's
// precision: what a layer of a network needs.
//
//     scores                [sequence][position][label]     positions that are masked out are as if they were not
//     there: mask   1 1 0 1 0      compact rows, four sequences    the others move together
//            0 1 1 1 1      of similar length side by side
//
// The recursions of training (kernels/training.hpp) run on the compact rows: expected transitions are then one product
// of matrices a group. A group whose values leave the safe range is done again, sequence by sequence, by all_sums.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tw::chain {

template <class Real>
struct PaddedScores {
    std::size_t n_sequences, n_positions, n_labels;
    const Real* unary;                      // [sequence][position][label]; -inf forbids
    const bool* mask;                       // [sequence][position]; null: every position counts
    const Real *transitions, *start, *end;  // [label][label], [label], [label]
    const std::int64_t* gold;               // [sequence][position]; null: the loss is the log partition
    double cost;                            // added to the score of every label that is not gold's
    bool best;                              // the best labelling in the place of the sum over all of them
    std::size_t n_jobs;
};

// The gradient of sum over i of weights[i] loss[i]; all null when it is not wanted. Rows that are masked out become
// zeros.
template <class Real>
struct LossGradient {
    const double* weights;                    // [sequence]
    Real *unary, *transitions, *start, *end;  // shaped as the scores
};

// Why there is no answer, and where.
enum class Problem { kNone, kUnary, kTransition, kStart, kEnd, kLabel, kForbiddenGold, kImpossible };
struct FoundProblem {
    Problem what = Problem::kNone;
    std::size_t sequence = 0, position = 0, label = 0;  // of transitions: position is the label before
};

// loss[i] = log of the sum (or the maximum) over y of exp(score(y) + cost(y)), minus the score of gold; 0 where no
// position counts. Answers do not depend on the number of threads.
template <class Real>
FoundProblem padded_losses(const PaddedScores<Real>&, double* losses, const LossGradient<Real>&);

}  // namespace tw::chain
