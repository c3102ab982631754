#include "dependency.hpp"

#include <algorithm>
#include <stdexcept>

#include "../base/semiring.hpp"
#include "../kernels/kernels.hpp"

namespace tw {

void DependencySites::read(Shape shape, const DependencyBlocks& blocks) {
    if (shape.empty()) throw std::invalid_argument("the shape of a tree begins with the number of its words");
    const std::uint32_t n = shape[0];
    n_words_ = n;
    options_ = blocks;
    pruned_ = shape.size() > 1;
    arcs_.clear();
    into_.assign(n + 2, 0);
    if (pruned_) {
        if (shape.size() < n + 2u || shape[1] != 0 || shape.size() - n - 2 != shape[n + 1])
            throw std::invalid_argument("a pruned shape is n, n + 1 starts from 0, and the heads of each word");
        const Shape starts = shape.subspan(1), heads = shape.subspan(n + 2);
        for (std::uint32_t m = 1; m <= n; ++m) {
            if (starts[m] < starts[m - 1] || starts[m] > heads.size())
                throw std::invalid_argument("the starts of a pruned shape must not fall");
            for (std::uint32_t i = starts[m - 1]; i < starts[m]; ++i) {
                if (heads[i] > n || heads[i] == m || (i > starts[m - 1] && heads[i] <= heads[i - 1]))
                    throw std::invalid_argument("the possible heads of a word must be other words, rising");
                arcs_.push_back({heads[i], m, i});
            }
            into_[m + 1] = starts[m];
        }
        n_sites_ = heads.size();
    } else {
        if (n >= 46'000) throw std::invalid_argument("a sentence is too long: prune its heads");
        for (std::uint32_t m = 1; m <= n; ++m) {
            for (std::uint32_t h = 0; h <= n; ++h)
                if (h != m) arcs_.push_back({h, m, h * (n + 1) + m});
            into_[m + 1] = static_cast<std::uint32_t>(arcs_.size());
        }
        n_sites_ = (n + 1u) * (n + 1u);
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
    if (n_parts() >= kNoPart)
        throw std::invalid_argument("a sentence has more parts than can be numbered: prune its heads");
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

std::uint32_t DependencySites::find(std::size_t head, std::size_t modifier) const {
    if (head > n_words_ || modifier == 0 || modifier > n_words_ || head == modifier) return kNone;
    const auto [begin, end] = into(modifier);
    if (!pruned_) return static_cast<std::uint32_t>(begin + head - (head > modifier));
    const auto first = arcs_.begin() + begin, last = arcs_.begin() + end;
    const auto at = std::partition_point(first, last, [&](const Arc& arc) { return arc.head < head; });
    return at != last && at->head == head ? static_cast<std::uint32_t>(at - arcs_.begin()) : kNone;
}

std::uint32_t DependencySites::arc_of(Part part) const {
    const std::size_t site = part / options_.n_labels;
    return pruned_ ? static_cast<std::uint32_t>(site) : find(site / (n_words_ + 1), site % (n_words_ + 1));
}

void DependencySites::parts_of(std::span<const std::uint32_t> output, bool single_root, Parts& parts) const {
    const std::size_t n = n_words_;
    const bool labelled = options_.n_labels > 1;
    if (output.size() != (labelled ? 2 * n : n))
        throw std::invalid_argument(labelled ? "a tree has a head and a label for each word"
                                             : "a tree has a head for each word");
    std::vector<std::uint32_t> arcs(n + 1, kNone);
    std::size_t n_roots = 0;
    for (std::size_t m = 1; m <= n; ++m) {
        const std::uint32_t head = output[m - 1], label = labelled ? output[n + m - 1] : 0;
        const std::string word = "word " + std::to_string(m);
        if (head > n || head == m) throw std::invalid_argument(word + " has a head out of range");
        if ((arcs[m] = find(head, m)) == kNone)
            throw std::invalid_argument(word + " has the head " + std::to_string(head) +
                                        ", which is not among its heads");
        if (label >= options_.n_labels) throw std::invalid_argument(word + " has a label out of range");
        n_roots += head == 0;
        parts.push_back(arc_part(arcs[m], label));
    }
    if (n > 0 && (single_root ? n_roots != 1 : n_roots == 0))
        throw std::invalid_argument("a tree has " + std::string(single_root ? "one root" : "a root") + ", this has " +
                                    std::to_string(n_roots));
    std::vector<std::uint32_t> seen(n + 1, 0);  // from which word the way up came by
    for (std::uint32_t m = 1; m <= n; ++m) {
        std::uint32_t at = m;
        for (; at != 0 && seen[at] == 0; at = output[at - 1]) seen[at] = m;
        if (at != 0 && seen[at] == m)
            throw std::invalid_argument("word " + std::to_string(at) + " is among its own ancestors");
    }
    if (options_.siblings) {
        std::vector<std::uint32_t> last(n + 1, kNone);  // modifier of each head so far
        const auto add = [&](std::size_t m) {
            std::uint32_t& sibling = last[output[m - 1]];
            parts.push_back(sibling_part(arcs[m], sibling));
            sibling = arcs[m];
        };
        for (std::size_t m = 1; m <= n; ++m)
            if (output[m - 1] < m) add(m);
        std::ranges::fill(last, kNone);
        for (std::size_t m = n; m > 0; --m)
            if (output[m - 1] > m) add(m);
    }
    if (options_.grandparents)
        for (std::size_t m = 1; m <= n; ++m)
            if (const std::uint32_t h = output[m - 1]; h > 0)
                if (const Part part = grandparent_part(arcs[m], arcs[h]); part != kNoPart) parts.push_back(part);
}

void DependencySites::output_of(std::span<const Part> parts, std::vector<std::uint32_t>& output) const {
    const std::size_t n_labels = options_.n_labels;
    output.assign(n_labels > 1 ? 2 * n_words_ : n_words_, 0);
    for (const Part part : parts) {
        if (part >= n_sites_ * n_labels) continue;
        const Arc& arc = arcs_[arc_of(part)];
        output[arc.modifier - 1] = arc.head;
        if (n_labels > 1) output[n_words_ + arc.modifier - 1] = static_cast<std::uint32_t>(part % n_labels);
    }
}

void DependencySites::decisions(std::span<const Part> gold, const std::function<void(const Decision&)>& visit) const {
    std::vector<Part> right(n_words_ + 1, kNoPart);
    for (const Part part : gold)
        if (part < n_sites_ * options_.n_labels) right[arcs_[arc_of(part)].modifier] = part;
    Parts parts;
    for (std::size_t m = 1; m <= n_words_; ++m) {
        std::size_t chosen = 0;
        parts.clear();
        const auto [begin, end] = into(m);
        for (std::uint32_t b = begin; b < end; ++b)
            for (std::size_t label = 0; label < options_.n_labels; ++label) {
                const Part part = arc_part(b, label);
                if (part == right[m]) chosen = parts.size();
                parts.push_back(part);
            }
        visit({parts, 1, chosen});
    }
}

double DependencySites::centre(const PartScores& given, std::vector<double>& values) const {
    values.assign(given.scores.begin(), given.scores.end());
    CompensatedSum total;
    const std::size_t n_labels = options_.n_labels;
    for (std::size_t m = 1; m <= n_words_; ++m) {
        double best = kLogZero;
        const auto each = [&](auto visit) {
            for (std::uint32_t b = into_[m]; b < into_[m + 1]; ++b)
                for (std::size_t label = 0; label < n_labels; ++label) visit(arc_part(b, label));
        };
        each([&](Part part) { best = std::max(best, given[part]); });
        if (best == kLogZero) continue;
        total.add(best);
        each([&](Part part) { values[part] -= best; });
    }
    return total.value();
}

std::size_t DependencySites::without_head(const PartScores& scores,
                                          const std::function<bool(const PartScores&)>& possible) const {
    std::vector<std::uint32_t> modifiers;  // of every part
    for (std::size_t site = 0; site < n_sites_; ++site) {
        const std::uint32_t arc = arc_of(static_cast<Part>(site * options_.n_labels));
        modifiers.insert(modifiers.end(), options_.n_labels, arc == kNone ? 0 : arcs_[arc].modifier);
    }
    for (const auto& words : siblings()) modifiers.push_back(words[2]);
    for (const auto& words : grandparents()) modifiers.push_back(words[2]);
    std::vector<double> zeros(scores.scores.size(), 0.0);
    std::vector<std::uint8_t> allowed(zeros.size());
    std::size_t low = 1, high = n_words_;  // the answer is among these
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        for (Part part = 0; part < zeros.size(); ++part)
            allowed[part] = modifiers[part] > middle || scores[part] != kLogZero;
        if (possible({zeros, allowed}))
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? low - 1 : 0;
}

}  // namespace tw
