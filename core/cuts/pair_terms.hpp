// A table of two variables with two labels each as what a network can hold: gains of single labels and capacities.
//
//     P[x][y] = constant + from * x + to * y - forward * x (1 - y) - backward * (1 - x) y
//
// with capacities >= 0, which is possible where P[0][0] + P[1][1] >= P[0][1] + P[1][0] (Kolmogorov & Zabih 2004). The
// capacities are equal unless a pair of labels is forbidden. Infinite gains force a label: +inf label 1, -inf label 0.
#pragma once

#include <cmath>
#include <limits>

namespace tw::cuts {

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();

struct PairTerms {
    double constant = 0.0, from = 0.0, to = 0.0, forward = 0.0, backward = 0.0;
    double force_from = 0.0, force_to = 0.0;  // +-inf where a label is in no allowed pair
    bool submodular = true;                   // false: capacities would be negative, and are left at zero
    bool impossible = false;                  // all four pairs are forbidden
};

// Sums of rounded scores that should be equal differ by this share of their size at most.
inline constexpr double kRoundingShare = 4.0 * std::numeric_limits<double>::epsilon();

inline PairTerms finite_pair_terms(double p00, double p01, double p10, double p11) {
    PairTerms terms;
    const double total = (p00 + p11) - (p01 + p10);
    terms.constant = p00;
    if (total >= 0.0) {
        terms.from = 0.5 * ((p10 - p00) + (p11 - p01));
        terms.to = 0.5 * ((p01 - p00) + (p11 - p10));
        terms.forward = terms.backward = 0.5 * total;
    } else {  // the pair (0, 1) is taken for worse than it is, or by no more than rounding
        terms.from = p10 - p00;
        terms.to = p11 - p10;
        terms.submodular = -total <= kRoundingShare * (std::abs(p00) + std::abs(p01) + std::abs(p10) + std::abs(p11));
    }
    return terms;
}

inline PairTerms pair_terms(double p00, double p01, double p10, double p11) {
    if (std::isfinite(p00 + p01 + p10 + p11)) return finite_pair_terms(p00, p01, p10, p11);
    PairTerms terms;
    double force_from = 0.0, force_to = 0.0;
    const auto forbidden = [](double p) { return p == -kInfinite; };
    // A label without an allowed pair is forbidden on its own; what its pairs score then has no meaning.
    for (int again = 0; again < 2; ++again) {
        if (forbidden(p00) && forbidden(p01)) force_from = kInfinite, p00 = p10, p01 = p11;
        if (forbidden(p10) && forbidden(p11)) force_from = -kInfinite, p10 = p00, p11 = p01;
        if (forbidden(p00) && forbidden(p10)) force_to = kInfinite, p00 = p01, p10 = p11;
        if (forbidden(p01) && forbidden(p11)) force_to = -kInfinite, p01 = p00, p11 = p10;
    }
    if (forbidden(p00) && forbidden(p01)) {
        terms.impossible = true;
        return terms;
    }
    if (std::isfinite(p00) && std::isfinite(p11)) {
        if (forbidden(p01) && forbidden(p10)) {
            terms.from = terms.to = 0.5 * (p11 - p00);
            terms.forward = terms.backward = kInfinite;
        } else if (forbidden(p01)) {
            terms.from = p10 - p00;
            terms.to = p11 - p10;
            terms.backward = kInfinite;
        } else if (forbidden(p10)) {
            terms.to = p01 - p00;
            terms.from = p11 - p01;
            terms.forward = kInfinite;
        } else {
            terms = finite_pair_terms(p00, p01, p10, p11);
        }
        terms.constant = p00;
    } else {
        terms.submodular = false;
    }
    terms.force_from = force_from;
    terms.force_to = force_to;
    return terms;
}

}  // namespace tw::cuts
