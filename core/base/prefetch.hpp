// Asks for a cache line well before it is needed; a hint, never a fault. The empty statement keeps compilers from
// taking a function that does nothing else for one without effect, and leaving its calls out.
#pragma once

namespace tw {

// To be written: other threads lose it.
inline void fetch_ahead(const void* place) noexcept {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(place, 1);
    __asm__ volatile("");
#else
    (void)place;
#endif
}

// To be read only, which threads can share.
inline void fetch_to_read(const void* place) noexcept {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(place, 0);
    __asm__ volatile("");
#else
    (void)place;
#endif
}

}  // namespace tw
