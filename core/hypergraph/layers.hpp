// The fast way through programs made of equal layers, as automata over labels are: vectors in place of nodes.
//
//     states at t - 1 --arcs--> arrivals at t, one for each (label, state) that some arc leads to --> states at t
//
// A layer is a sparse matrix times a vector (kernels/runs.hpp). Sums run on exponentiated scores: the largest is taken
// out of every row, and powers of two out of layers (Rabiner 1989, sec. V-A). What is not zero must stay within
// [1e-100, 1e100], so that one step makes at least 1e-300 and nothing vanishes unnoticed; where it does not, the
// recursions in logarithms have to answer. Where every state has one arrival, as with n-grams, arrivals and states are
// one vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../kernels/runs.hpp"

namespace tw {

struct Arc {
    std::uint32_t from, label, to;
};

namespace hypergraph {

struct LayerScores {
    std::size_t length;    // at least 1
    const double* labels;  // [length][n_labels]
    const double* arcs;    // [n_arcs], or [length][n_arcs] when not tied
    bool tied;
};

class Layers {
public:
    struct Arrival {
        std::uint32_t label, state;
    };
    // Kept from one call to the next.
    struct Space {
        std::vector<double> local;            // [t][label], exponentiated
        std::vector<double> arcs, in, out;    // weights by arc, as rows of arcs into arrivals, and out of states
        std::vector<double> states, arrived;  // [t][slot], from before the first position on; [t][row]
        std::vector<double> factors;          // taken out of each layer
        std::vector<double> counts, after, row, rest, ones, products, by_label;
    };

    // Layers start in state 0. States, labels and targets must be in range.
    Layers(std::size_t n_labels, std::vector<Arc> arcs, std::vector<std::uint8_t> final);

    const std::vector<Arc>& arcs() const { return arcs_; }
    const std::vector<std::uint8_t>& final() const { return final_; }
    const std::vector<Arrival>& arrivals() const { return arrivals_; }  // by label, then state
    std::span<const std::uint32_t> into(std::size_t arrival) const { return into_.of(arrival); }      // arcs
    std::span<const std::uint32_t> in_state(std::size_t state) const { return in_state_.of(state); }  // arrivals

    // The best way through the layers as arcs, and its score, -inf when there is none. Equal scores: what the lists
    // above have first.
    double best(const LayerScores& scores, Space& space, std::vector<std::uint32_t>& chosen) const;

    // The best score of a way to each node: the first state; then, position by position, arrivals and states; the end.
    std::vector<double> inside_best(const LayerScores& scores, Space& space) const;

    // log Z, -inf when there is no way; expected counts of labels and arcs unless they are null. False when values
    // left the safe range: then nothing is said.
    bool sums(const LayerScores& scores, Space& space, double& log_z, double* labels, double* arcs) const;

private:
    struct Lists {
        std::vector<std::uint32_t> begins, items;
        std::span<const std::uint32_t> of(std::size_t i) const {
            return std::span(items).subspan(begins[i], begins[i + 1] - begins[i]);
        }
        std::size_t size() const { return begins.size() - 1; }
    };
    static Lists grouped(std::size_t n, std::span<const std::uint32_t> group_of);

    // Lists as rows of entries, the longest first.
    struct Matrix {
        std::vector<std::uint32_t> lists;         // which one a row is; kNone for rows that fill a chunk up
        std::vector<std::uint32_t> begins, item;  // item: kNone where a list has no more
        std::vector<std::uint32_t> from;          // where the item's value is
        Runs runs() const { return {begins.size() - 1, begins.data(), from.data()}; }
        std::size_t n_rows() const { return lists.size(); }
        std::size_t n_entries() const { return item.size(); }
        template <class Place>
        void find(std::uint32_t nowhere, Place place) {
            for (const std::uint32_t i : item) from.push_back(i == kNone ? nowhere : place(i));
        }
    };
    static Matrix matrix(const Lists& lists);
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

    // States that lead to the same arrivals, label by label, as histories with the same last labels do.
    struct Blocks {
        std::vector<std::uint32_t> source_begins{0}, sources, pack_begins{0}, columns, entry_begins, item;
        RunBlocks runs() const {
            return {source_begins.size() - 1, source_begins.data(), sources.data(),
                    pack_begins.data(),       columns.data(),       entry_begins.data()};
        }
    };
    void find_blocks(const Lists& leaving);

    double* states(Space& space, std::size_t t) const { return space.states.data() + t * n_slots_; }
    double* arrived(Space& space, std::size_t t) const {  // after states of t
        return single_ ? states(space, t + 1) : space.arrived.data() + t * (n_rows() + kRunLanes);
    }
    std::size_t n_rows() const { return arriving_.n_rows(); }
    void make_room(std::size_t length, double zero, double one, Space& space) const;
    void spread(const std::vector<double>& of_arcs, const std::vector<std::uint32_t>& items,
                std::vector<double>& out) const;
    const std::vector<std::uint32_t>& items_in() const { return blocked_ ? blocks_.item : arriving_.item; }
    const std::vector<std::uint32_t>& items_out() const { return blocked_ ? blocks_.item : leaving_.item; }
    void max_forward(const LayerScores& scores, Space& space) const;
    bool weigh(const LayerScores& scores, std::size_t t, Space& space, double& shift) const;
    bool sum_forward(const LayerScores& scores, Space& space, double& log_z) const;
    bool sum_backward(const LayerScores& scores, Space& space, double* labels, double* arcs) const;
    void trace(const LayerScores& scores, Space& space, std::uint32_t arrival,
               std::vector<std::uint32_t>& chosen) const;

    std::size_t n_labels_;
    std::vector<Arc> arcs_;
    std::vector<std::uint8_t> final_;
    std::vector<Arrival> arrivals_;
    std::vector<std::uint32_t> arrival_;  // of each arc
    Lists into_, in_state_;
    bool single_ = true;                   // every state has one arrival at most
    Matrix arriving_, joining_, leaving_;  // arcs into arrivals, arrivals into states, arcs out of states
    Matrix labelling_;                     // arrivals of labels
    Blocks blocks_;
    bool blocked_ = false;                             // blocks are full enough to be faster than single edges
    std::vector<std::uint32_t> row_, slot_;            // of each arrival; of each state in a vector of states
    std::vector<std::uint32_t> row_label_, row_slot_;  // of each row: its label, the slot of its state
    std::vector<std::uint32_t> leaving_slot_;          // of each row of arcs out of states: the slot of its state
    std::vector<double> slot_final_;
    std::size_t n_slots_ = 0;  // the last is always zero
};

}  // namespace hypergraph
}  // namespace tw
