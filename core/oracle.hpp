// What learners see of a training set: examples with gold outputs, and questions about them at given weights.
//
//     Oracle -- examples and weights, and what it can be asked:
//        best()    BestOutputs       the k best outputs of an example, and their difference to gold
//        sums()    Sums              loss, gradient, curvature and stochastic steps, over all outputs
//        parts()   PartMarginals     the inside of an example: scores of its parts, and marginals under any scores
//        beam()    BeamOutputs       the partial output of a beam that is farthest above gold
//        partial() PartialGold       the best of the outputs that are allowed, where gold is known only in part
//        local()   another Oracle    the same examples as single decisions
//        hints()   Hints             what is faster if it is known beforehand
//        growth()  GrowingWeights    weights that are added while learning goes on
// Each of these is null where the oracle has no such answer.
//
// A learner never learns what the structure is. Weights are one vector of doubles; what they mean, and how they lie in
// memory while examples are visited, is the oracle's own affair.
#pragma once

#include <atomic>
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

// Which numbers of a vector have changed since somebody looked, for those who keep something that was made from them.
// Nothing is noted before anybody asks to.
class ChangeLog {
public:
    ChangeLog() { restart(); }
    ChangeLog(const ChangeLog&) { restart(); }  // of another vector
    ChangeLog& operator=(const ChangeLog&) {
        restart();
        return *this;
    }

    void watch() const { watched_.store(true, std::memory_order_relaxed); }
    bool watched() const { return watched_.load(std::memory_order_relaxed); }
    std::uint64_t id() const { return id_; }  // changes where everything may have
    std::size_t end() const { return forgotten_ + indices_.size(); }
    // What changed from a moment on whose end() is given, unless that is too long ago.
    bool since(std::size_t moment, std::span<const std::uint32_t>& out) const {
        if (moment < forgotten_ || moment > end()) return false;
        out = std::span(indices_).subspan(moment - forgotten_);
        return true;
    }

    void note(std::span<const std::uint32_t> indices) {
        if (!watched()) return;
        if (indices_.size() > kMost) {
            forgotten_ += indices_.size();
            indices_.clear();
        }
        indices_.insert(indices_.end(), indices.begin(), indices.end());
    }
    void restart() {
        static std::atomic<std::uint64_t> made{0};
        id_ = ++made;
        forgotten_ = 0;
        indices_.clear();
    }

private:
    static constexpr std::size_t kMost = std::size_t{1} << 16;
    std::uint64_t id_ = 0;
    std::size_t forgotten_ = 0;
    std::vector<std::uint32_t> indices_;
    mutable std::atomic<bool> watched_{false};
};

// Weights as learners keep them: true weight j is scale * stored[j]. A learner that is content with scores of single
// precision hands them over rounded instead: half the memory to read.
struct ScaledWeights {
    std::span<const double> stored;
    double scale = 1.0;
    std::span<const float> rounded = {};  // or empty; where it is not, `stored` is. Where Hints::rounded_layout() says
    const ChangeLog* changes = nullptr;   // of these weights, or null: nobody notes them

    std::size_t size() const { return rounded.empty() ? stored.size() : rounded.size(); }
};

// Where rounded weights are to lie: each at a place of its own among `size` numbers that are 0 elsewhere, multiplied by
// a factor. Of no weights: each at its number, as it is.
struct RoundedPlace {
    std::uint32_t place = 0;
    float factor = 1.0f;
};
struct RoundedLayout {
    std::span<const RoundedPlace> places;
    std::size_t size = 0;
};

// Numbers by weight, `stride` bytes apart, that somebody will soon change; or none.
struct PrefetchTarget {
    const void* numbers = nullptr;
    std::size_t stride = 0;
};

// One output of an example: what it is (for the oracle alone to read), its score w . f(x, y) without any cost, and its
// cost against gold.
struct Output {
    std::vector<std::uint32_t> code;
    std::shared_ptr<const void> held;  // for outputs that are not a row of numbers
    double score = 0.0, cost = 0.0;
    double margin = std::numeric_limits<double>::quiet_NaN();  // score of gold - score, where the oracle knows it
    std::vector<double> shares = {};  // of a relaxed output (Finley & Joachims 2008): how much of each number in `code`

    bool same_as(const Output& other) const {
        return code == other.code && held == other.held && shares == other.shares;
    }
};

// What a number in the vector of weights is. It may stand for g equal weights v, of attributes that always occur
// together.
enum class Variables {
    kPlain,     // every number is one weight
    kScaled,    // z = sqrt(g) v: inner products of variables are those of weights, so learners need not know
    kByMember,  // v itself, and differences say how many weights each number stands for. Whole steps stay whole, and
                // a learner whose updates are not linear in the features can do to v what it would do to each weight
};

// The best outputs of an example.
class BestOutputs {
public:
    virtual ~BestOutputs() = default;

    // The k outputs of an example that maximise  score + nu * cost,  best first, distinct; fewer where fewer exist.
    // Gold may be among them. Several threads may ask at the same time.
    virtual std::vector<Output> kbest(const ScaledWeights& weights, std::size_t example, std::size_t k,
                                      double nu) const = 0;
    virtual bool lists() const { return true; }  // whether k may be more than 1

    // f(x, gold) - f(x, y) of an output that kbest() found for this example; may add weights, so one thread only. Not
    // to be asked where gold is known only in part.
    virtual void difference(std::size_t example, const Output& output, SparseVector& out) = 0;

    // The score of gold less that of an output that kbest() found for this example, where that is quicker to have
    // than difference(); else NaN.
    virtual double margin(const ScaledWeights&, std::size_t /*example*/, const Output&) const {
        return std::numeric_limits<double>::quiet_NaN();
    }

    // The output that maximises  cost * (1 + score - score of gold):  the hinge with rescaled slack. False where the
    // structure has no exact way to find it; learners then search with kbest() over nu.
    virtual bool slack_argmax(const ScaledWeights&, std::size_t /*example*/, Output&) const { return false; }
};

// What a beam finds that keeps the best few ways to begin an output. Gold may leave the beam, so an output is compared
// with gold as far as it goes (Huang et al. 2012).
class BeamOutputs {
public:
    virtual ~BeamOutputs() = default;

    // Of the best beginnings of each size, the one whose score is farthest above that of gold's beginning of the same
    // size, the longest of equals; `margin` is known. Several threads may ask at the same time.
    virtual Output max_violation(const ScaledWeights& weights, std::size_t example, std::size_t width) const = 0;

    // f(x, gold) - f(x, y) of such a beginning, of gold's as far as it goes; may add weights, so one thread only.
    virtual void difference_of_beginnings(std::size_t example, const Output& output, SparseVector& out) = 0;
};

// Of examples whose gold is known only in part: several outputs are allowed, none of which costs anything.
class PartialGold {
public:
    virtual ~PartialGold() = default;

    // The allowed output with the highest score; several threads may ask at the same time.
    virtual Output best_allowed(const ScaledWeights& weights, std::size_t example) const = 0;

    // f(x, gold) - f(x, y) of two outputs of this example; may add weights, so one thread only.
    virtual void difference_to(std::size_t example, const Output& gold, const Output& output, SparseVector& out) = 0;
};

// Sums over all outputs. `nu` is the factor of the cost that is added to the score of a wrong output (softmax-margin,
// Table 2.1 of Mančev 2015; Gimpel & Smith 2010); 0 for none. Where gold is known in part, the loss of an example is
// log Z less the same sum over what is allowed.
class Sums {
public:
    virtual ~Sums() = default;

    // The loss summed over all examples, and its gradient, which is overwritten. The same to the last bit for any
    // n_jobs. `precise`: double precision throughout; otherwise single where it is faster.
    virtual double loss(std::span<const double> weights, std::span<double> gradient, double nu, std::size_t n_jobs,
                        bool precise) = 0;

    // A diagonal estimate of the second derivative of the same sum: the variance of each feature's parts, p (1 - p).
    virtual void curvature(std::span<const double> weights, std::span<double> diagonal, double nu,
                           std::size_t n_jobs) = 0;

    // One stochastic step: the loss of the given examples at the working weights, whose true value then becomes
    // w - step * (gradient of that loss). Touches only what the examples touch; several threads may each use their own
    // WorkingWeights.
    virtual std::unique_ptr<WorkingWeights> working_weights() const = 0;
    virtual double descend(WorkingWeights& weights, std::span<const std::uint32_t> examples, double step,
                           double nu) const = 0;

    // How much a weight counts in |w|_1 (all ones unless one variable stands for several equal weights); |w|^2 is
    // plain.
    virtual std::span<const double> l1_factors() const = 0;
};

// The inside of an example: scores of its parts, or their costs, as one vector that a learner may mix with others;
// log Z and the marginals of the parts under any such scores; and f(x, gold) - sum of marginals * f(part).
class PartMarginals {
public:
    virtual ~PartMarginals() = default;
    virtual void part_scores(const ScaledWeights& weights, std::size_t example, std::vector<double>& out) const = 0;
    virtual void part_costs(std::size_t example, std::vector<double>& out) const = 0;
    virtual double marginals(std::size_t example, std::span<const double> scores, std::vector<double>& out) const = 0;
    virtual void difference_of_marginals(std::size_t example, std::span<const double> marginals, SparseVector& out) = 0;
};

// What makes an oracle faster if it is known beforehand. Nothing of it changes a result, but for rounding.
class Hints {
public:
    virtual ~Hints() = default;

    // Whether kbest(), margin() and prefetch() take weights that are rounded.
    virtual bool reads_rounded() const { return false; }
    // How they lie in memory, as long as the oracle is there. One whose weights grow has them at their numbers.
    virtual RoundedLayout rounded_layout() const { return {}; }

    // kbest() will be asked about the first of these examples next, and then about the second.
    virtual void prefetch(const ScaledWeights&, std::size_t /*next*/, std::size_t /*after*/) const {}

    // These examples will be asked about next, in this order: what is in files may be read now.
    virtual void read_ahead(std::span<const std::uint32_t>) const {}

    // The next difference() will be added to these numbers, which may be far away.
    virtual void prefetch_update(const PrefetchTarget&) {}

    // The examples in an order in which neighbours are similar (in length, say), so that a small batch of neighbours
    // costs least; empty when any order will do.
    virtual std::span<const std::uint32_t> similar_order() const { return {}; }
};

// Weights that difference() has added to those there were at first, as numbers that put them back in the same order.
class GrowingWeights {
public:
    virtual ~GrowingWeights() = default;
    virtual std::vector<double> grown() const = 0;
    virtual void grow_again(std::span<const double> list) = 0;
};

class Oracle {
public:
    virtual ~Oracle() = default;
    virtual std::size_t n_examples() const = 0;
    virtual std::size_t n_weights() const = 0;  // may grow when difference() meets a weight for the first time
    virtual double example_weight(std::size_t) const { return 1.0; }  // how much it counts in a sum of losses
    virtual Variables variables() const { return Variables::kPlain; }
    // The numbers of weights that must never be negative, rising; they are there from the start. A learner keeps them
    // so by projection, or must not be given such an oracle.
    virtual std::span<const std::uint32_t> nonnegative() const { return {}; }

    virtual BestOutputs* best() { return nullptr; }
    virtual Sums* sums() { return nullptr; }
    virtual PartMarginals* parts() { return nullptr; }
    virtual BeamOutputs* beam() { return nullptr; }
    virtual PartialGold* partial() { return nullptr; }
    virtual Hints* hints() { return nullptr; }
    virtual GrowingWeights* growth() { return nullptr; }

    // The same examples taken apart into single decisions, each given the gold ones before it (a locally normalised
    // model); the weights mean the same.
    virtual std::unique_ptr<Oracle> local() const { return nullptr; }
    virtual bool decides() const { return false; }  // whether local() has an answer
};

// The questions that learners ask, by the names they have in Python.
inline std::vector<std::string> answers(Oracle& oracle) {
    std::vector<std::string> out;
    if (oracle.best()) out.emplace_back("argmax");
    if (oracle.best() && oracle.best()->lists()) out.emplace_back("kbest");
    if (oracle.beam()) out.emplace_back("beam");
    if (oracle.sums()) out.emplace_back("expectations");
    if (oracle.parts()) out.emplace_back("parts");
    if (oracle.decides()) out.emplace_back("local");
    return out;
}

// For learners that need an answer: throws where the oracle has none.
template <class Interface>
Interface& required(Interface* of_oracle, const char* question) {
    if (of_oracle == nullptr)
        throw std::invalid_argument(std::string("these examples do not answer ") + question +
                                    ", which the learner asks for");
    return *of_oracle;
}

}  // namespace tw
