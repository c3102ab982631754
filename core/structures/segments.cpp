// Semi-Markov chains as a dynamic program: whole segments have labels, at most `longest` positions each (Sarawagi &
// Cohen 2004).
//
//     shape: [length]       output: rows (begin, end, label)
//     segments      (length x longest) x K      site begin * longest + (end - begin - 1)
//     transitions   1 x K^2, tied: all boundaries share them; or (length - 1) x K^2
//     start, end    1 x K                       of the first and of the last label
//
// Nodes: open(t, k) begins a segment of label k at t, closed(t, k) ends one before t. Splitting the two keeps the cost
// at T K (K + L) in place of T L K^2.
#include <stdexcept>

#include "dynamic_program.hpp"
#include "families.hpp"

namespace tw {
namespace {

struct SegmentFamily {
    std::size_t n_labels, longest;
    bool tied = true;
    LabelRules rules = {};

    std::vector<Block> blocks(Shape shape) const {
        return {{"segments", shape[0] * longest, n_labels},
                {"transitions", n_boundaries(shape[0]), n_labels * n_labels},
                {"start", 1, n_labels},
                {"end", 1, n_labels}};
    }

    Part segment_part(std::size_t begin, std::size_t end, std::size_t k) const {
        return static_cast<Part>((begin * longest + (end - begin - 1)) * n_labels + k);
    }
    std::size_t n_boundaries(std::size_t length) const { return tied ? 1 : length > 0 ? length - 1 : 0; }
    Part move_part(std::size_t length, std::size_t t, std::size_t a, std::size_t b) const {  // t: where the next begins
        return static_cast<Part>((length * longest + (tied ? 0 : t - 1) * n_labels + a) * n_labels + b);
    }
    Part start_part(std::size_t length, std::size_t k) const {
        return static_cast<Part>((length * longest + n_boundaries(length) * n_labels) * n_labels + k);
    }
    Part end_part(std::size_t length, std::size_t k) const {
        return start_part(length, k) + static_cast<Part>(n_labels);
    }

    void parts_of(Shape shape, std::span<const std::uint32_t> rows, Parts& parts) const {
        std::size_t at = 0;
        for (std::size_t i = 0; i + 2 < rows.size(); i += 3) {
            const std::size_t begin = rows[i], end = rows[i + 1], label = rows[i + 2];
            if (begin != at || end <= begin || end > shape[0] || label >= n_labels)
                throw std::invalid_argument("segments must follow one another, with labels in range");
            if (end - begin > rules.longest(label, longest))
                throw std::invalid_argument("a segment is longer than the longest allowed");
            parts.push_back(segment_part(begin, end, label));
            parts.push_back(i > 0 ? move_part(shape[0], begin, rows[i - 1], label) : start_part(shape[0], label));
            if (end == shape[0]) parts.push_back(end_part(shape[0], label));
            at = end;
        }
        if (at != shape[0] || rows.size() % 3 != 0) throw std::invalid_argument("segments must cover all positions");
    }

    void output_of(Shape shape, std::span<const Part> parts, std::vector<std::uint32_t>& rows) const {
        for (const Part part : parts) {
            if (part >= shape[0] * longest * n_labels) break;
            const auto site = static_cast<std::uint32_t>(part / n_labels), L = static_cast<std::uint32_t>(longest);
            rows.insert(rows.end(), {site / L, site / L + site % L + 1, static_cast<std::uint32_t>(part % n_labels)});
        }
    }

    // As many as positions whose label is wrong.
    void costs(Shape shape, std::span<const Part> gold, std::span<double> out) const {
        std::vector<std::uint32_t> rows, labels;
        output_of(shape, gold, rows);
        for (std::size_t i = 0; i < rows.size(); i += 3)
            labels.insert(labels.end(), rows[i + 1] - rows[i], rows[i + 2]);
        std::ranges::fill(out, 0.0);
        for (std::size_t begin = 0; begin < shape[0]; ++begin)
            for (std::size_t k = 0; k < n_labels; ++k) {
                double wrong = 0.0;
                for (std::size_t end = begin + 1; end <= shape[0] && end - begin <= longest; ++end) {
                    wrong += labels[end - 1] != k;
                    out[segment_part(begin, end, k)] = wrong;
                }
            }
    }

    // The next segment, its end and its label, given where it begins and the label before it.
    void decisions(Shape shape, std::span<const Part> gold, const std::function<void(const Decision&)>& visit) const {
        std::vector<std::uint32_t> rows;
        output_of(shape, gold, rows);
        Parts parts;
        for (std::size_t i = 0; i < rows.size(); i += 3) {
            const std::size_t begin = rows[i], before = i > 0 ? rows[i - 1] : 0;
            std::size_t chosen = 0;
            parts.clear();
            for (std::size_t end = begin + 1; end <= shape[0] && end - begin <= longest; ++end)
                for (std::size_t k = 0; k < n_labels; ++k) {
                    if (i == 0 ? !rules.may_start(k) : !rules.may_follow(before, k, n_labels)) continue;
                    if (end == shape[0] && !rules.may_end(k)) continue;
                    if (end - begin > rules.longest(k, longest)) continue;
                    if (end == rows[i + 1] && k == rows[i + 2]) chosen = parts.size() / 3;
                    const Part into = i > 0 ? move_part(shape[0], begin, before, k) : start_part(shape[0], k);
                    const Part out = end == shape[0] ? end_part(shape[0], k) : kNoPart;
                    parts.insert(parts.end(), {segment_part(begin, end, k), into, out});
                }
            visit({parts, 3, chosen});
        }
    }

    struct Program {
        const SegmentFamily& family;
        std::size_t length;

        std::size_t n_nodes() const { return 2 * length * family.n_labels + 1; }
        std::size_t covered(std::size_t v) const { return (v / family.n_labels + 1) / 2; }
        // Order: open(0), closed(1), open(1), closed(2), ..., closed(length), goal.
        std::size_t open(std::size_t t, std::size_t k) const { return 2 * t * family.n_labels + k; }
        std::size_t closed(std::size_t t, std::size_t k) const { return (2 * t - 1) * family.n_labels + k; }

        template <class Visit>
        void incoming(std::size_t v, Visit visit) const {
            const std::size_t K = family.n_labels, layer = v / K, k = v % K, t = (layer + 1) / 2;
            if (v + 1 == n_nodes()) {
                if (length == 0) visit(kNoPart);
                for (std::size_t a = 0; length > 0 && a < K; ++a)
                    if (family.rules.may_end(a)) visit(family.end_part(length, a), closed(length, a));
            } else if (layer % 2 == 1) {
                for (std::size_t n = 1; n <= family.rules.longest(k, family.longest) && n <= t; ++n)
                    visit(family.segment_part(t - n, t, k), open(t - n, k));
            } else if (t == 0) {
                if (family.rules.may_start(k)) visit(family.start_part(length, k));
            } else {
                for (std::size_t a = 0; a < K; ++a)
                    if (family.rules.may_follow(a, k, K)) visit(family.move_part(length, t, a, k), closed(t, a));
            }
        }
    };
    Program program(Shape shape) const { return {*this, shape[0]}; }
};

}  // namespace

std::unique_ptr<DerivationStructure> segment_structure(std::size_t n_labels, std::size_t longest, bool tied,
                                                       LabelRules rules) {
    return std::make_unique<DynamicProgram<SegmentFamily>>(SegmentFamily{n_labels, longest, tied, std::move(rules)});
}

}  // namespace tw
