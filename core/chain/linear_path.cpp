// Loss and gradient of any training set of chains, by the oracle of any structure: every combination of labels, weights
// and attributes, in double precision.
#include <mutex>
#include <numeric>

#include "../linear/dense_weights.hpp"
#include "linear_oracle.hpp"
#include "path.hpp"
#include "structure.hpp"

namespace tw::chain {
namespace {

using linear::Channel;

// The sites of tokens first .. last - 1, for which `factor(unit)` multiplies values.
template <class Factor>
void add_sites(const Occurrences& from, std::size_t first, std::size_t last, bool plain, Factor factor, Channel& to) {
    for (std::size_t t = first; t < last; ++t) {
        for (std::size_t i = from.starts[t]; i < from.starts[t + 1]; ++i) {
            to.rows.columns.push_back(from.numbers[i]);
            if (!plain) to.rows.values.push_back(factor(from.numbers[i]) * static_cast<double>(from.value(i)));
        }
        to.rows.starts.push_back(to.rows.columns.size());
    }
    to.first.push_back(to.rows.size());
}

linear::WeightTable table_of(const WeightTable& from) { return {from.starts, from.labels}; }

class LinearPath : public Path {
public:
    explicit LinearPath(const TrainingSet& set) : Path(set), set_(set) {}

    double loss(std::span<const double> weights, std::span<double> gradient, double nu, std::size_t n_jobs,
                bool precise) override {
        std::fill(gradient.begin() + size(), gradient.end(), 0.0);
        return oracle().loss(weights.first(set_.n_weights()), gradient.first(set_.n_weights()), nu, n_jobs, precise);
    }
    void curvature(std::span<const double> weights, std::span<double> diagonal, double nu,
                   std::size_t n_jobs) override {
        std::fill(diagonal.begin() + size(), diagonal.end(), 0.0);
        oracle().curvature(weights.first(set_.n_weights()), diagonal.first(set_.n_weights()), nu, n_jobs);
    }
    std::unique_ptr<WorkingWeights> working_weights() const override { return oracle().working_weights(); }
    double descend(WorkingWeights& weights, std::span<const std::uint32_t> examples, double step,
                   double nu) const override {
        return oracle().descend(weights, examples, step, nu);
    }
    std::size_t memory_bytes() const override { return Path::memory_bytes() + (made_ ? made_->memory_bytes() : 0); }

private:
    std::ptrdiff_t size() const { return static_cast<std::ptrdiff_t>(set_.n_weights()); }
    linear::LinearOracle& oracle() const {
        std::call_once(once_, [&] { made_ = linear_oracle(set_); });
        return *made_;
    }

    const TrainingSet& set_;
    mutable std::once_flag once_;  // learners of the best labellings never ask
    mutable std::unique_ptr<linear::LinearOracle> made_;
};

}  // namespace

std::unique_ptr<linear::LinearOracle> linear_oracle(const TrainingSet& set) {
    const bool per_step = set.has_pair_attributes();
    const std::size_t K = set.n_labels(), n = set.n_examples;
    linear::Examples examples;
    // Member by member: GCC 12 destroys the members of an aggregate twice when the initialiser of one throws.
    const auto channel = [](const char* name, std::size_t block, std::size_t n_codes, std::size_t n_units) {
        Channel out;
        out.name = name;
        out.block = block;
        out.n_codes = n_codes;
        out.n_units = n_units;
        out.first.push_back(0);
        return out;
    };
    Channel labels = channel("token", 0, K, set.units.size());
    Channel pairs = channel("pair", 1, K * K, set.pair_units.size());
    Channel moves = channel("transitions", 1, K * K, 1);
    moves.sites = Channel::Sites::kTied;
    const bool plain = !set.valued() && !set.has_merged_units();
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t s = set.sequence[i];
        const bool empty = s == kNoAttribute;
        const std::size_t first = empty ? 0 : set.starts[s], last = empty ? 0 : set.starts[s + 1];
        examples.shapes.push_back({static_cast<std::uint32_t>(last - first)});
        examples.weights.push_back(empty ? 0.0 : set.weight(s));
        if (!set.partly_labelled())
            examples.outputs.emplace_back(set.gold.begin() + static_cast<std::ptrdiff_t>(first),
                                          set.gold.begin() + static_cast<std::ptrdiff_t>(last));
        for (std::size_t t = first; t < last && set.partly_labelled(); ++t) {
            const auto allowed = set.allowed(t);
            examples.allowed.push_back(std::vector<std::uint32_t>(allowed.begin(), allowed.end()));
        }
        if (!set.token_weights.empty())
            examples.site_weights.insert(examples.site_weights.end(),
                                         set.token_weights.begin() + static_cast<std::ptrdiff_t>(first),
                                         set.token_weights.begin() + static_cast<std::ptrdiff_t>(last));
        add_sites(set.occurrences, first, last, plain, [&](std::uint32_t unit) { return set.factor(unit); }, labels);
        if (per_step) add_sites(set.pair_occurrences, first + 1, last, false, [](std::uint32_t) { return 1.0; }, pairs);
        moves.rows.columns.push_back(0);
        moves.rows.starts.push_back(i + 1);
    }
    moves.first.resize(n + 1);
    std::iota(moves.first.begin(), moves.first.end(), std::size_t{0});
    std::vector<linear::WeightTable> tables;
    tables.push_back(table_of(set.unit_weights));
    examples.channels.push_back(std::move(labels));
    if (per_step) {
        tables.push_back(table_of(set.pair_weights));
        examples.channels.push_back(std::move(pairs));
    }
    linear::WeightTable& transitions = tables.emplace_back();
    transitions.starts.assign({0, static_cast<std::uint32_t>(set.transition_pairs.size())});
    transitions.codes = set.transition_pairs;
    examples.channels.push_back(std::move(moves));
    examples.cost = set.settings.cost;
    if (set.has_merged_units()) examples.variables = Variables::kScaled;
    const Constraints& c = set.settings.constraints;
    const auto combinations =
        set.settings.combinations == Combinations::kGrown ? linear::Combinations::kGrown : linear::Combinations::kSeen;
    LabelRules rules;
    rules.moves = c.transitions;
    rules.start = c.start;
    rules.end = c.end;
    return std::make_unique<linear::LinearOracle>(kernel_chain(K, !per_step, std::move(rules)), std::move(examples),
                                                  combinations, std::move(tables));
}

Path::Path(const TrainingSet& set) : l1_factors_(set.n_weights(), 1.0) {
    for (std::size_t u = 0; u < set.units.size(); ++u)
        for (std::size_t w = set.unit_weights.starts[u]; w < set.unit_weights.starts[u + 1]; ++w)
            l1_factors_[w] = set.factor(u);
}

std::unique_ptr<Path> linear_path(const TrainingSet& set) { return std::make_unique<LinearPath>(set); }

}  // namespace tw::chain
