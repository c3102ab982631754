// One of several: every output is a single part.
//
//     labels    shape: []              labels    1 x K              the same K labels in every example
//     listed    shape: [how many]      outputs   how many x 1       written down one by one, each with attributes
//     output: the number of the label, or of the output
#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "../base/softmax.hpp"
#include "dynamic_program.hpp"
#include "families.hpp"

namespace tw {
namespace {

struct OneOfFamily {
    std::size_t n_labels;  // or 0: listed

    std::size_t count(Shape shape) const { return n_labels > 0 ? n_labels : shape[0]; }
    std::vector<Block> blocks(Shape shape) const {
        return {n_labels > 0 ? Block{"labels", 1, n_labels} : Block{"outputs", shape[0], 1}};
    }
    void parts_of(Shape shape, std::span<const std::uint32_t> output, Parts& parts) const {
        if (output.size() != 1) throw std::invalid_argument("an output must be one number");
        if (output[0] >= count(shape)) throw std::invalid_argument("the output is not among those there are");
        parts.push_back(output[0]);
    }
    void output_of(Shape, std::span<const Part> parts, std::vector<std::uint32_t>& output) const {
        output.assign(parts.begin(), parts.end());
    }
    void decisions(Shape shape, std::span<const Part> gold, const std::function<void(const Decision&)>& visit) const {
        Parts all(count(shape));
        std::iota(all.begin(), all.end(), Part{0});
        visit({all, 1, gold[0]});
    }

    struct Program {
        std::size_t n_outputs;
        std::size_t n_nodes() const { return 1; }
        std::size_t covered(std::size_t) const { return 0; }
        Part node_part(std::size_t) const { return kNoPart; }
        template <class Visit>
        void incoming(std::size_t, Visit visit) const {
            for (std::size_t i = 0; i < n_outputs; ++i) visit(static_cast<Part>(i));
        }
    };
    Program program(Shape shape) const { return {count(shape)}; }
};

// The dynamic program of one node answers everything; what learners ask for is written out.
class OneOf final : public DynamicProgram<OneOfFamily> {
public:
    using DynamicProgram<OneOfFamily>::DynamicProgram;
    using Structure::best;
    using Structure::log_partition;

    bool has_one_part() const override { return true; }
    std::size_t dead_end(Shape, const PartScores&) const override { return 0; }

    std::vector<Answer> best(Shape shape, const PartScores& scores, std::size_t k, Workspace&) const override {
        std::vector<Answer> out;
        if (k == 1 && family().count(shape) > 0) {
            Part best = 0;
            for (Part part = 1; part < family().count(shape); ++part)
                if (scores[part] > scores[best]) best = part;
            if (scores[best] != kLogZero) out.push_back({{best}, scores[best]});
            return out;
        }
        Parts order(family().count(shape));
        std::iota(order.begin(), order.end(), Part{0});
        const auto last = order.begin() + static_cast<std::ptrdiff_t>(std::min(k, order.size()));
        std::partial_sort(order.begin(), last, order.end(),
                          [&](Part a, Part b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
        for (auto part = order.begin(); part != last && scores[*part] != kLogZero; ++part)
            out.push_back({{*part}, scores[*part]});
        return out;
    }

    void costs(Shape, std::span<const Part> gold, std::span<double> out) const override {
        std::ranges::fill(out, 1.0);
        for (const Part part : gold) out[part] = 0.0;
    }

    double log_partition(Shape shape, const PartScores& scores, double* expected, double* variance,
                         Workspace&) const override {
        std::vector<double> own;
        std::span<double> p(expected, family().count(shape));
        if (!expected) {
            own.resize(p.size());
            p = own;
        }
        for (Part i = 0; i < p.size(); ++i) p[i] = scores[i];
        if (p.empty() || *std::ranges::max_element(p) == kLogZero) return kLogZero;
        const double total = softmax(p);
        if (variance)
            for (std::size_t i = 0; i < p.size(); ++i) variance[i] = p[i] * (1.0 - p[i]);
        return total;
    }
};

}  // namespace

std::unique_ptr<DerivationStructure> one_of_structure(std::size_t n_labels) {
    return std::make_unique<OneOf>(OneOfFamily{n_labels});
}

}  // namespace tw
