#include "larank.hpp"

namespace tw::learners {
namespace {

constexpr std::size_t kOptimize = 10;  // Optimize steps in a Reprocess

}  // namespace

void LaRank::before_pass(std::size_t n_jobs) {
    DualMethod::before_pass(n_jobs);
    random_ = Random(~settings_.seed, epochs_);  // another stream than that of the order of the examples
    seen_.clear();
    if (epochs_ == 0) return;
    for (std::size_t n = 0; n < oracle_.n_examples(); ++n)
        if (C_of(n) > 0.0) seen_.push_back(static_cast<std::uint32_t>(n));
}

void LaRank::visit(std::size_t example) {
    if (C_of(example) == 0.0) return;
    DualMethod::visit(example);  // ProcessNew
    if (epochs_ == 0) seen_.push_back(static_cast<std::uint32_t>(example));
    for (std::size_t r = 0; r < reprocess_; ++r) {
        const std::size_t old = seen_[random_.below(seen_.size())];
        look_for_gold(old);
        process(old, dual_settings_.k);  // ProcessOld: of the example just picked
        for (std::size_t i = 0; i < kOptimize; ++i) process(seen_[random_.below(seen_.size())], 0);
    }
}

}  // namespace tw::learners
