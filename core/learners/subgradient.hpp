// Stochastic subgradient descent on  lam/2 |w|^2 + mean of the losses,  with weights that shrink as they go: the
// textbook's algorithm 41 (Daumé 2017), in batches of any size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "losses.hpp"
#include "online.hpp"
#include "step_size.hpp"

namespace tw::learners {

struct DescentSettings {
    StepSize step;
    std::size_t batch_size = 1;       // examples of one step; 0 for all of them
    std::uint64_t average_after = 0;  // steps that the average leaves out
};

class Subgradient : public Online {
public:
    Subgradient(Oracle& oracle, const OnlineSettings& settings, const DescentSettings& descent,
                std::unique_ptr<Loss> loss, std::span<const double> start);
    std::string_view phase() const override { return "subgradient"; }
    Facts facts() const override;

protected:
    void visit(std::size_t example) final;
    void count() final {}  // the average is of steps, not of examples
    void before_pass(std::size_t n_jobs) override;
    void after_pass(std::size_t n_jobs) final;
    bool compares_with_gold() const final { return loss_of_->compares_with_gold(); }
    void save(State& state) const override;
    void load(const State& state) override;

    // w moves by step.size times the pushes and shrinks; algorithm 41 does it in this order.
    virtual void move(const Step& step, const Pushes& pushes);
    // After the weights were pushed and multiplied by `kept`: back to where they may be. By how much |w|^2 has fallen.
    double project(const Pushes& pushes, double kept);

    const DescentSettings descent_;

private:
    void descend();

    std::unique_ptr<Loss> loss_of_;
    std::vector<std::uint32_t> batch_;  // examples that wait for their step
    std::vector<Sought> sought_;
    Pushes pushes_;
    std::uint64_t steps_ = 0, head_start_ = 0;  // head_start_: steps that the weights to start from are worth
    std::size_t n_jobs_ = 1;
};

}  // namespace tw::learners
