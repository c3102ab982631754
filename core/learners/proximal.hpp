// A proximal quasi-Newton method for objectives with an L1 penalty (Lee, Sun & Saunders 2014; with the model and the
// active set of Scheinberg & Tang 2016).
//
// Around the weights w the smooth part is taken to be  g.d + d.B d / 2,  the penalty is kept as it is, and the sum of
// both is minimised over d by coordinate descent: the many turns that orthants take cost no look at the data. B is
// what the remembered steps say of the Hessian, BFGS in its compact form (Byrd, Nocedal & Schnabel 1994, Theorem 2.3):
//
//     B = sigma D - Q K^-1 Q^T,   Q = [sigma D S, Y],   K = [ S^T sigma D S   L  ],   L = S^T Y below its diagonal E
//                                                          [      L^T       -E  ]
//
// with D the diagonal of the Hessian, taken anew every few iterations since B may have any. Only weights that are not
// zero, or whose gradient is large enough to leave it, take part. Their rows of Q and Q K^-1 lie side by side:
//
//     rows_   [active weight][ q: 2m numbers, padded | q K^-1: as many ]      single precision, read in order
//
// With v = K^-1 Q^T d at hand, the derivative of the model is  g_j + sigma D_j d_j - q_j.v,  and a move of d_j moves v
// by a multiple of the other half of the row: a weight costs one row of cache lines.
//
// Far from the solution a model is worth little: the steps are those of OWL-QN until they gain little.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "owlqn.hpp"

namespace tw::learners {

class Proximal final : public Owlqn {
public:
    using Owlqn::Owlqn;
    std::string_view phase() const override { return "proximal"; }

protected:
    double find_direction(std::size_t n_jobs) override;
    void move(double step, std::size_t begin, std::size_t end) override;
    double promised(std::size_t begin, std::size_t end) const override;
    double first_step(double slope) const override;

private:
    std::size_t near_since() const;
    void choose_active();
    void make_model(std::size_t n_jobs);
    void find_base(std::size_t n_jobs);
    void set_base(double sigma, std::size_t n_jobs);
    void fill_rows(std::size_t n_jobs);
    void descend();
    double change(const double* to, std::size_t begin, std::size_t end) const;

    bool near_ = false;                                                // whether the last direction is of the model
    std::size_t scaled_at_ = std::numeric_limits<std::size_t>::max();  // the iteration at which D was last taken
    std::vector<float> base_;
    std::size_t width_ = 0;       // numbers in half a row
    std::vector<double> units_;   // of the vectors in S and Y
    std::vector<double> middle_;  // K^-1, [2m][2m]
    std::vector<std::uint32_t> active_;
    std::vector<float> rows_;
    std::vector<double> curvature_;  // by active weight: its entry in the diagonal of B
    std::vector<double> goal_;       // w + d
};

}  // namespace tw::learners
