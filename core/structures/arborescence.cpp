// Dependency trees whose arcs may cross: arborescences, a head for every word so that all hang below the root. Parts,
// shape and output as in dependency.hpp.
//
// Not a dynamic program. Best trees by contraction of cycles (spanning/edmonds.hpp), sums by elimination
// (spanning/tree_sums.hpp); labels are taken out before and put back after: an arc is worth its best label, or the sum
// of all. Equal scores: the lowest label, and the lowest head where a word or a cycle chooses.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "../base/pool.hpp"
#include "../base/semiring.hpp"
#include "../spanning/distinct_trees.hpp"
#include "../spanning/edmonds.hpp"
#include "../spanning/partition.hpp"
#include "../spanning/tree_sums.hpp"
#include "families.hpp"

namespace tw {
namespace {

using spanning::ArcScores;

struct Space {
    std::vector<double> cells, marginals, scores;  // of arcs: [modifier][head] for best trees, else [head][modifier]
    spanning::Edmonds edmonds;
    spanning::TreeSums sums;
};

// Fresh memory costs as much as a tree: what is not large is kept for the next call.
struct BorrowedSpace final : Workspace {
    explicit BorrowedSpace(Pool<Space>& pool) : space(pool) {}
    ~BorrowedSpace() override {
        if ((*space).cells.capacity() > kLargest || (*space).marginals.capacity() > kLargest) *space = {};
    }
    static constexpr std::size_t kLargest = 1 << 20;
    Pool<Space>::Borrowed space;
};

class Arborescence final : public DerivationStructure {
public:
    Arborescence(std::size_t n_labels, bool single_root) : n_labels_(n_labels), single_root_(single_root) {}

    using Structure::best;
    using Structure::log_partition;

    std::unique_ptr<Workspace> workspace() const override { return std::make_unique<BorrowedSpace>(spaces_); }

    std::vector<Block> blocks(Shape shape) const override { return {{"arcs", arcs_of(shape).n_sites(), n_labels_}}; }
    void parts_of(Shape shape, std::span<const std::uint32_t> output, Parts& parts) const override {
        parts.clear();
        arcs_of(shape).parts_of(output, single_root_, parts);
        std::ranges::sort(parts);
    }
    void output_of(Shape shape, std::span<const Part> parts, std::vector<std::uint32_t>& output) const override {
        arcs_of(shape).output_of(parts, output);
    }
    bool decides() const override { return true; }
    void decisions(Shape shape, std::span<const Part> gold,
                   const std::function<void(const Decision&)>& visit) const override {
        arcs_of(shape).decisions(gold, visit);
    }
    std::size_t dead_end(Shape shape, const PartScores& scores) const override {
        const auto possible = [&](const PartScores& free) { return !best(shape, free, 1).empty(); };
        return arcs_of(shape).without_head(scores, possible);
    }

    std::vector<Answer> best(Shape shape, const PartScores& scores, std::size_t k, Workspace& space) const override;

    double log_partition(Shape shape, const PartScores& scores, double* expected, double* variance,
                         Workspace& space) const override {
        Space& own = *static_cast<BorrowedSpace&>(space).space;
        const bool wanted = expected || variance;
        if (!wanted || (n_labels_ == 1 && shape.size() == 1 && !variance))  // parts are arcs
            return own.sums.log_partition(sums_of_labels(shape, scores, own), expected);
        own.marginals.resize((shape[0] + std::size_t{1}) * (shape[0] + std::size_t{1}));
        const ArcScores arcs = sums_of_labels(shape, scores, own);
        const double log_z = own.sums.log_partition(arcs, own.marginals.data());
        const std::size_t size = scores.scores.size();
        if (expected) std::fill_n(expected, size, 0.0);
        if (variance) std::fill_n(variance, size, 0.0);
        if (log_z == kLogZero) return log_z;
        each_part(shape, [&](std::size_t h, std::size_t m, Part part) {
            const double of_arc = own.marginals[h * (arcs.n + 1) + m];
            if (of_arc == 0.0) return;
            const double p = n_labels_ == 1 ? of_arc : of_arc * std::exp(scores[part] - arcs(h, m));
            if (expected) expected[part] = p;
            if (variance) variance[part] = p * (1.0 - p);
        });
        return log_z;
    }

    double entropy(Shape shape, const PartScores& scores) const override {
        BorrowedSpace space(spaces_);
        Space& own = *space.space;
        std::vector<double> p(scores.scores.size());
        log_partition(shape, scores, p.data(), nullptr, space);
        CompensatedSum total;
        total.add(own.sums.centred_log_partition());
        each_part(shape, [&](std::size_t, std::size_t m, Part part) {
            if (p[part] > 0.0) total.add(-p[part] * (scores[part] - own.sums.centre_of(m)));
        });
        return std::max(total.value(), 0.0);
    }

    void max_marginals(Shape shape, const PartScores& scores, std::span<double> out) const override {
        Space own;
        put_cells(shape, own.cells, false, [&](Part first) { return scores[best_label(scores, first)]; });
        const ArcScores arcs{own.cells.data(), shape[0], single_root_};
        own.marginals.resize(own.cells.size());
        own.sums.max_marginals(arcs, own.marginals.data());
        std::ranges::fill(out, kLogZero);
        each_part(shape, [&](std::size_t h, std::size_t m, Part part) {
            const double of_arc = own.marginals[h * (arcs.n + 1) + m];
            if (of_arc != kLogZero) out[part] = of_arc + (scores[part] - arcs(h, m));
        });
    }

    std::vector<Parts> sample(Shape shape, const PartScores& scores, std::size_t n, bool distinct,
                              const std::function<double()>& draw) const override {
        Space own;
        const ArcScores arcs = sums_of_labels(shape, scores, own);
        if (own.sums.log_partition(arcs, nullptr) == kLogZero) return {};
        own.sums.start_samples(arcs);
        std::vector<std::uint32_t> heads(arcs.n + 1);
        const auto log_label = [&](std::size_t h, std::size_t m, std::size_t l) {
            return scores[static_cast<Part>(first_part(shape, h, m) + l)] - arcs(h, m);
        };
        const auto one = [&] {
            own.sums.sample(draw, heads);
            Parts parts;
            for (std::size_t m = 1; m <= arcs.n; ++m) {
                std::size_t label = 0;
                double left = n_labels_ > 1 ? draw() : 0.0;
                for (std::size_t l = 0; n_labels_ > 1 && l < n_labels_ && left >= 0.0; ++l) {
                    const double p = std::exp(log_label(heads[m], m, l));
                    if (p > 0.0) label = l;
                    left -= p;
                }
                parts.push_back(static_cast<Part>(first_part(shape, heads[m], m) + label));
            }
            std::ranges::sort(parts);
            return parts;
        };
        if (!distinct) {
            std::vector<Parts> out;
            while (out.size() < n) out.push_back(one());
            return out;
        }
        std::vector<double> of_heads(arcs.n + 1);
        const auto conditional = [&](std::span<const std::uint32_t> choices, std::vector<double>& log_p) {
            const auto m = static_cast<std::uint32_t>(choices.size() + 1);
            for (std::size_t i = 1; i < m; ++i) heads[i] = choices[i - 1] / static_cast<std::uint32_t>(n_labels_);
            own.sums.log_conditional(arcs, heads, m, of_heads);
            log_p.assign((arcs.n + 1) * n_labels_, kLogZero);
            for (std::size_t h = 0; h <= arcs.n; ++h)
                for (std::size_t l = 0; of_heads[h] != kLogZero && l < n_labels_; ++l)
                    log_p[h * n_labels_ + l] = of_heads[h] + log_label(h, m, l);
        };
        const auto complete = [&](std::span<const std::uint32_t> choices) {
            Parts parts;
            for (std::size_t m = 1; m <= arcs.n; ++m)
                parts.push_back(first_part(shape, choices[m - 1] / n_labels_, m) +
                                choices[m - 1] % static_cast<Part>(n_labels_));
            std::ranges::sort(parts);
            return parts;
        };
        return spanning::distinct_trees(n, arcs.n, draw, one, conditional, complete);
    }

private:
    DependencyArcs arcs_of(Shape shape) const { return {shape, n_labels_}; }

    // visit(head, modifier, first part)
    template <class Visit>
    void each_arc(Shape shape, Visit visit) const {
        const DependencyArcs arcs = arcs_of(shape);
        for (std::uint32_t m = 1; m <= arcs.n_words(); ++m)
            arcs.each_head(
                m, [&](std::uint32_t h, std::uint32_t site) { visit(h, m, static_cast<Part>(site * n_labels_)); });
    }
    // visit(head, modifier, part)
    template <class Visit>
    void each_part(Shape shape, Visit visit) const {
        each_arc(shape, [&](std::size_t h, std::size_t m, Part first) {
            for (Part part = first; part < first + n_labels_; ++part) visit(h, m, part);
        });
    }
    Part first_part(Shape shape, std::size_t h, std::size_t m) const {
        return static_cast<Part>(arcs_of(shape).site(h, m) * n_labels_);
    }

    // The best of an arc's labels, of equal ones the lowest.
    Part best_label(const PartScores& scores, Part first) const {
        Part best = first;
        for (Part part = first + 1; part < first + n_labels_; ++part)
            if (scores[part] > scores[best]) best = part;
        return best;
    }

    template <class Value>
    void put_cells(Shape shape, std::vector<double>& cells, bool by_modifier, Value value) const {
        const std::size_t n = shape[0];
        cells.assign((n + 1) * (n + 1), kLogZero);
        each_arc(shape, [&](std::size_t h, std::size_t m, Part first) {
            cells[by_modifier ? m * (n + 1) + h : h * (n + 1) + m] = value(first);
        });
    }
    // By modifier, for best trees.
    void put_best_labels(Shape shape, const PartScores& scores, Space& own) const {
        if (n_labels_ > 1 || shape.size() > 1)
            return put_cells(shape, own.cells, true, [&](Part first) { return scores[best_label(scores, first)]; });
        const std::size_t n = shape[0], size = n + 1;
        const double* given = scores.masked(own.scores);
        own.cells.resize(size * size);
        for (std::size_t m0 = 0; m0 < size; m0 += 8)  // in squares of eight
            for (std::size_t h0 = 0; h0 < size; h0 += 8)
                for (std::size_t m = m0; m < std::min(m0 + 8, size); ++m)
                    for (std::size_t h = h0; h < std::min(h0 + 8, size); ++h)
                        own.cells[m * size + h] = given[h * size + m];
        for (std::size_t m = 0; m < size; ++m) own.cells[m * size + m] = kLogZero;
    }
    ArcScores sums_of_labels(Shape shape, const PartScores& scores, Space& own) const {
        const std::size_t n = shape[0];
        if (n_labels_ == 1 && shape.size() == 1) return {scores.masked(own.scores), n, single_root_};
        own.scores.resize(n_labels_);
        put_cells(shape, own.cells, false, [&](Part first) {
            for (Part l = 0; l < n_labels_; ++l) own.scores[l] = scores[first + l];
            return n_labels_ == 1 ? own.scores[0] : LogSum::sum(own.scores);
        });
        return {own.cells.data(), n, single_root_};
    }

    Answer answer(Shape shape, const PartScores& scores, std::span<const std::uint32_t> heads) const {
        Answer out;
        for (std::size_t m = 1; m <= shape[0]; ++m) {
            const Part part = best_label(scores, first_part(shape, heads[m], m));
            out.parts.push_back(part);
            out.score += scores[part];
        }
        std::ranges::sort(out.parts);
        return out;
    }

    struct Search;

    std::size_t n_labels_;
    bool single_root_;
    mutable Pool<Space> spaces_;
};

// The second best of a set of trees, for spanning/partition.hpp.
struct Arborescence::Search {
    const Arborescence& self;
    Shape shape;
    Space& own;                // cells: of the set at hand
    std::vector<double> left;  // scores of the parts that trees of the set at hand may have
    std::vector<double> other_label;

    Search(const Arborescence& structure, Shape of, const PartScores& scores, Space& space)
        : self(structure), shape(of), own(space) {
        for (Part part = 0; part < scores.scores.size(); ++part) left.push_back(scores[part]);
    }

    std::optional<spanning::SecondBest> find_second(std::span<const spanning::Condition> conditions,
                                                    const Answer& known) {
        const std::vector<double> all_cells = own.cells, all = left;
        for (const auto [part, has_it] : conditions) keep(part, has_it);
        std::optional<spanning::SecondBest> out;
        if (own.edmonds.best_to_change(own.cells.data(), shape[0], self.single_root_)) {
            Answer best = self.answer(shape, {left}, own.edmonds.heads());
            if (best.parts != known.parts) {  // as good, but for rounding
                Parts lacking;
                std::ranges::set_difference(known.parts, best.parts, std::back_inserter(lacking));
                out = {std::move(best), lacking.front()};
            } else if (const Part lacks = part_to_change(); lacks != kNoPart) {
                keep(lacks, false);
                if (own.edmonds.best(own.cells.data(), shape[0], self.single_root_))
                    out = {self.answer(shape, {left}, own.edmonds.heads()), lacks};
            }
        }
        own.cells = all_cells;
        left = all;
        return out;
    }

    // Leaves those trees that have a part, or those that do not.
    void keep(Part part, bool has_it) {
        const std::size_t n = shape[0];
        const Part first = part - part % static_cast<Part>(self.n_labels_);
        const auto [h, m] = self.arcs_of(shape).words(part / self.n_labels_);
        const double score = left[part];
        if (has_it) {
            self.arcs_of(shape).each_part(m, [&](Part other) { left[other] = kLogZero; });
            std::fill_n(own.cells.data() + m * (n + 1), n + 1, kLogZero);
        }
        left[part] = has_it ? score : kLogZero;
        own.cells[m * (n + 1) + h] = left[self.best_label({left}, first)];
    }

    // What the second best tree lacks: an arc, or its label.
    Part part_to_change() {
        const std::span<const std::uint32_t> heads = own.edmonds.heads();
        const auto part_into = [&](std::size_t m) {
            return self.best_label({left}, self.first_part(shape, heads[m], m));
        };
        if (self.n_labels_ > 1) {
            other_label.assign(shape[0] + 1, 0.0);
            for (std::size_t m = 1; m <= shape[0]; ++m) {
                const Part part = part_into(m);
                const double score = std::exchange(left[part], kLogZero);
                other_label[m] = score - left[part_into(m)];
                left[part] = score;
            }
        }
        const auto change = own.edmonds.change(other_label);
        return change.loss == std::numeric_limits<double>::infinity() ? kNoPart : part_into(change.modifier);
    }
};

std::vector<Answer> Arborescence::best(Shape shape, const PartScores& scores, std::size_t k, Workspace& space) const {
    Space& own = *static_cast<BorrowedSpace&>(space).space;
    std::vector<Answer> out;
    put_best_labels(shape, scores, own);
    if (k == 0 || !own.edmonds.best(own.cells.data(), shape[0], single_root_)) return out;
    Answer first = answer(shape, scores, own.edmonds.heads());
    if (k == 1) {
        out.push_back(std::move(first));
        return out;
    }
    Search search(*this, shape, scores, own);
    const auto find_second = [&](std::span<const spanning::Condition> conditions, const Answer& known) {
        return search.find_second(conditions, known);
    };
    spanning::k_best(k, std::move(first), find_second, out);
    return out;
}

}  // namespace

std::unique_ptr<DerivationStructure> arborescence_structure(std::size_t n_labels, bool single_root) {
    return std::make_unique<Arborescence>(n_labels, single_root);
}

}  // namespace tw
