// The best arborescence: a head for every word so that all words hang below the root, with the highest sum of scores.
//
//     rows[m * (n + 1) + h]     the score of the arc from head h to modifier m, -inf where there is none; h = 0 is the
//                               root, words are 1 to n. Row 0 is not looked at, the diagonal must be -inf.
//
// Every word takes its best head; a cycle becomes a node of its own, whose arcs are worth what they gain over the arc
// of the cycle that they replace (Chu & Liu 1965, Edmonds 1967). Nodes keep a row over the words, so a contraction is
// the maximum of a few rows, and all of it takes O(n^2) (Tarjan 1977). Which arc of a cycle is replaced is found again
// when the node is opened.
//
// One root: arcs from the root count as lower than all others, whatever their scores. Then a tree has as few of them as
// possible, and no constant takes part in any sum; the best of their own scores is taken out of them. If more than one
// is needed there is no tree. Trees are told apart to about 1e-15 of the largest score, as by any sum of doubles.
//
// Equal scores: a node takes the lowest head; an arc enters a cycle at the part with the lowest word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../base/interrupt.hpp"

namespace tw::spanning {

class Edmonds {
public:
    // Whether there is a tree; its heads are heads()[1 .. n].
    bool best(const double* rows, std::size_t n, bool single_root);
    std::span<const std::uint32_t> heads() const { return heads_; }

    // After best_to_change, which is slower than best: the modifier whose arc the second best tree does not have, and
    // what that one scores less (Camerini, Fratta & Maffioli 1980; Zmigrod, Vieira & Cotterell 2021). `other_label`:
    // what the next label of the arc into a modifier scores less, for all modifiers. The loss is infinite when there is
    // no other tree.
    struct Change {
        std::uint32_t modifier;
        double loss;
    };
    bool best_to_change(const double* rows, std::size_t n, bool single_root);
    Change change(std::span<const double> other_label);

private:
    struct Node {
        std::uint32_t head;             // of the arc chosen, a word or the root
        std::uint32_t first, n_inside;  // where its parts stand in parts_
        std::uint32_t lowest;           // its words: a list that begins with the lowest
        double score;                   // of the arc chosen
    };

    const double* row(std::uint32_t v) const {
        return v <= n_ ? rows_ + v * (n_ + 1) : contracted_.data() + (v - n_ - 1) * (n_ + 1);
    }
    double score(std::uint32_t v, std::size_t h) const { return h == 0 && v <= n_ ? row(v)[0] - of_root_ : row(v)[h]; }
    void start(const double* rows, std::size_t n, bool single_root);
    void choose(std::uint32_t v);
    bool is_tree();
    bool grow();
    void contract(std::size_t begin);
    void open(std::uint32_t v);
    double second(std::uint32_t v, std::uint32_t modifier, double other_label) const;

    const double* rows_ = nullptr;
    std::size_t n_ = 0;
    bool single_root_ = false;
    double of_root_ = 0.0;                     // with a single root: the best score of its arcs
    std::vector<double> contracted_;           // rows of the nodes that were made
    std::vector<Node> nodes_;                  // root, words, then these
    std::vector<std::uint32_t> parts_;         // of nodes that were made
    std::vector<std::uint32_t> within_;        // by word: the outermost node that has it
    std::vector<std::uint32_t> above_;         // by node: the one that it is part of
    std::vector<std::uint32_t> next_;          // by word: the next one of the same node
    std::vector<std::uint32_t> path_, place_;  // nodes whose arcs are being followed; by node, where it stands there
    std::vector<std::uint32_t> heads_, chosen_by_, stack_;  // chosen_by_: by word, the node that chose its arc
    std::vector<std::uint32_t> enter_, leave_;              // by word: its subtree is enter_ <= enter_[x] < leave_
    InterruptCheck check_;
};

}  // namespace tw::spanning
