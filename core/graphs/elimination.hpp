// Exact answers about factor graphs that are acyclic or narrow, by elimination of one variable after the other
// (buckets: Dechter 1999; the tables are the cliques of a junction tree).
//
//     bucket of variable v    table     [label of v][labels of S: the variables it is still connected with]
//                             terms     scores of its variables and tables, logic, messages of earlier buckets: added
//                             message   [labels of S]: the maximum over v, or log sum exp
//
//     forward    tables one at a time, in the order of elimination; only messages are kept
//     backward   the same tables again in the other order: p(v | S) is a softmax, and p(S) comes from the bucket that
//                took the message, so nothing is ever subtracted from a sum
//
// S is in the order of elimination, so that a message and the table it is added to have their variables in one order.
// A logic factor is a chain of counters: so many of its literals were true up to here. Counters are variables too, that
// follow from the others; an AT-MOST over a thousand variables is narrow.
//
// Sums are in logarithms with one vector exponential for each entry. Messages have their maximum taken out, so that
// what a variable does given its neighbours keeps its digits on a graph of any length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "elimination_order.hpp"
#include "graph.hpp"

namespace tw::graphs {

class Elimination {
public:
    using Labels = std::vector<std::uint32_t>;

    explicit Elimination(const Graph& graph, Limits limits = {});

    // Whether there are answers; if not, the sentence that says why.
    bool narrow() const { return refusal_.empty(); }
    const std::string& refusal() const { return refusal_; }
    const Width& width() const { return width_; }
    std::size_t bytes() const;  // that this takes

    // What is computed with, kept from one question to the next; one for each thread.
    struct Space {
        std::vector<double> messages, given, table, shifts, sums, more, row;
    };

    // The best labelling; false when all are forbidden. Equal ones: the lowest label of the variable that is
    // eliminated last, and so on.
    bool best(std::span<const double> scores, Space& space, Labels& labels) const;
    // The k best, distinct and best first: each is an earlier one with one detour, and the best after it (Lawler 1972).
    std::vector<Labels> k_best(std::span<const double> scores, std::size_t k, Space& space) const;

    // log Z. Where they are not null: the probabilities of scores, and the entropy in nats.
    double sums(std::span<const double> scores, double* expected, double* entropy, Space& space) const;
    // The best score of a labelling that has the part, for every score.
    void max_marginals(std::span<const double> scores, std::span<double> out, Space& space) const;

    // draw() is uniform on [0, 1). Distinct ones: fewer where fewer exist.
    std::vector<Labels> sample(std::span<const double> scores, std::size_t n, bool distinct,
                               const std::function<double()>& draw, Space& space) const;

    // A variable none of whose labels agrees with those that were eliminated before it, when all is forbidden.
    std::size_t dead_end(std::span<const double> scores, Space& space) const;

private:
    enum class Source : std::uint8_t { kScores, kLogic, kMessages };
    struct Table {  // of scores, or of what logic allows
        Source source;
        std::size_t at;
    };
    struct Term {
        const double* of(std::span<const double> scores, const Elimination& all, const Space& space) const;
        Source source;
        std::size_t at;
    };
    struct Bucket {
        std::uint32_t variable;
        std::uint32_t n_labels;
        std::size_t first_dim, n_dims;    // of its variable and S
        std::size_t first_term, n_terms;  // strides by term and dim from first_stride on
        std::size_t first_stride;
        std::size_t message, rest;  // where its message begins, and its entries
        bool last() const { return n_dims == 1; }
    };
    static constexpr std::size_t kDone = std::numeric_limits<std::size_t>::max();

    void add_tables(const Graph& graph, std::vector<Table>& tables, Scopes& scopes);
    void add_logic(const Factor& factor, std::vector<Table>& tables, Scopes& scopes);
    void make_buckets(const Order& order, const std::vector<Table>& tables, const Scopes& scopes);

    // The variable of the bucket at which everything turned out to be forbidden, or kDone.
    template <bool kSums>
    std::size_t forward(std::span<const double> scores, Space& space, double& constant) const;
    void fill_table(const Bucket& bucket, std::span<const double> scores, Space& space) const;
    void fill_row(const Bucket& bucket, std::span<const double> scores, const Space& space, const std::uint32_t* labels,
                  double* row) const;
    void shift_table(const Bucket& bucket, Space& space) const;
    template <class Join>
    void scatter(const Bucket& bucket, double* out, Space& space, Join join) const;
    void draw_labels(std::span<const double> scores, const std::function<double()>& draw, Space& space,
                     Labels& labels) const;
    void prepare(Space& space) const;

    std::size_t n_variables_ = 0, n_scores_ = 0;  // without counters
    Labels n_labels_, owner_;                     // with counters; owner: the variable itself, or that of a literal
    std::vector<double> logic_;                   // tables of 0 and -inf
    std::vector<Bucket> buckets_;                 // in the order of elimination
    std::vector<std::uint32_t> dims_, strides_;
    std::vector<Term> terms_;
    std::size_t n_messages_ = 0, widest_ = 0, widest_rest_ = 0, most_labels_ = 0;
    Width width_;
    std::string refusal_;
};

}  // namespace tw::graphs
