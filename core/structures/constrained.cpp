#include "constrained.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "../base/interrupt.hpp"
#include "../base/semiring.hpp"

namespace tw {
namespace {

using Clock = std::chrono::steady_clock;
using Numbers = std::vector<double>;

struct GivenUp {};  // thrown where a limit is reached

// An output, with what the rows make of it.
struct Found {
    Parts parts;
    double score = 0.0;
    Numbers sums;  // by row
};

// What all outputs of a part of the search have in common, and the multipliers to begin with.
struct Half {
    double bound;
    Numbers multipliers;
    Parts forced, forbidden;
    std::size_t number;

    bool operator<(const Half& other) const {  // for a heap: the highest bound first
        return bound != other.bound ? bound < other.bound : number > other.number;
    }
};

// The rows by part:  part p has coefficient values[i] in row rows[i], i = starts[p] .. starts[p + 1] - 1.
struct ByPart {
    std::vector<std::uint32_t> starts, rows;
    Numbers values;

    ByPart(const std::vector<PartsRow>& all, std::size_t n_parts) : starts(n_parts + 1, 0) {
        for (const PartsRow& row : all)
            for (const Part part : row.parts) ++starts.at(part + std::size_t{1});
        for (std::size_t p = 0; p < n_parts; ++p) starts[p + 1] += starts[p];
        rows.resize(starts.back());
        values.resize(starts.back());
        std::vector<std::uint32_t> next(starts.begin(), starts.end() - 1);
        for (std::uint32_t r = 0; r < all.size(); ++r)
            for (std::size_t i = 0; i < all[r].parts.size(); ++i) {
                const std::uint32_t at = next[all[r].parts[i]]++;
                rows[at] = r;
                values[at] = all[r].coefficients[i];
            }
    }

    void add(Part part, Numbers& sums) const {
        for (std::uint32_t i = starts[part]; i < starts[part + 1]; ++i) sums[rows[i]] += values[i];
    }
    double size(Part part) const {
        double total = 0.0;
        for (std::uint32_t i = starts[part]; i < starts[part + 1]; ++i) total += std::abs(values[i]);
        return total;
    }
};

class Search {
public:
    Search(const Structure& structure, Shape shape, const PartScores& scores, const std::vector<PartsRow>& rows,
           std::size_t k, const SearchLimits& limits, Workspace& space)
        : structure_(structure),
          shape_(shape),
          given_(scores),
          rows_(rows),
          k_(k),
          limits_(limits),
          space_(space),
          by_part_(rows, scores.scores.size()),
          began_(Clock::now()) {}

    ConstrainedBest run() {
        ConstrainedBest out;
        bound_ = std::numeric_limits<double>::infinity();
        try {
            search();
            bound_ = kept_.size() < k_ ? kLogZero : kept_.back().score;
        } catch (const GivenUp&) {
            out.proved = false;
            out.out_of_time = late();
        }
        out.bound = bound_;
        out.questions = questions_;
        for (Found& found : kept_) {
            const double gap = out.proved ? 0.0 : std::max(0.0, bound_ - found.score);
            out.answers.push_back({std::move(found.parts), found.score, gap});
        }
        return out;
    }

private:
    // ---- questions to the structure ------------------------------------------------------------------------------

    // The best output of a half under  weight * score - sum of multipliers * rows;  nothing where there is none.
    std::optional<Found> ask(const Half& half, double weight, const Numbers& multipliers) {
        std::vector<Answer> answers = list(half, weight, multipliers, 1);
        if (answers.empty()) return {};
        Found found = read(std::move(answers[0].parts));
        for (const Part part : half.forced)
            if (!std::ranges::binary_search(found.parts, part)) return {};
        return found;
    }

    std::vector<Answer> list(const Half& half, double weight, const Numbers& multipliers, std::size_t n) {
        check_interrupt();
        if (late()) throw GivenUp{};
        ++questions_;
        if (questions_ == 1)  // as it was given
            return structure_.best(shape_, given_, n, space_);
        if (base_.empty()) {
            base_.resize(given_.scores.size());
            for (Part part = 0; part < base_.size(); ++part) base_[part] = given_[part];
        }
        double bonus = 0.0;  // more than what any other choice can bring
        if (!half.forced.empty()) {
            bonus = 2.0 * spread(weight, multipliers);
            if (!std::isfinite(bonus)) throw GivenUp{};
            if (bonus == 0.0) bonus = 1.0;
        }
        adjusted_.resize(base_.size());
        for (std::size_t p = 0; p < base_.size(); ++p)
            adjusted_[p] = base_[p] == kLogZero ? kLogZero : weight * base_[p];
        for (std::size_t r = 0; r < rows_.size(); ++r) {
            if (multipliers[r] == 0.0) continue;
            if (!std::isfinite(multipliers[r])) throw GivenUp{};
            for (std::size_t i = 0; i < rows_[r].parts.size(); ++i)
                adjusted_[rows_[r].parts[i]] -= multipliers[r] * rows_[r].coefficients[i];
        }
        for (const Part part : half.forbidden) adjusted_[part] = kLogZero;
        for (const Part part : half.forced) adjusted_[part] += bonus;
        return structure_.best(shape_, {adjusted_}, n, space_);
    }

    // At least the difference between the best and the worst output under these weights.
    double spread(double weight, const Numbers& multipliers) {
        if (spreads_.empty()) {
            Numbers spreads;
            const Half all{0.0, {}, {}, {}, 0};
            const Numbers none(rows_.size(), 0.0);
            const auto range = [&](double w, const Numbers& m, auto number) {
                const std::optional<Found> high = ask(all, w, m);
                Numbers other = m;
                for (double& x : other) x = -x;
                const std::optional<Found> low = ask(all, -w, other);
                return high && low ? std::abs(number(*high) - number(*low)) : 0.0;
            };
            for (std::size_t r = 0; r < rows_.size(); ++r) {
                Numbers m = none;
                m[r] = 1.0;
                spreads.push_back(range(0.0, m, [&](const Found& found) { return found.sums[r]; }));
            }
            spreads.push_back(range(1.0, none, [](const Found& found) { return found.score; }));
            spreads_ = std::move(spreads);
        }
        double total = std::abs(weight) * spreads_.back();
        for (std::size_t r = 0; r < rows_.size(); ++r) total += std::abs(multipliers[r]) * spreads_[r];
        return total;
    }

    Found read(Parts parts) const {
        Found found{std::move(parts), 0.0, Numbers(rows_.size(), 0.0)};
        for (const Part part : found.parts) {
            found.score += given_.scores[part];
            by_part_.add(part, found.sums);
        }
        return found;
    }

    double elapsed() const { return std::chrono::duration<double>(Clock::now() - began_).count(); }
    bool late() const { return elapsed() > limits_.seconds; }

    // ---- rows ----------------------------------------------------------------------------------------------------

    static double slack(double side) { return 1e-9 * (1.0 + std::abs(side)); }
    // Above 0: so much over the upper side; below: under the lower one.
    double excess(std::size_t r, const Found& found) const {
        const PartsRow& row = rows_[r];
        if (found.sums[r] > row.upper + slack(row.upper)) return found.sums[r] - row.upper;
        if (found.sums[r] < row.lower - slack(row.lower)) return found.sums[r] - row.lower;
        return 0.0;
    }
    bool keeps_rows(const Found& found) const {
        for (std::size_t r = 0; r < rows_.size(); ++r)
            if (excess(r, found) != 0.0) return false;
        return true;
    }
    double side(std::size_t r, double multiplier) const { return multiplier > 0.0 ? rows_[r].upper : rows_[r].lower; }

    // L(y), and how far rounding may have moved it.
    double relaxed(const Found& found, const Numbers& multipliers) const {
        double total = found.score;
        for (std::size_t r = 0; r < rows_.size(); ++r)
            if (multipliers[r] != 0.0) total -= multipliers[r] * (found.sums[r] - side(r, multipliers[r]));
        if (!std::isfinite(total)) throw GivenUp{};
        return total;
    }
    double rounding(const Found& found, const Numbers& multipliers) const {
        double total = 0.0;
        for (const Part part : found.parts) total += std::abs(given_.scores[part]);
        for (std::size_t r = 0; r < rows_.size(); ++r)
            if (multipliers[r] != 0.0)
                total += std::abs(multipliers[r]) * (std::abs(found.sums[r]) + std::abs(side(r, multipliers[r])));
        return 3e-14 * total;
    }

    // ---- outputs that were found ---------------------------------------------------------------------------------

    double worst_kept() const { return kept_.size() < k_ ? kLogZero : kept_.back().score; }

    void consider(const Found& found) {
        if (found.score <= worst_kept() || !keeps_rows(found)) return;
        const auto at = std::ranges::find_if(kept_, [&](const Found& other) { return other.score < found.score; });
        for (auto other = kept_.begin(); other != kept_.end() && other->score >= found.score; ++other)
            if (other->score == found.score && other->parts == found.parts) return;
        for (auto other = at; other != kept_.end(); ++other)  // the same parts, added up in another order
            if (other->parts == found.parts) return;
        kept_.insert(at, found);
        if (kept_.size() > k_) kept_.pop_back();
    }

    // ---- bounds --------------------------------------------------------------------------------------------------

    // The multipliers of a half, moved to where the bound is low. `two`: outputs on both sides of a row that disagree.
    struct Tight {
        double bound = kLogZero, rounding = 0.0;
        Numbers multipliers;
        std::vector<Found> two;
        std::optional<Found> best;
    };

    bool closed(const Tight& tight) const { return tight.bound <= worst_kept() + tight.rounding; }

    void take(const Found& found, const Numbers& multipliers, Tight& tight) {
        consider(found);
        const double value = relaxed(found, multipliers);
        if (tight.best && value >= tight.bound) return;
        tight.bound = value;
        tight.rounding = rounding(found, multipliers);
        tight.multipliers = multipliers;
        tight.best = found;
    }

    Tight tightened(const Half& half, bool root) {
        Tight tight;
        Numbers multipliers = half.multipliers;
        std::optional<Found> found = ask(half, 1.0, multipliers);
        if (!found) return tight;
        take(*found, multipliers, tight);
        for (std::size_t round = 0; round < (root ? 4 : 1) * rows_.size() + 2; ++round) {
            if (closed(tight)) return tight;
            const std::optional<std::size_t> row = most_wrong(*tight.best, tight.multipliers);
            if (!row) return tight;  // the best output keeps every row, and L is its score
            const double before = tight.bound;
            if (!move_along(half, *row, tight)) return {};
            if (tight.bound >= before - tight.rounding) break;
            if (rows_.size() == 1 && tight.multipliers[0] != 0.0) break;  // there is no other to move
        }
        if (rows_.size() > 1 && !closed(tight) && !subgradient(half, root ? 60 : 12, tight)) return {};
        return tight;
    }

    // The row that an output breaks, or is charged for in vain, by the most.
    std::optional<std::size_t> most_wrong(const Found& found, const Numbers& multipliers) const {
        std::optional<std::size_t> row;
        double most = 0.0;
        for (std::size_t r = 0; r < rows_.size(); ++r) {
            double wrong = std::abs(excess(r, found));
            if (multipliers[r] != 0.0) wrong = std::max(wrong, std::abs(found.sums[r] - side(r, multipliers[r])));
            if (wrong > most && wrong > slack(0.0)) {
                most = wrong;
                row = r;
            }
        }
        return row;
    }

    // The least bound over the multiplier of one row, where two lines cross: one of an output that breaks the row, one
    // of an output that does not. False: no output keeps it.
    bool move_along(const Half& half, std::size_t r, Tight& tight) {
        Numbers at = tight.multipliers;
        const double now = at[r];
        const double sign = now != 0.0 ? (now > 0.0 ? 1.0 : -1.0) : excess(r, *tight.best) > 0.0 ? 1.0 : -1.0;
        const double limit = sign > 0.0 ? rows_[r].upper : rows_[r].lower;
        const auto over = [&](const Found& found) { return sign * (found.sums[r] - limit); };  // above 0: breaks it
        const auto others = [&](const Found& found) {                                          // L without this row
            Numbers rest = at;
            rest[r] = 0.0;
            return relaxed(found, rest);
        };
        std::optional<Found> breaking, keeping;
        (over(*tight.best) > slack(limit) ? breaking : keeping) = *tight.best;
        if (!breaking) {
            at[r] = 0.0;
            breaking = ask(half, 1.0, at);
            if (!breaking) return false;
            take(*breaking, at, tight);
            if (over(*breaking) <= slack(limit)) return true;  // nothing has to be charged
        }
        if (!keeping) {
            Numbers alone(rows_.size(), 0.0);
            alone[r] = sign;
            keeping = ask(half, 0.0, alone);
            if (!keeping || over(*keeping) > slack(limit)) return false;
            consider(*keeping);
        }
        for (int step = 0; step < 60; ++step) {
            at[r] = 0.0;
            const double t = (others(*breaking) - others(*keeping)) / (over(*breaking) - over(*keeping));
            if (!(t > 0.0)) break;
            at[r] = sign * t;
            const std::optional<Found> found = ask(half, 1.0, at);
            if (!found) return false;
            const double crossing = relaxed(*breaking, at), value = relaxed(*found, at);
            take(*found, at, tight);
            if (value <= crossing + rounding(*found, at)) break;
            (over(*found) > slack(limit) ? breaking : keeping) = *found;
        }
        tight.two = {*breaking, *keeping};
        return true;
    }

    // Polyak 1969: steps as long as the bound is above what may be reached.
    bool subgradient(const Half& half, int n_steps, Tight& tight) {
        Numbers at = tight.multipliers;
        Found found = *tight.best;
        double reach = 0.0, value = relaxed(found, at);
        for (int step = 0; step < n_steps && !closed(tight); ++step) {
            double squares = 0.0;
            Numbers direction(rows_.size(), 0.0);
            for (std::size_t r = 0; r < rows_.size(); ++r) {
                direction[r] = at[r] == 0.0 ? excess(r, found) : found.sums[r] - side(r, at[r]);
                squares += direction[r] * direction[r];
            }
            if (squares == 0.0) return true;
            if (reach == 0.0) reach = 0.05 * std::abs(tight.bound) + 1e-3;
            const double target = std::max(worst_kept(), tight.bound - reach);
            const double length = (value - target) / squares;
            for (std::size_t r = 0; r < rows_.size(); ++r) {
                const double next = at[r] + length * direction[r];
                const bool crosses = at[r] != 0.0 && (next > 0.0) != (at[r] > 0.0);
                at[r] = crosses && rows_[r].lower < rows_[r].upper ? 0.0 : next;
                if (at[r] != 0.0 && !std::isfinite(side(r, at[r]))) at[r] = 0.0;
            }
            const double before = tight.bound;
            std::optional<Found> next = ask(half, 1.0, at);
            if (!next) return false;
            take(*next, at, tight);
            value = relaxed(*next, at);
            if (tight.bound >= before) reach *= 0.7;
            const std::optional<std::size_t> row = most_wrong(*next, at);
            if (row && excess(*row, *next) != 0.0 && keeps_rows(found)) tight.two = {*next, found};
            if (row && excess(*row, found) != 0.0 && keeps_rows(*next)) tight.two = {found, *next};
            found = std::move(*next);
        }
        return true;
    }

    // ---- the search ----------------------------------------------------------------------------------------------

    void search() {
        if (k_ == 0) return;
        const Half all{0.0, Numbers(rows_.size(), 0.0), {}, {}, 0};
        const Tight tight = tightened(all, true);
        if (!tight.best) return;
        bound_ = tight.bound;
        if (k_ == 1 && closed(tight)) return;
        if (gone_through(all, tight, limits_.most_listed)) return;
        branch_and_bound({tight.bound, tight.multipliers, {}, {}, 0});
    }

    // Whether the best outputs of a half under L, in order, came down to what is kept; or there are no more.
    bool gone_through(const Half& half, const Tight& tight, std::size_t most) {
        if (most == 0 || !structure_.lists(shape_)) return false;
        for (std::size_t n = std::min(most, std::max<std::size_t>(8, 2 * k_)); n <= most; n *= 4) {
            const double before = elapsed();
            const std::vector<Answer> answers = list(half, 1.0, tight.multipliers, n);
            const double took = elapsed() - before;
            double last = kLogZero, wide = 0.0;
            for (const Answer& answer : answers) {
                const Found found = read(answer.parts);
                if (std::ranges::any_of(half.forced,
                                        [&](Part part) { return !std::ranges::binary_search(found.parts, part); }))
                    return true;  // all that have the forced parts come first
                consider(found);
                last = relaxed(found, tight.multipliers);
                wide = rounding(found, tight.multipliers);
            }
            if (answers.size() < n || last <= worst_kept() + wide) return true;
            if (half.number == 0) bound_ = std::min(bound_, std::max(last + wide, worst_kept()));
            if (elapsed() + 6.0 * took > limits_.seconds) return false;  // the next list would come too late
        }
        return false;
    }

    void branch_and_bound(Half first) {
        n_first_ = structure_.blocks(shape_).front().size();
        std::vector<Half> open{std::move(first)};
        std::size_t n_halves = 0;
        while (!open.empty()) {
            std::pop_heap(open.begin(), open.end());
            Half half = std::move(open.back());
            open.pop_back();
            bound_ = std::min(bound_, std::max(half.bound, worst_kept()));
            if (half.bound <= worst_kept()) return;  // so are all others
            if (++n_halves > limits_.nodes) throw GivenUp{};
            const Tight tight = tightened(half, false);
            if (!tight.best || (k_ == 1 && closed(tight))) continue;
            if (half.number > 0 && gone_through(half, tight, 32)) continue;
            const Part part = to_branch_on(half, tight);
            if (part == kNoPart) {
                if (structure_.lists(shape_) && !gone_through(half, tight, 4096)) throw GivenUp{};
                continue;
            }
            for (const bool forced : {true, false}) {
                Half next{std::min(half.bound, tight.bound + tight.rounding), tight.multipliers, half.forced,
                          half.forbidden, ++n_made_};
                (forced ? next.forced : next.forbidden).push_back(part);
                open.push_back(std::move(next));
                std::push_heap(open.begin(), open.end());
            }
        }
    }

    // A part of the first block that two outputs near the bound disagree about; of these one that counts in the rows.
    Part to_branch_on(const Half& half, const Tight& tight) const {
        Part chosen = kNoPart;
        double most = -1.0;
        const auto offer = [&](Part part) {
            if (part >= n_first_ || std::ranges::find(half.forced, part) != half.forced.end()) return;
            if (by_part_.size(part) <= most) return;
            most = by_part_.size(part);
            chosen = part;
        };
        if (tight.two.size() == 2) {
            for (const Part part : tight.two[0].parts)
                if (!std::ranges::binary_search(tight.two[1].parts, part)) offer(part);
            for (const Part part : tight.two[1].parts)
                if (!std::ranges::binary_search(tight.two[0].parts, part)) offer(part);
        }
        if (chosen == kNoPart)
            for (const Part part : tight.best->parts) offer(part);
        return chosen;
    }

    const Structure& structure_;
    const Shape shape_;
    const PartScores& given_;
    const std::vector<PartsRow>& rows_;
    const std::size_t k_;
    const SearchLimits limits_;
    Workspace& space_;
    const ByPart by_part_;
    const Clock::time_point began_;

    Numbers base_, adjusted_, spreads_;
    std::vector<Found> kept_;  // the best that keep the rows, best first
    double bound_ = 0.0;
    std::size_t questions_ = 0, n_made_ = 0, n_first_ = 0;
};

class Constrained final : public DerivationStructure {
public:
    Constrained(std::shared_ptr<const DerivationStructure> structure, std::vector<CodesRow> rows)
        : structure_(std::move(structure)), rows_(std::move(rows)) {}

    using Structure::best;

    std::unique_ptr<Workspace> workspace() const override { return structure_->workspace(); }
    std::vector<Block> blocks(Shape shape) const override { return structure_->blocks(shape); }
    void parts_of(Shape shape, std::span<const std::uint32_t> output, Parts& parts) const override {
        structure_->parts_of(shape, output, parts);
        const std::vector<PartsRow> rows = rows_of(shape);
        const ByPart by_part(rows, n_parts(shape));
        Numbers sums(rows.size(), 0.0);
        for (const Part part : parts) by_part.add(part, sums);
        for (std::size_t r = 0; r < rows.size(); ++r)
            if (sums[r] > rows[r].upper + 1e-9 || sums[r] < rows[r].lower - 1e-9)
                throw std::invalid_argument("it does not keep constraint " + std::to_string(r));
    }
    void output_of(Shape shape, std::span<const Part> parts, std::vector<std::uint32_t>& output) const override {
        structure_->output_of(shape, parts, output);
    }
    void costs(Shape shape, std::span<const Part> gold, std::span<double> out) const override {
        structure_->costs(shape, gold, out);
    }
    bool has_one_part() const override { return structure_->has_one_part(); }

    std::vector<Answer> best(Shape shape, const PartScores& scores, std::size_t k, Workspace& space) const override {
        ConstrainedBest found = constrained_best(*structure_, shape, scores, rows_of(shape), k, {.nodes = 2000}, space);
        if (!found.proved && found.answers.empty())
            throw std::invalid_argument("no output that keeps the constraints was found in " +
                                        std::to_string(found.questions) + " steps; relax the constraints");
        return std::move(found.answers);
    }

    bool sums(Shape) const override { return false; }
    double log_partition(Shape, const PartScores&, double*, double*, Workspace&) const override { refuse(); }
    double entropy(Shape, const PartScores&) const override { refuse(); }
    void max_marginals(Shape, const PartScores&, std::span<double>) const override { refuse(); }
    std::vector<Parts> sample(Shape, const PartScores&, std::size_t, bool,
                              const std::function<double()>&) const override {
        refuse();
    }
    std::size_t dead_end(Shape shape, const PartScores& scores) const override {
        return structure_->dead_end(shape, scores);
    }

private:
    [[noreturn]] static void refuse() {
        throw std::invalid_argument("sums over all outputs are not known where constraints count parts");
    }
    std::vector<PartsRow> rows_of(Shape shape) const {
        const std::vector<Block> blocks = structure_->blocks(shape);
        std::vector<PartsRow> out;
        for (const CodesRow& row : rows_) {
            std::size_t first = 0;
            for (std::size_t b = 0; b < row.block; ++b) first += blocks.at(b).size();
            const Block& block = blocks.at(row.block);
            if (row.coefficients.size() != block.n_codes)
                throw std::invalid_argument("a constraint must have one coefficient for each code of " + block.name);
            PartsRow made{{}, {}, row.lower, row.upper};
            for (std::size_t site = 0; site < block.n_sites; ++site)
                for (std::size_t code = 0; code < block.n_codes; ++code)
                    if (row.coefficients[code] != 0.0) {
                        made.parts.push_back(static_cast<Part>(first + site * block.n_codes + code));
                        made.coefficients.push_back(row.coefficients[code]);
                    }
            out.push_back(std::move(made));
        }
        return out;
    }

    std::shared_ptr<const DerivationStructure> structure_;
    std::vector<CodesRow> rows_;
};

}  // namespace

ConstrainedBest constrained_best(const Structure& structure, Shape shape, const PartScores& scores,
                                 const std::vector<PartsRow>& rows, std::size_t k, const SearchLimits& limits,
                                 Workspace& space) {
    return Search(structure, shape, scores, rows, k, limits, space).run();
}

std::unique_ptr<DerivationStructure> constrained_structure(std::shared_ptr<const DerivationStructure> structure,
                                                           std::vector<CodesRow> rows) {
    return std::make_unique<Constrained>(std::move(structure), std::move(rows));
}

}  // namespace tw
