#include "oracle.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace tw::chain {
namespace {

constexpr std::size_t kBytesPerUnit = 32;  // of tables that find the weights of a unit

void check(const Settings& s) {
    const std::size_t K = s.n_labels;
    const auto refuse = [](const std::string& message) { throw std::invalid_argument(message); };
    if (K < 1 || K > 65535) refuse("n_labels must be between 1 and 65,535, found " + std::to_string(K));
    const Constraints& c = s.constraints;
    if (!c.transitions.empty() && (c.transitions.size() != K * K || c.start.size() != K || c.end.size() != K))
        refuse("allowed transitions must have shape (n_labels, n_labels), allowed start and end (n_labels,)");
    if (s.cost.empty()) return;
    if (s.cost.size() != K * K) refuse("cost must have shape (n_labels, n_labels)");
    for (std::size_t i = 0; i < K * K; ++i) {
        if (!(s.cost[i] >= 0.0 && s.cost[i] <= 1e100)) refuse("costs must be finite and not negative");
        if (i % (K + 1) == 0 && s.cost[i] != 0.0) refuse("the cost of the gold label itself must be 0");
    }
}

Settings checked(Settings settings) {
    check(settings);
    return settings;
}

}  // namespace

ChainOracle::ChainOracle(Examples&& examples, Settings settings, std::size_t n_jobs, Use use) : fast_(false) {
    const bool rounded = use == Use::kRounded;
    if (rounded && examples.storage) throw std::invalid_argument("use='rounded' needs examples in memory");
    if (rounded) use = Use::kBest;
    settings.weigh_costs = use == Use::kBest;
    if (settings.by_member && use != Use::kBest)
        throw std::invalid_argument("by_member needs an oracle that is made for the best labellings: use='best'");
    const auto set = std::make_shared<TrainingSet>(std::move(examples), checked(std::move(settings)), n_jobs);
    set_ = set;
    index_ = std::make_shared<WeightIndex>(set->weight_index());
    variables_ = !set->has_merged_units()  ? Variables::kPlain
                 : set->settings.by_member ? Variables::kByMember
                                           : Variables::kScaled;
    const bool blocks =
        (use == Use::kBlocks || (use == Use::kFast && has_many_labels(*set))) && has_many_labels_path(*set);
    fast_ = blocks || ((use == Use::kFast || use == Use::kRows) && has_fast_path(*set));
    if (set->storage) {
        if (!fast_ && use != Use::kBest)
            throw std::invalid_argument(
                "sums over all labellings fit into a limited memory only where every token has one label and no weight "
                "of its own, and no attribute meets a pair of labels");
        set->storage->settle();
        set->storage->require_weights(set->n_weights(), set->units.size() * kBytesPerUnit);
    }
    if (!fast_ && (use == Use::kBest || !set->partly_labelled()))
        best_ = std::make_unique<BestLabellings>(*set, index_, rounded);
    const std::size_t n_threads = std::clamp<std::size_t>(n_jobs, 1, set->shards.size() - 1);  // what is worth it
    path_ = blocks ? many_labels_path(*set, n_threads) : fast_ ? fast_path(*set, n_threads) : linear_path(*set);
    if (fast_ || set->storage) set->occurrences = Occurrences();  // the lists that were made of them are enough
}

double ChainOracle::example_weight(std::size_t example) const {
    const std::uint32_t s = set_->sequence[example];
    return s == kNoAttribute ? 0.0 : set_->weight(s);
}

void ChainOracle::limit(std::shared_ptr<const MadeDictionary> dictionary) {
    if (!best_ || fast_) throw std::invalid_argument("a tag dictionary is for learners that look for the best outputs");
    best_->limit(dictionary->candidates);
    dictionary_ = std::move(dictionary);
}

void ChainOracle::grow_again(std::span<const double> list) {
    index_->set_to(list);
    if (best_) best_->see_all_added();
}

std::vector<double> ChainOracle::weights_from(const ModelView& model) {
    std::vector<double> weights = tw::chain::weights_from(*set_, *index_, model);
    if (best_) best_->see_all_added();
    return weights;
}

// A model takes less than what passes over the examples had in memory.
ModelTensors ChainOracle::export_tensors(std::span<const double> weights) const {
    if (set_->storage) {
        path_->rest();
        set_->storage->settle();
    }
    return tensors(*set_, *index_, weights);
}

void ChainOracle::prefetch(const ScaledWeights& weights, std::size_t next, std::size_t after) const {
    if (!best_) return;
    if (set_->sequence[after] != kNoAttribute) best_->fetch_lists(set_->sequence[after]);
    if (set_->sequence[next] != kNoAttribute) best_->fetch_weights(weights, set_->sequence[next]);
}

void ChainOracle::prefetch_update(const PrefetchTarget& touched) {
    if (best_) best_->prefetch_update(touched);
}

void ChainOracle::read_ahead(std::span<const std::uint32_t> examples) const {
    if (!set_->storage || !set_->storage->reads_disk()) return;
    std::vector<std::uint32_t> sequences;
    for (const std::uint32_t i : examples)
        if (set_->sequence[i] != kNoAttribute) sequences.push_back(set_->sequence[i]);
    if (best_)
        best_->read_ahead(sequences);
    else
        path_->read_ahead(sequences);
}

std::unique_ptr<Oracle> ChainOracle::local() const { return decides() ? linear()->local() : nullptr; }

std::unique_ptr<linear::LinearOracle> ChainOracle::linear() const {
    if (variables_ == Variables::kByMember || fast_ || set_->storage)
        throw std::invalid_argument("the oracle of any structure needs use='best' or 'general', and by_member=False");
    return linear_oracle(*set_);
}

std::size_t ChainOracle::n_parameters() const {
    std::size_t total = set_->n_pair_weights() + set_->transition_pairs.size();
    for (std::size_t u = 0; u < set_->units.size(); ++u)
        total +=
            std::size_t{set_->units.n_members[u]} * (set_->unit_weights.starts[u + 1] - set_->unit_weights.starts[u]);
    return total;
}

ChainOracle::Extent ChainOracle::extent(std::span<const double> weights) const {
    const std::uint32_t* starts = set_->unit_weights.starts.data();
    std::size_t n_active = 0;
    double squares = 0.0;
    const auto add = [&](std::size_t begin, std::size_t end, std::size_t members, double each) {
        std::size_t active = 0;
        double even = 0.0, odd = 0.0;  // in turn, so that neither waits for the other
        std::size_t w = begin;
        for (; w + 1 < end; w += 2) {
            active += static_cast<std::size_t>(weights[w] != 0.0) + (weights[w + 1] != 0.0);
            even += weights[w] * weights[w];
            odd += weights[w + 1] * weights[w + 1];
        }
        if (w < end) {
            active += weights[w] != 0.0;
            even += weights[w] * weights[w];
        }
        n_active += members * active;
        squares += each * (even + odd);
    };
    for (std::size_t u = 0; u < set_->units.size();) {  // neighbours with as many members are taken together
        const std::size_t first = u, members = set_->units.n_members[u];
        while (u < set_->units.size() && set_->units.n_members[u] == members) ++u;
        add(starts[first], starts[u], members, static_cast<double>(members) * set_->share(first) * set_->share(first));
    }
    add(set_->n_unit_weights(), set_->n_weights(), 1, 1.0);
    return {n_active, std::sqrt(squares)};
}

std::size_t ChainOracle::memory_bytes() const {
    return set_->memory_bytes() + index_->memory_bytes() + path_->memory_bytes();
}

}  // namespace tw::chain
