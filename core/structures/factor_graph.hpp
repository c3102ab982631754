// Factor graphs as structures: exact answers by elimination where a graph is narrow enough, else the best that a search
// finds.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "../graphs/elimination.hpp"
#include "../graphs/search.hpp"
#include "families.hpp"

namespace tw {

// The best labelling by the method that is asked for: searches of graphs/, minimum cuts, or (kProgram) a search with
// branch and bound. kAuto takes cuts where these are exact.
graphs::Found find_labels(const graphs::Graph& graph, std::span<const double> scores, graphs::Search how,
                          graphs::SearchState* state = nullptr);

class GraphStructure : public DerivationStructure {
public:
    explicit GraphStructure(GraphAnswers answers) : answers_(answers) {}

    std::unique_ptr<Workspace> workspace() const override;
    bool lists(Shape shape) const override { return prepared(shape)->elimination.narrow(); }
    bool sums(Shape shape) const override { return answers_.approximate_sums || lists(shape); }
    using Structure::best;
    using Structure::log_partition;
    std::vector<Answer> best(Shape shape, const PartScores& scores, std::size_t k, Workspace& space) const override;
    double log_partition(Shape shape, const PartScores& scores, double* expected, double* variance,
                         Workspace& space) const override;
    double entropy(Shape shape, const PartScores& scores) const override;
    void max_marginals(Shape shape, const PartScores& scores, std::span<double> out) const override;
    std::vector<Parts> sample(Shape shape, const PartScores& scores, std::size_t n, bool distinct,
                              const std::function<double()>& draw) const override;
    std::size_t dead_end(Shape shape, const PartScores& scores) const override;

protected:
    // What follows from a shape alone.
    struct Prepared {
        graphs::Elimination elimination;
        std::optional<graphs::Graph> graph;  // where a search may need it
    };
    virtual std::shared_ptr<const Prepared> prepared(Shape shape) const = 0;
    // In ascending order; false where a factor forbids the labelling.
    virtual bool parts_of_labels(Shape shape, std::span<const std::uint32_t> labels, Parts& parts) const = 0;

    const GraphAnswers answers_;

private:
    std::vector<Answer> searched(Shape shape, const graphs::Graph& graph, std::span<const double> scores) const;
};

// One graph, whose shape has nothing to say.
class OneGraph final : public GraphStructure {
public:
    OneGraph(graphs::Graph graph, GraphAnswers answers);

    const graphs::Graph& graph() const { return *prepared_->graph; }
    const graphs::Elimination& elimination() const { return prepared_->elimination; }

    std::vector<Block> blocks(Shape) const override { return {{"scores", graph().n_scores, 1}}; }
    void parts_of(Shape shape, std::span<const std::uint32_t> output, Parts& parts) const override;
    void output_of(Shape shape, std::span<const Part> parts, std::vector<std::uint32_t>& output) const override;

private:
    std::shared_ptr<const Prepared> prepared(Shape) const override { return prepared_; }
    bool parts_of_labels(Shape shape, std::span<const std::uint32_t> labels, Parts& parts) const override;

    std::shared_ptr<const Prepared> prepared_;
};

}  // namespace tw
