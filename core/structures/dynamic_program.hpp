// Structures that are dynamic programs: from blocks, parts and edges to every answer, by the recursions of hypergraph/.
//
// A family has
//     blocks(shape)   parts_of(shape, output, parts)   output_of(shape, parts, output)     as a Structure
//     program(shape)                                                     see hypergraph/recursions.hpp
// and may have
//     costs(shape, gold, out)   decisions(shape, gold, visit)   decides(), false where it has none after all
//     kCentred   when every output has one part of each site of the first block: the best of each site is taken out
//                before sums in logarithms, so that these keep their digits
//     centre(shape, scores, values)   the same done by the family: the sum of what was taken out, and what is left
//     dead_end(shape, scores)         in place of covered(node) of the program
//     Space   best(shape, scores, space, answer)   sums(shape, scores, space, log_z, expected)
//                a faster way to the same answers; false where the recursions have to be asked
//     inside_best(shape, scores, space)            a faster way to the max-plus semiring's inside scores
#pragma once

#include <algorithm>
#include <utility>

#include "../hypergraph/distinct_samples.hpp"
#include "../hypergraph/kbest.hpp"
#include "../hypergraph/recursions.hpp"
#include "../hypergraph/scaled_sums.hpp"
#include "../hypergraph/written_out.hpp"
#include "derivations.hpp"

namespace tw {

template <class Family>
class DynamicProgram : public DerivationStructure {
public:
    explicit DynamicProgram(Family family) : family_(std::move(family)) {}
    const Family& family() const { return family_; }

    std::vector<Block> blocks(Shape shape) const override { return family_.blocks(shape); }
    void parts_of(Shape shape, std::span<const std::uint32_t> output, Parts& parts) const override {
        parts.clear();
        family_.parts_of(shape, output, parts);
        std::ranges::sort(parts);
    }
    void output_of(Shape shape, std::span<const Part> parts, std::vector<std::uint32_t>& output) const override {
        output.clear();
        family_.output_of(shape, parts, output);
    }

    using Structure::best;
    using Structure::log_partition;

    std::unique_ptr<Workspace> workspace() const override {
        if constexpr (kFast)
            return std::make_unique<FamilySpace<typename Family::Space>>();
        else
            return Structure::workspace();
    }

    std::vector<Answer> best(Shape shape, const PartScores& scores, std::size_t k, Workspace& space) const override {
        std::vector<Answer> out;
        if constexpr (kFast)
            if (Answer answer; k == 1 && family_.best(shape, scores, own(space), answer)) {
                if (answer.score != kLogZero) out.push_back(std::move(answer));
                return out;
            }
        const auto program = family_.program(shape);
        const auto add = [&](auto... find) {
            Answer answer;
            if (!(find(answer.score, hypergraph::PartsMet{program, answer.parts}), ...)) return false;
            std::ranges::sort(answer.parts);
            out.push_back(std::move(answer));
            return true;
        };
        if (k == 1) {
            const std::vector<double> in = hypergraph::inside(MaxPlus{}, program, scores);
            add([&](double& score, auto on_step) {
                score = in.back();
                if (score != kLogZero) hypergraph::trace(program, scores, in, on_step);
                return score != kLogZero;
            });
            return out;
        }
        hypergraph::KBest search(program, scores, inside_best(shape, scores, program, space));
        while (out.size() < k &&
               add([&](double& score, auto on_step) { return search.find(out.size(), score, on_step); })) {
        }
        return out;
    }

    double log_partition(Shape shape, const PartScores& scores, double* expected, double* variance,
                         Workspace& space) const override {
        if constexpr (kFast)
            if (double log_z; !variance && family_.sums(shape, scores, own(space), log_z, expected)) return log_z;
        const std::size_t n = n_parts(shape);
        if (expected) std::fill_n(expected, n, 0.0);
        if (variance) std::fill_n(variance, n, 0.0);
        const auto met = [&](Part part, double p) {
            if (part == kNoPart) return;
            if (expected) expected[part] += p;
            if (variance) variance[part] += p * (1.0 - p);
        };
        const bool wanted = expected || variance;
        const auto program = family_.program(shape);
        if (hypergraph::ScaledSums scaled; scaled.read(scores)) {
            const double log_z = scaled.inside(program);
            if (log_z != kLogZero && wanted) scaled.posteriors(program, met);
            return log_z;
        }
        const Centred centred(family_, shape, scores);
        const std::vector<double> in = hypergraph::inside(LogSum{}, program, centred.scores);
        if (in.back() == kLogZero || !wanted) return in.back() + centred.constant;
        const std::vector<double> nodes = hypergraph::posteriors(
            program, centred.scores, in, [&](std::size_t, const auto& edge, double p) { met(edge.weight, p); });
        for (std::size_t v = 0; v < nodes.size(); ++v) met(hypergraph::part_of(program, v), nodes[v]);
        return in.back() + centred.constant;
    }

    void costs(Shape shape, std::span<const Part> gold, std::span<double> out) const override {
        if constexpr (requires { family_.costs(shape, gold, out); })
            family_.costs(shape, gold, out);
        else
            Structure::costs(shape, gold, out);
    }

    bool decides() const override {
        if constexpr (requires { family_.decides(); }) return family_.decides();
        return requires(const Family& f, std::function<void(const Decision&)> v) { f.decisions(Shape{}, Shape{}, v); };
    }
    void decisions(Shape shape, std::span<const Part> gold,
                   const std::function<void(const Decision&)>& visit) const override {
        if constexpr (requires { family_.decisions(shape, gold, visit); }) family_.decisions(shape, gold, visit);
    }

    bool hyperedges(Shape shape, const PartScores& scores, std::size_t most, Hyperedges& out) const override {
        out = hypergraph::written_out(family_.program(shape), scores, most);
        return true;
    }

    double entropy(Shape shape, const PartScores& scores) const override {
        const auto program = family_.program(shape);
        const Centred centred(family_, shape, scores);
        return hypergraph::entropy(program, centred.scores, hypergraph::inside(LogSum{}, program, centred.scores));
    }

    void max_marginals(Shape shape, const PartScores& scores, std::span<double> out) const override {
        hypergraph::max_marginals(family_.program(shape), scores, out);
    }

    std::vector<Parts> sample(Shape shape, const PartScores& scores, std::size_t n, bool distinct,
                              const std::function<double()>& draw) const override {
        const auto program = family_.program(shape);
        const Centred centred(family_, shape, scores);
        const std::vector<double> in = hypergraph::inside(LogSum{}, program, centred.scores);
        std::vector<Parts> out;
        hypergraph::DistinctSamples left(program, centred.scores, in, std::cref(draw));
        while (out.size() < n) {
            Parts parts;
            const hypergraph::PartsMet on_step{program, parts};
            if (distinct && !left.next(on_step)) break;
            if (!distinct) hypergraph::sample(program, centred.scores, in, std::cref(draw), on_step);
            std::ranges::sort(parts);
            out.push_back(std::move(parts));
        }
        return out;
    }

    std::size_t dead_end(Shape shape, const PartScores& scores) const override {
        if constexpr (requires { family_.dead_end(shape, scores); }) {
            return family_.dead_end(shape, scores);
        } else {
            const auto program = family_.program(shape);
            const std::vector<double> in = hypergraph::inside(MaxPlus{}, program, scores);
            std::size_t furthest = 0;
            for (std::size_t v = 0; v + 1 < in.size(); ++v)
                if (in[v] != kLogZero) furthest = std::max(furthest, program.covered(v));
            return std::min<std::size_t>(furthest, shape[0] > 0 ? shape[0] - 1 : 0);
        }
    }

private:
    template <class Program>
    std::vector<double> inside_best(Shape shape, const PartScores& scores, const Program& program,
                                    Workspace& space) const {
        if constexpr (requires { &Family::inside_best; })
            if (shape[0] > 0) return family_.inside_best(shape, scores, own(space));
        return hypergraph::inside(MaxPlus{}, program, scores);
    }

    struct Centred {
        PartScores scores;
        double constant = 0.0;
        std::vector<double> values;

        Centred(const Family& family, Shape shape, const PartScores& given) : scores(given) {
            if constexpr (requires { family.centre(shape, given, values); }) {
                constant = family.centre(shape, given, values);
                scores.scores = values;
            } else if constexpr (requires { Family::kCentred; }) {
                const Block rows = family.blocks(shape).front();
                values.assign(given.scores.begin(), given.scores.end());
                CompensatedSum total;
                for (std::size_t i = 0; i < rows.size(); i += rows.n_codes) {
                    double best = kLogZero;
                    for (std::size_t k = 0; k < rows.n_codes; ++k)
                        best = std::max(best, given[static_cast<Part>(i + k)]);
                    if (best == kLogZero) continue;
                    total.add(best);
                    for (std::size_t k = 0; k < rows.n_codes; ++k) values[i + k] -= best;
                }
                constant = total.value();
                scores.scores = values;
            }
        }
    };

    static constexpr bool kFast = requires { typename Family::Space; };
    template <class Space>
    struct FamilySpace final : Workspace {
        Space space;
    };
    static auto& own(Workspace& space) { return static_cast<FamilySpace<typename Family::Space>&>(space).space; }

    Family family_;
};

}  // namespace tw
