#include "dependency.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "../base/semiring.hpp"

namespace tw {

bool is_projective(std::span<const std::uint32_t> heads) {
    const std::size_t n = heads.size();
    std::vector<std::uint32_t> first(n + 1), last(n + 1), size(n + 1, 1), waiting(n + 1, 0);
    for (std::uint32_t m = 0; m <= n; ++m) first[m] = last[m] = m;
    for (const std::uint32_t head : heads)
        if (head <= n) ++waiting[head];
    for (std::uint32_t m = 1; m <= n; ++m)  // from each leaf up to the first word that waits for others
        for (std::uint32_t at = m; at != 0 && waiting[at] == 0;) {
            if (last[at] - first[at] + 1 != size[at]) return false;
            waiting[at] = ~std::uint32_t{0};  // done
            const std::uint32_t head = heads[at - 1];
            if (head > n) return false;
            first[head] = std::min(first[head], first[at]);
            last[head] = std::max(last[head], last[at]);
            size[head] += size[at];
            if (--waiting[head] > 0 || head > m) break;
            at = head;
        }
    return true;
}

DependencyArcs::DependencyArcs(Shape shape, std::size_t n_labels) : n_labels_(n_labels) {
    if (shape.empty()) throw std::invalid_argument("the shape of a tree begins with the number of its words");
    const std::size_t n = n_words_ = shape[0];
    n_sites_ = (n + 1) * (n + 1);
    if (shape.size() > 1) {
        if (shape.size() < n + 2 || shape[1] != 0 || shape.size() - n - 2 != shape[n + 1])
            throw std::invalid_argument("a pruned shape is n, n + 1 starts from 0, and the heads of each word");
        starts_ = shape.subspan(1, n + 1);
        heads_ = shape.subspan(n + 2);
        n_sites_ = heads_.size();
        for (std::size_t m = 1; m <= n; ++m) {
            if (starts_[m] < starts_[m - 1] || starts_[m] > n_sites_)
                throw std::invalid_argument("the starts of a pruned shape must not fall");
            for (std::size_t i = starts_[m - 1]; i < starts_[m]; ++i)
                if (heads_[i] > n || heads_[i] == m || (i > starts_[m - 1] && heads_[i] <= heads_[i - 1]))
                    throw std::invalid_argument("the possible heads of a word must be other words, rising");
        }
    }
    if (size() >= kNoPart) throw std::invalid_argument("a sentence is too long: prune the heads of its words");
}

std::uint32_t DependencyArcs::site(std::size_t head, std::size_t modifier) const {
    if (head > n_words_ || modifier == 0 || modifier > n_words_ || head == modifier) return kNone;
    if (!pruned()) return static_cast<std::uint32_t>(head * (n_words_ + 1) + modifier);
    const auto first = heads_.begin() + starts_[modifier - 1], last = heads_.begin() + starts_[modifier];
    const auto at = std::lower_bound(first, last, head);
    return at != last && *at == head ? static_cast<std::uint32_t>(at - heads_.begin()) : kNone;
}

DependencyArcs::Words DependencyArcs::words(std::size_t site) const {
    if (pruned()) {
        const auto above = std::upper_bound(starts_.begin(), starts_.end(), site);
        return {heads_[site], static_cast<std::uint32_t>(above - starts_.begin())};
    }
    const auto head = static_cast<std::uint32_t>(site / (n_words_ + 1)),
               modifier = static_cast<std::uint32_t>(site % (n_words_ + 1));
    return {head, head == modifier ? 0 : modifier};
}

void DependencyArcs::parts_of(std::span<const std::uint32_t> output, bool single_root, Parts& parts) const {
    const std::size_t n = n_words_;
    const bool labelled = n_labels_ > 1;
    if (output.size() != (labelled ? 2 * n : n))
        throw std::invalid_argument(labelled ? "a tree has a head and a label for each word"
                                             : "a tree has a head for each word");
    std::size_t n_roots = 0;
    for (std::size_t m = 1; m <= n; ++m) {
        const std::uint32_t head = output[m - 1], label = labelled ? output[n + m - 1] : 0, at = site(head, m);
        const auto refuse = [&](const std::string& what) {
            throw std::invalid_argument("word " + std::to_string(m) + " has " + what);
        };
        if (head > n || head == m) refuse("a head out of range");
        if (at == kNone) refuse("the head " + std::to_string(head) + ", which is not among its heads");
        if (label >= n_labels_) refuse("a label out of range");
        n_roots += head == 0;
        parts.push_back(static_cast<Part>(at * n_labels_ + label));
    }
    if (n > 0 && (single_root ? n_roots != 1 : n_roots == 0))
        throw std::invalid_argument("a tree has " + std::string(single_root ? "one root" : "a root") + ", this has " +
                                    std::to_string(n_roots));
    std::vector<std::uint32_t> seen(n + 1, 0);  // on the way up from which word
    for (std::uint32_t m = 1; m <= n; ++m) {
        std::uint32_t at = m;
        for (; at != 0 && seen[at] == 0; at = output[at - 1]) seen[at] = m;
        if (at != 0 && seen[at] == m)
            throw std::invalid_argument("word " + std::to_string(at) + " is among its own ancestors");
    }
}

void DependencyArcs::output_of(std::span<const Part> parts, std::vector<std::uint32_t>& output) const {
    output.assign(n_labels_ > 1 ? 2 * n_words_ : n_words_, 0);
    for (const Part part : parts) {
        if (part >= size()) continue;
        const auto [head, modifier] = words(part / n_labels_);
        output[modifier - 1] = head;
        if (n_labels_ > 1) output[n_words_ + modifier - 1] = static_cast<std::uint32_t>(part % n_labels_);
    }
}

void DependencyArcs::decisions(std::span<const Part> gold, const std::function<void(const Decision&)>& visit) const {
    Parts right(n_words_ + 1, kNoPart), parts;
    for (const Part part : gold)
        if (part < size()) right[words(part / n_labels_).modifier] = part;
    for (std::uint32_t m = 1; m <= n_words_; ++m) {
        std::size_t chosen = 0;
        parts.clear();
        each_part(m, [&](Part part) {
            if (part == right[m]) chosen = parts.size();
            parts.push_back(part);
        });
        visit({parts, 1, chosen});
    }
}

double DependencyArcs::centre(const PartScores& given, std::vector<double>& values) const {
    values.assign(given.scores.begin(), given.scores.end());
    CompensatedSum total;
    for (std::uint32_t m = 1; m <= n_words_; ++m) {
        double best = kLogZero;
        each_part(m, [&](Part part) { best = std::max(best, given[part]); });
        if (best == kLogZero) continue;
        total.add(best);
        each_part(m, [&](Part part) { values[part] -= best; });
    }
    return total.value();
}

std::size_t DependencyArcs::without_head(const PartScores& scores,
                                         const std::function<bool(const PartScores&)>& possible,
                                         std::span<const std::uint32_t> modifiers) const {
    const std::vector<double> zeros(scores.scores.size(), 0.0);
    std::vector<std::uint8_t> allowed(zeros.size());
    std::size_t low = 1, high = n_words_;  // the answer is among these
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        for (Part part = 0; part < zeros.size(); ++part) {
            const std::size_t word = part < size() ? words(part / n_labels_).modifier : modifiers[part - size()];
            allowed[part] = word > middle || scores[part] != kLogZero;
        }
        if (possible({zeros, allowed}))
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

void DependencySites::read(Shape shape, const DependencyBlocks& blocks) {
    const DependencyArcs given(shape, blocks.n_labels);
    options_ = blocks;
    n_words_ = given.n_words();
    n_sites_ = given.n_sites();
    n_arc_parts_ = given.size();
    arcs_.clear();
    into_.assign(n_words_ + 2, 0);
    for (std::uint32_t m = 1; m <= n_words_; ++m) {
        given.each_head(m, [&](std::uint32_t h, std::uint32_t site) { arcs_.push_back({h, m, site}); });
        into_[m + 1] = static_cast<std::uint32_t>(arcs_.size());
    }
    number_by_head();
    n_siblings_ = n_grandparents_ = 0;
    if (blocks.siblings) {
        first_sibling_.resize(arcs_.size());
        for (std::uint32_t b = 0; b < arcs_.size(); ++b) {
            first_sibling_[b] = static_cast<std::uint32_t>(n_parts());
            const auto [begin, end] = between(b);
            n_siblings_ += 1 + end - begin;
        }
    }
    if (blocks.grandparents) {
        first_grandparent_.resize(arcs_.size() + 1);
        below_.resize(arcs_.size());
        gap_.resize(arcs_.size());
        for (std::uint32_t b = 0; b < arcs_.size(); ++b) {
            const auto [h, m, site] = arcs_[b];
            first_grandparent_[b] = static_cast<std::uint32_t>(n_parts());
            const auto first = arcs_.begin() + into_[h], last = arcs_.begin() + into_[h + 1];
            const auto at = std::find_if(first, last, [&](const Arc& a) { return a.head >= std::min(h, m); });
            const auto after = std::find_if(at, last, [&](const Arc& a) { return a.head > std::max(h, m); });
            below_[b] = static_cast<std::uint32_t>(at - first);
            gap_[b] = static_cast<std::uint32_t>(after - at);
            n_grandparents_ += static_cast<std::size_t>(last - first) - gap_[b];
        }
        first_grandparent_[arcs_.size()] = static_cast<std::uint32_t>(n_parts());
    }
    if (n_parts() >= kNoPart) throw std::invalid_argument("a sentence is too long: prune the heads of its words");
}

void DependencySites::number_by_head() {
    out_first_.assign(n_words_ + 2, 0);
    right_first_.assign(n_words_ + 1, 0);
    out_.resize(arcs_.size());
    place_.resize(arcs_.size());
    for (const Arc& arc : arcs_) {
        ++out_first_[arc.head + 1];
        right_first_[arc.head] += arc.modifier < arc.head;
    }
    for (std::size_t h = 0; h <= n_words_; ++h) {
        out_first_[h + 1] += out_first_[h];
        right_first_[h] += out_first_[h];
    }
    for (std::uint32_t b = 0; b < arcs_.size(); ++b) out_[place_[b] = out_first_[arcs_[b].head]++] = b;
    std::copy_backward(out_first_.begin(), out_first_.end() - 1, out_first_.end());
    out_first_[0] = 0;
}

std::vector<Block> DependencySites::blocks() const {
    std::vector<Block> out{{"arcs", n_sites_, options_.n_labels}};
    if (options_.siblings) out.push_back({"siblings", n_siblings_, 1});
    if (options_.grandparents) out.push_back({"grandparents", n_grandparents_, 1});
    return out;
}

std::vector<std::array<std::uint32_t, 3>> DependencySites::siblings() const {
    std::vector<std::array<std::uint32_t, 3>> out;
    for (std::uint32_t b = 0; options_.siblings && b < arcs_.size(); ++b) {
        out.push_back({arcs_[b].head, kNone, arcs_[b].modifier});
        const auto [begin, end] = between(b);
        for (std::uint32_t i = begin; i < end; ++i)
            out.push_back({arcs_[b].head, arcs_[out_[i]].modifier, arcs_[b].modifier});
    }
    return out;
}

std::vector<std::array<std::uint32_t, 3>> DependencySites::grandparents() const {
    std::vector<std::array<std::uint32_t, 3>> out;
    for (std::uint32_t b = 0; options_.grandparents && b < arcs_.size(); ++b) {
        const auto [begin, end] = into(arcs_[b].head);
        for (std::uint32_t c = begin; c < end; ++c)
            if (grandparent_part(b, c) != kNoPart) out.push_back({arcs_[c].head, arcs_[b].head, arcs_[b].modifier});
    }
    return out;
}

void DependencySites::add_parts(std::span<const std::uint32_t> heads, Parts& parts) const {
    std::vector<std::uint32_t> own(n_words_ + 1, kNone);  // the arc into each word
    for (std::uint32_t m = 1; m <= n_words_; ++m)
        for (own[m] = into_[m]; arcs_[own[m]].head != heads[m - 1];) ++own[m];
    if (options_.siblings) {
        std::vector<std::uint32_t> last(n_words_ + 1, kNone);  // modifier of each head so far
        const auto add = [&](std::size_t m) {
            std::uint32_t& sibling = last[heads[m - 1]];
            parts.push_back(sibling_part(own[m], sibling));
            sibling = own[m];
        };
        for (std::size_t m = 1; m <= n_words_; ++m)
            if (heads[m - 1] < m) add(m);
        std::ranges::fill(last, kNone);
        for (std::size_t m = n_words_; m > 0; --m)
            if (heads[m - 1] > m) add(m);
    }
    if (options_.grandparents)
        for (std::size_t m = 1; m <= n_words_; ++m)
            if (const std::uint32_t h = heads[m - 1]; h > 0)
                if (const Part part = grandparent_part(own[m], own[h]); part != kNoPart) parts.push_back(part);
}

}  // namespace tw
