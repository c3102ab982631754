#include "oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "../base/interrupt.hpp"
#include "../base/semiring.hpp"
#include "../base/softmax.hpp"
#include "dense_weights.hpp"

namespace tw::linear {
namespace {

double sum(std::span<const double> numbers, std::span<const Part> parts) {
    double total = 0.0;
    for (const Part part : parts) total += numbers[part];
    return total;
}

double sum(std::span<const double> numbers, const Answer& answer) {
    if (answer.shares.empty()) return sum(numbers, answer.parts);
    double total = 0.0;
    for (std::size_t i = 0; i < answer.parts.size(); ++i) total += answer.shares[i] * numbers[answer.parts[i]];
    return total;
}

// Sums that are weights themselves.
struct InPlace {
    double* stored;

    struct Rows {
        double* stored;
        double* operator()(std::uint32_t, std::uint32_t begin) const { return stored + begin; }
        void fetch(std::uint32_t) const {}
    };
    Rows rows(std::size_t) const { return {stored}; }
    double& added(std::uint32_t weight) { return stored[weight]; }
};

}  // namespace

LinearOracle::LinearOracle(std::shared_ptr<const Structure> structure, Examples examples, Combinations combinations,
                           std::optional<std::vector<WeightTable>> tables)
    : LinearOracle(made(std::move(structure), std::move(examples)), false) {
    const bool by_member = variables() == Variables::kByMember;
    if (partly_known()) find_gold();
    if (tables)
        set_->features.set_weights(std::move(*tables), combinations == Combinations::kGrown, by_member);
    else
        set_->features.find_weights(set_->gold, combinations, by_member);
    for (std::size_t c = 0; c < features().channels().size(); ++c) {
        const Channel& channel = features().channels()[c];
        const WeightIndex& index = features().index();
        for (std::uint32_t w = index.begin(c, 0); channel.nonnegative && w < index.begin(c, channel.n_units); ++w)
            set_->nonnegative.push_back(w);
    }
}

std::shared_ptr<LinearOracle::Set> LinearOracle::made(std::shared_ptr<const Structure> structure, Examples examples) {
    const std::size_t n = examples.shapes.size();
    const bool known = examples.allowed.empty() && examples.allowed_parts.empty();
    if ((known && examples.outputs.size() != n) || examples.weights.size() != n)
        throw std::invalid_argument("there must be one output and one weight for each example");
    Lists shapes;
    for (const auto& shape : examples.shapes) shapes.push_back(shape);
    Features features(*structure, shapes, std::move(examples.channels));
    const auto set = std::make_shared<Set>(std::move(features));
    set->structure = std::move(structure);
    set->shapes = std::move(shapes);
    set->allowed = std::move(examples.allowed);
    set->allowed_parts = std::move(examples.allowed_parts);
    set->variables = examples.variables;
    set->weights = std::move(examples.weights);
    set->part_costs = std::move(examples.part_costs);
    set->cost = std::move(examples.cost);
    set->site_weights = std::move(examples.site_weights);
    set->first_part.push_back(0);
    set->first_site.push_back(0);
    for (std::size_t i = 0; i < n; ++i) {
        set->first_part.push_back(set->first_part.back() + set->features.n_parts(i));
        set->first_site.push_back(set->first_site.back() + set->features.n_sites(i, 0));
        set->lists = set->lists && set->structure->lists(set->shapes[i]);
        set->sums = set->sums && set->structure->sums(set->shapes[i]);
    }
    take_outputs(*set, examples);
    const std::size_t n_codes = n > 0 ? set->features.n_codes(0) : 0;
    const auto fits = [](const std::vector<double>& numbers, std::size_t size) {
        return numbers.empty() || numbers.size() == size;
    };
    if (!fits(set->part_costs, set->first_part.back()) || !fits(set->site_weights, set->first_site.back()) ||
        !(n == 0 || fits(set->cost, n_codes * n_codes)) ||
        (!set->allowed.empty() && set->allowed.size() != set->first_site.back()) ||
        (!set->allowed_parts.empty() && set->allowed_parts.size() != n))
        throw std::invalid_argument("costs, weights of sites or allowed codes do not fit the examples");
    return set;
}

void LinearOracle::take_outputs(Set& set, const Examples& examples) {
    InterruptCheck check;
    Parts parts;
    const bool by_site = !set.cost.empty() || !set.site_weights.empty();
    for (std::size_t i = 0; i < examples.outputs.size(); ++i) {
        check();
        try {
            set.structure->parts_of(set.shapes[i], examples.outputs[i], parts);
        } catch (const std::invalid_argument& error) {
            throw std::invalid_argument("example " + std::to_string(i) + ": " + error.what());
        }
        for (std::size_t s = 0; by_site && s < set.features.n_sites(i, 0); ++s)
            if (s >= parts.size() || parts[s] / set.features.n_codes(0) != s)
                throw std::invalid_argument(
                    "costs of codes and weights of sites need a structure with one part at every site");
        set.gold.push_back(parts);
    }
}

void LinearOracle::find_gold() {
    InterruptCheck check;
    Space space;
    Parts parts;
    if (!set_->sums)
        throw std::invalid_argument(
            "outputs that are known in part need sums over all outputs, which this structure "
            "does not have");
    for (std::size_t i = 0; i < n_examples(); ++i) {
        check();
        space.scores.assign(features().n_parts(i), 0.0);
        space.expected.resize(space.scores.size());
        allow_gold(i, space);
        if (set_->structure->log_partition(set_->shapes[i], {space.scores, space.allowed}, space.expected.data(),
                                           nullptr, workspace(space)) == kLogZero)
            throw std::invalid_argument("example " + std::to_string(i) + ": no output is allowed");
        parts.clear();
        for (Part part = 0; part < space.expected.size(); ++part)
            if (space.expected[part] > 0.0) parts.push_back(part);
        set_->gold.push_back(parts);
    }
}

std::unique_ptr<Oracle> LinearOracle::local() const {
    return decides() ? std::unique_ptr<Oracle>(new LinearOracle(set_, true)) : nullptr;
}

void LinearOracle::require_example(std::size_t example) const {
    if (example >= n_examples()) throw std::invalid_argument("there is no example " + std::to_string(example));
}

namespace {

// visit(members, weight) for all weights of units that stand for several attributes.
template <class Visit>
void each_shared_weight(const Features& features, Visit visit) {
    const WeightIndex& index = features.index();
    for (std::size_t c = 0; c < features.channels().size(); ++c) {
        const std::vector<std::uint32_t>& members = features.channels()[c].n_members;
        for (std::size_t u = 0; u < members.size(); ++u) {
            if (members[u] == 1) continue;
            for (std::uint32_t w = index.begin(c, u); w < index.begin(c, u + 1); ++w) visit(members[u], w);
            index.added(c).each(u, [&](std::uint32_t, std::uint32_t w) { visit(members[u], w); });
        }
    }
}

}  // namespace

std::span<const double> LinearOracle::l1_factors() const {
    if (l1_factors_.size() == n_weights()) return l1_factors_;
    l1_factors_.assign(n_weights(), 1.0);
    if (variables() == Variables::kScaled)
        each_shared_weight(features(), [&](std::uint32_t members, std::uint32_t w) {
            l1_factors_[w] = std::sqrt(static_cast<double>(members));
        });
    return l1_factors_;
}

std::size_t LinearOracle::n_parameters() const {
    std::size_t total = n_weights();
    each_shared_weight(features(), [&](std::uint32_t members, std::uint32_t) { total += members - 1; });
    return total;
}

Workspace& LinearOracle::workspace(Space& space) const {
    if (!space.structure) space.structure = structure().workspace();
    return *space.structure;
}

void LinearOracle::put_scores(const ScaledWeights& weights, std::size_t example, Space& space) const {
    if (weights.size() < features().index().n_own()) throw std::invalid_argument("weights has the wrong size");
    space.scores.resize(features().n_parts(example));
    features().scores(weights, example, space.scores.data(), space.scratch);
}

void LinearOracle::put_costs(std::size_t example, bool weighed, std::vector<double>& out) const {
    const Set& set = *set_;
    const std::size_t n_sites = features().n_sites(example, 0);
    weighed &= !set.site_weights.empty();
    out.resize(features().n_parts(example));
    if (!set.part_costs.empty()) {
        std::copy_n(set.part_costs.begin() + static_cast<std::ptrdiff_t>(set.first_part[example]), out.size(),
                    out.begin());
        return;
    }
    if (!set.allowed_parts.empty()) {
        const auto other = out.begin() + static_cast<std::ptrdiff_t>(features().begin(example, 1));
        std::fill(out.begin(), other, 1.0);
        std::fill(other, out.end(), 0.0);
        for (const Part part : set.allowed_parts[example]) out[part] = 0.0;
        return;
    }
    if (set.cost.empty() && !weighed && set.allowed.empty())
        return structure().costs(set.shapes[example], set.gold[example], out);
    std::ranges::fill(out, 0.0);
    const std::size_t K = features().n_codes(0);
    for (std::size_t s = 0; s < n_sites; ++s) {
        double* row = out.data() + s * K;
        const auto right = right_codes(example, s);
        if (right.numbers.empty()) continue;   // any
        for (std::size_t k = 0; k < K; ++k) {  // the least to any that is allowed
            row[k] = std::numeric_limits<double>::infinity();
            for (const std::uint32_t number : right.numbers) {
                const std::size_t g = number - right.first;
                row[k] = std::min(row[k], set.cost.empty() ? double(g != k) : set.cost[g * K + k]);
            }
            if (weighed) row[k] *= set.site_weights[set.first_site[example] + s];
        }
    }
}

void LinearOracle::part_scores(const ScaledWeights& weights, std::size_t example, std::vector<double>& out) const {
    require_example(example);
    const Pool<Space>::Borrowed space(spaces_);
    put_scores(weights, example, *space);
    out = (*space).scores;
}

void LinearOracle::part_costs(std::size_t example, std::vector<double>& out) const {
    require_example(example);
    put_costs(example, true, out);
}

std::vector<Output> LinearOracle::kbest(const ScaledWeights& weights, std::size_t example, std::size_t k,
                                        double nu) const {
    require_example(example);
    const Pool<Space>::Borrowed borrowed(spaces_);
    Space& space = *borrowed;
    put_scores(weights, example, space);
    put_costs(example, true, space.costs);
    const std::vector<double>* both = &space.scores;
    if (nu != 0.0) {
        space.more.resize(space.scores.size());
        for (std::size_t i = 0; i < space.more.size(); ++i) space.more[i] = space.scores[i] + nu * space.costs[i];
        both = &space.more;
    }
    std::vector<Output> out;
    const double of_gold = partly_known() ? std::nan("") : sum(space.scores, set_->gold[example]);
    for (Answer& answer : structure().best(set_->shapes[example], {*both}, k, workspace(space))) {
        const double score = sum(space.scores, answer), cost = sum(space.costs, answer);
        out.push_back({std::move(answer.parts), nullptr, score, cost, of_gold - score, std::move(answer.shares)});
    }
    return out;
}

Output LinearOracle::best_allowed(const ScaledWeights& weights, std::size_t example) const {
    require_example(example);
    const Pool<Space>::Borrowed borrowed(spaces_);
    Space& space = *borrowed;
    put_scores(weights, example, space);
    allow_gold(example, space);
    Answer best = structure().best(set_->shapes[example], {space.scores, space.allowed}, 1, workspace(space)).at(0);
    if (!best.shares.empty()) throw std::invalid_argument("gold that is known in part cannot be a relaxed output");
    return {std::move(best.parts), nullptr, best.score, 0.0};
}

// Exact where an output is one part; else learners search.
bool LinearOracle::slack_argmax(const ScaledWeights& weights, std::size_t example, Output& best) const {
    if (!structure().has_one_part() || partly_known()) return false;
    std::vector<double> scores, costs;
    part_scores(weights, example, scores);
    part_costs(example, costs);
    const double of_gold = sum(scores, set_->gold[example]);
    double highest = kLogZero;
    for (Part part = 0; part < scores.size(); ++part) {
        const double value = costs[part] * (1.0 + scores[part] - of_gold);
        if (value <= highest) continue;
        highest = value;
        best = {{part}, nullptr, scores[part], costs[part]};
    }
    return true;
}

void LinearOracle::difference(std::size_t example, const Output& output, SparseVector& out) {
    require_example(example);
    collect_difference(example, set_->gold[example], output, out);
}

void LinearOracle::difference_to(std::size_t example, const Output& gold, const Output& output, SparseVector& out) {
    require_example(example);
    collect_difference(example, gold.code, output, out);
}

// Both lists of parts rise: what they share drops out.
void LinearOracle::collect_difference(std::size_t example, std::span<const Part> gold, const Output& output,
                                      SparseVector& out) {
    const auto last = static_cast<Part>(features().n_parts(example));
    const std::span<const Part> other = output.code;
    if ((!gold.empty() && gold.back() >= last) || (!other.empty() && other.back() >= last))
        throw std::invalid_argument("this output is of another example");
    const auto share = [&](std::size_t j) { return output.shares.empty() ? 1.0 : output.shares[j]; };
    counts_.clear();
    for (std::size_t i = 0, j = 0; i < gold.size() || j < other.size();) {
        if (j == other.size() || (i < gold.size() && gold[i] < other[j])) {
            counts_.push_back({gold[i++], 1.0});
        } else if (i == gold.size() || other[j] < gold[i]) {
            counts_.push_back({other[j], -share(j)});
            ++j;
        } else {
            if (share(j) != 1.0) counts_.push_back({gold[i], 1.0 - share(j)});
            ++i;
            ++j;
        }
    }
    difference_.begin();
    set_->features.collect(example, counts_, difference_);
    difference_.end(out, structure().has_one_part());  // so that listing labels as outputs changes no bit
}

double LinearOracle::marginals(std::size_t example, std::span<const double> scores, std::vector<double>& out) const {
    require_example(example);
    if (scores.size() != features().n_parts(example)) throw std::invalid_argument("part scores have the wrong size");
    const Pool<Space>::Borrowed space(spaces_);
    out.resize(scores.size());
    return structure().log_partition(set_->shapes[example], {scores}, out.data(), nullptr, workspace(*space));
}

void LinearOracle::difference_of_marginals(std::size_t example, std::span<const double> marginals, SparseVector& out) {
    require_example(example);
    if (marginals.size() != features().n_parts(example)) throw std::invalid_argument("marginals have the wrong size");
    const Pool<Space>::Borrowed borrowed(spaces_);
    Space& space = *borrowed;
    space.more.resize(marginals.size());
    for (std::size_t i = 0; i < marginals.size(); ++i) space.more[i] = -marginals[i];
    for (const Part part : set_->gold[example]) space.more[part] += 1.0;
    difference_.begin();
    set_->features.collect(example, space.more.data(), difference_, space.scratch);
    difference_.end(out, structure().has_one_part());  // so that listing labels as outputs changes no bit
}

double LinearOracle::infer(const ScaledWeights& weights, std::size_t example, double nu, bool variance,
                           Space& space) const {
    put_scores(weights, example, space);
    if (nu != 0.0) {
        put_costs(example, false, space.costs);
        for (std::size_t i = 0; i < space.scores.size(); ++i) space.scores[i] += nu * space.costs[i];
    }
    space.expected.resize(space.scores.size());
    if (variance) space.variance.resize(space.scores.size());
    double* of_parts = variance ? space.variance.data() : nullptr;
    if (local_) return infer_decisions(example, of_parts, space);
    return set_->site_weights.empty() ? infer_whole(example, of_parts, space)
                                      : infer_site_by_site(example, of_parts, space);
}

// log Z less the log of the same sum over what is allowed, which for a known output is its score.
double LinearOracle::infer_whole(std::size_t example, double* variance, Space& space) const {
    const Shape shape = set_->shapes[example];
    const std::span<const Part> gold = set_->gold[example];
    const double log_z =
        structure().log_partition(shape, {space.scores}, space.expected.data(), variance, workspace(space));
    if (!partly_known()) {
        for (const Part part : gold) space.expected[part] -= 1.0;
        return log_z - sum(space.scores, gold);
    }
    allow_gold(example, space);
    space.more.resize(space.scores.size());
    const double log_allowed =
        structure().log_partition(shape, {space.scores, space.allowed}, space.more.data(), nullptr, workspace(space));
    for (std::size_t i = 0; i < space.more.size(); ++i) space.expected[i] -= space.more[i];
    return log_z - log_allowed;
}

// With F_t the log of the sum over outputs whose parts at the first t sites are allowed:  sum of v_t (F_{t-1} - F_t),
// where v_t is the weight of site t. Only where weights change is a sum needed.
double LinearOracle::infer_site_by_site(std::size_t example, double* variance, Space& space) const {
    const std::size_t n = features().n_sites(example, 0), K = features().n_codes(0);
    const double* v = set_->site_weights.data() + set_->first_site[example];
    if (variance) {
        space.more.resize(space.scores.size());
        structure().log_partition(set_->shapes[example], {space.scores}, space.more.data(), variance, workspace(space));
        double mean = 0.0;
        for (std::size_t t = 0; t < n; ++t) mean += v[t] / static_cast<double>(n);
        for (std::size_t i = 0; i < space.scores.size(); ++i) variance[i] *= i < n * K ? v[i / K] : mean;
    }
    double total = 0.0;
    if (!partly_known() && structure().loss_by_site(set_->shapes[example], space.scores, set_->gold[example], {v, n},
                                                    total, space.expected.data(), workspace(space)))
        return total;
    space.allowed.assign(space.scores.size(), 1);
    space.more.resize(space.scores.size());
    std::ranges::fill(space.expected, 0.0);
    total = 0.0;
    for (std::size_t t = 0; n > 0 && t <= n; ++t) {
        if (t > 0) keep_gold(example, t - 1, space);
        const double times = t == 0 ? v[0] : t == n ? -v[n - 1] : v[t] - v[t - 1];
        if (times == 0.0) continue;
        if (t == n && !partly_known()) {
            for (const Part part : set_->gold[example]) space.expected[part] += times;
            total += times * sum(space.scores, set_->gold[example]);
            continue;
        }
        total += times * structure().log_partition(set_->shapes[example], {space.scores, space.allowed},
                                                   space.more.data(), nullptr, workspace(space));
        for (std::size_t i = 0; i < space.more.size(); ++i) space.expected[i] += times * space.more[i];
    }
    return total;
}

void LinearOracle::allow_gold(std::size_t example, Space& space) const {
    space.allowed.assign(features().n_parts(example), 1);
    if (!set_->allowed_parts.empty()) {
        std::fill_n(space.allowed.data(), features().begin(example, 1), std::uint8_t{0});
        for (const Part part : set_->allowed_parts[example]) space.allowed[part] = 1;
        return;
    }
    for (std::size_t s = 0; s < features().n_sites(example, 0); ++s) keep_gold(example, s, space);
}

// Leaves no parts at a site of the first block but those that gold may have.
void LinearOracle::keep_gold(std::size_t example, std::size_t site, Space& space) const {
    const std::size_t K = features().n_codes(0);
    const auto right = right_codes(example, site);
    if (right.numbers.empty()) return;
    std::fill_n(space.allowed.data() + site * K, K, std::uint8_t{0});
    for (const std::uint32_t number : right.numbers) space.allowed[site * K + number - right.first] = 1;
}

// The codes that gold may have at a site of the first block; none: any.
LinearOracle::Codes LinearOracle::right_codes(std::size_t example, std::size_t site) const {
    if (partly_known()) return {set_->allowed[set_->first_site[example] + site], 0};
    return {set_->gold[example].subspan(site, 1), static_cast<Part>(site * features().n_codes(0))};
}

double LinearOracle::infer_decisions(std::size_t example, double* variance, Space& space) const {
    std::ranges::fill(space.expected, 0.0);
    if (variance) std::fill_n(variance, space.scores.size(), 0.0);
    double total = 0.0;
    std::size_t site = set_->first_site[example];
    structure().decisions(set_->shapes[example], set_->gold[example], [&](const Decision& decision) {
        const double weight = set_->site_weights.empty() ? 1.0 : set_->site_weights[site++];
        const auto each_part = [&](std::size_t i, auto visit) {
            for (const Part part : decision.parts.subspan(i * decision.width, decision.width))
                if (part != kNoPart) visit(part);
        };
        space.terms.assign(decision.size(), 0.0);
        for (std::size_t i = 0; i < decision.size(); ++i)
            each_part(i, [&](Part part) { space.terms[i] += space.scores[part]; });
        const double chosen = space.terms[decision.chosen];
        total += weight * (softmax(space.terms) - chosen);
        for (std::size_t i = 0; i < decision.size(); ++i) {
            const double p = space.terms[i], rest = weight * (p - (i == decision.chosen ? 1.0 : 0.0));
            each_part(i, [&](Part part) { space.expected[part] += rest; });
            if (variance) each_part(i, [&](Part part) { variance[part] += weight * p * (1.0 - p); });
        }
    });
    return total;
}

ShardSums& LinearOracle::shards() {
    if (!shards_) shards_ = std::make_unique<ShardSums>(features(), n_examples());
    return *shards_;
}

double LinearOracle::loss(std::span<const double> weights, std::span<double> gradient, double nu, std::size_t n_jobs,
                          bool) {
    return shards().operator()<Space>(
        gradient, n_jobs, [&](std::size_t example, ShardSums::Shard& shard, Space& space) {
            const double loss = infer({weights, 1.0}, example, nu, false, space), weight = set_->weights[example];
            if (weight != 1.0)
                for (double& x : space.expected) x *= weight;
            features().scatter<1>(example, space.expected.data(), shard, space.scratch);
            return weight * loss;
        });
}

// Of parts that stand in many places, as if these were independent. Where an output is one part the variance of each
// feature is exact:  E[f^2] - E[f]^2.
void LinearOracle::curvature(std::span<const double> weights, std::span<double> diagonal, double nu,
                             std::size_t n_jobs) {
    // Where no weight is in two parts, the variance of a part says it all.
    const bool one_part = structure().has_one_part() && !weights_meet_parts_once();
    shards().operator()<Space>(diagonal, n_jobs, [&](std::size_t example, ShardSums::Shard& shard, Space& space) {
        infer({weights, 1.0}, example, nu, !one_part, space);
        std::vector<double>& of_parts = one_part ? space.expected : space.variance;
        if (one_part) {
            for (const Part part : set_->gold[example]) of_parts[part] += 1.0;
            space.means.resize(weights.size(), 0.0);
            InPlace means{space.means.data()};
            features().scatter<1>(example, of_parts.data(), means, space.scratch);
            subtract_squares(example, set_->weights[example], space.means, shard, space.scratch);
        }
        for (double& x : of_parts) x *= set_->weights[example];
        features().scatter<2>(example, of_parts.data(), shard, space.scratch);
        return 0.0;
    });
    for (double& x : diagonal) x = std::max(x, 0.0);
}

bool LinearOracle::weights_meet_parts_once() const {
    for (std::size_t i = 0; i < n_examples(); ++i)
        for (const Channel& channel : features().channels())
            if (features().n_sites(i, channel.block) != 1 || !channel.lies_as_block(1)) return false;
    return true;
}

// Takes  weight * mean^2  away for all weights of an example and leaves zeros.
void LinearOracle::subtract_squares(std::size_t example, double weight, std::vector<double>& means,
                                    ShardSums::Shard& shard, Features::Scratch& scratch) const {
    const WeightIndex& index = features().index();
    const auto take = [&](std::uint32_t w, double& from) {
        from -= weight * means[w] * means[w];
        means[w] = 0.0;  // a unit may occur again
    };
    for (std::size_t c = 0; c < features().channels().size(); ++c) {
        features().each_unit_of(c, example, scratch, [&](std::uint32_t unit) {
            const std::uint32_t begin = index.begin(c, unit);
            for (std::uint32_t w = begin; w < index.begin(c, unit + 1); ++w)
                take(w, shard.rows(c)(unit, begin)[w - begin]);
            index.added(c).each(unit, [&](std::uint32_t, std::uint32_t w) { take(w, shard.added(w)); });
        });
    }
}

// Of lists and tables; not of what passes compute in.
std::size_t LinearOracle::memory_bytes() const {
    std::size_t total = set_->gold.items.capacity() * sizeof(Part);
    for (std::size_t c = 0; c < features().channels().size(); ++c) {
        const Channel& channel = features().channels()[c];
        total += channel.rows.columns.capacity() * sizeof(channel.rows.columns[0]) +
                 channel.rows.values.capacity() * sizeof(double) +
                 (channel.dense ? channel.first.back() * channel.n_units * sizeof(float) : 0) +
                 (channel.rows.starts.capacity() + channel.first.capacity()) * sizeof(std::size_t) +
                 3 * (features().index().begin(c, channel.n_units) - features().index().offset(c)) * sizeof(Part);
    }
    return total + features().index().memory_bytes();
}

std::unique_ptr<WorkingWeights> LinearOracle::working_weights() const {
    return std::make_unique<DenseWeights>(n_weights());
}

// All at the same weights: derivatives are kept until every example has been seen.
double LinearOracle::descend(WorkingWeights& weights, std::span<const std::uint32_t> examples, double step,
                             double nu) const {
    auto& working = dynamic_cast<DenseWeights&>(weights);
    const Pool<Space>::Borrowed borrowed(spaces_);
    Space& space = *borrowed;
    space.kept.clear();
    double total = 0.0;
    for (const std::uint32_t example : examples) {
        require_example(example);
        total += set_->weights[example] * infer(working.view(), example, nu, false, space);
        space.kept.insert(space.kept.end(), space.expected.begin(), space.expected.end());
    }
    double* at = space.kept.data();
    InPlace sums{working.stored()};
    for (const std::uint32_t example : examples) {
        const double factor = -step / working.scale() * set_->weights[example];
        for (std::size_t i = 0; i < features().n_parts(example); ++i) at[i] *= factor;
        features().scatter<1>(example, at, sums, space.scratch);
        at += features().n_parts(example);
    }
    return total;
}

}  // namespace tw::linear
