// Learners that know how sure they are of each weight: AROW (Crammer, Kulesza & Dredze 2009), confidence-weighted
// learning (Dredze, Crammer & Pereira 2008, its variance form) and its soft form (Wang, Zhao & Hoi 2012, SCW-I), with
// diagonal covariance, for the k best structures of an example one after the other (Mejer & Crammer 2010).
//
// A rival is one linear constraint on the weights: with d = f(gold) - f(y), the margin  m = w . d - cost  is normal
// with variance v = sum_j s_j d_j^2 when weight j is normal with variance s_j.
#pragma once

#include <cstddef>
#include <vector>

#include "online.hpp"

namespace tw::learners {

enum class Confidence { kArow, kCw, kScw };

struct ConfidenceSettings {
    Confidence variant = Confidence::kArow;
    double r = 1.0;         // AROW: how much of the loss is taken for noise
    double phi = 1.0;       // CW, SCW: the margin wanted, in variances (CW) or standard deviations (SCW)
    double C = 1.0;         // SCW: the longest step
    double variance = 1.0;  // of a weight that has not been met yet
    std::size_t k = 1;
    bool augmented = true;  // whether rivals are sought by score plus cost, or by score alone
    bool inverse =
        false;  // AROW: 1 / s_j grows by d_j^2 / r, as in CRFsuite, and not as the projection onto the diagonal
};

class Arow final : public Online {
public:
    Arow(Oracle& oracle, const OnlineSettings& settings, const ConfidenceSettings& confidence,
         std::span<const double> start)
        : Online(oracle, settings, start, true),
          confidence_(confidence),
          variances_(start.size(), confidence.variance) {}
    std::string_view phase() const override;
    Facts facts() const override;

protected:
    void visit(std::size_t example) override;
    void save(State& state) const override;
    void load(const State& state) override;

private:
    // w += alpha S d;  s_j := s_j - beta (s_j d_j)^2, or with `inverse` 1 / (1/s_j + beta d_j^2).
    struct Change {
        double alpha = 0.0, beta = 0.0;
        bool inverse = false;
    };
    Change change(double margin, double variance, double weight) const;

    const ConfidenceSettings confidence_;
    std::vector<double> variances_;
    SparseVector scaled_;  // S d
};

}  // namespace tw::learners
