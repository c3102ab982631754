// Block-coordinate Frank-Wolfe for the structural SVM (Lacoste-Julien, Jaggi, Schmidt & Pletscher 2013, algorithms 3
// and 4), on the dual of Mančev 2015, eq. 2.9 - 2.11.
//
// Example i has its part of the weights, w_i = sum_y lambda_iy (f(gold) - f(y)), and of the linear term, l_i = sum_y
// lambda_iy cost(y), with lambda_iy >= 0 that add up to C_i. A visit finds the corner s = C_i (f(gold) - f(y*)) of this
// simplex that promises most, and goes towards it as far as the dual
//     D = sum_i l_i - |w|^2 / 2,     w = sum_i w_i
// rises. What the corners promise, summed over all examples at the same w, is the duality gap. With rescaled slack,
// cost(y) multiplies f(gold) - f(y) throughout.
#pragma once

#include <vector>

#include "centre.hpp"
#include "hinge.hpp"
#include "online.hpp"
#include "places.hpp"

namespace tw::learners {

enum class Averaging { kNone, kUniform, kWeighted };  // weighted: the t-th step counts t times

struct FrankWolfeSettings {
    double C = 1.0;
    double tol = 1e-3;          // part of the objective that the duality gap may be at the end
    std::size_t gap_every = 5;  // passes between exact looks at the gap
    bool line_search = true;
    Averaging averaging = Averaging::kWeighted;
    Rescaling rescaling = Rescaling::kMargin;
};

class FrankWolfe final : public Online {
public:
    FrankWolfe(Oracle& oracle, const OnlineSettings& order, const FrankWolfeSettings& settings,
               std::span<const double> start);

    std::string_view phase() const override { return "frank-wolfe"; }
    std::span<const double> weights() const override;
    double gap() const override { return exact_ ? gap_ : estimate_; }
    Facts facts() const override;
    void evaluate(std::size_t n_jobs);  // objective and gap, exactly, unless they are known already

protected:
    void visit(std::size_t example) override;
    void gold_changed(std::size_t example) override;  // empties its block
    void before_pass(std::size_t n_jobs) override;
    void after_pass(std::size_t n_jobs) override;
    void save(State& state) const override;
    void load(const State& state) override;

private:
    struct Block {  // an example's part: of the weights scale * stored, and of the linear term
        SparseVector stored;
        double scale = 1.0, linear = 0.0;
    };
    void move(Block& block, double C, double gamma);
    double step_size(const Block& block, double C, double slope);
    double dual() const;
    std::size_t memory_bytes() const;

    const FrankWolfeSettings how_;
    Centre centre_;
    std::vector<Block> blocks_;
    Places places_;
    SparseVector difference_;
    double visits_ = 0.0, dual_ = 0.0, gap_, estimate_;
    bool exact_ = false;
    mutable std::vector<double> result_;
};

}  // namespace tw::learners
