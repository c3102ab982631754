#include "hinge.hpp"

namespace tw::learners {

double hinge_sum(Oracle& oracle, AveragedWeights& w, std::size_t n_jobs) {
    double sum = 0.0;
    each_most_violated(oracle, w, n_jobs, [&](std::size_t example, double cost, const SparseVector& difference) {
        sum += oracle.example_weight(example) * std::max(0.0, cost - w.dot(difference));
    });
    return sum;
}

}  // namespace tw::learners
