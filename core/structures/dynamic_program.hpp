// Structures that are dynamic programs: from blocks, parts and edges to every answer, by the recursions of hypergraph/.
//
// A family has
//     blocks(shape)   parts_of(shape, output, parts)   output_of(shape, parts, output)     as a Structure
//     program(shape)                                                     see hypergraph/recursions.hpp
// and may have
//     costs(shape, gold, out)
//     Space   best(shape, scores, space, answer)   sums(shape, scores, space, log_z, expected)
//                                                  a faster way to the same answers; false where the recursions have to
//                                                  be asked
#pragma once

#include <algorithm>
#include <utility>

#include "../hypergraph/kbest.hpp"
#include "../hypergraph/recursions.hpp"
#include "derivations.hpp"

namespace tw {

template <class Family>
class DynamicProgram final : public DerivationStructure {
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
        if (k == 1) {
            const std::vector<double> in = hypergraph::inside(MaxPlus{}, program, scores);
            if (in.back() != kLogZero) out.push_back({hypergraph::trace(program, scores, in), in.back()});
            return out;
        }
        hypergraph::KBest search(program, scores);
        for (Answer answer; out.size() < k && search.find(out.size(), answer);) out.push_back(answer);
        return out;
    }

    double log_partition(Shape shape, const PartScores& scores, double* expected, double* variance,
                         Workspace& space) const override {
        if constexpr (kFast)
            if (double log_z; !variance && family_.sums(shape, scores, own(space), log_z, expected)) return log_z;
        const auto program = family_.program(shape);
        const std::vector<double> in = hypergraph::inside(LogSum{}, program, scores);
        if (in.back() == kLogZero || (!expected && !variance)) return in.back();
        const std::size_t n = n_parts(shape);
        if (expected) std::fill_n(expected, n, 0.0);
        if (variance) std::fill_n(variance, n, 0.0);
        hypergraph::posteriors(program, scores, in, [&](Part part, double p) {
            if (expected) expected[part] += p;
            if (variance) variance[part] += p * (1.0 - p);
        });
        return in.back();
    }

    void costs(Shape shape, std::span<const Part> gold, std::span<double> out) const override {
        if constexpr (requires { family_.costs(shape, gold, out); })
            family_.costs(shape, gold, out);
        else
            Structure::costs(shape, gold, out);
    }

    double entropy(Shape shape, const PartScores& scores) const override {
        const auto program = family_.program(shape);
        return hypergraph::entropy(program, scores, hypergraph::inside(LogSum{}, program, scores));
    }

    void max_marginals(Shape shape, const PartScores& scores, std::span<double> out) const override {
        hypergraph::max_marginals(family_.program(shape), scores, out);
    }

    std::vector<Parts> sample(Shape shape, const PartScores& scores, std::size_t n,
                              const std::function<double()>& draw) const override {
        const auto program = family_.program(shape);
        const std::vector<double> in = hypergraph::inside(LogSum{}, program, scores);
        std::vector<Parts> out(n);
        for (Parts& parts : out) parts = hypergraph::sample(program, scores, in, draw);
        return out;
    }

private:
    static constexpr bool kFast = requires { typename Family::Space; };
    template <class Space>
    struct FamilySpace final : Workspace {
        Space space;
    };
    static auto& own(Workspace& space) { return static_cast<FamilySpace<typename Family::Space>&>(space).space; }

    Family family_;
};

}  // namespace tw
