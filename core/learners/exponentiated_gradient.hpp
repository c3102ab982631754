// Exponentiated gradient on the dual, example by example (Collins, Globerson, Koo, Carreras & Bartlett 2008, the online
// form, with steps that adapt to each example), for the CRF and for max-margin.
//
// Example i has a distribution u_i over its structures, given by scores theta_i of its parts: u_i(y) is proportional to
// exp(sum of theta_i over the parts of y). With c_i the weight of the example and the centre of the penalty w_0,
//     w = w_0 + kappa sum_i c_i sum_y u_i(y) (f(gold) - f(y)),
//     D = kappa sum_i c_i T_i - w_0 . (w - w_0) - |w - w_0|^2 / 2,
// where T_i is the entropy of u_i and kappa = 1 / l2 (CRF; the dual is divided by l2), or T_i is the mean cost under
// u_i and kappa = C (max-margin). A visit moves theta_i along the gradient of D, in the geometry of relative entropy:
//     CRF          theta <- (1 - eta) theta + eta * scores at w
//     max-margin   theta <- theta + eta * (costs + scores at w)
// and halves eta_i until D does not fall; after a success eta_i grows a little.
#pragma once

#include <vector>

#include "centre.hpp"
#include "online.hpp"
#include "places.hpp"

namespace tw::learners {

enum class DualLoss { kCrf, kMaxMargin };

struct ExponentiatedGradientSettings {
    DualLoss loss = DualLoss::kCrf;
    double kappa = 1.0;
    double tol = 1e-3;          // part of the objective that the duality gap may be at the end
    double step = 0.5;          // eta_i at first
    std::size_t gap_every = 5;  // passes between exact looks at the gap
};

class ExponentiatedGradient final : public Online {
public:
    ExponentiatedGradient(Oracle& oracle, const OnlineSettings& order, const ExponentiatedGradientSettings& settings,
                          std::span<const double> start);

    std::string_view phase() const override { return "exponentiated-gradient"; }
    double gap() const override;
    Facts facts() const override;
    void evaluate(std::size_t n_jobs);  // objective and gap, exactly, unless they are known already

protected:
    void visit(std::size_t example) override;
    void before_pass(std::size_t n_jobs) override;
    void after_pass(std::size_t n_jobs) override;
    void save(State& state) const override;
    void load(const State& state) override;

private:
    void begin(std::size_t n_jobs);
    double infer(std::size_t example, const std::vector<double>& theta, const std::vector<double>& costs,
                 std::vector<double>& marginals) const;
    void expect(std::size_t example, const std::vector<double>& marginals, SparseVector& out);
    void change_in_features(std::size_t example);
    bool advance(std::size_t example, double eta);
    double dual() const;
    std::size_t memory_bytes() const;

    PartMarginals& parts_;
    const ExponentiatedGradientSettings how_;
    const double unit_;  // of objective and dual: what they are multiplied with to be the user's
    Centre centre_;
    std::vector<std::vector<double>> theta_, marginals_;  // marginals under theta, kept to save an inference a visit
    std::vector<double> eta_, values_;                    // eta_i and T_i
    bool begun_ = false, exact_ = false;
    double dual_ = 0.0, gap_;
    std::size_t halvings_ = 0;  // of this pass
    // Reused from one visit to the next.
    std::vector<double> scores_, costs_, moved_, next_, differences_;
    SparseVector change_, gold_;
    Places places_;
};

}  // namespace tw::learners
