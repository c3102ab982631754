// The sequential dual method (Balamurugan et al. 2011) for the k best structures: Mančev 2015, algorithm 3; and for
// the ramp loss, algorithm 6, by the concave-convex procedure around it.
//
// The ramp loss is the hinge minus  max_y [-L_y - w . d_y]_+  (eq. 5.2), or, as Do et al. (2008) have it, minus
// max_y [-w . d_y]_+ . A round replaces this concave part by its tangent where the round begins, which shifts the
// weights by  -v,  v = sum_n C_n d_n(y-bar)  over the examples with a positive one: w = u - v, u = sum lambda d. The
// round is then solved as the hinge is. At w = 0 there is no such example, so the first round is the hinge's.
#pragma once

#include "dual_method.hpp"

namespace tw::learners {

enum class Ramp {
    kNone,  // the hinge, its margin or its slack rescaled
    kRamp,  // eq. 5.2
    kDo,    // Do et al. 2008
};

class Sdm final : public DualMethod {
public:
    // `inner`: passes in a round of the concave-convex procedure, at most.
    Sdm(Oracle& oracle, const OnlineSettings& settings, const DualSettings& dual, Ramp ramp, std::size_t inner,
        std::span<const double> start);
    std::string_view phase() const override { return ramp_ == Ramp::kNone ? "sdm" : "sdm-ramp"; }
    Facts facts() const override;

protected:
    void before_pass(std::size_t n_jobs) override;
    void after_pass(std::size_t n_jobs) override;
    double dual() const override;
    void measure(std::size_t n_jobs) override;
    bool finished(std::size_t n_jobs) override;
    // Gold is in both parts of the ramp, and cancels.
    bool compares_with_gold() const override { return ramp_ == Ramp::kNone; }
    void save(State& state) const override;
    void load(const State& state) override;

private:
    double nu() const { return ramp_ == Ramp::kRamp ? -1.0 : 0.0; }
    // [-L - w . d]_+, or without L.
    double concave(double cost, double margin) const { return std::max(0.0, nu() * cost - margin); }
    // The tangents at the weights as they are; empty when none of them is another than before.
    std::vector<Member> new_tangents(std::size_t n_jobs);
    // Begins a round: w = u - v for the new v.
    void shift(std::vector<Member> tangents);

    const Ramp ramp_;
    const std::size_t inner_;
    std::vector<Member> tangents_;  // of each example; without non-zeros and cost where there is none
    std::size_t rounds_ = 0, passes_in_round_ = 0;
    bool round_is_over_ = true;  // the next begins with the next pass, so that no one sees weights just shifted
    double bound_;               // the objective with the tangents in place of the concave part
};

}  // namespace tw::learners
