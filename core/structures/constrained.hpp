// Any structure with linear constraints on its parts: exact answers with a proof, from nothing but the structure's own
// best outputs.
//
//     maximise  score(y)   subject to   lower_r <= sum of a_r over the parts of y <= upper_r    for every row r
//
// 1. Lagrangian relaxation. For any multipliers,  L(y) = score(y) - sum of l_r (a_r(y) - b_r)  is at least the score of
//    every y that keeps the rows (b_r: upper where l_r > 0, lower where it is below), and its best y is a plain
//    question to the structure with other scores (Geoffrion 1974; Rush & Collins 2012). One row: the two lines that
//    cross at the least bound are found in a few questions. Several: row by row, then Polyak's subgradient steps.
// 2. The gap that may be left is closed by going through the best outputs under L, in order, until L is down to the
//    score of the best that keeps the rows (Handler & Zang 1980), where the structure lists its best outputs;
// 3. else by branch and bound: a part is forbidden in one half and forced in the other.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "derivations.hpp"

namespace tw {

// One constraint on the parts of an example. Parts that an output has several times count as often.
struct PartsRow {
    std::vector<Part> parts;
    std::vector<double> coefficients;
    double lower, upper;
};

// One constraint on examples of any shape: a coefficient for each code of a block, wherever it stands.
struct CodesRow {
    std::size_t block = 0;
    std::vector<double> coefficients;
    double lower, upper;
};

// When to give up. What was found by then is still returned.
struct SearchLimits {
    std::size_t nodes = 20'000;      // of branch and bound
    std::size_t most_listed = 4096;  // best outputs to go through before that
    double seconds = std::numeric_limits<double>::infinity();
};

struct ConstrainedBest {
    std::vector<Answer> answers;  // best first; each with a gap unless `proved`
    bool proved = true;           // these are the best, and there are no more where there are fewer than asked for
    bool out_of_time = false;
    double bound = 0.0;         // no output beyond those found is better
    std::size_t questions = 0;  // that the structure was asked
};

ConstrainedBest constrained_best(const Structure& structure, Shape shape, const PartScores& scores,
                                 const std::vector<PartsRow>& rows, std::size_t k, const SearchLimits& limits,
                                 Workspace& space);

// Outputs of a structure that keep the rows, as a structure of its own, with the same shapes, parts and costs. It has
// best outputs and no sums. An output that does not keep the rows is not one of its outputs. Answers may have a gap
// where the search was given up; where nothing was found by then, asking throws std::invalid_argument.
std::unique_ptr<DerivationStructure> constrained_structure(std::shared_ptr<const DerivationStructure> structure,
                                                           std::vector<CodesRow> rows);

}  // namespace tw
