// First-order chains as a dynamic program: one of K labels at each position, pairs of neighbours scored. The kernels of
// chain/ answer the same questions faster; this is the definition that they are held to.
//
//     shape: [length]       output: a label for each position
//     labels        length x K          at node (position, label)
//     transitions   1 x K^2, tied: all steps share them; or (length - 1) x K^2
#pragma once

#include <stdexcept>

#include "dynamic_program.hpp"
#include "families.hpp"

namespace tw {

struct ChainFamily {
    std::size_t n_labels;
    bool tied = true;
    LabelRules rules = {};

    std::vector<Block> blocks(Shape shape) const {
        const std::size_t n_steps = shape[0] > 0 ? shape[0] - 1 : 0;
        return {{"labels", shape[0], n_labels}, {"transitions", tied ? 1 : n_steps, n_labels * n_labels}};
    }

    Part label_part(std::size_t t, std::size_t k) const { return static_cast<Part>(t * n_labels + k); }
    Part move_part(std::size_t length, std::size_t t, std::size_t a, std::size_t b) const {  // into position t
        const std::size_t site = tied ? 0 : t - 1;
        return static_cast<Part>(length * n_labels + (site * n_labels + a) * n_labels + b);
    }

    void parts_of(Shape shape, std::span<const std::uint32_t> labels, Parts& parts) const {
        if (labels.size() != shape[0]) throw std::invalid_argument("there must be one label for each position");
        for (std::size_t t = 0; t < labels.size(); ++t) {
            if (labels[t] >= n_labels) throw std::invalid_argument("a label is out of range");
            parts.push_back(label_part(t, labels[t]));
            if (t > 0) parts.push_back(move_part(shape[0], t, labels[t - 1], labels[t]));
        }
    }

    void output_of(Shape shape, std::span<const Part> parts, std::vector<std::uint32_t>& labels) const {
        for (std::size_t t = 0; t < shape[0]; ++t) labels.push_back(static_cast<std::uint32_t>(parts[t] % n_labels));
    }

    static constexpr bool kCentred = true;

    // The label of a position, given the one before it.
    void decisions(Shape shape, std::span<const Part> gold, const std::function<void(const Decision&)>& visit) const {
        Parts parts;
        for (std::size_t t = 0; t < shape[0]; ++t) {
            const std::size_t label = gold[t] % n_labels, before = t > 0 ? gold[t - 1] % n_labels : 0;
            std::size_t chosen = 0;
            parts.clear();
            for (std::size_t k = 0; k < n_labels; ++k) {
                if (t == 0 ? !rules.may_start(k) : !rules.may_follow(before, k, n_labels)) continue;
                if (t + 1 == shape[0] && !rules.may_end(k)) continue;
                if (k == label) chosen = parts.size() / 2;
                parts.push_back(label_part(t, k));
                parts.push_back(t > 0 ? move_part(shape[0], t, before, k) : kNoPart);
            }
            visit({parts, 2, chosen});
        }
    }

    struct Program {
        const ChainFamily& family;
        std::size_t length;

        std::size_t n_nodes() const { return length * family.n_labels + 1; }
        std::size_t covered(std::size_t v) const { return v / family.n_labels + 1; }
        Part node_part(std::size_t v) const { return v + 1 == n_nodes() ? kNoPart : static_cast<Part>(v); }

        template <class Visit>
        void incoming(std::size_t v, Visit visit) const {
            const std::size_t K = family.n_labels, t = v / K, b = v % K;
            if (v + 1 == n_nodes()) {
                if (length == 0) visit(kNoPart);
                for (std::size_t a = 0; length > 0 && a < K; ++a)
                    if (family.rules.may_end(a)) visit(kNoPart, (length - 1) * K + a);
            } else if (t == 0) {
                if (family.rules.may_start(b)) visit(kNoPart);
            } else {
                for (std::size_t a = 0; a < K; ++a)
                    if (family.rules.may_follow(a, b, K)) visit(family.move_part(length, t, a, b), (t - 1) * K + a);
            }
        }
    };
    Program program(Shape shape) const { return {*this, shape[0]}; }
};

}  // namespace tw
