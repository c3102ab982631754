// Derivations drawn one after the other without repetition: each from the distribution over those that are left.
//
// Adding Gumbel noise to the log-probabilities of all derivations and sorting them gives exactly that order. The noise
// of a whole set is known before that of its members: its largest has the noise of the sum. So partial derivations wait
// in a heap by the largest perturbed score below them, and only the first is ever looked into (Kool, van Hoof & Welling
// 2020, "Ancestral Gumbel-top-k sampling", sec. 3).
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "../base/gumbel.hpp"
#include "recursions.hpp"

namespace tw::hypergraph {

template <class Program, class Scores, class Draw>
class DistinctSamples {
public:
    // `in` are the log-semiring's inside scores; draw() is uniform on [0, 1).
    DistinctSamples(const Program& program, const Scores& scores, std::span<const double> in, Draw draw)
        : program_(program), scores_(scores), in_(in), draw_(std::move(draw)) {
        if (in_.back() == kLogZero) return;
        open_.push_back({static_cast<Node>(program.n_nodes() - 1), kNothing});
        push({gumbel(draw_()), 0.0, kNothing, 0});
    }

    // The next derivation, as on_step(node, edge) sees it from the last step to the first; false when none is left.
    template <class OnStep>
    bool next(OnStep on_step) {
        while (!heap_.empty()) {
            check_();
            std::pop_heap(heap_.begin(), heap_.end());
            const Partial first = heap_.back();
            heap_.pop_back();
            if (first.open != kNothing) {
                expand(first);
                continue;
            }
            for (std::size_t i = first.last; i != kNothing; i = steps_[i].before)
                on_step(steps_[i].node, steps_[i].edge);
            return true;
        }
        return false;
    }

private:
    static constexpr std::size_t kNothing = ~std::size_t{0};

    struct Step {
        Node node;
        Edge<Program> edge;
        std::size_t before;
    };
    struct Open {  // nodes that have no edge yet
        Node node;
        std::size_t rest;
    };
    struct Partial {
        double perturbed, log_probability;  // the best perturbed below, and of all below
        std::size_t last, open;             // its last step; its open nodes
        bool operator<(const Partial& other) const { return perturbed < other.perturbed; }
    };

    void push(const Partial& partial) {
        heap_.push_back(partial);
        std::push_heap(heap_.begin(), heap_.end());
    }

    void expand(const Partial& from) {
        const auto [v, rest] = open_[from.open];
        edges_.clear();
        log_probability_.clear();
        each_edge(program_, v, [&](const Edge<Program>& edge) {
            const double score = edge_score(edge, scores_, in_);
            if (score == kLogZero) return;
            edges_.push_back(edge);
            log_probability_.push_back(score);
        });
        const double total = kernels().log_sum_exp(log_probability_.data(), log_probability_.size());
        perturbed_.clear();
        for (double& p : log_probability_) {
            p += from.log_probability - total;
            perturbed_.push_back(p + gumbel(draw_()));
        }
        const double largest = *std::ranges::max_element(perturbed_);
        for (std::size_t i = 0; i < edges_.size(); ++i) {
            steps_.push_back({v, edges_[i], from.last});
            std::size_t open = rest;
            for (const Node u : edges_[i].each()) {
                open_.push_back({u, open});
                open = open_.size() - 1;
            }
            push({given_largest(perturbed_[i], largest, from.perturbed), log_probability_[i], steps_.size() - 1, open});
        }
    }

    const Program& program_;
    const Scores& scores_;
    std::span<const double> in_;
    Draw draw_;
    InterruptCheck check_;
    std::vector<Step> steps_;
    std::vector<Open> open_;
    std::vector<Partial> heap_;
    std::vector<Edge<Program>> edges_;
    std::vector<double> log_probability_, perturbed_;
};

}  // namespace tw::hypergraph
