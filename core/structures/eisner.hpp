// First-order projective trees by the loops of kernels/spans.hpp: the best tree, and sums over all trees.
//
// Both give what the recursions over the hypergraph give; ties are broken alike. With a single root the tables are
// about words alone, and the root is chosen last; otherwise it is position 0.
#pragma once

#include <vector>

#include "../kernels/spans.hpp"
#include "dependency.hpp"

namespace tw {

class Eisner {
public:
    // What both compute in, kept from one sentence to the next. False: the recursions have to be asked.
    bool best(const DependencyArcs& arcs, bool single_root, const PartScores& scores, Answer& answer);
    bool sums(const DependencyArcs& arcs, bool single_root, const PartScores& scores, double& log_z, double* expected);

private:
    struct Span {
        std::uint32_t width, start;
        bool right;  // whether its head comes first
    };

    // Tables for the best tree, for sums, or for sums and what is expected: in memory of their own, since what stands
    // beyond a row is multiplied by zero, and has to be finite.
    enum class Use { kBest, kInside, kOutside };
    void lay_out(const DependencyArcs& arcs, bool single_root, Use use);
    // Scores of arcs as diagonals: site by site times a factor of the modifier, or as they are.
    void fill_diagonals(const DependencyArcs& arcs, const double* of_sites, const double* factors, double nothing);
    void trace(const DependencyArcs& arcs, const double* scores, std::uint32_t root, Parts& parts);
    template <class Visit>
    void each_site(const DependencyArcs& arcs, Visit visit) const;
    double total(const DependencyArcs& arcs, const double* of_sites);
    // By how much a span grows with a word, and whether no span is so small that something was lost.
    double growth() const;
    bool keeps_range() const;
    double& at(double* table, std::size_t width, std::size_t start) const {
        return table[width * tables_.stride + start];
    }

    std::size_t first_ = 0;  // word of position 0
    SpanTables tables_{}, around_{};
    std::vector<double> best_memory_, memory_, masked_, of_sites_, weights_, centres_, factors_, of_left_, of_right_;
    std::vector<Span> open_;
};

}  // namespace tw
