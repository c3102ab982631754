// What all message-passing searches share: the variables of factors as slots, an order of variables, and the exchange
// of scores between variables and factors.
//
//     slots, factor by factor, in the order of the factor's own variables
//         factor 0: [slot 0: one number a label] [slot 1: ...]     factor 1: [slot 2: ...] ...
//
//     given[slot][label]   what the variable gave of its scores to the factor, so that the sum over all
//         variable   unary[x] - sum of given[slot][x] over its slots
//         factor     score(x, y, ..) + given[slot of x][x] + given[slot of y][y] + ..
//     is the score of the labelling whatever was given: a reparametrisation. The sum of the best of each is a bound.
//
//     message[slot][label] the best of its factor with the variable at that label, without what this slot was given
//
// The order of variables is the one they have, but from the root outwards in a component without cycles, so that every
// variable of it has one factor towards the root. `first` and `last` are about a factor's variables in this order.
// Labels that are out (unary -inf) stay out: their numbers are never read as anything but -inf.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../base/interrupt.hpp"
#include "../base/semiring.hpp"
#include "graph.hpp"

namespace tw::graphs {

inline constexpr std::uint32_t kFree = ~std::uint32_t{0};  // of labels: not fixed

struct Slot {
    std::uint32_t variable, factor, place;
    std::size_t at;  // where its numbers begin
    bool first, last;
};

struct LaidFactor {
    enum class Form : std::uint8_t { kPair, kPotts, kTable, kCount, kStructure };
    Form form;
    std::uint32_t slots_at, n_slots;
    const double* table = nullptr;    // of tables, in the scores
    std::size_t entries = 0;          // of tables
    double same = 0.0, other = 0.0;   // of kPotts: the two scores there are
    std::size_t least = 0, most = 0;  // of kCount: how many literals are true
    std::size_t states = 0;           // of kCount: counts that are told apart
    const Factor* source = nullptr;
};

class Layout {
public:
    Layout(const Graph& graph, std::span<const double> scores);

    const Graph& graph;
    const std::span<const double> scores;
    std::vector<std::size_t> label_at;  // of variables, one more: where their labels begin in arrays of all labels
    std::vector<double> unary;          // of all labels
    std::vector<LaidFactor> factors;
    std::vector<Slot> slots;
    std::vector<std::uint32_t> order, slots_of_at, slots_of;  // by variable: its slots
    std::vector<std::uint8_t> counts;      // of slots of kCount: by label, whether its literal is true
    std::vector<std::uint32_t> component;  // of variables
    std::vector<std::uint8_t> acyclic;     // of components
    std::size_t n_given = 0, most_labels = 0;
    double constant = 0.0;  // of tables without variables
    double scale = 0.0;     // how large scores are together: rounding is a share of it
    bool has_structures = false;

    std::size_t n_variables() const { return graph.n_variables(); }
    std::size_t n_labels(std::uint32_t v) const { return graph.n_labels[v]; }
    std::span<const std::uint32_t> slots_at(std::uint32_t v) const {
        return {slots_of.data() + slots_of_at[v], slots_of.data() + slots_of_at[v + 1]};
    }
    std::span<const Slot> slots_of_factor(const LaidFactor& f) const { return {slots.data() + f.slots_at, f.n_slots}; }
    bool all_acyclic() const;

    // What differs by less is the same.
    double slack() const { return 1e-13 * scale; }

    // The score of a labelling, -inf where it is forbidden.
    double score(std::span<const std::uint32_t> labels) const;

    // message[slot], by max-plus. `fixed`: labels that variables must have, kFree where they need not. Not for
    // structures.
    void best_message(const Slot& slot, const double* given, double* out, const std::uint32_t* fixed = nullptr) const;
    // The best of a factor with all it was given; -inf where nothing is allowed. Its labels where they are wanted, and
    // the parts of a structure.
    double best_of(const LaidFactor& factor, const double* given, std::uint32_t* labels = nullptr,
                   Parts* parts = nullptr) const;
    // What one variable's label changes given those of all others: unary and all its factors. Not for structures.
    void conditional(std::uint32_t v, std::span<const std::uint32_t> labels, double* out) const;

private:
    void lay_factor(const Factor& factor);
    void find_components();
    void choose_order();
    void pair_message(const LaidFactor& f, std::uint32_t place, const double* other, double* out,
                      std::uint32_t fixed) const;
    void table_message(const LaidFactor& f, std::uint32_t place, const double* given, double* out,
                       const std::uint32_t* fixed) const;
    void count_message(const LaidFactor& f, std::uint32_t place, const double* given, double* out,
                       const std::uint32_t* fixed) const;
    double best_pair(const LaidFactor& f, const double* given, std::uint32_t* labels) const;
    double best_table(const LaidFactor& f, const double* given, std::uint32_t* labels) const;
    double best_count(const LaidFactor& f, const double* given, std::uint32_t* labels) const;
    double best_structure(const LaidFactor& f, const double* given, std::uint32_t* labels, Parts* parts) const;
};

// Joint labellings of some variables one after the other, the last fastest. Those that are fixed stay.
class Labellings {
public:
    Labellings(std::vector<std::uint32_t> n_labels, std::vector<std::uint32_t> fixed);
    const std::vector<std::uint32_t>& labels() const { return labels_; }
    bool next();

private:
    std::vector<std::uint32_t> n_labels_, fixed_, labels_;
};

// Whether a search may go on: time, and Ctrl-C.
class Deadline {
public:
    explicit Deadline(double seconds);
    bool passed() const;

private:
    bool limited_;
    std::chrono::steady_clock::time_point end_;
};

}  // namespace tw::graphs
