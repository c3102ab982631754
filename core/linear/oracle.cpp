#include "oracle.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "../base/interrupt.hpp"
#include "../base/shards.hpp"
#include "dense_weights.hpp"

namespace tw::linear {
namespace {

std::size_t n_parts(const std::vector<Block>& blocks) {
    std::size_t total = 0;
    for (const Block& block : blocks) total += block.size();
    return total;
}

std::size_t offset(const std::vector<Block>& blocks, std::size_t of) {
    std::size_t total = 0;
    for (std::size_t b = 0; b < of; ++b) total += blocks[b].size();
    return total;
}

}  // namespace

LinearOracle::LinearOracle(std::shared_ptr<const Structure> structure, Examples examples, Combinations combinations)
    : structure_(std::move(structure)), all_(std::move(examples)), index_(combinations == Combinations::kGrown) {
    if ((partly_known() ? all_.allowed.size() : all_.outputs.size()) != n_examples() ||
        all_.weights.size() != n_examples())
        throw std::invalid_argument("there must be one output and one weight for each example");
    for (const Channel& channel : all_.channels)
        if (channel.first.size() != n_examples() + 1 || channel.rows.size() != channel.first.back())
            throw std::invalid_argument("channel " + channel.name + " has sites of another number of examples");
    InterruptCheck check;
    for (std::size_t i = 0; i < n_examples(); ++i) {
        check();
        blocks_.push_back(structure_->blocks(all_.shapes[i]));
        for (const Channel& channel : all_.channels) channel.check(i, blocks_[i].at(channel.block));
        try {
            put_gold(i);
        } catch (const std::invalid_argument& error) {
            throw std::invalid_argument("example " + std::to_string(i) + ": " + error.what());
        }
    }
    find_weights(combinations);
    l1_factors_.assign(n_weights(), 1.0);
}

void LinearOracle::put_gold(std::size_t i) {
    Parts& gold = gold_.emplace_back();
    if (!partly_known()) return structure_->parts_of(all_.shapes[i], all_.outputs[i], gold);
    const std::vector<double> zeros(n_parts(blocks_[i]), 0.0);
    std::vector<double> expected(zeros.size());
    if (all_.allowed[i].size() != zeros.size()) throw std::invalid_argument("allowed must have a number for each part");
    if (structure_->log_partition(all_.shapes[i], {zeros, all_.allowed[i]}, expected.data()) == PartScores::kForbidden)
        throw std::invalid_argument("no output is allowed");
    for (Part part = 0; part < expected.size(); ++part)
        if (expected[part] > 0.0) gold.push_back(part);
}

void LinearOracle::require_example(std::size_t example) const {
    if (example >= n_examples()) throw std::invalid_argument("there is no example " + std::to_string(example));
}

template <class Visit>
void LinearOracle::each_site(std::size_t example, std::span<const double> of_parts, Visit visit) const {
    std::vector<double> of_sites;
    for (std::size_t c = 0; c < all_.channels.size(); ++c) {
        const Channel& channel = all_.channels[c];
        const std::vector<Block>& blocks = blocks_[example];
        const std::size_t n_sites = channel.n_sites(example);
        of_sites.resize(n_sites * channel.n_codes);
        channel.gather(of_parts.data() + offset(blocks, channel.block), blocks[channel.block], n_sites,
                       of_sites.data());
        for (std::size_t s = 0; s < n_sites; ++s) {
            const std::span<const double> row(of_sites.data() + s * channel.n_codes, channel.n_codes);
            if (std::ranges::any_of(row, [](double x) { return x != 0.0; })) visit(c, row, channel.first[example] + s);
        }
    }
}

void LinearOracle::find_weights(Combinations combinations) {
    std::vector<std::vector<std::uint64_t>> seen(all_.channels.size());  // unit * n_codes + code
    std::vector<double> counts;
    InterruptCheck check;
    for (std::size_t i = 0; combinations != Combinations::kAll && i < n_examples(); ++i) {
        check();
        counts.assign(n_parts(blocks_[i]), 0.0);
        for (const Part part : gold_[i]) counts[part] = 1.0;
        each_site(i, counts, [&](std::size_t c, std::span<const double> row, std::size_t site) {
            const Channel& channel = all_.channels[c];
            for (std::uint32_t code = 0; code < row.size(); ++code)
                if (row[code] != 0.0)
                    for (const std::uint32_t unit : channel.rows.columns_of(site))
                        seen[c].push_back(std::uint64_t{unit} * channel.n_codes + code);
        });
    }
    for (std::size_t c = 0; c < all_.channels.size(); ++c) {
        const Channel& channel = all_.channels[c];
        std::vector<std::uint64_t>& pairs = seen[c];
        if (combinations == Combinations::kAll)
            for (std::uint64_t i = 0; i < std::uint64_t{channel.n_units} * channel.n_codes; ++i) pairs.push_back(i);
        std::ranges::sort(pairs);
        pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
        std::vector<std::uint32_t> starts(channel.n_units + 1, 0), codes;
        for (const std::uint64_t pair : pairs) {
            ++starts[pair / channel.n_codes + 1];
            codes.push_back(static_cast<std::uint32_t>(pair % channel.n_codes));
        }
        for (std::size_t u = 0; u < channel.n_units; ++u) starts[u + 1] += starts[u];
        index_.add_channel(channel.n_codes, std::move(starts), std::move(codes));
    }
}

void LinearOracle::part_scores(const ScaledWeights& weights, std::size_t example, std::vector<double>& out) const {
    require_example(example);
    const std::vector<Block>& blocks = blocks_[example];
    out.assign(n_parts(blocks), 0.0);
    std::vector<double> of_sites;
    for (std::size_t c = 0; c < all_.channels.size(); ++c) {
        const Channel& channel = all_.channels[c];
        const std::size_t n_sites = channel.n_sites(example);
        of_sites.assign(n_sites * channel.n_codes, 0.0);
        for (std::size_t s = 0; s < n_sites; ++s) {
            double* row = of_sites.data() + s * channel.n_codes;
            channel.rows.each(channel.first[example] + s, [&](std::uint32_t unit, double value) {
                index_.each(c, unit, [&](std::uint32_t code, std::uint32_t weight) {
                    if (weight < weights.stored.size()) row[code] += weights.stored[weight] * value;
                });
            });
        }
        for (double& x : of_sites) x *= weights.scale;
        channel.spread(of_sites.data(), n_sites, blocks[channel.block], out.data() + offset(blocks, channel.block));
    }
}

void LinearOracle::part_costs(std::size_t example, std::vector<double>& out) const {
    require_example(example);
    out.resize(n_parts(blocks_[example]));
    if (!partly_known()) return structure_->costs(all_.shapes[example], gold_[example], out);
    std::ranges::fill(out, 0.0);
    for (std::size_t part = 0; part < blocks_[example].at(0).size(); ++part)
        out[part] = all_.allowed[example][part] ? 0.0 : 1.0;
}

double LinearOracle::sum(std::span<const double> numbers, std::span<const Part> parts) const {
    double total = 0.0;
    for (const Part part : parts) total += numbers[part];
    return total;
}

std::vector<Output> LinearOracle::kbest(const ScaledWeights& weights, std::size_t example, std::size_t k,
                                        double nu) const {
    std::vector<double> scores, costs, both;
    part_scores(weights, example, scores);
    part_costs(example, costs);
    both = scores;
    if (nu != 0.0)
        for (std::size_t i = 0; i < both.size(); ++i) both[i] += nu * costs[i];
    std::vector<Output> out;
    for (Answer& answer : structure_->best(all_.shapes[example], {both}, k)) {
        const double score = sum(scores, answer.parts), cost = sum(costs, answer.parts);
        out.push_back({std::move(answer.parts), nullptr, score, cost});
    }
    return out;
}

template <int power, class Add>
void LinearOracle::scatter(std::size_t example, std::span<const double> of_parts, Add add) const {
    each_site(example, of_parts, [&](std::size_t c, std::span<const double> row, std::size_t site) {
        all_.channels[c].rows.each(site, [&](std::uint32_t unit, double value) {
            const double x = power == 1 ? value : value * value;
            index_.each(c, unit, [&](std::uint32_t code, std::uint32_t weight) { add(weight, x * row[code]); });
        });
    });
}

void LinearOracle::collect(std::size_t example, std::span<const double> of_parts, SparseVector& out) {
    std::vector<std::uint32_t> codes;
    each_site(example, of_parts, [&](std::size_t c, std::span<const double> row, std::size_t site) {
        codes.clear();
        for (std::uint32_t code = 0; code < row.size(); ++code)
            if (row[code] != 0.0) codes.push_back(code);
        all_.channels[c].rows.each(site, [&](std::uint32_t unit, double value) {
            if (value == 0.0) return;
            for (const std::uint32_t code : codes) {
                const std::uint32_t weight = index_.find_or_add(c, unit, code);
                if (weight != kNoWeight) difference_.add(weight, value * row[code]);
            }
        });
    });
    difference_.end(out);
    l1_factors_.resize(n_weights(), 1.0);
}

Output LinearOracle::best_allowed(const ScaledWeights& weights, std::size_t example) const {
    std::vector<double> scores;
    part_scores(weights, example, scores);
    Answer best = structure_->best(all_.shapes[example], {scores, all_.allowed[example]}, 1).at(0);
    return {std::move(best.parts), nullptr, best.score, 0.0};
}

void LinearOracle::difference_to(std::size_t example, const Output& gold, const Output& output, SparseVector& out) {
    require_example(example);
    std::vector<double> numbers(n_parts(blocks_[example]), 0.0);
    for (const Part part : gold.code) numbers.at(part) += 1.0;
    for (const Part part : output.code) numbers.at(part) -= 1.0;
    collect(example, numbers, out);
}

void LinearOracle::difference(std::size_t example, const Output& found, SparseVector& out) {
    require_example(example);
    difference_to(example, {gold_[example]}, found, out);
}

double LinearOracle::marginals(std::size_t example, std::span<const double> scores, std::vector<double>& out) const {
    require_example(example);
    if (scores.size() != n_parts(blocks_[example])) throw std::invalid_argument("part scores have the wrong size");
    out.resize(scores.size());
    return structure_->log_partition(all_.shapes[example], {scores}, out.data());
}

void LinearOracle::difference_of_marginals(std::size_t example, std::span<const double> marginals, SparseVector& out) {
    require_example(example);
    std::vector<double> numbers(n_parts(blocks_[example]), 0.0);
    if (marginals.size() != numbers.size()) throw std::invalid_argument("marginals have the wrong size");
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = -marginals[i];
    for (const Part part : gold_[example]) numbers[part] += 1.0;
    collect(example, numbers, out);
}

double LinearOracle::infer(const ScaledWeights& weights, std::size_t example, double nu, std::vector<double>& rest,
                           std::vector<double>* variance) const {
    std::vector<double> scores, costs;
    part_scores(weights, example, scores);
    std::vector<double> allowed;  // how often each part is expected in those outputs
    double of_gold = 0.0;
    if (partly_known()) {
        allowed.resize(scores.size());
        of_gold = structure_->log_partition(all_.shapes[example], {scores, all_.allowed[example]}, allowed.data());
    } else {
        of_gold = sum(scores, gold_[example]);
    }
    if (nu != 0.0) {
        part_costs(example, costs);
        for (std::size_t i = 0; i < scores.size(); ++i) scores[i] += nu * costs[i];
    }
    rest.resize(scores.size());
    if (variance) variance->resize(scores.size());
    const double log_z =
        structure_->log_partition(all_.shapes[example], {scores}, rest.data(), variance ? variance->data() : nullptr);
    const double weight = all_.weights[example];
    for (std::size_t i = 0; i < allowed.size(); ++i) rest[i] -= allowed[i];
    for (std::size_t i = 0; allowed.empty() && i < gold_[example].size(); ++i) rest[gold_[example][i]] -= 1.0;
    for (double& x : rest) x *= weight;
    return weight * (log_z - of_gold);
}

double LinearOracle::loss(std::span<const double> weights, std::span<double> gradient, double nu, std::size_t n_jobs,
                          bool) {
    return sum_over_shards(n_examples(), gradient, n_jobs, [&, this] {
        return [&weights, nu, this, rest = std::vector<double>()](std::size_t example, double* sums) mutable {
            const double loss = infer({weights, 1.0}, example, nu, rest);
            scatter(example, rest, [&](std::uint32_t weight, double x) { sums[weight] += x; });
            return loss;
        };
    });
}

void LinearOracle::curvature(std::span<const double> weights, std::span<double> diagonal, double nu,
                             std::size_t n_jobs) {
    sum_over_shards(n_examples(), diagonal, n_jobs, [&, this] {
        return [&weights, nu, this, rest = std::vector<double>(), variance = std::vector<double>()](
                   std::size_t example, double* sums) mutable {
            infer({weights, 1.0}, example, nu, rest, &variance);
            scatter<2>(example, variance,
                       [&](std::uint32_t weight, double x) { sums[weight] += all_.weights[example] * x; });
            return 0.0;
        };
    });
}

std::unique_ptr<WorkingWeights> LinearOracle::working_weights() const {
    return std::make_unique<DenseWeights>(n_weights());
}

// All at the same weights: derivatives are kept until every example has been seen.
double LinearOracle::descend(WorkingWeights& weights, std::span<const std::uint32_t> examples, double step,
                             double nu) const {
    auto& working = dynamic_cast<DenseWeights&>(weights);
    std::vector<std::vector<double>> rest(examples.size());
    double total = 0.0;
    for (std::size_t i = 0; i < examples.size(); ++i) total += infer(working.view(), examples[i], nu, rest[i]);
    const double factor = step / working.scale();
    for (std::size_t i = 0; i < examples.size(); ++i)
        scatter(examples[i], rest[i], [&](std::uint32_t weight, double x) { working.stored()[weight] -= factor * x; });
    return total;
}

}  // namespace tw::linear
