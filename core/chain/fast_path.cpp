// Loss and gradient in the common case: gold labels, label attributes and plain transitions. Weights lie in one of two
// ways, and with each go its transitions, its passes and its stochastic steps:
//
//                few labels                          many labels
//     layout     row_layout.hpp: whole rows          block_layout.hpp: rows with gaps
//     pass       row_pass.hpp, group_runner.hpp      block_pass.hpp, sparse_runner.hpp      both: group_pass.hpp
//     steps      row_steps.hpp                       block_steps.hpp                        both: step_weights.hpp
//     loops      kernels/training.hpp                kernels/many_labels.hpp
//
// A group for which a precision does not suffice is done again in the next one: single, double, log space.
#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>

#include "../base/parallel.hpp"
#include "block_pass.hpp"
#include "block_steps.hpp"
#include "observed.hpp"
#include "path.hpp"
#include "row_pass.hpp"
#include "row_steps.hpp"
#include "step_weights.hpp"

namespace tw::chain {
namespace {

constexpr std::size_t kWorthThreads = std::size_t{1} << 16;  // weights
constexpr std::size_t kManyLabels = 100;  // as measured: with fewer, whole rows and the whole matrix are faster

struct FewLabels {
    using Layout = RowLayout;
    using Steps = RowSteps;
    template <class Real>
    using Pass = RowPass<Real>;
};

struct ManyLabels {
    using Layout = BlockLayout;
    using Steps = BlockSteps;
    template <class Real>
    using Pass = BlockPass<Real>;
};

template <class Way>
class FastPath : public Path {
public:
    FastPath(const TrainingSet& set, std::size_t n_jobs)
        : Path(set),
          set_(set),
          n_jobs_(n_jobs),
          layout_(set, n_jobs),
          whole_(set),
          single_(set, layout_),
          double_(set, layout_) {
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
        std::shared_ptr<const Flat> flat = flat_.lock();
        if (!flat) flat_ = flat = std::make_shared<Flat>(set_, layout_, n_jobs_);
        return std::make_unique<Weights>(set_, layout_, std::move(flat));
    }
    double descend(WorkingWeights& weights, std::span<const std::uint32_t> examples, double step,
                   double nu) const override {
        require_scale(nu);
        const std::vector<std::uint32_t> sequences = sequences_of(set_, examples);
        return sequences.empty() ? 0.0 : dynamic_cast<Weights&>(weights).descend(sequences, step, nu);
    }
    void read_ahead(std::span<const std::uint32_t> sequences) const override {
        const std::shared_ptr<const Flat> flat = flat_.lock();
        if (!flat) return;
        for (const std::uint32_t s : sequences) flat->read_ahead(set_.starts[s], set_.starts[s + 1]);
    }
    void rest() override {
        single_.forget();
        double_.forget();
    }
    std::size_t memory_bytes() const override {
        return Path::memory_bytes() + layout_.memory_bytes() + observed_.capacity() * sizeof(double) +
               single_.memory_bytes() + double_.memory_bytes();
    }

private:
    using Weights = StepWeights<typename Way::Steps>;
    using Flat = typename Way::Steps::Flat;

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

    // Only one precision keeps its rows.
    std::vector<GroupSums> run(std::span<const double> weights, std::span<double> out, double nu, std::size_t n_jobs,
                               bool precise, Wanted wanted) {
        require_scale(nu);
        const std::size_t first = set_.first_transition();
        whole_.set_transitions(weights.subspan(first));
        whole_.set_cost_scale(nu);
        std::vector<GroupSums> shards;
        if (precise) {
            single_.forget();
            shards = double_.run(weights, whole_, nu, std::min(n_jobs, precise_jobs_), wanted, observed_, out);
        } else {
            double_.forget();
            shards = single_.run(weights, whole_, nu, n_jobs, wanted, observed_, out);
        }
        for (std::size_t i = 0; i < set_.transition_pairs.size(); ++i) {
            double& sum = out[first + i] = 0.0;
            for (const GroupSums& shard : shards) {
                sum += shard.edges[layout_.edge_of(i)];
                if (wanted == Wanted::kCurvature) sum -= shard.squares[layout_.edge_of(i)];
            }
        }
        return shards;
    }

    // Passes in double precision, the last few, have fewer threads if that saves memory.
    void require_memory() {
        const std::size_t rows = std::max(single_.bytes(n_jobs_), double_.bytes(1));
        precise_jobs_ = n_jobs_;
        while (precise_jobs_ > 1 && double_.bytes(precise_jobs_) > rows) --precise_jobs_;
        set_.storage->settle();
        set_.storage->require_weights(set_.n_weights(), rows);
    }

    const TrainingSet& set_;
    const std::size_t n_jobs_;                                            // for laying out; passes are told anew
    std::size_t precise_jobs_ = std::numeric_limits<std::size_t>::max();  // at most, in double precision
    typename Way::Layout layout_;
    mutable std::weak_ptr<const Flat> flat_;  // there as long as stochastic steps are made
    WholeFactors whole_;
    typename Way::template Pass<float> single_;
    typename Way::template Pass<double> double_;
    std::vector<double> observed_;
};

}  // namespace

bool has_fast_path(const TrainingSet& set) {
    const bool small =
        set.n_labels() <= (std::size_t{1} << kLabelBits) && set.longest_group() < (1u << (32 - kLabelBits));
    return small && is_plain(set);
}

std::unique_ptr<Path> fast_path(const TrainingSet& set, std::size_t n_jobs) {
    return std::make_unique<FastPath<FewLabels>>(set, n_jobs);
}

bool has_many_labels_path(const TrainingSet& set) { return is_plain(set); }

bool has_many_labels(const TrainingSet& set) { return set.n_labels() >= kManyLabels; }

std::unique_ptr<Path> many_labels_path(const TrainingSet& set, std::size_t n_jobs) {
    return std::make_unique<FastPath<ManyLabels>>(set, n_jobs);
}

}  // namespace tw::chain
