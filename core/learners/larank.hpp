// LaRank (Bordes et al. 2007, 2008) for the k best structures: Mančev 2015, algorithm 4. After every new example (or,
// from the second pass on, every visited one), n_R times: an example seen before is decoded and optimised again
// (ProcessOld), then ten are optimised within what they have (Optimize).
#pragma once

#include "dual_method.hpp"
#include "random.hpp"

namespace tw::learners {

class LaRank final : public DualMethod {
public:
    LaRank(Oracle& oracle, const OnlineSettings& settings, const DualSettings& dual, std::size_t reprocess,
           std::span<const double> start)
        : DualMethod(oracle, settings, dual, start), reprocess_(reprocess), random_(0, 0) {}
    std::string_view phase() const override { return "larank"; }

protected:
    void before_pass(std::size_t n_jobs) override;
    void visit(std::size_t example) override;

private:
    const std::size_t reprocess_;
    Random random_;
    std::vector<std::uint32_t> seen_;
};

}  // namespace tw::learners
