// Reading off a path of which a good guess is at hand. See copy.hpp.
#pragma once

#include "simd.hpp"

namespace tw {
namespace {

// What was found. Where it was guessed, the processor goes on with the guess, which it has had all along, while it
// still looks whether that was right: a branch, and no dependency. Compilers must not see that both are the same.
TW_INLINE std::size_t as_guessed(std::size_t found, std::int32_t guess) {
#if defined(__GNUC__) || defined(__clang__)
    std::size_t next = (std::size_t)guess;
    __asm__("" : "+r"(next));
    if (__builtin_expect(found != (std::size_t)guess, 0)) {
        next = found;
        __asm__ volatile("" : "+r"(next));
    }
    return next;
#else
    (void)guess;
    return found;
#endif
}

}  // namespace
}  // namespace tw
