// The loss of one sequence under any labelling knowledge, and its derivatives, in log space.
//
// F_t is the log of the summed exponentiated scores of all labellings whose first t labels are allowed and whose other
// labels are free: F_0 is log Z, F_T the same over the allowed labellings alone. With alpha over allowed labels and
// beta over all labels, F_t = log sum_y exp(alpha_t(y) + beta_t(y)), so one pass each way gives them all. The loss is
// any weighted sum of them; its derivatives flow back through both recursions as probabilities (no differences of
// large numbers are taken).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tw::chain {

struct SequenceScores {
    std::size_t n_labels, length;  // at least 1
    const double* unary;           // [length][n_labels]
    const double* transitions;     // [n_labels][n_labels], or [length - 1] of those
    bool per_step;
    const double* start;          // [n_labels], 0 or -inf
    const double* end;            // [n_labels], 0 or -inf
    const std::uint8_t* allowed;  // [length][n_labels]
};

// Coefficients of F_0 .. F_T for token weights v: minus sum of v_t (F_t - F_{t - 1}).
void loss_coefficients(std::span<const double> token_weights, std::span<double> coefficients);

// Who takes the derivatives by the transition scores of a step, [n_labels][n_labels]; what comes for one step adds up.
class EdgeSink {
public:
    virtual ~EdgeSink() = default;
    virtual void add(std::size_t step, const double* edges) = 0;
};

class SequenceLoss {
public:
    // Sum of coefficients[t] * F_t, and its derivatives. `nodes` is [length][n_labels], overwritten.
    double operator()(const SequenceScores& scores, std::span<const double> coefficients, double* nodes,
                      EdgeSink& edges);

private:
    void backward(const SequenceScores& scores);
    void forward(const SequenceScores& scores);
    void flow_from_beta(const SequenceScores& scores, std::span<const double> coefficients, double* nodes,
                        EdgeSink& edges);
    void flow_from_alpha(const SequenceScores& scores, std::span<const double> coefficients, double* nodes,
                         EdgeSink& edges);
    void posterior(std::size_t t, std::size_t n_labels);  // p(y_t) with labels up to t allowed and the rest free

    std::vector<double> alpha_, beta_, terms_, flow_, next_, posterior_, step_;
};

}  // namespace tw::chain
