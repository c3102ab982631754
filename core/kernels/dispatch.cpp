// Chooses the copy of the kernels that this processor runs best.
#include <cstdlib>
#include <cstring>

#include "kernels.hpp"

namespace tw {

extern const Kernels kernels_baseline;
#ifdef TW_HAVE_X86_VARIANTS
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;
#endif

namespace {

struct Variant {
    const Kernels* kernels;
    bool runs_here;
};

const Kernels& choose() noexcept {
    const char* wanted = std::getenv("TRELLISWORK_KERNELS");
#ifdef TW_HAVE_X86_VARIANTS
    __builtin_cpu_init();
    const Variant variants[] = {
        {&kernels_avx512, __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") != 0},
        {&kernels_avx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") != 0},
        {&kernels_baseline, true},
    };
#else
    const Variant variants[] = {{&kernels_baseline, true}};
#endif
    const Kernels* best = nullptr;
    for (const Variant& variant : variants) {
        if (!variant.runs_here) continue;
        if (wanted && std::strcmp(wanted, variant.kernels->name) == 0) return *variant.kernels;
        if (!best) best = variant.kernels;
    }
    return *best;
}

}  // namespace

const Kernels& kernels() noexcept {
    static const Kernels& chosen = choose();
    return chosen;
}

}  // namespace tw
