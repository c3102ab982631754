// One hash for every string in the library. Keys made with it are stored in model files: it must never change.
//
// 64 bits, so two of n attributes share a key with probability about n^2 / 2^65: 3e-9 for 340,000 attributes, 3e-6 for
// ten million; and a string never seen is taken for one of them with probability n / 2^64.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tw {

using Key = std::uint64_t;

// Product of two 64-bit numbers, its halves folded together (the step of wyhash, public domain, W. Yi).
inline Key fold(Key a, Key b) noexcept {
#if defined(__SIZEOF_INT128__)
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return static_cast<Key>(product) ^ static_cast<Key>(product >> 64);
#else
    const Key a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
    const Key low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1 + (middle & 0xffffffffu);
    return ((other << 32) | (low & 0xffffffffu)) ^ (a1 * b1 + (middle >> 32) + (other >> 32));
#endif
}

inline constexpr Key kHashSecret[3] = {0xa0761d6478bd642full, 0xe7037ed1a0b428dbull, 0x8ebc6af09c88c6e3ull};

// Key of a combination, in this order: combine(combine(seed, a), b).
inline Key combine(Key a, Key b) noexcept { return fold(a ^ kHashSecret[0], b ^ kHashSecret[1]); }

inline std::uint64_t load_little(const char* from, std::size_t size) noexcept {  // size <= 8
    if constexpr (std::endian::native == std::endian::little) {
        // Two loads that overlap instead of a copy of any size, which would be a call.
        if (size == 8) {
            std::uint64_t value;
            std::memcpy(&value, from, 8);
            return value;
        }
        if (size >= 4) {
            std::uint32_t low, high;
            std::memcpy(&low, from, 4);
            std::memcpy(&high, from + size - 4, 4);
            return low | static_cast<std::uint64_t>(high) << (8 * (size - 4));
        }
        if (size == 0) return 0;
        const auto byte = [from](std::size_t i) {
            return static_cast<std::uint64_t>(static_cast<unsigned char>(from[i])) << (8 * i);
        };
        return byte(0) | byte(size / 2) | byte(size - 1);
    }
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(from[i]);
    return value;
}

inline Key hash_bytes(std::string_view text, Key seed = 0) noexcept {
    Key state = seed ^ kHashSecret[0];
    const char* at = text.data();
    std::size_t left = text.size();
    for (; left > 16; at += 16, left -= 16)
        state = fold(load_little(at, 8) ^ kHashSecret[1], load_little(at + 8, 8) ^ state);
    const std::uint64_t low = load_little(at, left < 8 ? left : 8);
    const std::uint64_t high = left > 8 ? load_little(at + 8, left - 8) : 0;
    return fold(kHashSecret[2] ^ text.size(), fold(low ^ kHashSecret[1], high ^ state));
}

// The first n bytes of 8, none for n < 0, all for n > 8: entry n + 8.
inline constexpr auto kFirstBytes = [] {
    std::array<std::uint64_t, 25> masks{};
    for (std::size_t n = 1; n <= 16; ++n) masks[n + 8] = masks[n + 7] << 8 | 0xff;
    return masks;
}();

// The same for at most 16 bytes of which 16 can be read, without a branch on how many there are: lengths of words
// cannot be predicted. The masks are read, since compilers make branches of what computes them.
inline Key hash_short(const char* text, std::size_t size) noexcept {
    std::uint64_t words[2];
    std::memcpy(words, text, sizeof words);
    const std::uint64_t low = words[0] & kFirstBytes[size + 8], high = words[1] & kFirstBytes[size];
    const Key state = kHashSecret[0];
    return fold(kHashSecret[2] ^ size, fold(low ^ kHashSecret[1], high ^ state));
}

}  // namespace tw
