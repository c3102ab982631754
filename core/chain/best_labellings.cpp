#include "best_labellings.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "../base/interrupt.hpp"
#include "../base/prefetch.hpp"
#include "../base/semiring.hpp"
#include "beam.hpp"
#include "one_chain.hpp"
#include "pruned_search.hpp"
#include "rounded_best.hpp"
#include "step_search.hpp"

namespace tw::chain {
namespace {

constexpr std::size_t kMostCounted = std::size_t{1} << 22;  // places in a table of labels by wrong labels so far
constexpr std::size_t kPairsAhead = 8;                      // attributes of pairs of labels fetched before
constexpr std::size_t kCommonShare = 16;  // an attribute meets many pairs if no more than 16 times as many exist
constexpr std::size_t kCommonKept = 16;
constexpr std::size_t kRoom = linear::ListedUnits::kRoom;
constexpr std::size_t kFetched = 64, kLine = 64;  // tokens whose units are fetched ahead; bytes

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

// The values of weights, in the precision that they come in.
template <class Visit>
auto with_values(const ScaledWeights& weights, Visit visit) {
    return weights.rounded.empty() ? visit(weights.stored) : visit(weights.rounded);
}

}  // namespace

// The transitions to one token after the other, where pairs of labels have attributes. Attributes that meet many pairs
// are few, and most tokens of a sequence have the same ones: what these add is added up once for all such tokens.
//
//     common[i]    [K][K]    transitions, and what the attributes units[i] add
//     moves        [K][K]    one of these, and what the other attributes of the token add
struct BestLabellings::StepMoves {
    std::size_t size = 0;
    bool forbids = false;  // whether the constraints are in there
    std::array<std::vector<std::uint32_t>, kCommonKept> units;
    std::array<LargeArray<double>, kCommonKept> common;
    LargeArray<double> moves;
    std::vector<std::uint32_t> wanted;
};

// Space for one call. Most calls find the transitions as the last one did: then they are as they were.
struct BestLabellings::Scratch {
    LargeArray<double> unary, moves;
    BestOfChain best;
    Beam beam;
    std::vector<std::byte> moves_from;  // what the moves that are the same at all positions were made from
    double moves_scale = 0.0, lowered = 0.0;
    bool same = false;  // whether the moves are those of the last search
    // Of many labels: moves with their bounds, and of which weights they were made.
    BoundedTransitions bounded;
    PrunedSearch pruned;
    StepSearch steps;
    StepMoves step;
    std::uint64_t changes_id = 0;
    std::size_t changes_seen = 0;
    double bounded_scale = 0.0;
    bool bounded_are_moves = false;                                    // whether they were made of `moves` as these are
    enum class Found { kBest, kPruned, kSteps } found = Found::kBest;  // which of them has what was asked for last
    std::optional<RoundedBest> rounded;
};

BestLabellings::BestLabellings(const TrainingSet& set, std::shared_ptr<WeightIndex> index, bool in_rows)
    : set_(set),
      index_(std::move(index)),
      K_(set.n_labels()),
      start_(K_, 0.0),
      end_(K_, 0.0),
      units_(index_, TrainingSet::kUnits, K_, set.units.n_members, set.settings.by_member, set.valued(), set.storage),
      sum_(set.settings.by_member && set.has_merged_units()),
      foreseen_(index_->n_weights() + index_->n_weights() / 4),
      spaces_(std::make_unique<Pool<Scratch>>()) {
    for (std::size_t y = 0; y < K_ && set.constrained(); ++y) {
        if (!set.settings.constraints.start[y]) start_[y] = kLogZero;
        if (!set.settings.constraints.end[y]) end_[y] = kLogZero;
    }
    for (std::uint32_t pair = 0; pair < K_ * K_; ++pair)
        transitions_.push_back(index_->find(TrainingSet::kTransitions, 0, pair));
    if (in_rows && !set.valued() && !set.has_pair_attributes() && linear::UnitRows::fits(*index_, set.units.size(), K_))
        rows_.emplace(*index_, K_, set.units.n_members, set.settings.by_member);
    else
        list_units();
}

void BestLabellings::list_units() const {
    const Occurrences& o = set_.occurrences;
    InterruptCheck check;
    Touches touched(set_.storage);
    for (std::size_t s = 0; s < set_.n_sequences(); ++s) {
        for (std::uint64_t t = set_.starts[s]; t < set_.starts[s + 1]; ++t) {
            check();
            touched(o.bytes(t, t + 1));
            for (std::uint32_t i = o.starts[t]; i < o.starts[t + 1]; ++i)
                units_.add(o.numbers[i], static_cast<double>(o.value(i)));
            units_.end_site();
        }
        units_.end_run();
    }
}

BestLabellings::~BestLabellings() = default;

void BestLabellings::limit(const Candidates& candidates) {
    if (set_.partly_labelled()) throw std::invalid_argument("candidates need one label for every token");
    candidates.check(K_, set_.starts.back());
    candidates_ = candidates;
    std::size_t from = 0;
    for (const std::uint32_t s : set_.sequence) {
        if (s == kNoAttribute) continue;
        for (std::size_t t = set_.starts[s]; t < set_.starts[s + 1]; ++t, ++from) {
            candidates_.of_token[t] = candidates.of_token[from];
            if (!candidates_.all(t) && !std::ranges::binary_search(candidates_.of(t), set_.gold[t]))
                throw std::invalid_argument("the label of a token is not among its candidates");
        }
    }
}

void BestLabellings::require_size(const ScaledWeights& weights) const {
    if (in_rows(weights) ? weights.rounded.size() != rows_->size() : weights.size() < index_->n_weights())
        throw std::invalid_argument("weights has the wrong size");
}

void BestLabellings::fetch_lists(std::size_t s) const {
    if (rows_) {
        const Occurrences& o = set_.occurrences;
        const std::size_t first = set_.starts[s], last = std::min<std::size_t>(set_.starts[s + 1], first + kFetched);
        for (std::size_t t = first; t <= last; t += kLine / sizeof o.starts[0]) fetch_to_read(&o.starts[t]);
        for (std::size_t i = o.starts[first]; i < o.starts[last]; i += kLine / sizeof o.numbers[0])
            fetch_to_read(&o.numbers[i]);
    } else {
        units_.fetch_lists(s, set_.starts[s], set_.starts[s + 1]);
    }
    if (set_.partly_labelled()) return;
    const std::size_t first = set_.starts[s], last = std::min<std::size_t>(set_.starts[s + 1], first + kFetched);
    for (std::size_t t = first; t < last; t += kLine / sizeof set_.gold[0]) fetch_to_read(&set_.gold[t]);
    if (last > first) fetch_to_read(&set_.gold[last - 1]);
}

void BestLabellings::fetch_weights(const ScaledWeights& weights, std::size_t s) const {
    const std::size_t first = set_.starts[s], last = set_.starts[s + 1];
    if (!candidates_.empty() && !in_rows(weights)) {
        const Sites here = sites(s);
        for (std::size_t t = first; t < std::min(last, first + kFetched); ++t)
            if (!candidates_.all(t)) listed().fetch_weights(weights, here, t, candidates_.of(t));
        return;
    }
    if (!in_rows(weights)) return listed().fetch_weights(weights, sites(s), first, last);
    const Occurrences& o = set_.occurrences;
    rows_->fetch(weights.rounded,
                 {o.numbers.data() + o.starts[first], o.numbers.data() + o.starts[std::min(last, first + kFetched)]});
}

std::size_t BestLabellings::n_steps(std::size_t s) const { return set_.has_pair_attributes() ? set_.length(s) - 1 : 1; }

std::size_t BestLabellings::part_count(std::size_t s) const { return set_.length(s) * K_ + n_steps(s) * K_ * K_; }

// The transitions of weights, in the precision that they come in.
template <class Visit>
auto BestLabellings::with_transitions(const ScaledWeights& weights, Visit visit) const {
    const std::size_t first = in_rows(weights) ? rows_->behind() : set_.first_transition();
    return with_values(weights,
                       [&](auto values) { return visit(values.subspan(first, set_.transition_pairs.size())); });
}

// Overwrites [length][padded].
void BestLabellings::put_rows(const ScaledWeights& weights, std::size_t s, float* unary) const {
    const std::size_t first = set_.starts[s], last = set_.starts[s + 1];
    if (set_.storage) set_.storage->touch(kAround);
    if (rows_)
        rows_->scores(weights.rounded, set_.occurrences.starts.data(), set_.occurrences.numbers.data(), first, last,
                      unary);
    else
        units_.scores(weights, sites(s), first, last, unary);
}

void BestLabellings::put_unit_scores(const ScaledWeights& weights, std::size_t s, double* unary) const {
    if (in_rows(weights)) {
        const std::size_t length = set_.length(s), padded = RoundedBest::padded(K_);
        std::vector<float> rows(length * padded);
        put_rows(weights, s, rows.data());
        for (std::size_t t = 0; t < length; ++t) std::copy_n(rows.data() + t * padded, K_, unary + t * K_);
    } else {
        if (set_.storage) set_.storage->touch(kAround);
        const Sites here = sites(s);
        if (candidates_.empty()) listed().scores(weights, here, set_.starts[s], set_.starts[s + 1], unary);
        for (std::size_t t = set_.starts[s]; t < set_.starts[s + 1] && !candidates_.empty(); ++t) {
            double* row = unary + (t - set_.starts[s]) * K_;
            if (candidates_.all(t)) {
                listed().scores(weights, here, t, t + 1, row);
                continue;
            }
            for (const std::uint16_t y : candidates_.of(t)) row[y] = 0.0;
            listed().add_scores(weights, here, t, candidates_.of(t), row);
        }
    }
    if (weights.scale == 1.0) return;
    for (std::size_t i = 0; i < set_.length(s) * K_; ++i) unary[i] *= weights.scale;
}

void BestLabellings::put_transitions(const ScaledWeights& weights, double* moves) const {
    with_transitions(weights, [&](auto v) {
        if (v.size() == K_ * K_) {  // they are in order
            for (std::size_t i = 0; i < K_ * K_; ++i) moves[i] = weights.scale * double{v[i]};
            return;
        }
        std::fill_n(moves, K_ * K_, 0.0);
        for (std::size_t i = 0; i < v.size(); ++i) moves[set_.transition_pairs[i]] = weights.scale * double{v[i]};
    });
}

// Visits the attributes of pairs of labels that a token has: visit(unit, value, whether it is common).
template <class Visit>
void BestLabellings::each_pair_unit(std::size_t token, Visit visit) const {
    const Occurrences& o = set_.pair_occurrences;
    const WeightTable& table = set_.pair_weights;
    for (std::size_t i = o.starts[token]; i < o.starts[token + 1]; ++i) {
        const std::uint32_t unit = o.numbers[i];
        const double x = o.value(i);
        visit(i, unit, x, x == 1.0 && kCommonShare * (table.starts[unit + 1] - table.starts[unit]) >= K_ * K_);
    }
}

// Visits the pairs of labels that have a weight with an attribute: visit(pair, place of the weight).
template <class Visit>
void BestLabellings::each_pair(std::uint32_t unit, Visit visit) const {
    const WeightTable& table = set_.pair_weights;
    const std::size_t first = set_.n_unit_weights();
    for (std::size_t w = table.starts[unit]; w < table.starts[unit + 1]; ++w) visit(table.labels[w], first + w);
    index_->added(TrainingSet::kPairs).each(unit, visit);
}

// The transitions to a token, until the next call, with room for a vector behind them.
const double* BestLabellings::moves_to(StepMoves& step, const ScaledWeights& weights, std::size_t token) const {
    step.wanted.clear();
    each_pair_unit(token, [&](std::size_t, std::uint32_t unit, double, bool is_common) {
        if (is_common) step.wanted.push_back(unit);
    });
    std::size_t here = 0;
    while (here < step.size && step.units[here] != step.wanted) ++here;
    with_values(weights, [&](auto values) {
        const auto* v = values.data();
        if (here == step.size) {
            if (step.size < kCommonKept)
                ++step.size;
            else
                here = token % kCommonKept;
            LargeArray<double>& common = step.common[here];
            common.resize(K_ * K_ + kernels().width);
            put_transitions(weights, common.data());
            if (step.forbids) forbid(common.data(), 1);
            for (const std::uint32_t unit : step.wanted)
                each_pair(unit,
                          [&](std::uint32_t pair, std::size_t w) { common[pair] += weights.scale * double{v[w]}; });
            step.units[here] = step.wanted;
        }
        step.moves = step.common[here];
        const Occurrences& o = set_.pair_occurrences;
        const WeightTable& table = set_.pair_weights;
        double* moves = step.moves.data();
        each_pair_unit(token, [&](std::size_t i, std::uint32_t unit, double x, bool is_common) {
            if (i + 2 * kPairsAhead < o.numbers.size()) {
                const std::uint32_t begin = table.starts[o.numbers[i + kPairsAhead]];
                fetch_to_read(table.starts.data() + o.numbers[i + 2 * kPairsAhead]);
                fetch_to_read(v + set_.n_unit_weights() + begin);
                fetch_to_read(table.labels.data() + begin);
            }
            x *= weights.scale;
            if (!is_common)
                each_pair(unit, [&](std::uint32_t pair, std::size_t w) { moves[pair] += x * double{v[w]}; });
        });
    });
    return step.moves.data();
}

// The transitions of all steps.
void BestLabellings::put_steps(const ScaledWeights& weights, std::size_t s, double* moves) const {
    StepMoves step;
    for (std::size_t t = 1; t <= n_steps(s); ++t, moves += K_ * K_)
        std::copy_n(moves_to(step, weights, set_.starts[s] + t), K_ * K_, moves);
}

void BestLabellings::forbid(double* moves, std::size_t steps) const {
    if (!set_.constrained()) return;
    const auto& allowed = set_.settings.constraints.transitions;
    for (std::size_t step = 0; step < steps; ++step, moves += K_ * K_)
        for (std::size_t i = 0; i < K_ * K_; ++i)
            if (!allowed[i]) moves[i] = kLogZero;
}

// The least to any label that is allowed; none where all are.
double BestLabellings::token_cost(std::size_t token, std::size_t label) const {
    const double weight = set_.token_weights.empty() ? 1.0 : set_.token_weights[token];
    if (!set_.partly_labelled()) return set_.cost(set_.gold[token], label) * weight;
    const auto allowed = set_.allowed(token);
    double cost = allowed.empty() ? 0.0 : std::numeric_limits<double>::infinity();
    for (const std::uint16_t y : allowed) cost = std::min(cost, set_.cost(y, label));
    return cost * weight;
}

void BestLabellings::add_costs(std::size_t s, double nu, double* unary) const {
    if (nu == 0.0) return;
    const std::size_t K = K_;
    for (std::size_t t = set_.starts[s]; t < set_.starts[s + 1]; ++t, unary += K) {
        if (set_.partly_labelled()) {
            for (std::size_t y = 0; y < K; ++y) unary[y] += nu * token_cost(t, y);
            continue;
        }
        const double weight = set_.token_weights.empty() ? 1.0 : set_.token_weights[t];
        if (set_.settings.cost.empty()) {
            const double of_gold = unary[set_.gold[t]];
            for (std::size_t y = 0; y < K; ++y) unary[y] += nu * weight;
            unary[set_.gold[t]] = of_gold;
        } else {
            const double* costs = set_.settings.cost.data() + set_.gold[t] * K;
            for (std::size_t y = 0; y < K; ++y) unary[y] += nu * (costs[y] * weight);
        }
    }
}

// Scores of labels with nu times their cost, and of transitions. Where all wrong labels cost the same, that of gold is
// lowered instead, and `lowered` says by how much in all.
void BestLabellings::put_label_scores(Scratch& space, const ScaledWeights& weights, std::size_t s, double nu) const {
    require_size(weights);
    const std::size_t room = set_.length(s) * K_ + kRoom;
    if (space.unary.size() < room) space.unary.resize(room);  // never smaller: more again would be filled
    put_unit_scores(weights, s, space.unary.data());
    space.lowered = 0.0;
    if (nu != 0.0 && set_.settings.cost.empty() && !set_.partly_labelled()) {
        double* unary = space.unary.data();
        for (std::size_t t = set_.starts[s]; t < set_.starts[s + 1]; ++t, unary += K_) {
            const double cost = nu * (set_.token_weights.empty() ? 1.0 : set_.token_weights[t]);
            unary[set_.gold[t]] -= cost;
            space.lowered += cost;
        }
    } else {
        add_costs(s, nu, space.unary.data());
    }
}

// Labels that are no candidates have any score until now.
void BestLabellings::forbid_others(std::size_t s, double* unary) const {
    if (candidates_.empty()) return;
    for (std::size_t t = set_.starts[s]; t < set_.starts[s + 1]; ++t, unary += K_) {
        if (candidates_.all(t)) continue;
        std::size_t y = 0;
        for (const std::uint16_t candidate : candidates_.of(t)) {
            std::fill(unary + y, unary + candidate, kLogZero);
            y = candidate + std::size_t{1};
        }
        std::fill(unary + y, unary + K_, kLogZero);
    }
}

void BestLabellings::put_scores(Scratch& space, const ScaledWeights& weights, std::size_t s, double nu) const {
    put_label_scores(space, weights, s, nu);
    forbid_others(s, space.unary.data());
    put_moves(space, weights, s);
    space.found = Scratch::Found::kBest;
}

void BestLabellings::put_moves(Scratch& space, const ScaledWeights& weights, std::size_t s) const {
    if (set_.has_pair_attributes()) {
        const std::size_t size = std::max<std::size_t>(n_steps(s), 1) * K_ * K_;
        if (space.moves.size() < size) space.moves.resize(size);  // never smaller: more again would be filled
        put_steps(weights, s, space.moves.data());
        forbid(space.moves.data(), n_steps(s));
        return;
    }
    const auto stored = with_transitions(weights, [](auto v) { return std::as_bytes(v); });
    if (!space.moves.empty() && space.moves_scale == weights.scale && same(stored, space.moves_from)) return;
    space.moves.resize(K_ * K_);
    put_transitions(weights, space.moves.data());
    forbid(space.moves.data(), 1);
    space.moves_from.assign(stored.begin(), stored.end());
    space.moves_scale = weights.scale;
    space.same = space.bounded_are_moves = false;
}

// Only the transitions that have changed since the last time, where that is known.
void BestLabellings::bound_moves(Scratch& space, const ScaledWeights& weights) const {
    std::span<const std::uint32_t> changed;
    const ChangeLog* log = weights.changes;
    const bool known = log && log->watched() && !space.bounded.empty() && space.changes_id == log->id() &&
                       space.bounded_scale == weights.scale && log->since(space.changes_seen, changed);
    if (known) {
        const std::size_t first = set_.first_transition(), n = set_.transition_pairs.size();
        with_values(weights, [&](auto values) {
            for (const std::uint32_t w : changed) {
                if (w - first >= n) continue;
                const std::uint32_t pair = set_.transition_pairs[w - first];
                if (set_.constrained() && !set_.settings.constraints.transitions[pair]) continue;
                space.bounded.change(pair / K_, pair % K_, weights.scale * double{values[w]});
            }
        });
        space.bounded_are_moves &= changed.empty();
    } else {
        put_moves(space, weights, 0);
        if (!space.bounded_are_moves) space.bounded.set(K_, space.moves.data());
        space.bounded_are_moves = true;
        if (log) log->watch();
    }
    space.changes_id = log ? log->id() : 0;
    space.changes_seen = log ? log->end() : 0;
    space.bounded_scale = weights.scale;
}

double BestLabellings::gold_score(const Scratch& space, std::size_t s) const {
    const std::uint16_t* gold = set_.gold.data() + set_.starts[s];
    const auto move = [&](std::size_t t) {
        switch (space.found) {
            case Scratch::Found::kPruned:
                return space.bounded(gold[t - 1], gold[t]);
            case Scratch::Found::kSteps:
                return space.steps.watched(t);
            case Scratch::Found::kBest:
                break;
        }
        const std::size_t step = set_.has_pair_attributes() ? t - 1 : 0;
        return space.moves[step * K_ * K_ + gold[t - 1] * K_ + gold[t]];
    };
    double total = space.lowered;
    for (std::size_t t = 0; t < set_.length(s); ++t) {
        total += space.unary[t * K_ + gold[t]];
        if (t > 0) total += move(t);
    }
    return total;
}

// Viterbi over (position, wrong labels so far, label); O(length^2 K^2).
bool BestLabellings::slack_argmax(const ScaledWeights& weights, std::size_t example, Output& out) const {
    const std::uint32_t s = sequence(example);
    out = {};
    if (s == kNoAttribute) return true;
    const std::size_t length = set_.length(s), n_counts = length + 1;
    const bool counts_wrong_labels = set_.settings.cost.empty() && set_.token_weights.empty();
    if (!counts_wrong_labels || length * n_counts * K_ > kMostCounted) return false;
    const Pool<Scratch>::Borrowed borrowed(*spaces_);
    Scratch& space = *borrowed;
    put_scores(space, weights, s, 0.0);
    const std::uint16_t* gold = set_.gold.data() + set_.starts[s];
    std::vector<double> best(length * n_counts * K_, kLogZero);
    std::vector<std::uint16_t> from(best.size(), 0);
    const auto at = [&](std::size_t t, std::size_t wrong, std::size_t y) { return (t * n_counts + wrong) * K_ + y; };
    for (std::size_t y = 0; y < K_; ++y) best[at(0, y != gold[0], y)] = start_[y] + space.unary[y];
    InterruptCheck check;
    for (std::size_t t = 1; t < length; ++t) {
        const double* moves = space.moves.data() + (set_.has_pair_attributes() ? (t - 1) * K_ * K_ : 0);
        for (std::size_t y = 0; y < K_; ++y) {
            check();
            const std::size_t more = y != gold[t];
            for (std::size_t wrong = more; wrong <= t + 1; ++wrong) {
                double& top = best[at(t, wrong, y)];
                for (std::size_t x = 0; x < K_; ++x) {
                    const double score = best[at(t - 1, wrong - more, x)] + moves[x * K_ + y];
                    if (score <= top) continue;
                    top = score;
                    from[at(t, wrong, y)] = static_cast<std::uint16_t>(x);
                }
                top += space.unary[t * K_ + y];
            }
        }
    }
    const double of_gold = gold_score(space, s);
    double highest = kLogZero;
    std::size_t last = 0, n_wrong = 0;
    for (std::size_t wrong = 0; wrong <= length; ++wrong)
        for (std::size_t y = 0; y < K_; ++y) {
            const double score = best[at(length - 1, wrong, y)] + end_[y];
            if (score == kLogZero) continue;
            const double value = static_cast<double>(wrong) * (1.0 + score - of_gold);
            if (value <= highest) continue;
            highest = value;
            last = y;
            n_wrong = wrong;
            out.score = score;
        }
    out.cost = static_cast<double>(n_wrong);
    out.code.assign(length, 0);
    for (std::size_t t = length, wrong = n_wrong; t-- > 0;) {
        out.code[t] = static_cast<std::uint32_t>(last);
        const std::size_t previous = from[at(t, wrong, last)];
        wrong -= last != gold[t];
        last = previous;
    }
    return true;
}

// Whether the best labelling is looked for in single precision.
bool BestLabellings::rounds(const ScaledWeights& weights, std::size_t s, std::size_t k) const {
    return k == 1 && candidates_.empty() && !weights.rounded.empty() && weights.scale == 1.0 &&
           RoundedBest::fits(K_, set_.length(s)) && set_.settings.cost.empty() && !set_.partly_labelled() &&
           !set_.has_pair_attributes();
}

// The search is in single precision, the margin that comes of it in double, over the same scores. False where the best
// labelling is not the only one.
bool BestLabellings::best_rounded(Scratch& space, const ScaledWeights& weights, std::size_t s, double nu,
                                  Output& out) const {
    require_size(weights);
    if (!space.rounded)
        space.rounded.emplace(start_, end_, set_.transition_pairs, set_.settings.constraints.transitions);
    RoundedBest& best = *space.rounded;
    const std::size_t length = set_.length(s), first = set_.starts[s], padded = best.padded();
    const std::span<const std::uint16_t> gold = std::span(set_.gold).subspan(first, length);
    float* unary = best.unary(length);
    put_rows(weights, s, unary);
    const auto cost = [&](std::size_t t) { return set_.token_weights.empty() ? 1.0 : set_.token_weights[first + t]; };
    double lowered = 0.0;
    for (std::size_t t = 0; nu != 0.0 && t < length; ++t) {
        unary[t * padded + gold[t]] -= static_cast<float>(nu * cost(t));
        lowered += nu * cost(t);
    }
    best.set_transitions(
        weights.rounded.subspan(rows_ ? rows_->behind() : set_.first_transition(), set_.transition_pairs.size()));
    double total = 0.0;
    if (!best.search(length, gold, total)) return false;
    if (total == kLogZero) throw std::invalid_argument("the constraints forbid every labelling of a sequence");
    const std::int32_t* labels = best.labels().data();
    out.code.assign(labels, labels + length);
    out.margin = 0.0;
    for (std::size_t t = 0; t < length; ++t) {
        const bool wrong = out.code[t] != gold[t];
        if (wrong) {
            out.cost += cost(t);
            out.margin += double{unary[t * padded + gold[t]]} - double{unary[t * padded + out.code[t]]} + nu * cost(t);
        }
        if (t > 0 && (wrong || out.code[t - 1] != gold[t - 1]))
            out.margin +=
                double{best.transition(gold[t - 1], gold[t])} - double{best.transition(out.code[t - 1], out.code[t])};
    }
    out.score = total + lowered - nu * out.cost;
    return true;
}

std::vector<Output> BestLabellings::kbest(const ScaledWeights& weights, std::size_t example, std::size_t k,
                                          double nu) const {
    const std::uint32_t s = sequence(example);
    if (s == kNoAttribute) return {Output{}};
    const Pool<Scratch>::Borrowed borrowed(*spaces_);
    Scratch& space = *borrowed;
    const std::size_t length = set_.length(s);
    std::vector<Output> out;
    if (rounds(weights, s, k)) {
        out.emplace_back();
        if (best_rounded(space, weights, s, nu, out.front())) return out;
        out.clear();
    }
    put_label_scores(space, weights, s, nu);
    const std::span<const std::uint16_t> gold = set_.partly_labelled()
                                                    ? std::span<const std::uint16_t>()
                                                    : std::span(set_.gold).subspan(set_.starts[s], length);
    double of_gold = std::nan("");  // until it is needed
    const auto take = [&](const std::int32_t* labels, double total) {
        out.push_back(found(s, labels, total + space.lowered, nu));
        if (set_.partly_labelled()) return;
        const bool is_gold = out.back().cost == 0.0 && std::equal(gold.begin(), gold.end(), labels);
        if (!is_gold && std::isnan(of_gold)) of_gold = gold_score(space, s);
        out.back().margin = is_gold ? 0.0 : of_gold - out.back().score;
    };
    search(space, weights, s, k, gold);
    if (space.found != Scratch::Found::kBest) {
        if (space.found == Scratch::Found::kPruned)
            take(space.pruned.labels(), space.pruned.score());
        else
            take(space.steps.labels(), space.steps.score());
        return out;
    }
    out.reserve(space.best.size());
    if (space.best.size() == 0 && k > 0)
        throw std::invalid_argument("the constraints forbid every labelling of a sequence");
    for (std::size_t i = 0; i < space.best.size(); ++i) take(space.best.labels(i), space.best.score(i));
    return out;
}

// The k best of the scores of labels that are there, in `pruned`, `steps` or `best`. `guess`: gold, or nothing.
void BestLabellings::search(Scratch& space, const ScaledWeights& weights, std::size_t s, std::size_t k,
                            std::span<const std::uint16_t> guess) const {
    const Sequence sequence{space.unary.data(), set_.length(s)};
    space.found = Scratch::Found::kBest;
    if (k == 1 && leaves_labels_out(K_) && !set_.has_pair_attributes() && !in_rows(weights)) {
        bound_moves(space, weights);
        if (space.pruned.search(space.bounded, start_.data(), end_.data(), sequence,
                                candidates_.empty() ? nullptr : &candidates_, set_.starts[s])) {
            space.found = Scratch::Found::kPruned;
            return;
        }
    }
    forbid_others(s, space.unary.data());
    if (k == 1 && set_.has_pair_attributes()) {
        space.step.size = 0;
        space.step.forbids = true;
        const auto moves = [&](std::size_t t) { return moves_to(space.step, weights, set_.starts[s] + t); };
        if (space.steps.search(K_, start_.data(), end_.data(), sequence, guess, moves)) {
            space.found = Scratch::Found::kSteps;
            return;
        }
    }
    put_moves(space, weights, s);
    const Potentials potentials{K_, space.moves.data(), set_.has_pair_attributes(), start_.data(), end_.data()};
    space.best.search(potentials, sequence, k, std::exchange(space.same, !set_.has_pair_attributes()), guess);
}

Output BestLabellings::max_violation(const ScaledWeights& weights, std::size_t example, std::size_t width) const {
    const std::uint32_t s = sequence(example);
    Output out;
    out.margin = 0.0;
    if (s == kNoAttribute) return out;
    const Pool<Scratch>::Borrowed borrowed(*spaces_);
    Scratch& space = *borrowed;
    put_scores(space, weights, s, 0.0);
    space.same = false;  // the next search for the best packs its transitions itself
    const std::uint16_t* gold = set_.gold.data() + set_.starts[s];
    const Potentials potentials{K_, space.moves.data(), set_.has_pair_attributes(), start_.data(), end_.data()};
    space.beam.search(potentials, {space.unary.data(), set_.length(s)}, width);
    std::size_t size = 0;
    double of_gold = 0.0, most = kLogZero;
    for (std::size_t t = 0; t < space.beam.reached(); ++t) {  // added up as the beam does
        if (t > 0) of_gold += space.moves[(potentials.per_step ? (t - 1) * K_ * K_ : 0) + gold[t - 1] * K_ + gold[t]];
        of_gold += space.unary[t * K_ + gold[t]];
        const double above = space.beam.score(t + 1) - of_gold;
        if (above < most) continue;
        most = above;
        size = t + 1;
    }
    if (size == 0) throw std::invalid_argument("the constraints forbid every labelling of a sequence");
    std::vector<std::int32_t> labels(size);
    space.beam.labels(size, labels);
    out.code.assign(labels.begin(), labels.end());
    for (std::size_t t = 0; t < size; ++t) out.cost += token_cost(set_.starts[s] + t, out.code[t]);
    out.score = space.beam.score(size);
    out.margin = -most;
    return out;
}

Output BestLabellings::best_allowed(const ScaledWeights& weights, std::size_t example) const {
    const std::uint32_t s = sequence(example);
    if (s == kNoAttribute) return {};
    const Pool<Scratch>::Borrowed borrowed(*spaces_);
    Scratch& space = *borrowed;
    put_label_scores(space, weights, s, 0.0);
    for (std::size_t t = 0; t < set_.length(s); ++t) {
        const auto allowed = set_.allowed(set_.starts[s] + t);
        double* unary = space.unary.data() + t * K_;
        for (std::size_t y = 0; y < K_ && !allowed.empty(); ++y)
            if (std::ranges::find(allowed, y) == allowed.end()) unary[y] = kLogZero;
    }
    search(space, weights, s, 1, {});
    if (space.found == Scratch::Found::kPruned) return found(s, space.pruned.labels(), space.pruned.score(), 0.0);
    if (space.found == Scratch::Found::kSteps) return found(s, space.steps.labels(), space.steps.score(), 0.0);
    return found(s, space.best.labels(0), space.best.score(0), 0.0);
}

Output BestLabellings::found(std::size_t s, const std::int32_t* labels, double total, double nu) const {
    Output out;
    out.code.assign(labels, labels + set_.length(s));
    for (std::size_t t = 0; t < out.code.size(); ++t) {
        const std::size_t token = set_.starts[s] + t;
        if (set_.partly_labelled() || out.code[t] != set_.gold[token]) out.cost += token_cost(token, out.code[t]);
    }
    out.score = total - nu * out.cost;
    return out;
}

std::uint32_t BestLabellings::sequence(std::size_t example) const {
    if (example >= set_.n_examples) throw std::invalid_argument("there is no example " + std::to_string(example));
    return set_.sequence[example];
}

void BestLabellings::require_length(std::uint32_t s, const Output& output) const {
    if (output.code.size() != (s == kNoAttribute ? 0 : set_.length(s)))
        throw std::invalid_argument("this output is of another example");
}

template <class Add>
[[gnu::always_inline]] inline void BestLabellings::each_difference(const Sites& sites, std::size_t token,
                                                                   std::uint32_t right, std::uint32_t wrong, Add add) {
    const auto visit = [&](double x, double count, auto weight_of) {
        add(weight_of(right), x, count);
        add(weight_of(wrong), -x, count);
    };
    if (rows_)
        rows_->each_unit(units_of(token), visit);
    else
        units_.each_unit(sites, token, visit);
}

void BestLabellings::difference(std::size_t example, const Output& output, SparseVector& out) {
    const std::uint32_t s = sequence(example);
    require_length(s, output);
    if (s == kNoAttribute) return out.clear();
    put_difference(s, set_.gold.data() + set_.starts[s], output.code, out);
}

void BestLabellings::difference_of_beginnings(std::size_t example, const Output& output, SparseVector& out) {
    const std::uint32_t s = sequence(example);
    if (output.code.size() > (s == kNoAttribute ? 0 : set_.length(s)))
        throw std::invalid_argument("this output is of another example");
    if (output.code.empty()) return out.clear();
    put_difference(s, set_.gold.data() + set_.starts[s], output.code, out);
}

void BestLabellings::difference_to(std::size_t example, const Output& gold, const Output& output, SparseVector& out) {
    const std::uint32_t s = sequence(example);
    require_length(s, gold);
    require_length(s, output);
    if (s == kNoAttribute) return out.clear();
    put_difference(s, gold.code.data(), output.code, out);
}

template <class Label>
void BestLabellings::put_difference(std::size_t s, const Label* gold, std::span<const std::uint32_t> labels,
                                    SparseVector& out) {
    sum_.begin();
    const auto add = [&](std::uint32_t w, double x, double count = 1.0) {
        if (w != kNoWeight) sum_.add(w, x, count);
    };
    std::size_t n_wrong = 0;
    for (std::size_t t = 0; t < labels.size(); ++t) n_wrong += labels[t] != gold[t];
    if (n_wrong == 0) return sum_.end(out);
    const Sites here = rows_ ? Sites{} : sites(s);
    for (std::size_t t = 0; t < labels.size(); ++t) {
        const std::size_t token = set_.starts[s] + t;
        const std::uint32_t label = labels[t];
        if (label != gold[t]) {
            sum_.expect(2 * (rows_ ? units_of(token).size() : here.n_units(token)));
            if (n_wrong == 1)  // the units of one token are all different
                each_difference(here, token, gold[t], label, [&](std::uint32_t w, double x, double count) {
                    if (w != kNoWeight) sum_.append(w, x, count);
                });
            else
                each_difference(here, token, gold[t], label, add);
        }
        if (t == 0 || (label == gold[t] && labels[t - 1] == gold[t - 1])) continue;
        const auto right = static_cast<std::uint32_t>(gold[t - 1] * K_ + gold[t]);
        const auto wrong = static_cast<std::uint32_t>(labels[t - 1] * K_ + label);
        sum_.expect(2);
        add(transition(right), 1.0);
        add(transition(wrong), -1.0);
        if (!set_.has_pair_attributes()) continue;
        const Occurrences& o = set_.pair_occurrences;
        sum_.expect(2 * (o.starts[token + 1] - o.starts[token]));
        for (std::size_t i = o.starts[token]; i < o.starts[token + 1]; ++i) {
            const double x = o.value(i);
            add(index_->find_or_add(TrainingSet::kPairs, o.numbers[i], right), x);
            add(index_->find_or_add(TrainingSet::kPairs, o.numbers[i], wrong), -x);
        }
    }
    sum_.end(out);
    if (set_.storage && index_->n_weights() > foreseen_) require_memory();
}

void BestLabellings::require_memory() {
    set_.storage->require_growth(index_->n_weights());
    foreseen_ = index_->n_weights() + index_->n_weights() / 8;
}

// NaN where pairs of labels have attributes, or the weights lack some that are there by now.
double BestLabellings::margin(const ScaledWeights& weights, std::size_t example, const Output& output) const {
    const std::uint32_t s = sequence(example);
    require_length(s, output);
    if (s == kNoAttribute) return 0.0;
    if (set_.has_pair_attributes() || (!in_rows(weights) && weights.size() < index_->n_weights())) return std::nan("");
    if (in_rows(weights)) return weights.scale * margin_in_rows(weights.rounded, s, output.code);
    const auto of = [&](auto values) { return margin_of(values.data(), s, output.code); };
    return weights.scale * with_values(weights, of);
}

template <class Real>
double BestLabellings::margin_of(const Real* v, std::size_t s, std::span<const std::uint32_t> labels) const {
    const std::uint16_t* gold = set_.gold.data() + set_.starts[s];
    const auto value = [&](std::uint32_t w) { return w == kNoWeight ? 0.0 : double{v[w]}; };
    const Sites here = sites(s);
    double sum = 0.0;
    for (std::size_t t = 0; t < labels.size(); ++t) {
        const bool wrong = labels[t] != gold[t];
        if (wrong) {
            const std::size_t token = set_.starts[s] + t;
            const auto row = [&](std::uint32_t begin, double x) {
                sum += x * (value(begin + gold[t]) - value(begin + labels[t]));
            };
            here.each_row(token, row);
            here.each_part(token, [&](const linear::ListedUnits::Part& part, double x) {
                sum += x * (value(units_.weight_of(part, gold[t])) - value(units_.weight_of(part, labels[t])));
            });
            here.each_rare(token, [&](const RareUnit& rare, double x) {
                x *= units_.factor(rare.factor);
                if (rare.size == RareUnit::kRow) {
                    row(rare.begin, x);
                    return;
                }
                const auto add = [&](std::uint32_t label, std::uint32_t w) {
                    if (label == gold[t]) sum += x * value(w);
                    if (label == labels[t]) sum -= x * value(w);
                };
                for (std::uint32_t w = rare.begin; w < rare.begin + rare.size; ++w) add(units_.code(w), w);
                index_->added(TrainingSet::kUnits).each(rare.unit, add);
            });
        }
        if (t > 0 && (wrong || labels[t - 1] != gold[t - 1]))
            sum += value(transition(gold[t - 1] * K_ + gold[t])) - value(transition(labels[t - 1] * K_ + labels[t]));
    }
    return sum;
}

double BestLabellings::margin_in_rows(std::span<const float> rounded, std::size_t s,
                                      std::span<const std::uint32_t> labels) const {
    const std::uint16_t* gold = set_.gold.data() + set_.starts[s];
    const float* moves = rounded.data() + rows_->behind();
    const auto move = [&](std::size_t a, std::size_t b) {
        const std::uint32_t w = transition(a * K_ + b);
        return w == kNoWeight ? 0.0 : double{moves[w - set_.first_transition()]};
    };
    double sum = 0.0;
    for (std::size_t t = 0; t < labels.size(); ++t) {
        const bool wrong = labels[t] != gold[t];
        for (std::size_t i = 0; wrong && i < units_of(set_.starts[s] + t).size(); ++i) {
            const float* row = rows_->row(rounded, units_of(set_.starts[s] + t)[i]);
            sum += double{row[gold[t]]} - double{row[labels[t]]};
        }
        if (t > 0 && (wrong || labels[t - 1] != gold[t - 1]))
            sum += move(gold[t - 1], gold[t]) - move(labels[t - 1], labels[t]);
    }
    return sum;
}

void BestLabellings::part_scores(const ScaledWeights& weights, std::size_t example, std::vector<double>& out) const {
    const std::uint32_t s = sequence(example);
    if (s == kNoAttribute) return out.clear();
    require_size(weights);
    out.resize(part_count(s) + kRoom);
    put_unit_scores(weights, s, out.data());
    out.resize(part_count(s));
    double* moves = out.data() + set_.length(s) * K_;
    if (set_.has_pair_attributes())
        put_steps(weights, s, moves);
    else
        put_transitions(weights, moves);
}

void BestLabellings::part_costs(std::size_t example, std::vector<double>& out) const {
    const std::uint32_t s = sequence(example);
    if (s == kNoAttribute) return out.clear();
    out.assign(part_count(s), 0.0);
    add_costs(s, 1.0, out.data());
}

double BestLabellings::marginals(std::size_t example, std::span<const double> scores, std::vector<double>& out) const {
    const std::uint32_t s = sequence(example);
    out.clear();
    if (s == kNoAttribute) return 0.0;
    if (scores.size() != part_count(s)) throw std::invalid_argument("part scores have the wrong size");
    const std::size_t length = set_.length(s);
    const bool per_step = set_.has_pair_attributes();
    std::vector<double> moves(scores.begin() + static_cast<std::ptrdiff_t>(length * K_), scores.end());
    forbid(moves.data(), n_steps(s));
    out.resize(scores.size());
    return all_sums({K_, moves.data(), per_step, start_.data(), end_.data()}, {scores.data(), length}, out.data(),
                    out.data() + length * K_);
}

void BestLabellings::difference_of_marginals(std::size_t example, std::span<const double> marginals,
                                             SparseVector& out) {
    const std::uint32_t s = sequence(example);
    if (s == kNoAttribute) return out.clear();
    if (marginals.size() != part_count(s)) throw std::invalid_argument("marginals have the wrong size");
    sum_.begin();
    const auto add = [&](std::uint32_t w, double x, double count = 1.0) {
        if (w != kNoWeight) sum_.add(w, x, count);
    };
    const Sites here = sites(s);
    const std::size_t length = set_.length(s), size = K_ * K_;
    const double* edges = marginals.data() + length * K_;
    std::vector<double> moves(edges, edges + (length > 1 ? n_steps(s) * size : 0));
    for (double& p : moves) p = -p;
    for (std::size_t t = 0; t < length; ++t) {
        const std::size_t token = set_.starts[s] + t;
        const double* p = marginals.data() + t * K_;
        const auto rest = [&](std::uint32_t y) { return (y == set_.gold[token] ? 1.0 : 0.0) - p[y]; };
        sum_.expect(K_ * here.n_units(token));
        const auto some = [&](std::uint32_t begin, std::size_t size, double x, double count) {
            for (std::uint32_t w = begin; w < begin + size; ++w)
                if (const double p = rest(units_.code(w)); p != 0.0) sum_.add(w, x * p, count);
        };
        here.each_row(token, [&](std::uint32_t begin, double x) { some(begin, K_, x, 1.0); });
        here.each_part(token, [&](const linear::ListedUnits::Part& part, double x) {
            some(part.begin, static_cast<std::size_t>(std::popcount(part.codes)), x, 1.0);
        });
        here.each_rare(token, [&](const RareUnit& rare, double x) {
            const double step = units_.step(rare.factor) * x, count = units_.count(rare.factor);
            if (index_->grows()) {
                for (std::uint32_t y = 0; y < K_; ++y)
                    if (rest(y) != 0.0) add(units_.weight_of(rare, y), step * rest(y), count);
            } else {  // no need to look for weights that are not there
                some(rare.begin, rare.size == RareUnit::kRow ? K_ : rare.size, step, count);
            }
        });
        if (t == 0) continue;
        const std::size_t right = set_.gold[token - 1] * K_ + set_.gold[token];
        double* step = moves.data() + (set_.has_pair_attributes() ? (t - 1) * size : 0);
        step[right] += 1.0;
        if (!set_.has_pair_attributes()) continue;
        const Occurrences& pairs = set_.pair_occurrences;
        for (std::uint32_t pair = 0; pair < size; ++pair) {
            if (step[pair] == 0.0) continue;
            sum_.expect(pairs.starts[token + 1] - pairs.starts[token]);
            for (std::size_t i = pairs.starts[token]; i < pairs.starts[token + 1]; ++i)
                add(index_->find_or_add(TrainingSet::kPairs, pairs.numbers[i], pair),
                    step[pair] * static_cast<double>(pairs.value(i)));
        }
    }
    sum_.expect(size);  // as many are different
    for (std::size_t i = 0; i < moves.size(); ++i)
        if (moves[i] != 0.0) add(transition(i % size), moves[i]);
    sum_.end(out);
}

}  // namespace tw::chain
