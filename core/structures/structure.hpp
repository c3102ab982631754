// What a structure is to the rest of the library: parts that have scores, and exact answers about all outputs that are
// made of them. A structure never sees a weight, an attribute or a file.
//
//     parts of an example, one number each:
//         block 0                          block 1
//         [site 0: code 0 .. n_codes)      [site 0: ...
//         [site 1: ...
//
// A block is a kind of parts: so many sites (tokens, arcs, spans, ...) with so many codes each (labels, pairs of
// labels, ...). How many sites an example has follows from its shape, a few numbers that only the structure reads (a
// chain's length, say).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tw {

using Part = std::uint32_t;
using Parts = std::vector<Part>;
using Shape = std::span<const std::uint32_t>;

inline constexpr Part kNoPart = ~Part{0};

struct Block {
    std::string name;
    std::size_t n_sites = 0, n_codes = 0;
    std::size_t size() const { return n_sites * n_codes; }
};

// Scores of all parts of an example. Parts that are not allowed are in no output; scores of these are not looked at.
struct PartScores {
    std::span<const double> scores;
    std::span<const std::uint8_t> allowed = {};  // empty: all

    double operator[](Part part) const {
        if (part == kNoPart) return 0.0;
        return allowed.empty() || allowed[part] ? scores[part] : kForbidden;
    }
    // The same as one array: in place, or in the buffer with kForbidden where it is due.
    const double* masked(std::vector<double>& buffer) const {
        if (allowed.empty()) return scores.data();
        buffer.resize(scores.size());
        for (Part part = 0; part < buffer.size(); ++part) buffer[part] = (*this)[part];
        return buffer.data();
    }
    static constexpr double kForbidden = -__builtin_huge_val();
};

// An output, or what a search came to that may not have found the best one.
struct Answer {
    Parts parts;
    double score = 0.0;
    double gap = 0.0;  // no output is better by more: 0 where this is proved to be the best, inf where nothing is known
    // Of a relaxed answer: how much of each part it has, above 0 and up to 1; the score is the sum of these shares.
    // Empty: all of each.
    std::vector<double> shares = {};

    bool exact() const { return gap == 0.0; }
};

// One choice given all choices before it: alternative i has the parts parts[i * width] .. parts[(i + 1) * width - 1],
// kNoPart where it has fewer.
struct Decision {
    std::span<const Part> parts;
    std::size_t width, chosen;

    std::size_t size() const { return parts.size() / width; }
};

// What a structure computes with, kept from one example to the next so that nothing is allocated on the way. Each
// structure makes its own kind; one for each thread.
class Workspace {
public:
    virtual ~Workspace() = default;
};

class Structure {
public:
    virtual ~Structure() = default;
    virtual std::unique_ptr<Workspace> workspace() const { return std::make_unique<Workspace>(); }

    virtual std::vector<Block> blocks(Shape shape) const = 0;
    std::size_t n_parts(Shape shape) const {
        std::size_t total = 0;
        for (const Block& block : blocks(shape)) total += block.size();
        return total;
    }

    // An output as users have it (labels, or rows of begin, end and label, ...) and the parts it is made of, in
    // ascending order. parts_of throws std::invalid_argument when it is not an output of this shape.
    virtual void parts_of(Shape shape, std::span<const std::uint32_t> output, Parts& parts) const = 0;
    virtual void output_of(Shape shape, std::span<const Part> parts, std::vector<std::uint32_t>& output) const = 0;

    // Which questions have an answer for this shape: best() with k above 1, and log_partition(). What has no answer is
    // not asked by learners; a structure that is asked all the same throws std::invalid_argument.
    virtual bool lists(Shape) const { return true; }
    virtual bool sums(Shape) const { return true; }

    // The k best outputs, distinct and best first; fewer where fewer exist.
    virtual std::vector<Answer> best(Shape shape, const PartScores& scores, std::size_t k, Workspace& space) const = 0;
    std::vector<Answer> best(Shape shape, const PartScores& scores, std::size_t k) const {
        return best(shape, scores, k, *workspace());
    }

    // log Z, -inf where no output is allowed. Where they are not null: how often each part is expected in an output,
    // and the variance of that number as if the places where it may stand were independent.
    virtual double log_partition(Shape shape, const PartScores& scores, double* expected, double* variance,
                                 Workspace& space) const = 0;
    double log_partition(Shape shape, const PartScores& scores, double* expected, double* variance = nullptr) const {
        return log_partition(shape, scores, expected, variance, *workspace());
    }

    // What a wrong output costs, as a sum over its parts, zero for gold: by default 1 for each part of the first
    // block that gold has not.
    virtual void costs(Shape shape, std::span<const Part> gold, std::span<double> out) const;

    // Where outputs have one part at each site of the first block:  sum of weights[s] * -log p(part at site s of gold |
    // gold's parts at the sites before it),  and its derivatives by the scores. False: the structure has no quick way.
    virtual bool loss_by_site(Shape, std::span<const double> /*scores*/, std::span<const Part> /*gold*/,
                              std::span<const double> /*weights*/, double& /*loss*/, double* /*derivatives*/,
                              Workspace&) const {
        return false;
    }

    // Whether every output is a single part, so that no two parts ever occur together.
    virtual bool has_one_part() const { return false; }

    // An output as a sequence of decisions, where it is one (a locally normalised model; McCallum, Freitag & Pereira
    // 2000). Alternatives that the structure forbids are left out.
    virtual bool decides() const { return false; }
    virtual void decisions(Shape, std::span<const Part> /*gold*/,
                           const std::function<void(const Decision&)>& /*visit*/) const {}
};

}  // namespace tw
