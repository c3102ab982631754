// Sums over all arborescences without a subtraction: log Z, marginals of arcs, samples; and the best score with each
// arc.
//
// A walk that goes from a word to one of its heads, with probabilities as the weights of the arcs, and ends at the
// root, says all there is to know (the matrix-tree theorem as Markov chains have it; Wilson 1996):
//
//     Z = product of pivots                    each word's weight of leaving it for a word that is left, or the root,
//                                              while words are taken out of the walk one by one
//     p(h -> m)  ~  W[h -> m] e_m(h)           e_m(h): the walk from h gets to the root before m
//
// Taking word k out leads all walks through it on to where they go next:  M[b][a] += M[b][k] / pivot * M[k][a].  The
// pivot is the sum of what is left in column k (Grassmann, Taksar & Heyman 1985), so nothing is ever subtracted and
// every marginal has its digits, however small. All words but m are out when e_m is known; for all m together half of
// the words is taken out, and the other half goes on alone, and the other way round:
//
//     M   root    [a = 1 .. n]        columns of words that are left: weights W of arcs
//         b       [a = 1 .. n]        columns of words that are out:  where the walk from a enters what is left
//
// which takes 1.5 n^3 multiplications in all. The same steps with max and + in place of + and x give best scores.
//
// One root: weights of the root's arcs are infinitesimal, so pivots do not see them. The word below the root is one
// that all words lead to; the others' arcs from the root are in no tree. When all words that may be it are out of the
// walk, the last of them stands for the root.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tw::spanning {

// Scores of arcs, [head][modifier], (n + 1) x (n + 1) with the root as head 0; -inf: no arc. Column 0 and the diagonal
// are not looked at.
struct ArcScores {
    const double* scores;
    std::size_t n;
    bool single_root;

    double operator()(std::size_t h, std::size_t m) const { return scores[h * (n + 1) + m]; }
};

class TreeSums {
public:
    // -inf when there is no tree. `marginals`, as scores, may be null; what is not looked at becomes zero.
    double log_partition(const ArcScores& arcs, double* marginals);

    // Of the last call: less the sum of centre_of(m), the best score of an arc into m.
    double centred_log_partition() const { return centred_; }
    double centre_of(std::size_t m) const { return centres_[m - 1]; }

    // The best score of a tree that has the arc, -inf where none has it.
    void max_marginals(const ArcScores& arcs, double* out);

    // Trees drawn from the distribution, where there are some; draw() is uniform on [0, 1). Walks without their loops
    // (Wilson 1996): how long they take and which tree they give are independent, so when they take too long the heads
    // are drawn one after the other instead.
    void start_samples(const ArcScores& arcs);
    void sample(const std::function<double()>& draw, std::span<std::uint32_t> heads);

    // The log-probabilities of heads 0 to n of word m, given those of the words before it: heads[1 .. m - 1].
    void log_conditional(const ArcScores& arcs, std::span<const std::uint32_t> heads, std::uint32_t m,
                         std::span<double> out);

private:
    bool centre(const ArcScores& arcs);
    bool find_lowest_roots();
    template <class Field>
    void put_weights();
    void put_marginals(double* marginals);
    template <class Field>
    bool all_heads(Field field, double* log_z, double* marginals);
    template <class Field>
    bool conditional(Field field, std::uint32_t m, std::span<double> out);
    template <class Field>
    bool heads_one_by_one(Field field, const std::function<double()>& draw, std::span<std::uint32_t> heads,
                          std::uint32_t below_root);
    template <class Field, class At>
    void put_heads(const At& at, std::size_t m, std::span<double> out) const;
    bool walk(const std::function<double()>& draw, std::span<std::uint32_t> heads, std::uint32_t below_root);

    std::size_t n_ = 0, stride_ = 0;
    bool single_root_ = false;
    double centred_ = 0.0, shift_ = 0.0;         // shift_: the sum of centres_
    std::vector<double> centres_;                // what was taken out of columns
    std::vector<double> scores_, exponentials_;  // [n + 1][stride_], less these
    const double* weights_ = nullptr;            // one of the two
    std::vector<double> rows_, escape_;          // M and its copies; [m][h]
    std::vector<double> cumulative_, of_root_;   // for walks: [modifier][head]; of single roots
    std::vector<std::uint8_t> may_be_root_;
    bool long_walks_ = false;
};

}  // namespace tw::spanning
