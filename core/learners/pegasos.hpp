// Pegasos (Shalev-Shwartz et al. 2011) for structures: Mančev 2015, algorithms 7 (max-margin loss, mini-batches) and 8
// (averaged sum and k-best loss, restricted or not), eq. 6.1 - 6.14.
#pragma once

#include "subgradient.hpp"

namespace tw::learners {

class Pegasos final : public Subgradient {
public:
    Pegasos(Oracle& oracle, const OnlineSettings& settings, const DescentSettings& descent, bool projection,
            std::unique_ptr<Loss> loss, std::span<const double> start)
        : Subgradient(oracle, settings, descent, std::move(loss), start), projection_(projection) {}
    std::string_view phase() const override { return "pegasos"; }

protected:
    void before_pass(std::size_t n_jobs) override;
    void move(const Step& step, const Pushes& pushes) override;
    void save(State& state) const override;
    void load(const State& state) override;

private:
    void project_to_ball();

    const bool projection_;
    double squared_norm_ = 0.0;  // of the weights: kept up with every change, and counted afresh in every pass
};

}  // namespace tw::learners
