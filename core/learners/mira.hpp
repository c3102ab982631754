// The margin infused relaxed algorithm (Crammer & Singer 2003; Crammer et al. 2005) for the k best structures:
// Mančev 2015, algorithm 2. At each example, the least change of the weights that puts gold ahead of every one of the k
// best by its cost (eq. 3.3 - 3.4), or, with C finite, one slack for each structure, charged C (eq. 3.6 - 3.7).
#pragma once

#include "online.hpp"
#include "smo.hpp"
#include "working_set.hpp"

namespace tw::learners {

class Mira final : public Online {
public:
    Mira(Oracle& oracle, const OnlineSettings& settings, double C, std::size_t k, std::span<const double> start)
        : Online(oracle, settings, start), C_(C), k_(k) {}
    std::string_view phase() const override { return "mira"; }

protected:
    void visit(std::size_t example) override;

private:
    const double C_;
    const std::size_t k_;
    Block block_;
    Products products_;
};

}  // namespace tw::learners
