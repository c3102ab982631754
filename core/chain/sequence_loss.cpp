#include "sequence_loss.hpp"

#include <algorithm>

#include "../base/interrupt.hpp"
#include "../base/semiring.hpp"
#include "../kernels/kernels.hpp"

namespace tw::chain {
namespace {

const double* matrix(const SequenceScores& s, std::size_t step) {
    return s.transitions + (s.per_step ? step * s.n_labels * s.n_labels : 0);
}

}  // namespace

void loss_coefficients(std::span<const double> v, std::span<double> coefficients) {
    const std::size_t length = v.size();
    coefficients[0] = v[0];
    for (std::size_t t = 1; t < length; ++t) coefficients[t] = v[t] - v[t - 1];
    coefficients[length] = -v[length - 1];
}

double SequenceLoss::operator()(const SequenceScores& s, std::span<const double> coefficients, double* nodes,
                                EdgeSink& edges) {
    const std::size_t K = s.n_labels;
    alpha_.resize(s.length * K);
    beta_.resize(s.length * K);
    terms_.resize(K);
    flow_.resize(K);
    next_.resize(K);
    posterior_.resize(K);
    step_.resize(K * K);
    backward(s);
    forward(s);
    for (std::size_t y = 0; y < K; ++y) terms_[y] = s.start[y] + s.unary[y] + beta_[y];
    double loss = coefficients[0] * LogSum::sum(terms_);
    for (std::size_t t = 0; t < s.length; ++t) {
        if (coefficients[t + 1] == 0.0) continue;
        for (std::size_t y = 0; y < K; ++y) terms_[y] = alpha_[t * K + y] + beta_[t * K + y];
        loss += coefficients[t + 1] * LogSum::sum(terms_);
    }
    std::fill(nodes, nodes + s.length * K, 0.0);
    flow_from_beta(s, coefficients, nodes, edges);
    flow_from_alpha(s, coefficients, nodes, edges);
    return loss;
}

void SequenceLoss::backward(const SequenceScores& s) {
    const std::size_t K = s.n_labels;
    std::copy(s.end, s.end + K, beta_.end() - static_cast<std::ptrdiff_t>(K));
    for (std::size_t t = s.length - 1; t-- > 0;) {
        check_interrupt();
        const double* moves = matrix(s, t);
        for (std::size_t y = 0; y < K; ++y) next_[y] = s.unary[(t + 1) * K + y] + beta_[(t + 1) * K + y];
        for (std::size_t y = 0; y < K; ++y) {
            for (std::size_t z = 0; z < K; ++z) terms_[z] = moves[y * K + z] + next_[z];
            beta_[t * K + y] = LogSum::sum(terms_);
        }
    }
}

void SequenceLoss::forward(const SequenceScores& s) {
    const std::size_t K = s.n_labels;
    for (std::size_t t = 0; t < s.length; ++t) {
        check_interrupt();
        for (std::size_t z = 0; z < K; ++z) {
            double& out = alpha_[t * K + z];
            if (!s.allowed[t * K + z]) {
                out = kLogZero;
            } else if (t == 0) {
                out = s.start[z] + s.unary[z];
            } else {
                const double* moves = matrix(s, t - 1);
                for (std::size_t y = 0; y < K; ++y) terms_[y] = alpha_[(t - 1) * K + y] + moves[y * K + z];
                out = s.unary[t * K + z] + LogSum::sum(terms_);
            }
        }
    }
}

void SequenceLoss::posterior(std::size_t t, std::size_t K) {
    for (std::size_t y = 0; y < K; ++y) posterior_[y] = alpha_[t * K + y] + beta_[t * K + y];
    kernels().softmax(posterior_.data(), K);
}

// beta_t(y) = log sum_z exp(moves(y, z) + unary_{t+1}(z) + beta_{t+1}(z)): what flows into beta_t leaves over z.
void SequenceLoss::flow_from_beta(const SequenceScores& s, std::span<const double> coefficients, double* nodes,
                                  EdgeSink& edges) {
    const std::size_t K = s.n_labels;
    for (std::size_t y = 0; y < K; ++y) flow_[y] = s.start[y] + s.unary[y] + beta_[y];
    kernels().softmax(flow_.data(), K);
    for (std::size_t y = 0; y < K; ++y) nodes[y] += flow_[y] *= coefficients[0];
    for (std::size_t t = 0; t + 1 < s.length; ++t) {
        check_interrupt();
        if (coefficients[t + 1] != 0.0) {
            posterior(t, K);
            for (std::size_t y = 0; y < K; ++y) flow_[y] += coefficients[t + 1] * posterior_[y];
        }
        const double* moves = matrix(s, t);
        std::ranges::fill(next_, 0.0);
        std::ranges::fill(step_, 0.0);
        for (std::size_t y = 0; y < K; ++y) {
            if (flow_[y] == 0.0) continue;
            for (std::size_t z = 0; z < K; ++z)
                terms_[z] = moves[y * K + z] + s.unary[(t + 1) * K + z] + beta_[(t + 1) * K + z];
            kernels().softmax(terms_.data(), K);
            for (std::size_t z = 0; z < K; ++z) {
                const double p = flow_[y] * terms_[z];
                step_[y * K + z] = p;
                next_[z] += p;
            }
        }
        edges.add(t, step_.data());
        for (std::size_t z = 0; z < K; ++z) nodes[(t + 1) * K + z] += next_[z];
        flow_.swap(next_);
    }
}

// alpha_t(z) = unary_t(z) + log sum_y exp(alpha_{t-1}(y) + moves(y, z)): what flows into alpha_t leaves over y.
void SequenceLoss::flow_from_alpha(const SequenceScores& s, std::span<const double> coefficients, double* nodes,
                                   EdgeSink& edges) {
    const std::size_t K = s.n_labels;
    std::ranges::fill(flow_, 0.0);
    for (std::size_t t = s.length; t-- > 0;) {
        check_interrupt();
        if (coefficients[t + 1] != 0.0) {
            posterior(t, K);
            for (std::size_t z = 0; z < K; ++z) flow_[z] += coefficients[t + 1] * posterior_[z];
        }
        for (std::size_t z = 0; z < K; ++z) nodes[t * K + z] += flow_[z];
        if (t == 0) break;
        const double* moves = matrix(s, t - 1);
        std::ranges::fill(next_, 0.0);
        std::ranges::fill(step_, 0.0);
        for (std::size_t z = 0; z < K; ++z) {
            if (flow_[z] == 0.0) continue;
            for (std::size_t y = 0; y < K; ++y) terms_[y] = alpha_[(t - 1) * K + y] + moves[y * K + z];
            kernels().softmax(terms_.data(), K);
            for (std::size_t y = 0; y < K; ++y) {
                const double p = flow_[z] * terms_[y];
                step_[y * K + z] = p;
                next_[y] += p;
            }
        }
        edges.add(t - 1, step_.data());
        flow_.swap(next_);
    }
}

}  // namespace tw::chain
