// Chooses the copy of the kernels that this processor runs best.
#include <cstdlib>
#include <cstring>

#include "kernels.hpp"
#include "training.hpp"

namespace tw {

extern const Kernels kernels_baseline;
extern const TrainingKernels training_kernels_baseline;
#ifdef TW_HAVE_X86_VARIANTS
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;
extern const TrainingKernels training_kernels_avx2;
extern const TrainingKernels training_kernels_avx512;
#endif

namespace {

struct Variant {
    const Kernels* kernels;
    const TrainingKernels* training;
    bool runs_here;
};

Variant choose() noexcept {
    const char* wanted = std::getenv("TRELLISWORK_KERNELS");
#ifdef TW_HAVE_X86_VARIANTS
    __builtin_cpu_init();
    const Variant variants[] = {
        {&kernels_avx512, &training_kernels_avx512,
         __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") != 0},
        {&kernels_avx2, &training_kernels_avx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") != 0},
        {&kernels_baseline, &training_kernels_baseline, true},
    };
#else
    const Variant variants[] = {{&kernels_baseline, &training_kernels_baseline, true}};
#endif
    const Variant* best = nullptr;
    for (const Variant& variant : variants) {
        if (!variant.runs_here) continue;
        if (wanted && std::strcmp(wanted, variant.kernels->name) == 0) return variant;
        if (!best) best = &variant;
    }
    return *best;
}

const Variant& chosen() noexcept {
    static const Variant variant = choose();
    return variant;
}

}  // namespace

const Kernels& kernels() noexcept { return *chosen().kernels; }

const TrainingKernels& training_kernels() noexcept { return *chosen().training; }

}  // namespace tw
