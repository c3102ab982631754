// SplitMix64 (Steele, Lea & Flood 2014): the same numbers on every platform, unlike the library's distributions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tw::learners {

class Random {
public:
    Random(std::uint64_t seed, std::uint64_t stream) : state_(seed * 0x9e3779b97f4a7c15ULL + stream) { next(); }
    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }
    std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }

private:
    std::uint64_t state_;
};

}  // namespace tw::learners
