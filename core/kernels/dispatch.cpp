// Chooses the copy of the kernels that this processor runs best.
#include <cstdlib>
#include <cstring>

#include "elimination.hpp"
#include "kernels.hpp"
#include "many_labels.hpp"
#include "pruned_chain.hpp"
#include "rounded.hpp"
#include "rows.hpp"
#include "runs.hpp"
#include "spans.hpp"
#include "training.hpp"
#include "vectors.hpp"

namespace tw {

#define TW_DECLARE(isa)                                        \
    extern const ArrayLoops array_loops_##isa;                 \
    extern const ChainSumLoops chain_sum_loops_##isa;          \
    extern const ChainBestLoops chain_best_loops_##isa;        \
    extern const UnitScoreLoops unit_score_loops_##isa;        \
    extern const RoundedBestLoops rounded_best_loops_##isa;    \
    extern const RoundedScoreLoops rounded_score_loops_##isa;  \
    extern const RowSumLoops row_sum_loops_##isa;              \
    extern const RunLoops run_loops_##isa;                     \
    extern const SpanLoops span_loops_##isa;                   \
    extern const EliminationLoops elimination_loops_##isa;     \
    extern const PrunedChainLoops pruned_chain_loops_##isa;    \
    extern const VectorLoops vector_loops_##isa;               \
    extern const BothPrecisions<RowLoops> row_loops_##isa;     \
    extern const BothPrecisions<GroupLoops> group_loops_##isa; \
    extern const BothPrecisions<BlockLoops> block_loops_##isa; \
    extern const BothPrecisions<SparseLoops> sparse_loops_##isa;

TW_DECLARE(baseline)
#ifdef TW_HAVE_X86_VARIANTS
TW_DECLARE(avx2)
TW_DECLARE(avx512)
#endif

namespace {

struct Copy {
    Kernels kernels;
    RowSumLoops row_sums;
    RoundedLoops rounded;
    RunLoops runs;
    SpanLoops spans;
    EliminationLoops elimination;
    PrunedChainLoops pruned_chain;
    VectorLoops vectors;
    TrainingLoops<float> float32;
    TrainingLoops<double> float64;
    ManyLabelLoops<float> many32;
    ManyLabelLoops<double> many64;
    bool runs_here;
};

#define TW_COPY(isa, runs_here)                                                                           \
    Copy {                                                                                                \
        {array_loops_##isa, chain_sum_loops_##isa, chain_best_loops_##isa, unit_score_loops_##isa, #isa}, \
            row_sum_loops_##isa, {rounded_best_loops_##isa, rounded_score_loops_##isa}, run_loops_##isa,  \
            span_loops_##isa, elimination_loops_##isa, pruned_chain_loops_##isa, vector_loops_##isa,      \
            {row_loops_##isa.float32, group_loops_##isa.float32},                                         \
            {row_loops_##isa.float64, group_loops_##isa.float64},                                         \
            {block_loops_##isa.float32, sparse_loops_##isa.float32},                                      \
            {block_loops_##isa.float64, sparse_loops_##isa.float64}, runs_here                            \
    }

Copy choose() noexcept {
    const char* wanted = std::getenv("TRELLISWORK_KERNELS");
#ifdef TW_HAVE_X86_VARIANTS
    __builtin_cpu_init();
    const Copy copies[] = {
        TW_COPY(avx512, __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") != 0),
        TW_COPY(avx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") != 0),
        TW_COPY(baseline, true),
    };
#else
    const Copy copies[] = {TW_COPY(baseline, true)};
#endif
    const Copy* best = nullptr;
    for (const Copy& copy : copies) {
        if (!copy.runs_here) continue;
        if (wanted && std::strcmp(wanted, copy.kernels.name) == 0) return copy;
        if (!best) best = &copy;
    }
    return *best;
}

const Copy& chosen() noexcept {
    static const Copy copy = choose();
    return copy;
}

}  // namespace

const Kernels& kernels() noexcept { return chosen().kernels; }
const RowSumLoops& row_sum_loops() noexcept { return chosen().row_sums; }
const RoundedLoops& rounded_loops() noexcept { return chosen().rounded; }
const RunLoops& run_loops() noexcept { return chosen().runs; }
const SpanLoops& span_loops() noexcept { return chosen().spans; }
const EliminationLoops& elimination_loops() noexcept { return chosen().elimination; }
const PrunedChainLoops& pruned_chain_loops() noexcept { return chosen().pruned_chain; }
const VectorLoops& vector_loops() noexcept { return chosen().vectors; }

template <>
const TrainingLoops<float>& training_loops<float>() noexcept {
    return chosen().float32;
}
template <>
const TrainingLoops<double>& training_loops<double>() noexcept {
    return chosen().float64;
}
template <>
const ManyLabelLoops<float>& many_label_loops<float>() noexcept {
    return chosen().many32;
}
template <>
const ManyLabelLoops<double>& many_label_loops<double>() noexcept {
    return chosen().many64;
}

}  // namespace tw
