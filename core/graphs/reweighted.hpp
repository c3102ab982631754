// Sequential reweighted message passing: TRW-S where factors are pairs (Kolmogorov 2006), SRMP with separators of one
// variable otherwise (Kolmogorov 2015).
//
//     a pass visits variables in the order, or against it
//
//          factors that end in v            v             factors that go on from v
//        ... --(a)--.                    .--(c)-- ...
//                    >-- messages --> sum of all, best taken out --given--<
//        ... --(b)--'                    '--(d)-- ...
//
//     the variable takes all that its factors know of it, and gives each factor that goes on 1 / max(factors that go
//     on, factors that end) of what it has. Factors that have seen their last variable of a pass are worth 0, so the
//     bound after a pass is the sum of the best of all variables. It never rises.
//
// Messages to a factor's first variable are those of the pass before, with the sign turned: nothing is computed twice.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layout.hpp"
#include "local_search.hpp"

namespace tw::graphs {

class Reweighted {
public:
    explicit Reweighted(const Layout& layout);

    // Begins with what another search has given; numbers that are not finite count as nothing.
    void start_from(std::span<const double> given);

    // One pass. `all`: nothing is known of messages, as at the start and after labels were taken out. Labels that
    // cannot be in a labelling above `best` go out; -inf keeps those that may be in any. False: nothing is left above
    // `best` (bound() is then -inf: nothing, whatever it scores, remains).
    bool pass(bool forward, bool all, double best = kLogZero);

    double bound() const { return bound_; }
    void restore(std::vector<double>&& labels_left, std::vector<double>&& what_was_given, double bound) {
        unary = std::move(labels_left);
        given = std::move(what_was_given);
        bound_ = bound;
    }

    // A labelling in the order, or against it: each variable at its best given those before, and what is known of the
    // factors that go on (Kolmogorov 2006, sec. 4.3). Call it after a pass the other way. `labels`: kFree, or fixed.
    // False: it came to a variable without a label.
    bool round(bool forward, std::span<std::uint32_t> labels) const;

    // Whether a label is still there; labels go out by hand too. Then the next pass is one of `all`.
    bool alive(std::uint32_t v, std::uint32_t x) const { return unary[layout_.label_at[v] + x] != kLogZero; }
    void take_out(std::uint32_t v, std::uint32_t x);

    // What structures add to the bound; they take no part in passes. To be called when what they were given changed.
    void bound_structures();

    // Of the last pass: how far below the best of its variable each label is, -inf where it is out.
    const std::vector<double>& below() const { return below_; }

    std::vector<double> unary, given;

private:
    const Layout& layout_;
    std::vector<double> below_, messages_, one_;
    std::vector<double> share_;  // of variables: how much each factor is given
    std::vector<std::uint8_t> in_structure_;
    double bound_, structures_ = 0.0;
};

// Whether two bounds and scores are told apart.
inline bool closed(const Layout& layout, double bound, double score) { return bound <= score + layout.slack(); }

// Passes until the gap is closed, or is no more than the tolerance, or nothing moves. `best` becomes what was found if
// that is better.
struct PassesResult {
    std::size_t iterations = 0;
    bool converged = false;
};
PassesResult run_passes(const Layout& layout, Reweighted& dual, Labelling& best, std::size_t iterations,
                        double tolerance, bool prune, double least_progress, const Deadline& deadline);

}  // namespace tw::graphs
