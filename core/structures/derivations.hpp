// What dynamic programs answer beyond every structure.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "../kernels/kernels.hpp"
#include "structure.hpp"

namespace tw {

class DerivationStructure : public Structure {
public:
    virtual double entropy(Shape shape, const PartScores& scores) const = 0;
    // The best score of an output that has the part, for every part.
    virtual void max_marginals(Shape shape, const PartScores& scores, std::span<double> out) const = 0;
    // n outputs drawn from the distribution; draw() is uniform on [0, 1). Distinct ones: each from those that are left,
    // fewer than n where fewer exist.
    virtual std::vector<Parts> sample(Shape shape, const PartScores& scores, std::size_t n, bool distinct,
                                      const std::function<double()>& draw) const = 0;
    // The first position that no beginning of an output gets past, when there is no output.
    virtual std::size_t dead_end(Shape shape, const PartScores& scores) const = 0;
};

// Takes the best of each row out of the first parts, rows of which every output has one part each; returns their sum.
inline double centre_rows(const PartScores& scores, std::size_t n_rows, std::size_t n_codes, std::vector<double>& out) {
    out.assign(scores.scores.begin(), scores.scores.end());
    CompensatedSum total;
    for (std::size_t r = 0; r < n_rows; ++r) {
        double best = PartScores::kForbidden;
        for (std::size_t i = r * n_codes; i < (r + 1) * n_codes; ++i)
            best = std::max(best, scores[static_cast<Part>(i)]);
        if (best == PartScores::kForbidden) continue;
        total.add(best);
        for (std::size_t i = r * n_codes; i < (r + 1) * n_codes; ++i) out[i] -= best;
    }
    return total.value();
}

}  // namespace tw
