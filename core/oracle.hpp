// What learners see of a training set: examples with gold structures, and questions about them at given weights.
//
// A learner never learns what the structure is. Weights are one vector of doubles; what they mean, and how they lie in
// memory while examples are visited, is the oracle's own affair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace tw {

// Working weights: a copy of a weight vector, in the layout the oracle computes with, that a learner changes example by
// example. The true weights are scale * stored, so that shrinking all of them costs nothing.
class WorkingWeights {
public:
    virtual ~WorkingWeights() = default;
    virtual void load(std::span<const double> weights) = 0;  // sets scale to 1
    virtual void store(std::span<double> weights) const = 0;
    virtual double scale() const = 0;
    virtual void multiply(double factor) = 0;  // all weights at once
    virtual double squared_norm() const = 0;   // of the true weights
};

// A vector with few non-zeros; no index occurs twice. With Variables::kByMember, index i stands for counts[i] equal
// coordinates of values[i] each.
struct SparseVector {
    std::vector<std::uint32_t> indices;
    std::vector<double> values;
    std::vector<double> counts;  // empty: one each

    std::size_t size() const { return indices.size(); }
    bool empty() const { return indices.empty(); }
    double count(std::size_t i) const { return counts.empty() ? 1.0 : counts[i]; }
    void clear() {
        indices.clear();
        values.clear();
        counts.clear();
    }
    double squared_norm() const {
        double sum = 0.0;
        for (std::size_t i = 0; i < size(); ++i) sum += values[i] * values[i] * count(i);
        return sum;
    }
};

// Weights as learners keep them: true weight j is scale * stored[j]. A learner that is content with scores of single
// precision hands them over rounded instead: half the memory to read.
struct ScaledWeights {
    std::span<const double> stored;
    double scale = 1.0;
    std::span<const float> rounded = {};  // or empty; where it is not, `stored` is

    std::size_t size() const { return rounded.empty() ? stored.size() : rounded.size(); }
};

// Numbers by weight, `stride` bytes apart, that somebody will soon change; or none.
struct Touched {
    const void* numbers = nullptr;
    std::size_t stride = 0;
};

// One structure that an oracle found: what it is (for the oracle alone to read), its score w . f(x, y) without any
// cost, and its cost against gold.
struct Found {
    std::vector<std::uint32_t> code;
    std::shared_ptr<const void> held;  // for structures that are no row of numbers
    double score = 0.0, cost = 0.0;
    double margin = std::numeric_limits<double>::quiet_NaN();  // score of gold - score, where the oracle knows it
};

// What an oracle may be asked besides loss and gradient.
enum class Question {
    kArgmax,        // the best structure, with cost
    kKBest,         // several of them
    kExpectations,  // loss, curvature, descend
    kParts,         // part_scores, part_costs, marginals
    kLocal,         // local(): one decision after the other
};

// What a number in the vector of weights is. It may stand for g equal weights v, of attributes that always occur
// together.
enum class Variables {
    kPlain,     // every number is one weight
    kScaled,    // z = sqrt(g) v: inner products of variables are those of weights, so learners need not know
    kByMember,  // v itself, and differences say how many weights each number stands for. Whole steps stay whole, and
                // a learner whose updates are not linear in the features can do to v what it would do to each weight
};

class Oracle {
public:
    virtual ~Oracle() = default;
    virtual std::size_t n_examples() const = 0;
    virtual std::size_t n_weights() const = 0;  // may grow when difference() meets a weight for the first time
    virtual bool answers(Question question) const = 0;

    // Weights that difference() has added to those there were at first, as numbers that put them back in the same
    // order.
    virtual std::vector<double> grown() const { return {}; }
    virtual void grow_again(std::span<const double>) {}

    virtual Variables variables() const { return Variables::kPlain; }

    // Whether kbest(), margin() and soon() take weights that are rounded.
    virtual bool reads_rounded() const { return false; }

    // How much example i counts in a sum of losses.
    virtual double example_weight(std::size_t) const { return 1.0; }

    // The k structures of an example that maximise  score + nu * cost,  best first, distinct; fewer where fewer exist.
    // Gold may be among them. Several threads may ask at the same time.
    virtual std::vector<Found> kbest(const ScaledWeights&, std::size_t example, std::size_t k, double nu) const {
        refuse("kbest", example, k);
    }

    // A hint that kbest() will be asked about the first of these examples next, and then about the second.
    virtual void soon(const ScaledWeights&, std::size_t /*next*/, std::size_t /*after*/) const {}

    // f(x, gold) - f(x, y) of a structure that kbest() found for this example; may add weights, so one thread only.
    virtual void difference(std::size_t example, const Found&, SparseVector&) { refuse("difference", example, 1); }

    // A hint that the next difference() will be added to these numbers, which may be far away.
    virtual void will_touch(const Touched&) {}

    // The score of gold less that of a structure that kbest() found for this example, where that is quicker to have
    // than difference(); else NaN.
    virtual double margin(const ScaledWeights&, std::size_t /*example*/, const Found&) const {
        return std::numeric_limits<double>::quiet_NaN();
    }

    // The structure that maximises  cost * (1 + score - score of gold):  the hinge with rescaled slack. False when the
    // structure has no exact way to find it; learners then search with kbest() over nu.
    virtual bool slack_argmax(const ScaledWeights&, std::size_t, Found&) const { return false; }

    // The inside of an example: scores of its parts, or their costs, as one vector that a learner may mix with others;
    // log Z and the marginals of the parts under any such scores; and f(x, gold) - sum of marginals * f(part).
    virtual void part_scores(const ScaledWeights&, std::size_t example, std::vector<double>&) const {
        refuse("part_scores", example, 1);
    }
    virtual void part_costs(std::size_t example, std::vector<double>&) const { refuse("part_costs", example, 1); }
    virtual double marginals(std::size_t example, std::span<const double>, std::vector<double>&) const {
        refuse("marginals", example, 1);
    }
    virtual void difference_of_marginals(std::size_t example, std::span<const double>, SparseVector&) {
        refuse("difference_of_marginals", example, 1);
    }

    // The same examples taken apart into single decisions, each given the gold ones before it (a locally normalised
    // model); the weights mean the same.
    virtual std::unique_ptr<Oracle> local() const { return nullptr; }

    // The factor nu of the cost that is added to the score of a wrong structure (softmax-margin, Table 2.1); 0 for
    // none.
    virtual void set_cost_scale(double nu) = 0;

    // How much a weight counts in |w|_1 (all ones unless one variable stands for several equal weights); |w|^2 is
    // plain.
    virtual std::span<const double> l1_factors() const = 0;

    // The loss summed over all examples, and its gradient, which is overwritten. The same to the last bit for any
    // n_jobs. `precise`: double precision throughout; otherwise single where it is faster.
    virtual double loss(std::span<const double> weights, std::span<double> gradient, std::size_t n_jobs,
                        bool precise) = 0;

    // A diagonal estimate of the second derivative of the same sum: the variance of each feature's parts, p (1 - p).
    virtual void curvature(std::span<const double> weights, std::span<double> diagonal, std::size_t n_jobs) = 0;

    // The examples in an order in which neighbours are alike (in length, say), so that a small batch of neighbours
    // costs least; empty when any order will do.
    virtual std::span<const std::uint32_t> alike() const { return {}; }

    // One stochastic step: the loss of the given examples at the working weights, whose true value then becomes
    // w - step * (gradient of that loss). Touches only what the examples touch; several threads may each use their own
    // WorkingWeights.
    virtual std::unique_ptr<WorkingWeights> working_weights() const = 0;
    virtual double descend(WorkingWeights& weights, std::span<const std::uint32_t> examples, double step) const = 0;

private:
    [[noreturn]] static void refuse(const char* question, std::size_t example, std::size_t) {
        throw std::invalid_argument(std::string("this structure does not answer ") + question + " (example " +
                                    std::to_string(example) + ")");
    }
};

}  // namespace tw
