#include "hinge.hpp"

#include "slack.hpp"

namespace tw::learners {

double most_violated(Oracle& oracle, AveragedWeights& w, std::size_t example, Rescaling rescaling,
                     SparseVector& difference) {
    if (rescaling == Rescaling::kSlack) {
        SlackRival rival = slack_rival(oracle, w, example);
        difference = std::move(rival.difference);
        for (double& value : difference.values) value *= rival.found.cost;
        return rival.found.cost;
    }
    const Found best = oracle.kbest(w.view(), example, 1, 1.0).at(0);
    oracle.difference(example, best, difference);
    w.grow(oracle.n_weights());
    return best.cost;
}

double hinge_sum(Oracle& oracle, AveragedWeights& w, std::size_t n_jobs, Rescaling rescaling) {
    double sum = 0.0;
    const auto add = [&](std::size_t example, double cost, const SparseVector& difference) {
        sum += oracle.example_weight(example) * std::max(0.0, cost - w.dot(difference));
    };
    each_most_violated(oracle, w, n_jobs, rescaling, add);
    return sum;
}

}  // namespace tw::learners
