#include "search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "belief_propagation.hpp"
#include "branch.hpp"
#include "dual_decomposition.hpp"
#include "reweighted.hpp"
#include "reweighted_sums.hpp"

namespace tw::graphs {
namespace {

using Method = Search::Method;

constexpr std::size_t kPatience = 30;        // forests in a row that do not help
constexpr double kWorthAnotherPass = 0.002;  // of the gap, in five passes each way: less is left to other methods
constexpr double kSmallGap = 1e-3;           // of the score
constexpr double kWork = 1e8;                // sums that branching may take where it was not asked for
constexpr std::size_t kBlock = 64, kBlockPasses = 400;
constexpr std::size_t kMostInBlocks = 20'000;  // variables that are searched in blocks without a limit of time

class Searching {
public:
    Searching(const Graph& graph, std::span<const double> scores, const Search& how, SearchState* warm)
        : layout_(graph, scores), how_(how), warm_(warm), deadline_(how.seconds), dual_(layout_) {
        if (warm == nullptr) return;
        dual_.start_from(warm->given);
        if (warm->labels.size() != graph.n_variables() ||
            !std::ranges::equal(warm->labels, graph.n_labels, std::ranges::less{}))
            return;
        best_.labels = warm->labels;
        best_.score = layout_.score(best_.labels);
        if (best_.score == kLogZero) best_.labels.clear();
    }

    Found run() {
        switch (how_.method) {
            case Method::kAuto:
                choose();
                break;
            case Method::kReweighted:
                passes(0.0);
                break;
            case Method::kBeliefs:
                max_product();
                break;
            case Method::kDualDecomposition:
                first_pass();
                decomposed(how_.relaxed);
                break;
            case Method::kCut:
            case Method::kProgram:
                throw std::invalid_argument("cuts and programs are not searches by messages: ask them directly");
        }
        if (how_.method != Method::kAuto && !done() && !layout_.has_structures)
            improve_by_forests(layout_, best_, kPatience, deadline_);
        if (how_.relaxed && shares_.empty() && !done()) decomposed(true);
        if (how_.branch && !done()) split(std::numeric_limits<std::size_t>::max());
        return found();
    }

private:
    bool done() const { return closed(layout_, bound_, best_.score); }

    void choose() {
        if (layout_.has_structures) {
            first_pass();
            return decomposed(how_.relaxed);
        }
        passes(kWorthAnotherPass);
        if (done() || how_.relaxed || iterations_ >= how_.iterations) return;
        // A small gap is closed by branching on what is left; a large one wants a better labelling first.
        const double work = static_cast<double>(layout_.n_given * layout_.most_labels);
        const std::size_t affordable = 10 + static_cast<std::size_t>(kWork / std::max(work, 1.0));
        const bool small = bound_ - best_.score < kSmallGap * std::abs(best_.score);
        if (!small) improve_by_forests(layout_, best_, kPatience, deadline_);
        if (how_.branch) return;
        split(affordable);
        if (done() || layout_.n_variables() <= kBlock || deadline_.passed()) return;
        if (small) improve_by_forests(layout_, best_, kPatience, deadline_);
        if (how_.seconds == 0.0 && layout_.n_variables() > kMostInBlocks) return;
        bound_ = std::min(bound_, bound_by_blocks(layout_, dual_, best_, kBlock, kBlockPasses, deadline_));
        if (!done()) improve_by_blocks(layout_, best_, kBlock, kBlockPasses, deadline_);
    }

    void passes(double least_progress) {
        const PassesResult result = run_passes(layout_, dual_, best_, how_.iterations, how_.tolerance, !how_.relaxed,
                                               least_progress, deadline_);
        iterations_ += result.iterations;
        converged_ = result.converged;
        bound_ = std::min(bound_, dual_.bound());
    }

    // Labels that cannot be go out.
    void first_pass() {
        if (!dual_.pass(false, true)) converged_ = true;
        bound_ = std::min(bound_, dual_.bound());
    }

    void decomposed(bool to_the_end) {
        if (done()) return;
        Relaxation result = decompose(layout_, dual_, best_, how_, to_the_end, deadline_);
        iterations_ += result.iterations;
        converged_ = result.converged;
        bound_ = std::min(bound_, result.bound);
        shares_ = std::move(result.shares);
        if (bound_ == kLogZero) return;
        given_ = std::move(result.given);
        if (done() || layout_.has_structures) return;
        // A few passes from there lower the bound a little more, and read labellings off.
        Reweighted after(layout_);
        after.start_from(given_);
        run_passes(layout_, after, best_, std::min<std::size_t>(how_.iterations, 10), how_.tolerance, false, 0.0,
                   deadline_);
        bound_ = std::min(bound_, after.bound());
    }

    void max_product() {
        first_pass();
        std::vector<double> by_label;
        if (bound_ == kLogZero) return;
        if (!propagate_maxima(layout_, how_, warm_, deadline_, by_label, converged_, iterations_)) {
            bound_ = kLogZero;
            return;
        }
        Labelling tried{std::vector<std::uint32_t>(layout_.n_variables(), 0), kLogZero};
        for (std::uint32_t v = 0; v < layout_.n_variables(); ++v) {
            const double* const own = by_label.data() + layout_.label_at[v];
            tried.labels[v] = static_cast<std::uint32_t>(std::max_element(own, own + layout_.n_labels(v)) - own);
        }
        tried.score = layout_.score(tried.labels);
        improve(layout_, tried);
        if (tried.score > best_.score) best_ = tried;
        // Max-product proves nothing; a few passes do, and settle ties where there is no cycle.
        run_passes(layout_, dual_, best_, std::min<std::size_t>(how_.iterations, 5), how_.tolerance, !how_.relaxed, 0.0,
                   deadline_);
        bound_ = std::min(bound_, dual_.bound());
    }

    void split(std::size_t passes) {
        if (layout_.has_structures) return split_scores();
        if (dual_.bound() == std::numeric_limits<double>::infinity()) first_pass();
        if (!done()) bound_ = std::min(bound_, branch(layout_, dual_, best_, passes, deadline_).bound);
    }

    void split_scores();

    Found found() {
        Found out;
        out.labels = best_.labels;
        out.score = best_.score;
        out.bound = done() ? best_.score : bound_;
        out.converged = converged_ || done();
        out.iterations = iterations_;
        if (how_.relaxed) {
            out.shares = std::move(shares_);
            if ((out.shares.empty() || done()) && !best_.labels.empty()) {
                out.shares.assign(layout_.graph.n_scores, 0.0);
                Parts parts;
                layout_.graph.parts_of(best_.labels, parts);
                for (const Part part : parts) out.shares[part] += 1.0;
            }
        }
        if (warm_ != nullptr) {
            warm_->given = given_.empty() ? dual_.given : given_;
            warm_->labels = best_.labels;
        }
        return out;
    }

    const Layout layout_;
    const Search how_;
    SearchState* const warm_;
    const Deadline deadline_;
    Reweighted dual_;
    Labelling best_;
    double bound_ = std::numeric_limits<double>::infinity();
    std::vector<double> shares_, given_;
    std::size_t iterations_ = 0;
    bool converged_ = false;
};

// Depth first, by scores of -inf: for graphs whose bounds come from dual decomposition alone.
void Searching::split_scores() {
    struct Node {
        std::vector<double> scores;
        double bound;
    };
    std::vector<Node> nodes{{{layout_.scores.begin(), layout_.scores.end()}, bound_}};
    double open = kLogZero;
    Search once = how_;
    once.branch = false;
    once.relaxed = false;
    once.iterations = std::min<std::size_t>(how_.iterations, 200);
    while (!nodes.empty()) {
        check_interrupt();
        Node node = std::move(nodes.back());
        nodes.pop_back();
        if (closed(layout_, node.bound, best_.score)) continue;
        if (deadline_.passed()) {
            open = std::max(open, node.bound);
            continue;
        }
        const Layout layout(layout_.graph, node.scores);
        Reweighted dual(layout);
        if (!dual.pass(false, true)) continue;
        const Relaxation result = decompose(layout, dual, best_, once, false, deadline_);
        node.bound = std::min(node.bound, result.bound);
        if (closed(layout_, node.bound, best_.score)) continue;
        // The variable that is shared most evenly: its largest share, or not that label.
        std::uint32_t variable = kFree, label = 0;
        double least = 2.0;
        for (std::uint32_t v = 0; v < layout.n_variables(); ++v) {
            std::size_t left = 0;
            std::uint32_t top = 0;
            double most = -1.0;
            for (std::uint32_t x = 0; x < layout.n_labels(v); ++x) {
                if (!dual.alive(v, x)) continue;
                ++left;
                const double share = result.shares.empty() ? 0.0 : result.shares[layout_.graph.unary_at[v] + x];
                if (share > most) {
                    most = share;
                    top = x;
                }
            }
            if (left < 2 || most >= least) continue;
            least = most;
            variable = v;
            label = top;
        }
        if (variable == kFree) {  // one labelling is left
            Labelling last{std::vector<std::uint32_t>(layout.n_variables(), 0), kLogZero};
            for (std::uint32_t v = 0; v < layout.n_variables(); ++v)
                while (!dual.alive(v, last.labels[v])) ++last.labels[v];
            last.score = layout_.score(last.labels);
            if (last.score > best_.score) best_ = last;
            continue;
        }
        const std::size_t at = layout_.graph.unary_at[variable];
        Node with{node.scores, node.bound};
        for (std::uint32_t x = 0; x < layout.n_labels(variable); ++x)
            if (x != label) with.scores[at + x] = kLogZero;
        node.scores[at + label] = kLogZero;
        nodes.push_back(std::move(node));
        nodes.push_back(std::move(with));
    }
    bound_ = std::min(bound_, std::max(open, best_.score));
}

}  // namespace

Found search(const Graph& graph, std::span<const double> scores, const Search& how, SearchState* warm) {
    return Searching(graph, scores, how, warm).run();
}

Beliefs beliefs(const Graph& graph, std::span<const double> scores, const Search& how, SearchState* warm) {
    const Layout layout(graph, scores);
    const Deadline deadline(how.seconds);
    if (how.method == Method::kReweighted) return reweighted_sums(layout, how, warm, deadline);
    return propagate_sums(layout, how, warm, deadline);
}

}  // namespace tw::graphs
