// What the methods that solve the dual of a max-margin problem have in common, example by example: the working sets,
// the objectives on both sides, and their gap. They minimise
//     1/2 |w - w_0|^2 + sum_n C_n loss_n(w),      C_n = C * weight of example n,
// where w_0 is where the weights start (zero, unless earlier weights are to be kept close to).
#pragma once

#include <cstdint>
#include <vector>

#include "centre.hpp"
#include "hinge.hpp"
#include "online.hpp"
#include "smo.hpp"
#include "working_set.hpp"

namespace tw::learners {

struct DualSettings {
    double C = 1.0;
    std::size_t k = 1;
    double tau = 1e-4;          // by how much the KKT conditions of an example may be violated when it is left
    double tol = 1e-3;          // the end: gap <= tol * primal objective
    std::size_t growth = 0;     // members a working set may have; 0: any number
    bool skip = false;          // whether examples that were found satisfied are decoded less often
    std::size_t gap_every = 1;  // passes between two measurements of the primal objective; 0: never
    Rescaling rescaling = Rescaling::kMargin;  // slack: k is 1
};

class DualMethod : public Online {
public:
    DualMethod(Oracle& oracle, const OnlineSettings& settings, const DualSettings& dual, std::span<const double> start);

    double gap() const override { return gap_; }
    Facts facts() const override;

protected:
    struct Processed {
        double violation = 0.0;  // of the KKT conditions, before anything was done
        double loss = 0.0;       // the largest violation of a margin among the rivals looked for
    };

    void visit(std::size_t example) override;
    void before_pass(std::size_t n_jobs) override;
    void after_pass(std::size_t n_jobs) override;
    void save(State& state) const override;
    void load(const State& state) override;

    // The k best rivals join the working set (none for k = 0), and the example's part of the dual is optimised.
    Processed process(std::size_t example, std::size_t k);

    // How the loss is: the hinge as it stands.
    virtual double loss(double violation) const { return violation; }
    // 1 / (2 C_n) where the dual has the term  -(sum of lambdas)^2 / (4 C_n)  instead of a sum fixed to C_n; else 0.
    virtual double ridge(std::size_t) const { return 0.0; }
    // Sets objective_ and gap_ from a look at all examples; dual_ is known.
    virtual void measure(std::size_t n_jobs);
    // Called when the convex problem is solved: whether that is the end, or another one follows.
    virtual bool finished(std::size_t n_jobs) { return examples_.stale(w_, n_jobs).empty(); }
    void gold_changed(std::size_t example) override;  // empties its working set

    double C_of(std::size_t example) const { return dual_settings_.C * oracle_.example_weight(example); }
    virtual double dual() const;
    double penalty() const;  // 1/2 |w - w_0|^2
    void decode_all_again() { due_.assign(due_.size(), 0); }

    const DualSettings dual_settings_;
    std::vector<WorkingSet> sets_;
    SparseVector unpacked_;
    double dual_, primal_, gap_;

private:
    bool worth_decoding(std::size_t example) const { return !dual_settings_.skip || epochs_ >= due_[example]; }
    double violation_of(std::span<const double> gradient, const WorkingSet& set, bool with_gold) const;
    const std::vector<Rival>& violators(std::size_t example, std::size_t k);
    bool optimise(WorkingSet& set, double ridge);
    void count_memory();

    Centre centre_;  // w_0
    Block block_;
    std::vector<Rival> with_slack_;  // the rival found last, where slack is rescaled
    Products products_;
    std::vector<double> lambdas_;
    std::vector<std::uint32_t> due_;   // the pass in which an example is decoded next
    std::vector<std::uint8_t> quiet_;  // how often in a row it was found satisfied
    std::size_t skipped_ = 0, n_members_ = 0, memory_bytes_ = 0;
};

}  // namespace tw::learners
