// Projective dependency trees: no two arcs cross (Eisner 1996); parts, shape and output as in dependency.hpp.
//
// A head and its modifiers on one side are a span, which is built from the head outwards. A context is a head together
// with what its modifiers have to know of it: nothing, or with grandparents the arc into it.
//
//     labels(b)       the labels of arc b
//     span(c, e)      head h of context c with all words from h to e:    arc(c, h -> m) span(h -> m, e) for some m
//     split(s, m)     all words from s to m, which have one head:        span(s, k) span(m, k + 1) for some k
//     chain(c, b)     arc b = h -> m with all words between the two:     span(c, k) span(b, k + 1), as a split;
//                         with siblings: span(b, h + 1), or arc(c, h -> s) split(s, m) for some s
//     arc(c, b)       the same and the label of b:                       chain(c, b) labels(b)
//     tree(r)         all words under r, the only root:                  span(r, 1) span(r, n)
//
// A tree has one derivation. With k heads a word: O(n^2 k) edges; siblings O(n k^2) more (McDonald & Pereira 2006),
// grandparents k times as many (Koo & Collins 2010, model 1). Equal scores: lower labels first; otherwise what is lower
// where two trees first differ, seen from the root: its modifier, then how far each of two neighbours reaches. The
// best tree and sums have loops of their own: eisner.hpp, second_order_trees.hpp.
#include "../hypergraph/recursions.hpp"
#include "dependency.hpp"
#include "dynamic_program.hpp"
#include "eisner.hpp"
#include "families.hpp"
#include "second_order_trees.hpp"

namespace tw {
namespace {

using hypergraph::kNoNode;
using hypergraph::Node;

class ProjectiveProgram {
public:
    ProjectiveProgram(Shape shape, const DependencyBlocks& blocks, bool single_root)
        : sites_(shape, blocks), blocks_(blocks), single_root_(single_root) {
        number_items();
    }

    const DependencySites& sites() const { return sites_; }
    std::size_t n_nodes() const { return items_.size(); }

    template <class Visit>
    void incoming(std::size_t v, Visit visit) const {
        const auto [kind, a, b] = items_[v];
        switch (kind) {
            case Kind::kLabels:
                for (std::size_t label = 0; label < blocks_.n_labels; ++label) visit(sites_.arc_part(a, label));
                return;
            case Kind::kSpan:
                return into_span(a, b, visit);
            case Kind::kSplit:
                return into_split(a, b, visit);
            case Kind::kChain:
                return into_chain(a, b, visit);
            case Kind::kArc:
                return visit(grandparent(a, b), chain(a, b), b);
            case Kind::kTree:
                return visit(kNoPart, span(context(a), 1), span(context(a), sites_.n_words()));
            case Kind::kGoal:
                return into_goal(visit);
        }
    }

private:
    enum class Kind : std::uint32_t { kSplit, kChain, kArc, kSpan, kLabels, kTree, kGoal };
    struct Item {
        Kind kind;
        std::uint32_t a, b;
    };

    // Contexts are words; with grandparents they are arcs, and the last is the root's.
    std::uint32_t root() const { return grand() ? static_cast<std::uint32_t>(sites_.arcs().size()) : 0; }
    std::uint32_t context(std::uint32_t arc) const { return grand() ? arc : sites_.arcs()[arc].modifier; }
    std::uint32_t word(std::uint32_t c) const {
        return grand() && c != root() ? sites_.arcs()[c].modifier : grand() ? 0 : c;
    }
    bool grand() const { return blocks_.grandparents; }

    Node span(std::uint32_t c, std::size_t e) const { return span_[c * (sites_.n_words() + 1) + e]; }
    std::uint32_t pair(std::uint32_t c, std::uint32_t arc) const {
        if (!grand()) return arc;
        return pair_[arc] + (c == root() ? 0 : sites_.grandparent_part(arc, c));
    }
    Node chain(std::uint32_t c, std::uint32_t arc) const {
        if (blocks_.second_order()) return chain_[pair(c, arc)];
        const auto [h, m, site] = sites_.arcs()[arc];
        return split_[std::min(h, m) * (sites_.n_words() + 1) + std::max(h, m)];
    }
    Part grandparent(std::uint32_t c, std::uint32_t arc) const {
        return grand() && c != root() ? sites_.grandparent_part(arc, c) : kNoPart;
    }
    Part sibling(std::uint32_t arc, std::uint32_t sibling) const {
        return blocks_.siblings ? sites_.sibling_part(arc, sibling) : kNoPart;
    }

    // The head of context c, and everything to its left or right up to e.
    template <class Visit>
    void into_span(std::uint32_t c, std::uint32_t e, Visit visit) const {
        const std::uint32_t h = word(c);
        if (e == h) return visit(kNoPart);
        const auto [begin, end] = e > h ? sites_.right_of(h) : sites_.left_of(h);
        for (std::uint32_t i = begin; i < end; ++i) {
            const std::uint32_t b = sites_.out()[i], m = sites_.arcs()[b].modifier;
            if (e > h ? m <= e : m >= e) visit(kNoPart, arc_[pair(c, b)], span(context(b), e));
        }
    }

    // Of two contexts whose words are i < j: what lies between them belongs to i up to some word, then to j.
    template <class Visit>
    void into_split(std::uint32_t a, std::uint32_t b, Visit visit) const {
        const std::uint32_t i = word(a), j = word(b);
        for (std::uint32_t k = i; k < j; ++k) visit(kNoPart, span(a, k), span(b, k + 1));
    }

    template <class Visit>
    void into_chain(std::uint32_t c, std::uint32_t arc, Visit visit) const {
        const auto [h, m, site] = sites_.arcs()[arc];
        if (!blocks_.siblings) return m > h ? into_split(c, arc, visit) : into_split(arc, c, visit);
        visit(sibling(arc, DependencySites::kNone), span(context(arc), m > h ? h + 1 : h - 1));
        const auto [begin, end] = sites_.between(arc);
        for (std::uint32_t i = begin; i < end; ++i) {
            const std::uint32_t s = sites_.out()[i];
            visit(sibling(arc, s), arc_[pair(c, s)], split_[split(context(arc), context(s))]);
        }
    }

    template <class Visit>
    void into_goal(Visit visit) const {
        if (!single_root_) return visit(kNoPart, span(root(), sites_.n_words()));
        if (sites_.n_words() == 0) return visit(kNoPart);
        const auto [begin, end] = sites_.right_of(0);
        for (std::uint32_t i = begin; i < end; ++i) {
            const std::uint32_t b = sites_.out()[i];
            visit(sibling(b, DependencySites::kNone), first_tree_ + i - begin, b);
        }
    }

    // Where the split of two contexts stands: those of words, or of a modifier and its sibling.
    std::size_t split(std::uint32_t a, std::uint32_t b) const {
        if (!grand()) return std::min(a, b) * (sites_.n_words() + 1) + std::max(a, b);
        const auto [h, m, site] = sites_.arcs()[a];
        const bool further = sites_.arcs()[b].modifier < m ? h < m : h > m;  // is a
        return sites_.sibling_part(further ? a : b, further ? b : a) - sites_.sibling_part(0, DependencySites::kNone);
    }

    // All items, each at a level above those that it is made of.
    template <class Visit>
    void each_item(Visit visit) const {
        const auto arcs = sites_.arcs();
        const auto n = static_cast<std::uint32_t>(sites_.n_words()), first = single_root_ ? 1u : 0u;
        const auto distance = [](std::uint32_t a, std::uint32_t b) { return a < b ? b - a : a - b; };
        const auto level = [](std::uint32_t width, Kind kind) { return width * 4 + static_cast<std::uint32_t>(kind); };
        const auto spans = [&](std::uint32_t c, std::uint32_t begin, std::uint32_t end) {
            for (std::uint32_t e = begin; e <= end; ++e)
                visit(level(distance(word(c), e), Kind::kSpan), Item{Kind::kSpan, c, e});
        };
        const auto pairs = [&](std::uint32_t c, std::uint32_t b) {
            const std::uint32_t width = distance(arcs[b].head, arcs[b].modifier);
            if (blocks_.second_order()) visit(level(width, Kind::kChain), Item{Kind::kChain, c, b});
            visit(level(width, Kind::kArc), Item{Kind::kArc, c, b});
        };
        for (std::uint32_t b = 0; b < arcs.size(); ++b) {
            const auto [h, m, site] = arcs[b];
            visit(0, Item{Kind::kLabels, b, 0});
            if (grand()) spans(b, h < m ? h + 1 : 1, h > m ? h - 1 : n);
            if (h == 0) {
                if (!single_root_)
                    pairs(root(), b);
                else
                    visit(level(n + 1, Kind::kSplit), Item{Kind::kTree, b, 0});
            } else if (!grand()) {
                pairs(h, b);
            } else {
                const auto [begin, end] = sites_.into(h);
                for (std::uint32_t c = begin; c < end; ++c)
                    if (sites_.grandparent_part(b, c) != kNoPart) pairs(c, b);
            }
            if (grand() && blocks_.siblings && (h > 0 || !single_root_)) {
                const auto [begin, end] = sites_.between(b);
                for (std::uint32_t i = begin; i < end; ++i) {
                    const std::uint32_t s = sites_.out()[i];
                    visit(level(distance(arcs[s].modifier, m), Kind::kSplit),
                          h < m ? Item{Kind::kSplit, s, b} : Item{Kind::kSplit, b, s});
                }
            }
        }
        if (!single_root_) spans(root(), 0, n);
        for (std::uint32_t i = first; !grand() && i <= n; ++i) {
            if (i > 0) spans(i, 1, n);
            for (std::uint32_t j = i + 1; j <= n; ++j) visit(level(j - i, Kind::kSplit), Item{Kind::kSplit, i, j});
        }
        visit(level(n + 1, Kind::kChain), Item{Kind::kGoal, 0, 0});
    }

    void number_items() {
        const std::size_t n = sites_.n_words(), n_arcs = sites_.arcs().size();
        std::uint32_t n_pairs = grand() ? 0 : static_cast<std::uint32_t>(n_arcs);
        for (std::uint32_t b = 0; grand() && b < n_arcs; ++b) {
            const auto [begin, end] = sites_.grandparent_parts(b);
            const bool below_root = sites_.arcs()[b].head == 0;
            pair_.push_back(below_root ? n_pairs : n_pairs - begin);
            n_pairs += below_root ? 1 : end - begin;
        }
        span_.assign((grand() ? n_arcs + 1 : n + 1) * (n + 1), kNoNode);
        chain_.assign(n_pairs, kNoNode);
        arc_.assign(n_pairs, kNoNode);
        split_.assign(grand() ? sites_.n_siblings() : (n + 1) * (n + 1), kNoNode);

        std::vector<Node> next(4 * (n + 2) + 1, 0);
        each_item([&](std::uint32_t level, const Item&) { ++next[level + 1]; });
        for (std::size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
        items_.resize(next.back());
        each_item([&](std::uint32_t level, const Item& item) {
            const Node v = next[level]++;
            items_[v] = item;
            switch (item.kind) {
                case Kind::kSpan:
                    span_[item.a * (n + 1) + item.b] = v;
                    break;
                case Kind::kSplit:
                    split_[split(item.a, item.b)] = v;
                    break;
                case Kind::kChain:
                    chain_[pair(item.a, item.b)] = v;
                    break;
                case Kind::kArc:
                    arc_[pair(item.a, item.b)] = v;
                    break;
                case Kind::kTree:
                    if (first_tree_ == kNoNode) first_tree_ = v;
                    break;
                default:
                    break;
            }
        });
    }

    DependencySites sites_;
    DependencyBlocks blocks_;
    bool single_root_;
    std::vector<Item> items_;
    std::vector<std::uint32_t> pair_;               // by arc: where its pairs with contexts begin
    std::vector<Node> span_, split_, chain_, arc_;  // [context][e]; [lower word][higher], or by sibling site; by pair
    Node first_tree_ = kNoNode;
};

struct ProjectiveTreeFamily {
    DependencyBlocks options;
    bool single_root;

    DependencyArcs arcs(Shape shape) const { return {shape, options.n_labels}; }
    std::vector<Block> blocks(Shape shape) const {
        if (options.second_order()) return DependencySites(shape, options).blocks();
        return {{"arcs", arcs(shape).n_sites(), options.n_labels}};
    }
    void parts_of(Shape shape, std::span<const std::uint32_t> output, Parts& parts) const {
        arcs(shape).parts_of(output, single_root, parts);
        if (options.second_order()) DependencySites(shape, options).add_parts(output.first(shape[0]), parts);
    }
    void output_of(Shape shape, std::span<const Part> parts, std::vector<std::uint32_t>& output) const {
        arcs(shape).output_of(parts, output);
    }
    // Head selection, which has no siblings and no grandparents.
    bool decides() const { return !options.second_order(); }
    void decisions(Shape shape, std::span<const Part> gold, const std::function<void(const Decision&)>& visit) const {
        arcs(shape).decisions(gold, visit);
    }
    double centre(Shape shape, const PartScores& given, std::vector<double>& values) const {
        return arcs(shape).centre(given, values);
    }
    std::size_t dead_end(Shape shape, const PartScores& scores) const {
        const ProjectiveProgram tree = program(shape);
        std::vector<std::uint32_t> modifiers;
        for (const auto& words : tree.sites().siblings()) modifiers.push_back(words[2]);
        for (const auto& words : tree.sites().grandparents()) modifiers.push_back(words[2]);
        const auto possible = [&](const PartScores& free) {
            return hypergraph::inside(MaxPlus{}, tree, free).back() != kLogZero;
        };
        return arcs(shape).without_head(scores, possible, modifiers);
    }
    ProjectiveProgram program(Shape shape) const { return {shape, options, single_root}; }

    struct Space {
        Eisner first_order;
        SecondOrderTrees second_order;
    };
    bool best(Shape shape, const PartScores& scores, Space& space, Answer& answer) const {
        if (!options.second_order()) return space.first_order.best(arcs(shape), single_root, scores, answer);
        if (shape[0] == 0) return false;
        space.second_order.best(shape, options, single_root, scores, answer);
        return true;
    }
    bool sums(Shape shape, const PartScores& scores, Space& space, double& log_z, double* expected) const {
        if (!options.second_order()) return space.first_order.sums(arcs(shape), single_root, scores, log_z, expected);
        return shape[0] > 0 && space.second_order.sums(shape, options, single_root, scores, log_z, expected);
    }
};

}  // namespace

std::unique_ptr<DerivationStructure> projective_tree_structure(const DependencyBlocks& blocks, bool single_root) {
    return std::make_unique<DynamicProgram<ProjectiveTreeFamily>>(ProjectiveTreeFamily{blocks, single_root});
}

}  // namespace tw
