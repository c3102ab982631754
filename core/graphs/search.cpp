#include "search.hpp"

#include <algorithm>
#include <cmath>

#include "belief_propagation.hpp"
#include "branch.hpp"
#include "reweighted.hpp"
#include "reweighted_sums.hpp"

namespace tw::graphs {

Found search(const Graph& graph, std::span<const double> scores, const Search& how, SearchState* warm) {
    const Layout layout(graph, scores);
    const Deadline deadline(how.seconds);
    Reweighted dual(layout);
    Labelling best;
    if (warm != nullptr) dual.start_from(warm->given);
    const PassesResult done = run_passes(layout, dual, best, how.iterations, how.tolerance, true, 0.0, deadline);
    double bound = dual.bound();
    if (!closed(layout, bound, best.score)) improve_by_forests(layout, best, 30, deadline);
    if (how.branch && !closed(layout, bound, best.score))
        bound = branch(layout, dual, best, std::numeric_limits<std::size_t>::max(), deadline).bound;
    Found found;
    found.labels = best.labels;
    found.score = best.score;
    found.bound = std::max(bound, best.score);
    if (closed(layout, bound, best.score)) found.bound = best.score;
    found.converged = done.converged;
    found.iterations = done.iterations;
    if (warm != nullptr) {
        warm->given = dual.given;
        warm->labels = best.labels;
    }
    return found;
}

Beliefs beliefs(const Graph& graph, std::span<const double> scores, const Search& how, SearchState* warm) {
    const Layout layout(graph, scores);
    const Deadline deadline(how.seconds);
    if (how.method == Search::Method::kReweighted) return reweighted_sums(layout, how, warm, deadline);
    return propagate_sums(layout, how, warm, deadline);
}

}  // namespace tw::graphs
