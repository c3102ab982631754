// The parts of dependency trees, the same for every structure over them. Words are 1 to n; 0 is the root, which stands
// before the first word.
//
//     shape [n]                                     every word may be the head of every other
//     shape [n, starts_0 .. starts_n, heads ...]    pruned: modifier m may have the heads [starts_m-1, starts_m),
//     rising output                                        n heads; then n labels, where there are two labels or more
//
//     arcs           L codes, the labels (one without labels). Shape [n]: (n + 1)^2 sites, head * (n + 1) + modifier,
//                    of which column 0 and the diagonal are not used. Pruned: a site for each head listed, in that
//                    order
//     siblings       1 code. For each arc (h, m): site (h, none, m), then (h, s, m) for every s between h and m that
//     may
//                    have the head h, rising. A tree has the site whose s is the modifier of h next to m, towards h
//     grandparents   1 code. For each arc (h, m) with h > 0: site (g, h, m) for every g that may be the head of h and
//     is
//                    neither m nor between h and m, where no projective tree has it, rising
//
// The last two go through the arcs by modifier, heads rising: the order of the sites of pruned arcs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "structure.hpp"

namespace tw {

// Whether no two arcs of a tree cross: the words below each word, and the word itself, follow one another.
bool is_projective(std::span<const std::uint32_t> heads);

struct DependencyBlocks {
    std::size_t n_labels = 1;
    bool siblings = false, grandparents = false;

    bool second_order() const { return siblings || grandparents; }
};

// The arcs of one shape, which has to live as long: nothing is made, so this may be had again and again.
class DependencyArcs {
public:
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};
    struct Words {
        std::uint32_t head, modifier;
    };

    // Throws std::invalid_argument when the shape is not one.
    DependencyArcs(Shape shape, std::size_t n_labels);

    std::size_t n_words() const { return n_words_; }
    std::size_t n_labels() const { return n_labels_; }
    std::size_t n_sites() const { return n_sites_; }
    std::size_t size() const { return n_sites_ * n_labels_; }  // of the block
    bool pruned() const { return !starts_.empty(); }
    std::uint32_t site(std::size_t head, std::size_t modifier) const;  // kNone: not possible
    Words words(std::size_t site) const;                               // modifier 0: the site is not used

    // Calls visit(head, site) for each head that the word may have, rising.
    template <class Visit>
    void each_head(std::uint32_t modifier, Visit visit) const {
        if (pruned())
            for (std::uint32_t i = starts_[modifier - 1]; i < starts_[modifier]; ++i) visit(heads_[i], i);
        else
            for (std::uint32_t h = 0; h <= n_words_; ++h)
                if (h != modifier) visit(h, static_cast<std::uint32_t>(h * (n_words_ + 1) + modifier));
    }
    // Calls visit(part) for each label of each of these arcs.
    template <class Visit>
    void each_part(std::uint32_t modifier, Visit visit) const {
        each_head(modifier, [&](std::uint32_t, std::uint32_t site) {
            for (std::size_t label = 0; label < n_labels_; ++label) visit(static_cast<Part>(site * n_labels_ + label));
        });
    }

    // As a Structure has them. Any tree has parts, also one that is not projective, so that it can be gold; heads that
    // are not possible, cycles and, where there must be a single root, other numbers of roots are refused.
    void parts_of(std::span<const std::uint32_t> output, bool single_root, Parts& parts) const;
    void output_of(std::span<const Part> parts, std::vector<std::uint32_t>& output) const;
    // The head of each word with its label, by itself (head selection).
    void decisions(std::span<const Part> gold, const std::function<void(const Decision&)>& visit) const;
    // Every tree has one arc into each word: takes the best of these out of the scores, and returns their sum.
    double centre(const PartScores& given, std::vector<double>& values) const;
    // When there is no tree: the first word, from 0, that has no head, whatever heads the words after it may have.
    // `possible` says whether there is a tree. `modifiers`: of the parts after the arcs, if there are any.
    std::size_t without_head(const PartScores& scores, const std::function<bool(const PartScores&)>& possible,
                             std::span<const std::uint32_t> modifiers = {}) const;

private:
    std::size_t n_words_, n_labels_, n_sites_;
    Shape starts_, heads_;
};

// The sites of all parts of one shape, numbered. An arc is the number of its place in arcs().
class DependencySites {
public:
    static constexpr std::uint32_t kNone = DependencyArcs::kNone;
    struct Arc {
        std::uint32_t head, modifier, site;
    };
    struct Range {  // of numbers
        std::uint32_t begin, end;
    };

    DependencySites() = default;
    DependencySites(Shape shape, const DependencyBlocks& blocks) { read(shape, blocks); }
    // Throws std::invalid_argument when the shape is not one.
    void read(Shape shape, const DependencyBlocks& blocks);

    std::size_t n_words() const { return n_words_; }
    std::size_t n_siblings() const { return n_siblings_; }
    std::size_t n_parts() const { return n_arc_parts_ + n_siblings_ + n_grandparents_; }
    std::vector<Block> blocks() const;
    // The words of every site: (h, s or kNone, m) and (g, h, m).
    std::vector<std::array<std::uint32_t, 3>> siblings() const;
    std::vector<std::array<std::uint32_t, 3>> grandparents() const;
    // Adds the parts of the second order of a tree whose arcs have been checked.
    void add_parts(std::span<const std::uint32_t> heads, Parts& parts) const;

    std::span<const Arc> arcs() const { return arcs_; }
    Range into(std::size_t modifier) const { return {into_[modifier], into_[modifier + 1]}; }  // heads rising
    Part arc_part(std::uint32_t arc, std::size_t label) const {
        return static_cast<Part>(arcs_[arc].site * options_.n_labels + label);
    }

    // Arcs by head, modifiers rising; ranges and places are those of out().
    std::span<const std::uint32_t> out() const { return out_; }
    Range left_of(std::size_t head) const { return {out_first_[head], right_first_[head]}; }
    Range right_of(std::size_t head) const { return {right_first_[head], out_first_[head + 1]}; }
    Range between(std::uint32_t arc) const {  // the arcs of its head to modifiers between the two words
        const auto [head, modifier, site] = arcs_[arc];
        return modifier > head ? Range{right_first_[head], place_[arc]} : Range{place_[arc] + 1, right_first_[head]};
    }

    Part sibling_part(std::uint32_t arc, std::uint32_t sibling) const {  // an arc too, or kNone
        return first_sibling_[arc] + (sibling == kNone ? 0 : 1 + place_[sibling] - between(arc).begin);
    }
    Range sibling_parts(std::uint32_t arc) const {
        const auto [begin, end] = between(arc);
        return {first_sibling_[arc], first_sibling_[arc] + 1 + end - begin};
    }
    // Of an arc whose head is not the root: `above` is the arc into its head; kNoPart where no projective tree has it.
    Part grandparent_part(std::uint32_t arc, std::uint32_t above) const {
        const std::uint32_t i = above - into_[arcs_[arc].head];
        if (i < below_[arc]) return first_grandparent_[arc] + i;
        return i < below_[arc] + gap_[arc] ? kNoPart : first_grandparent_[arc] + i - gap_[arc];
    }
    Range grandparent_parts(std::uint32_t arc) const { return {first_grandparent_[arc], first_grandparent_[arc + 1]}; }

private:
    void number_by_head();

    DependencyBlocks options_;
    std::size_t n_words_ = 0, n_sites_ = 0, n_arc_parts_ = 0, n_siblings_ = 0, n_grandparents_ = 0;
    std::vector<Arc> arcs_;
    std::vector<std::uint32_t> into_, out_, out_first_, right_first_, place_;
    std::vector<std::uint32_t> first_sibling_, first_grandparent_, below_, gap_;  // by arc
};

}  // namespace tw
