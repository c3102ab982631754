// What dynamic programs answer beyond every structure.
#pragma once

#include <functional>
#include <span>
#include <vector>

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

}  // namespace tw
