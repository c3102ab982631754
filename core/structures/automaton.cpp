// Label sequences that a deterministic automaton accepts: the history is its state (Carreras, "Beyond Bigrams"). A
// chain of order M is the automaton whose states are the last M labels; rules such as "at most two of these" are
// others.
//
//     shape: [length]       output: a label for each position
//     labels   length x K
//     arcs     1 x n_arcs, tied: all positions share them; or length x n_arcs
//
// A label does not follow from the state it leads to, so there are two kinds of nodes a position: arrivals, one for
// each (label, state) that some arc leads to, and states, which add up the arrivals in them. No edge is visited for
// arcs that do not exist: the cost is T (arcs + arrivals).
#include <map>
#include <stdexcept>

#include "dynamic_program.hpp"
#include "families.hpp"

namespace tw {
namespace {

class AutomatonFamily {
public:
    // State 0 is the first. `final`: non-zero for states that a sequence may end in. Throws std::invalid_argument when
    // two arcs leave a state with one label.
    AutomatonFamily(std::size_t n_labels, std::vector<Arc> arcs, std::vector<std::uint8_t> final, bool tied)
        : n_labels_(n_labels), tied_(tied), arcs_(std::move(arcs)), final_(std::move(final)) {
        std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> number;  // of (label, state): by label first
        for (const Arc& arc : arcs_) {
            if (arc.from >= final_.size() || arc.to >= final_.size() || arc.label >= n_labels_)
                throw std::invalid_argument("an arc has a state or a label out of range");
            number.emplace(std::pair{arc.label, arc.to}, 0);
        }
        for (auto& [pair, at] : number) {
            at = static_cast<std::uint32_t>(arrivals_.size());
            arrivals_.push_back({pair.first, pair.second});
        }
        next_.assign(final_.size() * n_labels_, kNone);
        into_.resize(arrivals_.size());
        in_state_.resize(final_.size());
        for (std::uint32_t a = 0; a < arcs_.size(); ++a) {
            std::uint32_t& next = next_[arcs_[a].from * n_labels_ + arcs_[a].label];
            if (next != kNone) throw std::invalid_argument("two arcs leave a state with the same label");
            next = a;
            into_[number.at({arcs_[a].label, arcs_[a].to})].push_back(a);
        }
        for (std::uint32_t j = 0; j < arrivals_.size(); ++j) in_state_[arrivals_[j].state].push_back(j);
    }

    std::size_t n_labels() const { return n_labels_; }
    const std::vector<Arc>& arcs() const { return arcs_; }

    std::vector<Block> blocks(Shape shape) const {
        return {{"labels", shape[0], n_labels_}, {"arcs", tied_ ? 1 : shape[0], arcs_.size()}};
    }
    Part arc_part(std::size_t length, std::size_t t, std::uint32_t arc) const {
        return static_cast<Part>(length * n_labels_ + (tied_ ? 0 : t * arcs_.size()) + arc);
    }

    void parts_of(Shape shape, std::span<const std::uint32_t> labels, Parts& parts) const {
        if (labels.size() != shape[0]) throw std::invalid_argument("there must be one label for each position");
        std::uint32_t state = 0;
        for (std::size_t t = 0; t < labels.size(); ++t) {
            if (labels[t] >= n_labels_) throw std::invalid_argument("a label is out of range");
            const std::uint32_t arc = next_[state * n_labels_ + labels[t]];
            if (arc == kNone) throw std::invalid_argument("the automaton does not accept these labels");
            parts.push_back(static_cast<Part>(t * n_labels_ + labels[t]));
            parts.push_back(arc_part(shape[0], t, arc));
            state = arcs_[arc].to;
        }
        if (!final_[state]) throw std::invalid_argument("the automaton does not accept an end after these labels");
    }

    void output_of(Shape shape, std::span<const Part> parts, std::vector<std::uint32_t>& labels) const {
        for (std::size_t t = 0; t < shape[0]; ++t) labels.push_back(static_cast<std::uint32_t>(parts[t] % n_labels_));
    }

    struct Program {  // node 0 is the first state; then, for each position, its arrivals and its states; then the goal
        const AutomatonFamily& family;
        std::size_t length;

        std::size_t layer() const { return family.arrivals_.size() + family.final_.size(); }
        std::size_t n_nodes() const { return 2 + length * layer(); }
        std::size_t first_state(std::size_t t) const { return 1 + t * layer() + family.arrivals_.size(); }

        Part node_part(std::size_t v) const {
            if (v == 0 || v + 1 == n_nodes()) return kNoPart;
            const std::size_t t = (v - 1) / layer(), j = (v - 1) % layer();
            return j < family.arrivals_.size() ? static_cast<Part>(t * family.n_labels_ + family.arrivals_[j].label)
                                               : kNoPart;
        }

        template <class Visit>
        void incoming(std::size_t v, Visit visit) const {
            if (v == 0) return visit(kNoPart);
            const std::size_t t = (v - 1) / layer(), j = (v - 1) % layer();
            const auto arc_part = [&](std::uint32_t a) { return family.arc_part(length, t, a); };
            if (v + 1 == n_nodes()) {
                if (length == 0 && family.final_[0]) visit(kNoPart, 0);
                for (std::size_t i = 0; length > 0 && i < family.arrivals_.size(); ++i)
                    if (family.final_[family.arrivals_[i].state]) visit(kNoPart, 1 + (length - 1) * layer() + i);
            } else if (j >= family.arrivals_.size()) {
                for (const std::uint32_t i : family.in_state_[j - family.arrivals_.size()]) visit(kNoPart, v - j + i);
            } else {
                for (const std::uint32_t a : family.into_[j])
                    if (t > 0)
                        visit(arc_part(a), first_state(t - 1) + family.arcs_[a].from);
                    else if (family.arcs_[a].from == 0)
                        visit(arc_part(a), 0);
            }
        }
    };
    Program program(Shape shape) const { return {*this, shape[0]}; }

private:
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};
    struct Arrival {
        std::uint32_t label, state;
    };

    std::size_t n_labels_;
    bool tied_;
    std::vector<Arc> arcs_;
    std::vector<std::uint8_t> final_;
    std::vector<Arrival> arrivals_;                     // by label, then state
    std::vector<std::uint32_t> next_;                   // [state][label]: the arc, or kNone
    std::vector<std::vector<std::uint32_t>> into_;      // arcs into each arrival
    std::vector<std::vector<std::uint32_t>> in_state_;  // arrivals in each state
};

}  // namespace

std::unique_ptr<DerivationStructure> automaton_structure(std::size_t n_labels, std::vector<Arc> arcs,
                                                         std::vector<std::uint8_t> final, bool tied) {
    return std::make_unique<DynamicProgram<AutomatonFamily>>(
        AutomatonFamily(n_labels, std::move(arcs), std::move(final), tied));
}

}  // namespace tw
