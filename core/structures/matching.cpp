// Bipartite matchings: pairs of a row and a column, no row and no column in two of them.
//
//     shape [n, m]      as many pairs as the smaller side has        output: rows (i, j), in any order
//     shape [n, m, 1]   any pairs; what is unmatched has a score
//     pairs    n m x 1                  site i m + j
//     left     n x 1, right  m x 1      rows and columns that are unmatched; only with the 1
//
// Not a dynamic program. The best matching by shortest augmenting paths (matching/assignment.hpp), further ones by
// shortest cycles (matching/exchanges.hpp), sums over sets as long as the smaller side has about 20
// (matching/subsets.hpp). Equal scores: matching/assignment.hpp.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "../base/semiring.hpp"
#include "../matching/exchanges.hpp"
#include "../matching/subsets.hpp"
#include "families.hpp"

namespace tw {
namespace {

using matching::kNone;
using matching::Problem;
using matching::Sizes;
using matching::SubsetSums;

struct MatchingSpace final : Workspace {
    SubsetSums sums;
};

class Matching final : public DerivationStructure {
public:
    using Structure::best;
    using Structure::log_partition;

    std::unique_ptr<Workspace> workspace() const override { return std::make_unique<MatchingSpace>(); }

    std::vector<Block> blocks(Shape shape) const override {
        const Sizes sizes(shape);
        std::vector<Block> out{{"pairs", sizes.n_pairs(), 1}};
        if (sizes.open) {
            out.push_back({"left", sizes.n, 1});
            out.push_back({"right", sizes.m, 1});
        }
        return out;
    }

    void parts_of(Shape shape, std::span<const std::uint32_t> output, Parts& parts) const override {
        const Sizes sizes(shape);
        if (output.size() % 2 != 0) throw std::invalid_argument("a matching is pairs of a row and a column");
        std::vector<std::uint8_t> rows(sizes.n, 0), columns(sizes.m, 0);
        parts.clear();
        for (std::size_t k = 0; k < output.size(); k += 2) {
            const std::size_t i = output[k], j = output[k + 1];
            if (i >= sizes.n || j >= sizes.m) throw std::invalid_argument("a pair is out of range");
            if (rows[i]++ || columns[j]++) throw std::invalid_argument("a row or a column is in two pairs");
            parts.push_back(static_cast<Part>(i * sizes.m + j));
        }
        if (!sizes.open && parts.size() != std::min(sizes.n, sizes.m))
            throw std::invalid_argument("a matching has as many pairs as the smaller side, " +
                                        std::to_string(std::min(sizes.n, sizes.m)) + "; this has " +
                                        std::to_string(parts.size()));
        std::ranges::sort(parts);
        if (!sizes.open) return;
        for (std::size_t i = 0; i < sizes.n; ++i)
            if (!rows[i]) parts.push_back(static_cast<Part>(sizes.n_pairs() + i));
        for (std::size_t j = 0; j < sizes.m; ++j)
            if (!columns[j]) parts.push_back(static_cast<Part>(sizes.n_pairs() + sizes.n + j));
    }
    void output_of(Shape shape, std::span<const Part> parts, std::vector<std::uint32_t>& output) const override {
        const Sizes sizes(shape);
        output.clear();
        for (const Part part : parts) {
            if (part >= sizes.n_pairs()) break;
            const auto m = static_cast<std::uint32_t>(sizes.m);
            output.insert(output.end(), {part / m, part % m});
        }
    }

    // One for each pair that gold has not, and a half for each end of a pair of gold that is unmatched.
    void costs(Shape shape, std::span<const Part> gold, std::span<double> out) const override {
        const std::size_t n_pairs = Sizes(shape).n_pairs();
        std::fill(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(n_pairs), 1.0);
        std::fill(out.begin() + static_cast<std::ptrdiff_t>(n_pairs), out.end(), 0.5);
        for (const Part part : gold) out[part] = 0.0;
    }

    bool sums(Shape shape) const override { return SubsetSums::reaches(Sizes(shape)); }

    std::vector<Answer> best(Shape shape, const PartScores& scores, std::size_t k, Workspace&) const override {
        std::vector<Answer> out;
        if (k == 0) return out;
        Problem problem(Sizes(shape), scores);
        if (!problem.solve()) return out;
        if (k == 1) {
            out.push_back(answer(problem, scores, problem.column_of));
            return out;
        }
        for (const auto& columns : matching::k_best(problem, k)) out.push_back(answer(problem, scores, columns));
        std::ranges::stable_sort(out, [](const Answer& a, const Answer& b) { return a.score > b.score; });
        return out;
    }

    double log_partition(Shape shape, const PartScores& scores, double* expected, double* variance,
                         Workspace& space) const override {
        const std::size_t n = scores.scores.size();
        if (expected) std::fill_n(expected, n, 0.0);
        if (variance) std::fill_n(variance, n, 0.0);
        Problem problem = reached(shape, scores);
        if (!problem.solve()) return kLogZero;
        SubsetSums& own = static_cast<MatchingSpace&>(space).sums;
        const double log_z = problem.total() + own.log_partition(problem);
        if (!expected && !variance) return log_z;
        std::vector<double> p;
        if (!expected) {
            p.resize(n);
            expected = p.data();
        }
        own.marginals(problem, {expected, n});
        for (std::size_t part = 0; variance && part < n; ++part)
            variance[part] = expected[part] * (1.0 - expected[part]);
        return log_z;
    }

    double entropy(Shape shape, const PartScores& scores) const override {
        Problem problem = reached(shape, scores);
        return problem.solve() ? SubsetSums().entropy(problem) : 0.0;
    }

    void max_marginals(Shape shape, const PartScores& scores, std::span<double> out) const override {
        Problem problem(Sizes(shape), scores);
        std::ranges::fill(out, kLogZero);
        if (!problem.solve()) return;
        matching::least_losses(problem, out);
        const double highest = answer(problem, scores, problem.column_of).score;
        for (double& loss : out) loss = highest - loss;
    }

    std::vector<Parts> sample(Shape shape, const PartScores& scores, std::size_t n, bool distinct,
                              const std::function<double()>& draw) const override {
        Problem problem = reached(shape, scores);
        if (!problem.solve()) return {};
        return SubsetSums().sample(problem, n, distinct, draw);
    }

    // A row that cannot be matched, or n plus a column.
    std::size_t dead_end(Shape shape, const PartScores& scores) const override {
        Problem problem(Sizes(shape), scores);
        problem.solve();
        return problem.dead_end;
    }

private:
    static Problem reached(Shape shape, const PartScores& scores) {
        const Sizes sizes(shape);
        if (!SubsetSums::reaches(sizes))
            throw std::invalid_argument("a matching is too large for exact sums over all matchings");
        return {sizes, scores};
    }
    static Answer answer(const Problem& problem, const PartScores& scores, std::span<const std::uint32_t> columns) {
        Answer out;
        problem.parts_of(columns, out.parts);
        CompensatedSum total;
        for (const Part part : out.parts) total.add(scores[part]);
        out.score = total.value();
        return out;
    }
};

}  // namespace

std::unique_ptr<DerivationStructure> matching_structure() { return std::make_unique<Matching>(); }

}  // namespace tw
