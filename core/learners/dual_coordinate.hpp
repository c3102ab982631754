// Dual coordinate ascent for the squared hinge (Chang & Yih 2013), for the k best structures:
//     1/2 |w|^2 + sum_n C_n max_y ([L_y - w . d_y]_+)^2      (Table 2.1, with the positive part).
// With one slack xi_n per example, charged C_n xi_n^2, the Lagrangian is least at  w = sum lambda d  and
// 2 C_n xi_n = sum_y lambda_{n,y}, so the dual is
//     max  sum lambda L - 1/2 |w|^2 - sum_n (sum_y lambda_{n,y})^2 / (4 C_n),    lambda >= 0:
// no upper bound, no fixed sum, and 1/(2 C_n) added to every inner product within an example.
#pragma once

#include "dual_method.hpp"

namespace tw::learners {

class DualCoordinate final : public DualMethod {
public:
    using DualMethod::DualMethod;
    std::string_view phase() const override { return "dual-coordinate"; }

protected:
    double loss(double violation) const override { return violation * violation; }
    double ridge(std::size_t example) const override { return 1.0 / (2.0 * C_of(example)); }
};

}  // namespace tw::learners
