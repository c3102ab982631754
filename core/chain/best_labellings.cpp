#include "best_labellings.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <stdexcept>

#include "../semiring.hpp"

namespace tw::chain {
namespace {

constexpr std::size_t kMostCounted = std::size_t{1} << 22;  // places in a table of labels by wrong labels so far
constexpr std::size_t kRoom = 8;                            // numbers that a kernel may write behind a row
constexpr std::size_t kLongest = std::size_t{1}
                                 << 22;  // bytes of Viterbi scores kept at once; longer chains go in blocks

}  // namespace

// Space for one call. The transitions are packed for the recursion only when they have changed since the last one.
struct BestLabellings::Scratch {
    std::vector<double> unary, moves, packed_from, forward, backward, scores;
    std::vector<std::int32_t> labels;
};

class BestLabellings::Borrowed {
public:
    explicit Borrowed(const BestLabellings& owner) : owner_(owner) {
        const std::lock_guard guard(owner.lock_);
        if (owner.free_.empty()) {
            space_ = std::make_unique<Scratch>();
        } else {
            space_ = std::move(owner.free_.back());
            owner.free_.pop_back();
        }
    }
    ~Borrowed() {
        const std::lock_guard guard(owner_.lock_);
        owner_.free_.push_back(std::move(space_));
    }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    Scratch& operator*() const { return *space_; }

private:
    const BestLabellings& owner_;
    std::unique_ptr<Scratch> space_;
};

// Adds to a vector with few non-zeros: a table from weight to place, whose old entries are told by their stamp.
class BestLabellings::Sum {
public:
    void begin(SparseVector& out) {
        out_ = &out;
        out.clear();
        if (++stamp_ == 0) {
            std::ranges::fill(table_, Slot{});
            stamp_ = 1;
        }
    }
    void add(std::uint32_t weight, double value) {
        if (weight == kNoWeight) return;
        if (2 * (out_->size() + 1) > table_.size()) enlarge();
        Slot& slot = place(weight);
        if (slot.stamp == stamp_) {
            out_->values[slot.at] += value;
            return;
        }
        slot = {stamp_, weight, static_cast<std::uint32_t>(out_->size())};
        out_->indices.push_back(weight);
        out_->values.push_back(value);
    }
    void end() {  // what cancelled is left out
        std::size_t n = 0;
        for (std::size_t i = 0; i < out_->size(); ++i) {
            if (out_->values[i] == 0.0) continue;
            out_->indices[n] = out_->indices[i];
            out_->values[n++] = out_->values[i];
        }
        out_->indices.resize(n);
        out_->values.resize(n);
    }

private:
    struct Slot {
        std::uint32_t stamp = 0, weight = 0, at = 0;
    };
    Slot& place(std::uint32_t weight) {
        const std::size_t mask = table_.size() - 1;
        std::size_t i = (weight * 0x9e3779b97f4a7c15ULL) >> shift_;
        while (table_[i].stamp == stamp_ && table_[i].weight != weight) i = (i + 1) & mask;
        return table_[i];
    }
    void enlarge() {
        const std::size_t size = std::max<std::size_t>(256, 2 * table_.size());
        table_.assign(size, Slot{});
        shift_ = 64 - static_cast<unsigned>(std::countr_zero(size));
        stamp_ = 1;
        for (std::size_t i = 0; i < out_->size(); ++i)
            place(out_->indices[i]) = {stamp_, out_->indices[i], static_cast<std::uint32_t>(i)};
    }

    SparseVector* out_ = nullptr;
    std::vector<Slot> table_;
    std::uint32_t stamp_ = 0;
    unsigned shift_ = 0;
};

BestLabellings::BestLabellings(TrainingSet& set, std::shared_ptr<Growth> growth)
    : set_(set), growth_(std::move(growth)), K_(set.n_labels()), start_(K_, 0.0), end_(K_, 0.0) {
    const std::size_t unit = std::max<std::size_t>(kernels().width, 4);
    padded_ = (K_ + unit - 1) / unit * unit;
    for (std::size_t y = 0; y < K_ && set.constrained(); ++y) {
        if (!set.settings.constraints.start[y]) start_[y] = kLogZero;
        if (!set.settings.constraints.end[y]) end_[y] = kLogZero;
    }
    place_units();
    put_full_rows_first(set);
    sum_ = std::make_unique<Sum>();
}

void BestLabellings::place_units() {
    const WeightTable& table = set_.unit_weights;
    labels_.assign(table.labels.begin(), table.labels.end());
    labels_.resize(labels_.size() + 1);                     // fetched ahead even where a unit has no weights
    std::map<std::uint32_t, std::uint16_t> factor_of_size;  // there are few sizes of units
    for (std::uint32_t u = 0; u < set_.units.size(); ++u) {
        const auto [known, fresh] =
            factor_of_size.emplace(set_.units.n_members[u], static_cast<std::uint16_t>(factors_.size()));
        if (fresh) factors_.push_back(set_.factor(u));
        if (factors_.size() > 0xffff) throw std::invalid_argument("too many different units of attributes");
        const std::uint32_t size = table.starts[u + 1] - table.starts[u];
        if (size != K_ && size > UnitPlace::kMostSparse) throw std::invalid_argument("too many labels");
        const std::uint16_t shape = size == K_ ? UnitPlace::kFull : static_cast<std::uint16_t>(size);
        places_.push_back({table.starts[u], shape, known->second});
    }
}

void BestLabellings::put_full_rows_first(TrainingSet& set) {
    Occurrences& o = set.occurrences;
    const auto full = [&](std::uint32_t unit) { return places_[unit].full(); };
    std::vector<std::pair<std::uint32_t, float>> rest;
    for (std::size_t t = 0; t + 1 < o.starts.size(); ++t) {
        rest.clear();
        std::uint32_t at = o.starts[t];
        for (std::uint32_t i = at; i < o.starts[t + 1]; ++i) {
            if (!full(o.numbers[i])) {
                rest.emplace_back(o.numbers[i], o.value(i));
                continue;
            }
            o.numbers[at] = o.numbers[i];
            if (!o.values.empty()) o.values[at] = o.values[i];
            ++at;
        }
        split_.push_back(at);
        for (const auto& [number, value] : rest) {
            o.numbers[at] = number;
            if (!o.values.empty()) o.values[at] = value;
            ++at;
        }
    }
}

void BestLabellings::see_added() {
    const auto& entries = growth_->units().entries();
    for (; seen_added_ < entries.size(); ++seen_added_)
        places_[entries[seen_added_].unit].shape |= UnitPlace::kHasAdded;
}

void BestLabellings::see_all_added() {
    for (UnitPlace& place : places_)
        if (!place.full()) place.shape &= static_cast<std::uint16_t>(~UnitPlace::kHasAdded);
    seen_added_ = 0;
    see_added();
}

BestLabellings::~BestLabellings() = default;

std::size_t BestLabellings::n_steps(std::size_t s) const { return set_.has_pair_attributes() ? set_.length(s) - 1 : 1; }

std::size_t BestLabellings::part_count(std::size_t s) const { return set_.length(s) * K_ + n_steps(s) * K_ * K_; }

void BestLabellings::put_unit_scores(const ScaledWeights& weights, std::size_t s, double* unary) const {
    const Occurrences& o = set_.occurrences;
    const Additions& added = growth_->units();
    const UnitWeights of_units{places_.data(),  labels_.data(),        added.first().data(), added.entries().data(),
                               factors_.data(), weights.stored.data(), weights.stored.size()};
    const TokenUnits tokens{o.starts.data(), split_.data(), o.numbers.data(),
                            o.values.empty() ? nullptr : o.values.data()};
    kernels().gather(of_units, tokens, set_.starts[s], set_.starts[s + 1], K_, unary);
    if (weights.scale == 1.0) return;
    for (std::size_t i = 0; i < set_.length(s) * K_; ++i) unary[i] *= weights.scale;
}

void BestLabellings::put_transitions(const ScaledWeights& weights, double* moves) const {
    std::fill_n(moves, K_ * K_, 0.0);
    const double* v = weights.stored.data() + set_.first_transition();
    for (std::size_t i = 0; i < set_.transition_pairs.size(); ++i)
        moves[set_.transition_pairs[i]] = weights.scale * v[i];
}

void BestLabellings::add_pair_scores(const ScaledWeights& weights, std::size_t s, double* moves) const {
    const Occurrences& o = set_.pair_occurrences;
    const WeightTable& table = set_.pair_weights;
    const double* v = weights.stored.data();
    const std::size_t size = K_ * K_, offset = set_.n_unit_weights();
    for (std::size_t t = set_.starts[s] + 1; t < set_.starts[s + 1]; ++t, moves += size) {
        put_transitions(weights, moves);
        for (std::size_t i = o.starts[t]; i < o.starts[t + 1]; ++i) {
            const std::uint32_t unit = o.numbers[i];
            const double x = weights.scale * static_cast<double>(o.value(i));
            for (std::size_t w = table.starts[unit]; w < table.starts[unit + 1]; ++w)
                moves[table.labels[w]] += x * v[offset + w];
            growth_->pairs().each(unit, [&](std::uint32_t pair, std::uint32_t w) { moves[pair] += x * v[w]; });
        }
    }
}

void BestLabellings::forbid(double* moves, std::size_t steps) const {
    if (!set_.constrained()) return;
    const auto& allowed = set_.settings.constraints.transitions;
    for (std::size_t step = 0; step < steps; ++step, moves += K_ * K_)
        for (std::size_t i = 0; i < K_ * K_; ++i)
            if (!allowed[i]) moves[i] = kLogZero;
}

double BestLabellings::token_cost(std::size_t token, std::size_t label) const {
    return set_.cost(set_.gold[token], label) * (set_.token_weights.empty() ? 1.0 : set_.token_weights[token]);
}

void BestLabellings::add_costs(std::size_t s, double nu, double* unary) const {
    if (nu == 0.0) return;
    for (std::size_t t = set_.starts[s]; t < set_.starts[s + 1]; ++t, unary += K_) {
        if (set_.settings.cost.empty()) {
            const double cost = nu * (set_.token_weights.empty() ? 1.0 : set_.token_weights[t]);
            const double of_gold = unary[set_.gold[t]];
            for (std::size_t y = 0; y < K_; ++y) unary[y] += cost;
            unary[set_.gold[t]] = of_gold;
        } else {
            for (std::size_t y = 0; y < K_; ++y) unary[y] += nu * token_cost(t, y);
        }
    }
}

// Scores of labels with nu times their cost, and of transitions.
void BestLabellings::put_scores(Scratch& space, const ScaledWeights& weights, std::size_t s, double nu) const {
    if (weights.stored.size() < growth_->n_weights()) throw std::invalid_argument("weights has the wrong size");
    space.unary.resize(set_.length(s) * K_ + kRoom);
    put_unit_scores(weights, s, space.unary.data());
    add_costs(s, nu, space.unary.data());
    space.moves.resize(std::max<std::size_t>(n_steps(s), 1) * K_ * K_);
    if (set_.has_pair_attributes())
        add_pair_scores(weights, s, space.moves.data());
    else
        put_transitions(weights, space.moves.data());
    forbid(space.moves.data(), n_steps(s));
}

double BestLabellings::gold_score(const Scratch& space, std::size_t s) const {
    const std::uint16_t* gold = set_.gold.data() + set_.starts[s];
    double total = 0.0;
    for (std::size_t t = 0; t < set_.length(s); ++t) {
        total += space.unary[t * K_ + gold[t]];
        const std::size_t step = set_.has_pair_attributes() && t > 0 ? t - 1 : 0;
        if (t > 0) total += space.moves[step * K_ * K_ + gold[t - 1] * K_ + gold[t]];
    }
    return total;
}

// Viterbi over (position, wrong labels so far, label); O(length^2 K^2).
bool BestLabellings::slack_argmax(const ScaledWeights& weights, std::size_t s, Found& out) const {
    const std::size_t length = set_.length(s), n_counts = length + 1;
    const bool counts_wrong_labels = set_.settings.cost.empty() && set_.token_weights.empty();
    if (!counts_wrong_labels || length * n_counts * K_ > kMostCounted) return false;
    const Borrowed borrowed(*this);
    Scratch& space = *borrowed;
    put_scores(space, weights, s, 0.0);
    const std::uint16_t* gold = set_.gold.data() + set_.starts[s];
    std::vector<double> best(length * n_counts * K_, kLogZero);
    std::vector<std::uint16_t> from(best.size(), 0);
    const auto at = [&](std::size_t t, std::size_t wrong, std::size_t y) { return (t * n_counts + wrong) * K_ + y; };
    for (std::size_t y = 0; y < K_; ++y) best[at(0, y != gold[0], y)] = start_[y] + space.unary[y];
    for (std::size_t t = 1; t < length; ++t) {
        const double* moves = space.moves.data() + (set_.has_pair_attributes() ? (t - 1) * K_ * K_ : 0);
        for (std::size_t y = 0; y < K_; ++y) {
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

std::vector<Found> BestLabellings::kbest(const ScaledWeights& weights, std::size_t s, std::size_t k, double nu) const {
    const Borrowed borrowed(*this);
    Scratch& space = *borrowed;
    const std::size_t length = set_.length(s);
    put_scores(space, weights, s, nu);
    const double of_gold = gold_score(space, s);
    if (k == 1) {
        Found found = best(space, s, nu);
        found.margin = of_gold - found.score;
        return {std::move(found)};
    }
    Batch batch;
    batch.potentials = {K_, space.moves.data(), set_.has_pair_attributes(), start_.data(), end_.data()};
    batch.sequences.push_back({space.unary.data(), length});
    const KBestResult result = std::move(tw::chain::kbest(batch, k, KBestMethod::kAstar).front());
    std::vector<Found> out;
    for (std::size_t i = 0; i < result.scores.size(); ++i) {
        out.push_back(found(s, result.labels.get() + i * length, result.scores[i], nu));
        out.back().margin = of_gold - out.back().score;
    }
    return out;
}

// The kernels without the batch around them, which costs more than a short chain does.
Found BestLabellings::best(Scratch& space, std::size_t s, double nu) const {
    const Sequence sequence{space.unary.data(), set_.length(s)};
    const bool per_step = set_.has_pair_attributes();
    const Potentials potentials{K_, space.moves.data(), per_step, start_.data(), end_.data()};
    space.labels.resize(sequence.length);
    double total = 0.0;
    if (sequence.length * padded_ * sizeof(double) > kLongest) {
        std::int32_t* labels = space.labels.data();
        tw::chain::argmax({potentials, {sequence}, 1}, {&labels, 1}, &total);
        return found(s, labels, total, nu);
    }
    space.forward.resize(padded_ * padded_);
    space.backward.resize(padded_ * padded_);
    PackedTransitions packed{space.forward.data(), space.backward.data(), 0.0, Bound::kLower, false};
    if (!per_step && space.packed_from != space.moves) {
        kernels().pack_max(potentials, 0, padded_, packed);
        space.packed_from = space.moves;
    }
    space.scores.resize(std::max(space.scores.size(), sequence.length * padded_));
    const Rows rows{space.scores.data(), kKeepAll};
    kernels().max_forward(potentials, packed, padded_, &sequence, &rows, 1, 0, sequence.length);
    total = kernels().max_last(potentials, padded_, sequence, rows, space.labels.data());
    if (total == kLogZero) throw std::invalid_argument("the constraints forbid every labelling of a sequence");
    kernels().max_trace(potentials, packed, padded_, sequence, rows, space.labels.data(), 1, sequence.length);
    return found(s, space.labels.data(), total, nu);
}

Found BestLabellings::found(std::size_t s, const std::int32_t* labels, double total, double nu) const {
    Found out;
    out.code.assign(labels, labels + set_.length(s));
    for (std::size_t t = 0; t < out.code.size(); ++t) {
        const std::size_t token = set_.starts[s] + t;
        if (out.code[t] != set_.gold[token]) out.cost += token_cost(token, out.code[t]);
    }
    out.score = total - nu * out.cost;
    return out;
}

void BestLabellings::difference(std::size_t s, std::span<const std::uint32_t> labels, SparseVector& out) {
    sum_->begin(out);
    const std::uint16_t* gold = set_.gold.data() + set_.starts[s];
    for (std::size_t t = 0; t < set_.length(s); ++t) {
        const std::size_t token = set_.starts[s] + t;
        const std::uint32_t label = labels[t];
        if (label != gold[t]) {
            const Occurrences& o = set_.occurrences;
            for (std::size_t i = o.starts[token]; i < o.starts[token + 1]; ++i) {
                const std::uint32_t unit = o.numbers[i];
                const double x = factor(unit) * static_cast<double>(o.value(i));
                sum_->add(weight_of(unit, gold[t]), x);
                sum_->add(weight_of(unit, label), -x);
            }
        }
        if (t == 0 || (label == gold[t] && labels[t - 1] == gold[t - 1])) continue;
        const auto right = static_cast<std::uint32_t>(gold[t - 1] * K_ + gold[t]);
        const auto wrong = static_cast<std::uint32_t>(labels[t - 1] * K_ + label);
        sum_->add(growth_->of_transition(right), 1.0);
        sum_->add(growth_->of_transition(wrong), -1.0);
        if (!set_.has_pair_attributes()) continue;
        const Occurrences& o = set_.pair_occurrences;
        for (std::size_t i = o.starts[token]; i < o.starts[token + 1]; ++i) {
            const double x = o.value(i);
            sum_->add(growth_->of_pair(o.numbers[i], right), x);
            sum_->add(growth_->of_pair(o.numbers[i], wrong), -x);
        }
    }
    sum_->end();
    see_added();
}

void BestLabellings::part_scores(const ScaledWeights& weights, std::size_t s, std::vector<double>& out) const {
    if (weights.stored.size() < growth_->n_weights()) throw std::invalid_argument("weights has the wrong size");
    out.resize(part_count(s) + kRoom);
    put_unit_scores(weights, s, out.data());
    out.resize(part_count(s));
    double* moves = out.data() + set_.length(s) * K_;
    if (set_.has_pair_attributes())
        add_pair_scores(weights, s, moves);
    else
        put_transitions(weights, moves);
}

void BestLabellings::part_costs(std::size_t s, std::vector<double>& out) const {
    out.assign(part_count(s), 0.0);
    add_costs(s, 1.0, out.data());
}

double BestLabellings::marginals(std::size_t s, std::span<const double> scores, std::vector<double>& out) const {
    if (scores.size() != part_count(s)) throw std::invalid_argument("part scores have the wrong size");
    const std::size_t length = set_.length(s);
    const bool per_step = set_.has_pair_attributes();
    std::vector<double> moves(scores.begin() + static_cast<std::ptrdiff_t>(length * K_), scores.end());
    forbid(moves.data(), n_steps(s));
    out.resize(scores.size());
    return all_sums({K_, moves.data(), per_step, start_.data(), end_.data()}, {scores.data(), length}, out.data(),
                    out.data() + length * K_);
}

void BestLabellings::difference_of_marginals(std::size_t s, std::span<const double> marginals, SparseVector& out) {
    if (marginals.size() != part_count(s)) throw std::invalid_argument("marginals have the wrong size");
    sum_->begin(out);
    const std::size_t length = set_.length(s), size = K_ * K_;
    const double* edges = marginals.data() + length * K_;
    std::vector<double> moves(edges, edges + (length > 1 ? n_steps(s) * size : 0));
    for (double& p : moves) p = -p;
    for (std::size_t t = 0; t < length; ++t) {
        const std::size_t token = set_.starts[s] + t;
        const Occurrences& o = set_.occurrences;
        const double* p = marginals.data() + t * K_;
        for (std::size_t i = o.starts[token]; i < o.starts[token + 1]; ++i) {
            const std::uint32_t unit = o.numbers[i];
            const double x = factor(unit) * static_cast<double>(o.value(i));
            const auto rest = [&](std::uint32_t y) { return (y == set_.gold[token] ? 1.0 : 0.0) - p[y]; };
            if (growth_->grows()) {
                for (std::uint32_t y = 0; y < K_; ++y)
                    if (rest(y) != 0.0) sum_->add(weight_of(unit, y), x * rest(y));
            } else {  // no need to look for weights that are not there
                const WeightTable& table = set_.unit_weights;
                for (std::uint32_t w = table.starts[unit]; w < table.starts[unit + 1]; ++w)
                    if (rest(table.labels[w]) != 0.0) sum_->add(w, x * rest(table.labels[w]));
            }
        }
        if (t == 0) continue;
        const std::size_t right = set_.gold[token - 1] * K_ + set_.gold[token];
        double* step = moves.data() + (set_.has_pair_attributes() ? (t - 1) * size : 0);
        step[right] += 1.0;
        if (!set_.has_pair_attributes()) continue;
        const Occurrences& pairs = set_.pair_occurrences;
        for (std::uint32_t pair = 0; pair < size; ++pair) {
            if (step[pair] == 0.0) continue;
            for (std::size_t i = pairs.starts[token]; i < pairs.starts[token + 1]; ++i)
                sum_->add(growth_->of_pair(pairs.numbers[i], pair), step[pair] * static_cast<double>(pairs.value(i)));
        }
    }
    for (std::size_t i = 0; i < moves.size(); ++i)
        if (moves[i] != 0.0) sum_->add(growth_->of_transition(i % size), moves[i]);
    sum_->end();
    see_added();
}

}  // namespace tw::chain
