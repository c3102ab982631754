// The best projective tree with siblings, grandparents or both, and sums over all trees: the program of
// projective_tree.cpp written out.
//
//     span     by head, end and context: [h][e][i], where context i is the i-th arc into h (one without grandparents)
//     arc      by arc and context of its head: [b][i]
//     split    by sibling site, or by the two words without grandparents
//
// All contexts of a head are taken at once: one step is contiguous in the context. Incompatible contexts, in which the
// grandparent lies inside the span, hold numbers that nothing is made of.
#pragma once

#include <vector>

#include "dependency.hpp"

namespace tw {

class SecondOrderTrees {
public:
    void best(Shape shape, const DependencyBlocks& blocks, bool single_root, const PartScores& scores, Answer& answer);
    // False: the recursions have to be asked.
    bool sums(Shape shape, const DependencyBlocks& blocks, bool single_root, const PartScores& scores, double& log_z,
              double* expected);

private:
    struct Split {  // of an arc and its sibling
        std::uint32_t arc, sibling;
    };
    struct Open {  // what the best tree still has to be found of
        std::uint32_t number, end, context;
        bool is_arc;  // number `number`; or a span of that head up to `end`
    };

    void lay_out(Shape shape, const DependencyBlocks& blocks, bool single_root);
    template <class Semiring>
    void fill();
    template <class Semiring>
    void fill_splits(std::size_t width);
    template <class Semiring>
    void fill_arcs(std::size_t width);
    template <class Semiring>
    void fill_spans(std::size_t width);
    double goal(std::uint32_t& root) const;
    template <class Visit>
    void each_span(std::size_t width, Visit visit) const;  // visit(head, end)

    // Sums: exponentials of all scores, each word's relative to its best, in weights_; what was taken out is returned,
    // +inf where a word has no head. Then the derivatives of the sum over all trees, from the whole to its parts.
    double centre(const PartScores& scores);
    double total() const;
    void outside_goal(double* expected);
    void outside_spans(std::size_t width);
    void outside_arcs(std::size_t width, double* expected);
    void outside_splits(std::size_t width);
    double& around_below(std::uint32_t b, std::size_t e) {
        return around_span_[&row(sites_.arcs()[b].modifier, e)[rank(b)] - span_.data()];
    }
    Split in_order(const Split& split) const {  // the arc to the lower word first
        return sites_.arcs()[split.arc].modifier < sites_.arcs()[split.sibling].modifier
                   ? split
                   : Split{split.sibling, split.arc};
    }
    void trace(std::uint32_t root, Parts& parts);
    void trace_span(std::uint32_t h, std::uint32_t e, std::uint32_t i);
    void trace_arc(std::uint32_t b, std::uint32_t i, Parts& parts);

    std::size_t n_contexts(std::size_t h) const {
        return grand_ && h > 0 ? sites_.into(h).end - sites_.into(h).begin : 1;
    }
    std::uint32_t rank(std::uint32_t b) const {  // of an arc among the contexts of its modifier
        return grand_ ? b - sites_.into(sites_.arcs()[b].modifier).begin : 0;
    }
    double* row(std::size_t h, std::size_t e) { return span_.data() + first_span_[h] + e * n_contexts(h); }
    const double* row(std::size_t h, std::size_t e) const { return span_.data() + first_span_[h] + e * n_contexts(h); }
    double below(std::uint32_t b, std::size_t e) const { return row(sites_.arcs()[b].modifier, e)[rank(b)]; }
    std::size_t split_at(std::uint32_t arc, std::uint32_t sibling) const;
    DependencySites::Range inside(std::uint32_t h, std::uint32_t e) const;  // arcs of h to words up to e, in out()

    DependencySites sites_;
    bool siblings_ = false, grand_ = false, single_root_ = false;
    std::size_t n_labels_ = 1;
    const double* scores_ = nullptr;
    std::vector<std::uint32_t> by_width_, first_of_width_;
    std::vector<std::size_t> first_span_, first_arc_;
    std::vector<Split> splits_;
    std::vector<std::uint32_t> first_split_;  // by width
    std::vector<double> masked_, labels_, span_, arc_, split_;
    std::vector<double> weights_, around_span_, around_arc_, around_split_, chain_;
    std::vector<Open> open_;
};

}  // namespace tw
