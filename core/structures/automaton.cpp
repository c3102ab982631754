// Label sequences that a deterministic automaton accepts: the history is its state (Carreras, "Beyond Bigrams").
//
//     shape: [length]       output: a label for each position
//     labels   length x K
//     arcs     1 x n_arcs, tied: all positions share them; or length x n_arcs
//
// A label does not follow from the state it leads to, so there are two kinds of nodes a position: arrivals, one for
// each (label, state) that some arc leads to, and states, which add up the arrivals in them: T (arcs + arrivals) edges.
#include <stdexcept>

#include "../hypergraph/layers.hpp"
#include "dynamic_program.hpp"
#include "families.hpp"

namespace tw {
namespace {

class AutomatonFamily {
public:
    AutomatonFamily(std::size_t n_labels, std::vector<Arc> arcs, std::vector<std::uint8_t> final, bool tied)
        : n_labels_(n_labels),
          tied_(tied),
          next_(next(n_labels, arcs, final.size())),
          layers_(n_labels, std::move(arcs), std::move(final)) {}

    std::vector<Block> blocks(Shape shape) const {
        return {{"labels", shape[0], n_labels_}, {"arcs", tied_ ? 1 : shape[0], n_arcs()}};
    }
    Part label_part(std::size_t t, std::size_t label) const { return static_cast<Part>(t * n_labels_ + label); }
    Part arc_part(std::size_t length, std::size_t t, std::uint32_t arc) const {
        return static_cast<Part>(length * n_labels_ + (tied_ ? 0 : t * n_arcs()) + arc);
    }

    void parts_of(Shape shape, std::span<const std::uint32_t> labels, Parts& parts) const {
        if (labels.size() != shape[0]) throw std::invalid_argument("there must be one label for each position");
        std::uint32_t state = 0;
        for (std::size_t t = 0; t < labels.size(); ++t) {
            if (labels[t] >= n_labels_) throw std::invalid_argument("a label is out of range");
            const std::uint32_t arc = next_[state * n_labels_ + labels[t]];
            if (arc == kNoPart) throw std::invalid_argument("the automaton does not accept these labels");
            parts.push_back(label_part(t, labels[t]));
            parts.push_back(arc_part(shape[0], t, arc));
            state = layers_.arcs()[arc].to;
        }
        if (!layers_.final()[state])
            throw std::invalid_argument("the automaton does not accept an end after these labels");
    }

    void output_of(Shape shape, std::span<const Part> parts, std::vector<std::uint32_t>& labels) const {
        for (std::size_t t = 0; t < shape[0]; ++t) labels.push_back(static_cast<std::uint32_t>(parts[t] % n_labels_));
    }

    static constexpr bool kCentred = true;

    // The label of a position, given the state that the labels before it led to.
    void decisions(Shape shape, std::span<const Part> gold, const std::function<void(const Decision&)>& visit) const {
        Parts parts;
        std::uint32_t state = 0;
        for (std::size_t t = 0; t < shape[0]; ++t) {
            const std::uint32_t right = next_[state * n_labels_ + gold[t] % n_labels_];
            std::size_t chosen = 0;
            parts.clear();
            for (std::size_t k = 0; k < n_labels_; ++k) {
                const std::uint32_t arc = next_[state * n_labels_ + k];
                if (arc == kNoPart || (t + 1 == shape[0] && !layers_.final()[layers_.arcs()[arc].to])) continue;
                if (arc == right) chosen = parts.size() / 2;
                parts.push_back(label_part(t, k));
                parts.push_back(arc_part(shape[0], t, arc));
            }
            visit({parts, 2, chosen});
            state = layers_.arcs()[right].to;
        }
    }

    struct Program {  // node 0 is the first state; then, for each position, its arrivals and its states; then the goal
        const AutomatonFamily& family;
        const hypergraph::Layers& layers;
        std::size_t length, n_arrivals = layers.arrivals().size(), layer = n_arrivals + layers.final().size();

        std::size_t n_nodes() const { return 2 + length * layer; }
        std::size_t first(std::size_t t) const { return 1 + t * layer; }
        std::size_t covered(std::size_t v) const { return v == 0 ? 0 : (v - 1) / layer + 1; }

        Part node_part(std::size_t v) const {
            const std::size_t t = (v - 1) / layer, j = (v - 1) % layer;
            if (v == 0 || v + 1 == n_nodes() || j >= n_arrivals) return kNoPart;
            return family.label_part(t, layers.arrivals()[j].label);
        }

        template <class Visit>
        void incoming(std::size_t v, Visit visit) const {
            if (v == 0) return visit(kNoPart);
            const std::size_t t = (v - 1) / layer, j = (v - 1) % layer;
            if (v + 1 == n_nodes()) {
                if (length == 0 && layers.final()[0]) visit(kNoPart, 0);
                for (std::size_t i = 0; length > 0 && i < n_arrivals; ++i)
                    if (layers.final()[layers.arrivals()[i].state]) visit(kNoPart, first(length - 1) + i);
            } else if (j >= n_arrivals) {
                for (const std::uint32_t i : layers.in_state(j - n_arrivals)) visit(kNoPart, first(t) + i);
            } else {
                for (const std::uint32_t a : layers.into(j))
                    if (const std::uint32_t from = layers.arcs()[a].from; t > 0 || from == 0)
                        visit(family.arc_part(length, t, a), t > 0 ? first(t - 1) + n_arrivals + from : 0);
            }
        }
    };
    Program program(Shape shape) const { return {*this, layers_, shape[0]}; }

    // The same answers, layer by layer.
    struct Space {
        hypergraph::Layers::Space layers;
        std::vector<double> scores;
        std::vector<std::uint32_t> arcs;
    };
    bool best(Shape shape, const PartScores& scores, Space& space, Answer& out) const {
        if (shape[0] == 0) return false;
        out.score = layers_.best(layer_scores(shape, scores, space), space.layers, space.arcs);
        out.parts.clear();
        for (std::size_t t = 0; out.score != kLogZero && t < shape[0]; ++t) {
            out.parts.push_back(label_part(t, layers_.arcs()[space.arcs[t]].label));
            out.parts.push_back(arc_part(shape[0], t, space.arcs[t]));
        }
        std::ranges::sort(out.parts);
        return true;
    }
    std::vector<double> inside_best(Shape shape, const PartScores& scores, Space& space) const {
        return layers_.inside_best(layer_scores(shape, scores, space), space.layers);
    }
    bool sums(Shape shape, const PartScores& scores, Space& space, double& log_z, double* expected) const {
        if (shape[0] == 0) return false;
        return layers_.sums(layer_scores(shape, scores, space), space.layers, log_z, expected,
                            expected ? expected + shape[0] * n_labels_ : nullptr);
    }

private:
    std::size_t n_arcs() const { return layers_.arcs().size(); }

    // [state][label]: the arc, or kNoPart.
    static std::vector<std::uint32_t> next(std::size_t n_labels, const std::vector<Arc>& arcs, std::size_t n_states) {
        if (n_states == 0) throw std::invalid_argument("an automaton has one state at least");
        std::vector<std::uint32_t> out(n_states * n_labels, kNoPart);
        for (std::uint32_t a = 0; a < arcs.size(); ++a) {
            if (arcs[a].from >= n_states || arcs[a].to >= n_states || arcs[a].label >= n_labels)
                throw std::invalid_argument("an arc has a state or a label out of range");
            std::uint32_t& arc = out[arcs[a].from * n_labels + arcs[a].label];
            if (arc != kNoPart) throw std::invalid_argument("two arcs leave a state with the same label");
            arc = a;
        }
        return out;
    }

    hypergraph::LayerScores layer_scores(Shape shape, const PartScores& scores, Space& space) const {
        const double* values = scores.masked(space.scores);
        return {shape[0], values, values + shape[0] * n_labels_, tied_};
    }

    std::size_t n_labels_;
    bool tied_;
    std::vector<std::uint32_t> next_;
    hypergraph::Layers layers_;
};

}  // namespace

std::unique_ptr<DerivationStructure> automaton_structure(std::size_t n_labels, std::vector<Arc> arcs,
                                                         std::vector<std::uint8_t> final, bool tied) {
    return std::make_unique<DynamicProgram<AutomatonFamily>>(
        AutomatonFamily(n_labels, std::move(arcs), std::move(final), tied));
}

}  // namespace tw
