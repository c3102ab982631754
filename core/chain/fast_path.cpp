// Loss and gradient in the common case: gold labels, label attributes and plain transitions. See row_layout.hpp for how
// the weights lie, and kernels/training.hpp for the loops.
//
// A pass lays the weights out, adds up composites, goes over the groups of every shard (gather scores, forward and
// backward, scatter probabilities), and collects the sums of the shards in their order. A group for which a precision
// does not suffice is done again in the next one: single, double, log space.
#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "../base/parallel.hpp"
#include "observed.hpp"
#include "path.hpp"
#include "row_pass.hpp"
#include "row_weights.hpp"

namespace tw::chain {
namespace {

constexpr std::size_t kWorthThreads = std::size_t{1} << 16;  // weights

class FastPath : public Path {
public:
    FastPath(const TrainingSet& set, std::size_t n_jobs)
        : Path(set),
          set_(set),
          n_jobs_(n_jobs),
          precise_jobs_(std::numeric_limits<std::size_t>::max()),
          layout_(set, n_jobs),
          single_(set),
          twice_(set),
          single_pass_(set, layout_),
          twice_pass_(set, layout_) {
        if (set.storage) require_memory();
        observed_ = observed_counts(set, n_jobs);
    }

    double loss(std::span<const double> weights, std::span<double> gradient, double nu, std::size_t n_jobs,
                bool precise) override {
        const auto shards = run(weights, gradient, nu, n_jobs, precise, Wanted::kGradient);
        double total = 0.0;
        for (const GroupSums& shard : shards) total += shard.loss;
        for (std::size_t w = set_.first_transition(); w < weights.size(); ++w) gradient[w] -= observed_[w];
        return total - gold_score(weights, n_jobs);
    }

    void curvature(std::span<const double> weights, std::span<double> diagonal, double nu,
                   std::size_t n_jobs) override {
        run(weights, diagonal, nu, n_jobs, false, Wanted::kCurvature);
    }

    std::unique_ptr<WorkingWeights> working_weights() const override {
        std::shared_ptr<const FlatLayout> flat = flat_.lock();
        if (!flat) flat_ = flat = std::make_shared<FlatLayout>(set_, layout_, n_jobs_);
        return std::make_unique<RowWeights>(set_, layout_, std::move(flat));
    }
    double descend(WorkingWeights& weights, std::span<const std::uint32_t> examples, double step,
                   double nu) const override {
        require_scale(nu);
        const std::vector<std::uint32_t> sequences = sequences_of(set_, examples);
        return sequences.empty() ? 0.0 : dynamic_cast<RowWeights&>(weights).descend(sequences, step, nu);
    }
    void read_ahead(std::span<const std::uint32_t> sequences) const override {
        const std::shared_ptr<const FlatLayout> flat = flat_.lock();
        if (!flat) return;
        for (const std::uint32_t s : sequences) flat->read_ahead(set_.starts[s], set_.starts[s + 1]);
    }
    void rest() override {
        single_pass_.forget();
        twice_pass_.forget();
    }
    std::size_t memory_bytes() const override {
        return Path::memory_bytes() + layout_.memory_bytes() + observed_.capacity() * sizeof(double) +
               single_pass_.memory_bytes() + twice_pass_.memory_bytes();
    }

private:
    // weights . observed, in chunks that do not depend on the number of threads.
    double gold_score(std::span<const double> weights, std::size_t n_jobs) const {
        double of_chunk[kChunks];
        const std::size_t n = weights.size();
        parallel_for(kChunks, n < kWorthThreads ? 1 : n_jobs, [&](std::size_t chunk, std::size_t) {
            double sums[4] = {};  // side by side: one sum would wait for itself
            for (std::size_t w = chunk * n / kChunks; w < (chunk + 1) * n / kChunks; ++w)
                sums[w % 4] += weights[w] * observed_[w];
            of_chunk[chunk] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        });
        return std::accumulate(of_chunk, of_chunk + kChunks, 0.0);
    }

    std::vector<GroupSums> run(std::span<const double> weights, std::span<double> out, double nu, std::size_t n_jobs,
                               bool precise, Wanted wanted) {
        require_scale(nu);
        set_transitions(weights);
        single_.set_transitions(transitions_);
        twice_.set_transitions(transitions_);
        single_.set_cost_scale(nu);
        twice_.set_cost_scale(nu);
        std::vector<GroupSums> shards;
        if (precise) {
            if (set_.storage) single_pass_.forget();
            shards = twice_pass_.run(weights, transitions_, twice_, twice_, std::min(n_jobs, precise_jobs_), wanted);
            twice_pass_.collect(out, observed_, n_jobs, wanted);
        } else {
            if (set_.storage) twice_pass_.forget();
            shards = single_pass_.run(weights, transitions_, single_, twice_, n_jobs, wanted);
            single_pass_.collect(out, observed_, n_jobs, wanted);
        }
        for (std::size_t i = 0; i < set_.transition_pairs.size(); ++i) {
            double& sum = out[set_.first_transition() + i] = 0.0;
            for (const GroupSums& shard : shards) {
                sum += shard.edges[set_.transition_pairs[i]];
                if (wanted == Wanted::kCurvature) sum -= shard.squares[set_.transition_pairs[i]];
            }
        }
        return shards;
    }

    // Passes in double precision, the last few, have fewer threads if that saves memory.
    void require_memory() {
        const std::size_t rows = std::max(single_pass_.bytes(n_jobs_), twice_pass_.bytes(1));
        precise_jobs_ = n_jobs_;
        while (precise_jobs_ > 1 && twice_pass_.bytes(precise_jobs_) > rows) --precise_jobs_;
        set_.storage->settle();
        set_.storage->require_weights(set_.n_weights(), rows);
    }

    void set_transitions(std::span<const double> weights) {
        const std::size_t K = set_.n_labels();
        transitions_.assign(K * K, 0.0);
        for (std::size_t i = 0; i < set_.transition_pairs.size(); ++i)
            transitions_[set_.transition_pairs[i]] = weights[set_.first_transition() + i];
        if (set_.constrained())
            for (std::size_t i = 0; i < K * K; ++i)
                if (!set_.settings.constraints.transitions[i]) transitions_[i] = kLogZero;
    }

    const TrainingSet& set_;
    const std::size_t n_jobs_;  // for laying out; passes are told anew
    std::size_t precise_jobs_;  // at most, in double precision
    RowLayout layout_;
    mutable std::weak_ptr<const FlatLayout> flat_;  // there as long as stochastic steps are made
    Factors<float> single_;
    Factors<double> twice_;
    RowPass<float> single_pass_;
    RowPass<double> twice_pass_;
    std::vector<double> observed_, transitions_;
};

}  // namespace

bool has_fast_path(const TrainingSet& set) {
    const bool small =
        set.n_labels() <= (std::size_t{1} << kLabelBits) && set.longest_group() < (1u << (32 - kLabelBits));
    return small && is_plain(set);
}

std::unique_ptr<Path> fast_path(const TrainingSet& set, std::size_t n_jobs) {
    return std::make_unique<FastPath>(set, n_jobs);
}

}  // namespace tw::chain
