// Loss and gradient where labels are many: what fast_path.cpp does, with rows that have gaps and transitions that are
// sparse. See kernels/many_labels.hpp for both.
#include <algorithm>
#include <limits>
#include <memory>

#include "block_pass.hpp"
#include "block_weights.hpp"
#include "observed.hpp"
#include "path.hpp"

namespace tw::chain {
namespace {

constexpr std::size_t kManyLabels = 100;  // as measured: with fewer, whole rows and the whole matrix are faster

class ManyLabelsPath : public Path {
public:
    ManyLabelsPath(const TrainingSet& set, std::size_t n_jobs)
        : Path(set),
          set_(set),
          n_jobs_(n_jobs),
          layout_(set, n_jobs),
          observed_(observed_counts(set, n_jobs)),
          whole_(set),
          single_(set, layout_),
          twice_(set, layout_) {
        if (set.storage) require_memory();
    }

    double loss(std::span<const double> weights, std::span<double> gradient, double nu, std::size_t n_jobs,
                bool precise) override {
        const PairSums found = run(weights, gradient, nu, n_jobs, precise, Wanted::kGradient);
        std::copy(found.edges.begin(), found.edges.end(), gradient.begin() + set_.first_transition());
        double score = 0.0;
        for (std::size_t w = 0; w < weights.size(); ++w) {
            score += weights[w] * observed_[w];
            gradient[w] -= observed_[w];
        }
        return found.loss - score;
    }

    void curvature(std::span<const double> weights, std::span<double> diagonal, double nu,
                   std::size_t n_jobs) override {
        const PairSums found = run(weights, diagonal, nu, n_jobs, false, Wanted::kCurvature);
        for (std::size_t i = 0; i < found.edges.size(); ++i)
            diagonal[set_.first_transition() + i] = found.edges[i] - found.squares[i];
    }

    std::unique_ptr<WorkingWeights> working_weights() const override {
        std::shared_ptr<const FlatBlocks> flat = flat_.lock();
        if (!flat) flat_ = flat = std::make_shared<FlatBlocks>(set_, layout_, n_jobs_);
        return std::make_unique<BlockWeights>(set_, layout_, std::move(flat));
    }
    double descend(WorkingWeights& weights, std::span<const std::uint32_t> examples, double step,
                   double nu) const override {
        require_scale(nu);
        const std::vector<std::uint32_t> sequences = sequences_of(set_, examples);
        return sequences.empty() ? 0.0 : dynamic_cast<BlockWeights&>(weights).descend(sequences, step, nu);
    }
    void read_ahead(std::span<const std::uint32_t> sequences) const override {
        const std::shared_ptr<const FlatBlocks> flat = flat_.lock();
        if (!flat) return;
        for (const std::uint32_t s : sequences) flat->flat.read_ahead(set_.starts[s], set_.starts[s + 1]);
    }
    void rest() override {
        single_.forget();
        twice_.forget();
    }
    std::size_t memory_bytes() const override {
        return Path::memory_bytes() + layout_.memory_bytes() + observed_.capacity() * sizeof(double) +
               single_.memory_bytes() + twice_.memory_bytes();
    }

private:
    // Only one precision keeps its rows.
    PairSums run(std::span<const double> weights, std::span<double> out, double nu, std::size_t n_jobs, bool precise,
                 Wanted wanted) {
        require_scale(nu);
        whole_.set_transitions(weights.subspan(set_.first_transition()));
        whole_.set_cost_scale(nu);
        if (precise) {
            single_.forget();
            return twice_.run(weights, whole_, nu, std::min(n_jobs, precise_jobs_), wanted, out);
        }
        twice_.forget();
        return single_.run(weights, whole_, nu, n_jobs, wanted, out);
    }

    // Passes in double precision, the last few, have fewer threads if that saves memory.
    void require_memory() {
        const std::size_t rows = std::max(single_.bytes(n_jobs_), twice_.bytes(1));
        precise_jobs_ = n_jobs_;
        while (precise_jobs_ > 1 && twice_.bytes(precise_jobs_) > rows) --precise_jobs_;
        set_.storage->settle();
        set_.storage->require_weights(set_.n_weights(), rows);
    }

    const TrainingSet& set_;
    const std::size_t n_jobs_;                                            // for laying out; passes are told anew
    std::size_t precise_jobs_ = std::numeric_limits<std::size_t>::max();  // at most, in double precision
    BlockLayout layout_;
    std::vector<double> observed_;
    mutable std::weak_ptr<const FlatBlocks> flat_;  // there as long as stochastic steps are made
    WholeFactors whole_;
    BlockPass<float> single_;
    BlockPass<double> twice_;
};

}  // namespace

bool has_many_labels_path(const TrainingSet& set) { return is_plain(set); }

bool has_many_labels(const TrainingSet& set) { return set.n_labels() >= kManyLabels; }

std::unique_ptr<Path> many_labels_path(const TrainingSet& set, std::size_t n_jobs) {
    return std::make_unique<ManyLabelsPath>(set, n_jobs);
}

}  // namespace tw::chain
