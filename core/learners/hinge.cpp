#include "hinge.hpp"

#include "slack.hpp"

namespace tw::learners {

double most_violated(RankedExamples& examples, AveragedWeights& w, std::size_t example, Rescaling rescaling,
                     SparseVector& difference) {
    if (rescaling == Rescaling::kSlack) {
        SlackRival rival = slack_rival(examples, w, example);
        difference = std::move(rival.difference);
        for (double& value : difference.values) value *= rival.found.cost;
        return rival.found.cost;
    }
    const Output best = examples.kbest(w, example, 1, 1.0).at(0);
    examples.difference(w, example, best, difference);
    return best.cost;
}

double hinge_sum(RankedExamples& examples, AveragedWeights& w, std::size_t n_jobs, Rescaling rescaling) {
    double sum = 0.0;
    const auto add = [&](std::size_t example, double cost, const SparseVector& difference) {
        sum += examples.example_weight(example) * std::max(0.0, cost - w.dot(difference));
    };
    each_most_violated(examples, w, n_jobs, rescaling, add);
    return sum;
}

}  // namespace tw::learners
