// A first-order chain of bare scores as a dynamic program (see hypergraph/recursions.hpp): for what the kernels do not
// answer, and where they leave the safe range. It has at least one position.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "../kernels/kernels.hpp"

namespace tw::chain {

// Node t stride + k is label k at position t; start scores are on the edges into the first, end scores on the goal's.
// The stride is K, or more to number nodes as padded rows do: then some nodes have no edges and only searches may be
// run.
class ChainProgram {
public:
    using Weight = double;

    ChainProgram(const Potentials& potentials, const Sequence& sequence, std::size_t stride = 0)
        : p_(potentials), s_(sequence), k_(potentials.n_labels), stride_(stride ? stride : k_) {
        if (p_.per_step) return;
        arriving_.resize(k_ * k_);
        for (std::size_t a = 0; a < k_; ++a)
            for (std::size_t b = 0; b < k_; ++b) arriving_[b * k_ + a] = p_.transitions[a * k_ + b];
    }

    std::size_t n_nodes() const { return s_.length * stride_ + 1; }
    std::size_t n_labels() const { return k_; }
    std::size_t n_positions() const { return s_.length; }
    std::size_t position(std::size_t v) const { return v / stride_; }
    std::size_t label(std::size_t v) const { return v % stride_; }
    std::size_t node(std::size_t t, std::size_t k) const { return t * stride_ + k; }

    double local(std::size_t t, std::size_t k) const {
        const double score = s_.unary[t * k_ + k];
        return (t == 0 ? p_.start[k] + score : score) - (centres_.empty() ? 0.0 : centres_[t]);
    }

    // Takes the best local score out of every position and returns their sum. Probabilities stay as they are, and sums
    // of scores keep their digits however large a constant the caller's scores contain.
    double centre() {
        centres_.assign(s_.length, 0.0);
        CompensatedSum total;
        std::vector<double> best(s_.length, -std::numeric_limits<double>::infinity());
        for (std::size_t t = 0; t < s_.length; ++t)
            for (std::size_t k = 0; k < k_; ++k) best[t] = std::max(best[t], local(t, k));
        for (std::size_t t = 0; t < s_.length; ++t)
            if (std::isfinite(best[t])) total.add(centres_[t] = best[t]);
        return total.value();
    }

    template <class Visit>
    void incoming(std::size_t v, Visit visit) const {
        if (v == n_nodes() - 1) {
            for (std::size_t a = 0; a < k_; ++a) visit(p_.end[a], node(s_.length - 1, a));
            return;
        }
        const std::size_t t = position(v), b = label(v);
        const double here = local(t, b);
        if (t == 0) {
            visit(here);
            return;
        }
        const std::size_t before = v - b - stride_;
        if (p_.per_step) {
            const double* scores = p_.transitions + (t - 1) * k_ * k_ + b;
            for (std::size_t a = 0; a < k_; ++a) visit(scores[a * k_] + here, before + a);
        } else {
            const double* scores = arriving_.data() + b * k_;
            for (std::size_t a = 0; a < k_; ++a) visit(scores[a] + here, before + a);
        }
    }

private:
    Potentials p_;
    Sequence s_;
    std::size_t k_, stride_;
    std::vector<double> arriving_;  // transitions, [to][from]
    std::vector<double> centres_;   // by position; empty unless centred
};

// Inside or outside values of all nodes over a semiring of Table 2.2, compiled outside the binding module.
template <class S>
std::vector<typename S::Value> values(const S& semiring, const ChainProgram& program, bool reverse);

}  // namespace tw::chain
