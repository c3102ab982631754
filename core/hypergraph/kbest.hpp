// The k best derivations of a hypergraph, found when they are asked for (Huang & Chiang 2005, algorithm 3).
//
//     node   found:  the best derivations so far, best first     (edge, rank of each tail's derivation)
//            heap:   the next ones, of which one is the best     each edge once, and what follows what was found
//
// Only nodes that a good derivation passes through are ever looked into. No recursion: derivations may be 100,000 edges
// deep. Equal scores: the edge that is visited first, then the derivation that comes first at the first tail.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "recursions.hpp"

namespace tw::hypergraph {

template <class Program, class Scores>
class KBest {
public:
    // `in` are the max-plus semiring's inside scores.
    KBest(const Program& program, const Scores& scores, std::vector<double> in)
        : program_(program), scores_(scores), in_(std::move(in)), number_(program.n_nodes(), kNoNode) {}

    // The derivation of the goal with this rank, from 0, as on_step(node, edge) sees it from the goal down; false when
    // there are fewer. To be asked in rising order.
    template <class OnStep>
    bool find(std::size_t rank, double& score, OnStep on_step) {
        const Node goal = static_cast<Node>(program_.n_nodes() - 1);
        if (!reach(goal, static_cast<std::uint32_t>(rank))) return false;
        score = known(goal).found[rank].score;
        std::vector<std::pair<Node, std::uint32_t>> open{{goal, static_cast<std::uint32_t>(rank)}};
        while (!open.empty()) {
            const auto [v, r] = open.back();
            open.pop_back();
            State& here = state(v);
            if (here.found.size() <= r) reach(v, r);  // its best is not looked for before it is needed
            const Derivation& d = here.found[r];
            const auto& edge = here.edges[d.edge];
            on_step(v, edge);
            for (std::size_t i = 0; i < edge.n_tails; ++i) open.emplace_back(edge.tails[i], d.ranks[i]);
        }
        return true;
    }

private:
    struct Derivation {
        double score;
        std::uint32_t edge;
        std::array<std::uint32_t, 2> ranks;

        bool operator<(const Derivation& other) const {  // for a max-heap: worst first
            if (score != other.score) return score < other.score;
            if (edge != other.edge) return edge > other.edge;
            return ranks > other.ranks;
        }
    };
    struct State {
        std::vector<Edge<Program>> edges;
        std::vector<Derivation> found, heap;
        std::size_t n_followed = 0;  // of those found: whose followers are in the heap
        std::uint32_t next_tail = 0;
    };

    const State& known(Node v) const { return states_[number_[v]]; }

    State& state(Node v) {
        if (number_[v] != kNoNode) return states_[number_[v]];
        number_[v] = static_cast<Node>(states_.size());
        State& state = states_.emplace_back();
        each_edge(program_, v, [&](const Edge<Program>& edge) {
            const Derivation first{score(v, edge, {0, 0}), static_cast<std::uint32_t>(state.edges.size()), {0, 0}};
            if (first.score == kLogZero) return;
            state.edges.push_back(edge);
            state.heap.push_back(first);
        });
        std::make_heap(state.heap.begin(), state.heap.end());
        return state;
    }

    // Of derivations of the tails that are known. The first ones' are the inside scores.
    double score(Node v, const Edge<Program>& edge, const std::array<std::uint32_t, 2>& ranks) const {
        double total = weighs(edge.weight) ? scores_[edge.weight] : 0.0;
        for (std::size_t i = 0; i < edge.n_tails; ++i)
            total += ranks[i] == 0 ? in_[edge.tails[i]] : known(edge.tails[i]).found[ranks[i]].score;
        const Part own = part_of(program_, v);
        return own == kNoPart ? total : total + scores_[own];
    }

    // Finds derivations of v up to a rank; false when there are too few. A derivation is followed by those with the
    // next derivation of one tail; to meet each once, the first tail goes on only while the second has its best. That
    // asks a tail for more, which waits on a stack of our own.
    bool reach(Node goal, std::uint32_t rank) {
        waiting_.assign(1, {goal, rank});
        bool reached = false;
        while (!waiting_.empty()) {
            check_();
            const auto [v, wanted] = waiting_.back();
            State& here = state(v);
            if (here.found.size() > wanted) {
                reached = true;
                waiting_.pop_back();
                continue;
            }
            if (here.n_followed < here.found.size() && !follow(v, here)) continue;
            if (here.heap.empty()) {
                reached = false;
                waiting_.pop_back();
                continue;
            }
            std::pop_heap(here.heap.begin(), here.heap.end());
            here.found.push_back(here.heap.back());
            here.heap.pop_back();
        }
        return reached;
    }

    // Puts the followers of the last derivation found into the heap; false when a tail has to be asked first.
    bool follow(Node v, State& here) {
        const Derivation last = here.found[here.n_followed];
        const Edge<Program> edge = here.edges[last.edge];
        for (; here.next_tail < edge.n_tails; ++here.next_tail) {
            const std::uint32_t i = here.next_tail;
            if (i == 0 && edge.n_tails == 2 && last.ranks[1] > 0) continue;
            std::array<std::uint32_t, 2> ranks = last.ranks;
            ++ranks[i];
            const Node tail = edge.tails[i];
            const State& there = state(tail);
            if (there.found.size() <= ranks[i]) {
                if (!exhausted(there)) {
                    waiting_.emplace_back(tail, ranks[i]);
                    return false;
                }
                continue;
            }
            here.heap.push_back({score(v, edge, ranks), last.edge, ranks});
            std::push_heap(here.heap.begin(), here.heap.end());
        }
        here.next_tail = 0;
        ++here.n_followed;
        return true;
    }

    static bool exhausted(const State& state) { return state.heap.empty() && state.n_followed == state.found.size(); }

    const Program& program_;
    const Scores& scores_;
    std::vector<double> in_;
    InterruptCheck check_;
    std::vector<Node> number_;  // of each node's state, kNoNode while it has none
    std::deque<State> states_;  // stay where they are
    std::vector<std::pair<Node, std::uint32_t>> waiting_;
};

}  // namespace tw::hypergraph
