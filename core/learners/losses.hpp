// Losses of one example, as subgradient methods need them: the structures that make the loss up, found at weights that
// may be shared with other threads; then its value and subgradient at the same weights.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "ranked_examples.hpp"
#include "solver.hpp"

namespace tw::learners {

// What was found for one example.
struct Sought {
    std::vector<Output> structures;  // best first
    std::vector<Output> prediction;  // the best without cost, when the loss looks at it
};

// Minus the subgradient of one or several examples: the sum of factor * difference.
class Pushes {
public:
    struct Push {
        double factor = 0.0;
        SparseVector difference;
    };

    void clear() { size_ = 0; }
    std::size_t size() const { return size_; }
    const Push& operator[](std::size_t i) const { return pushes_[i]; }
    SparseVector& next() {  // to be filled; counts once push() is called
        if (pushes_.size() == size_) pushes_.emplace_back();
        return pushes_[size_].difference;
    }
    void push(double factor) { pushes_[size_++].factor = factor; }
    void set(std::size_t i, double factor) { pushes_[i].factor = factor; }

private:
    std::vector<Push> pushes_;
    std::size_t size_ = 0;
};

class Loss {
public:
    virtual ~Loss() = default;
    // Before each pass over the examples, counting from 0.
    virtual void begin(RankedExamples&, AveragedWeights&, std::size_t /*pass*/, std::size_t /*n_jobs*/) {}
    // Several threads may look at the same time.
    virtual void seek(const RankedExamples& examples, const AveragedWeights& w, std::size_t example,
                      Sought& out) const = 0;
    // The loss at the weights of seek(); minus its subgradient times `factor` is added to `pushes`.
    virtual double settle(RankedExamples& examples, AveragedWeights& w, std::size_t example, const Sought& sought,
                          double factor, Pushes& pushes) = 0;
    // Whether the loss depends on which of several allowed outputs is gold.
    virtual bool compares_with_gold() const { return true; }
    virtual void save(State&) const {}
    virtual void load(const State&, std::size_t /*n_examples*/, std::size_t /*n_weights*/) {}
};

// (1 / |B|) sum over y in B of max(0, cost - w . (f(gold) - f(y))), where B are the k wrong structures that lose most:
// the max-margin loss for k = 1, the k-best loss (eq. 6.14), and with the prediction violation set S the part of the
// averaged sum loss (eq. 6.9 - 6.12) that is looked at. Divided by the size of B, not of its violated part.
class HingeLoss : public Loss {
public:
    HingeLoss(std::size_t k, bool restricted) : k_(k), restricted_(restricted) {}
    void seek(const RankedExamples& examples, const AveragedWeights& w, std::size_t example,
              Sought& out) const override;
    double settle(RankedExamples& examples, AveragedWeights& w, std::size_t example, const Sought& sought,
                  double factor, Pushes& pushes) override;

private:
    const std::size_t k_;
    const bool restricted_;
    SparseVector of_prediction_;
};

// The hinge with rescaled slack: max over y of  cost * (1 - w . (f(gold) - f(y))).  The search must know the score of
// gold, for which it needs the oracle for itself: nothing can be sought by several threads.
class SlackLoss final : public Loss {
public:
    void seek(const RankedExamples&, const AveragedWeights&, std::size_t, Sought&) const override {}
    double settle(RankedExamples& examples, AveragedWeights& w, std::size_t example, const Sought& sought,
                  double factor, Pushes& pushes) override;
};

// The ramp loss (eq. 5.2) by the concave-convex procedure: every `round` passes, the concave part of each example is
// replaced by its tangent (eq. 5.7), and what remains is a hinge. At zero weights there is nothing concave, so that the
// first round is the hinge's. `nu` is -1, or 0 for the loss of Do et al. (2008).
class RampLoss final : public HingeLoss {
public:
    RampLoss(double nu, std::size_t round) : HingeLoss(1, false), nu_(nu), round_(round) {}
    void begin(RankedExamples& examples, AveragedWeights& w, std::size_t pass, std::size_t n_jobs) override;
    double settle(RankedExamples& examples, AveragedWeights& w, std::size_t example, const Sought& sought,
                  double factor, Pushes& pushes) override;
    bool compares_with_gold() const override { return false; }  // gold is in both parts, and cancels
    void save(State& state) const override;
    void load(const State& state, std::size_t n_examples, std::size_t n_weights) override;

private:
    struct Tangent {  // cost and difference of the structure that eq. 5.4 asks for; empty where the concave part is
                      // zero
        double cost = 0.0;
        SparseVector difference;
    };

    const double nu_;
    const std::size_t round_;
    std::vector<Tangent> tangents_;
};

// Direct loss minimisation (McAllester, Hazan & Keshet 2010): the gradient of the expected cost of the prediction is
// the limit of  (f(y_eps) - f(prediction)) / eps,  where y_eps maximises  score + eps * cost.  The value is the cost of
// the prediction.
class DirectLoss final : public Loss {
public:
    // eps in pass p (counting from 1) is  epsilon / p^decay.
    DirectLoss(double epsilon, double decay) : first_(epsilon), decay_(decay), epsilon_(epsilon) {}
    void begin(RankedExamples& examples, AveragedWeights& w, std::size_t pass, std::size_t n_jobs) override;
    void seek(const RankedExamples& examples, const AveragedWeights& w, std::size_t example,
              Sought& out) const override;
    double settle(RankedExamples& examples, AveragedWeights& w, std::size_t example, const Sought& sought,
                  double factor, Pushes& pushes) override;
    bool compares_with_gold() const override { return false; }

private:
    const double first_, decay_;
    double epsilon_;
};

}  // namespace tw::learners
