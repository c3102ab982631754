// Passes over long vectors: fixed blocks that fit the first cache, summed in a fixed order whatever the number of
// threads. Every pass of a solver does all it can while a block is at hand, because memory is what such a pass costs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "../base/parallel.hpp"

namespace tw::learners {

constexpr std::size_t kBlock = 1024;               // numbers worked on at a time
constexpr std::size_t kChunk = 16 * kBlock;        // numbers given to a thread at a time
constexpr std::size_t kWorthThreads = 4 * kChunk;  // below this a thread costs more than it saves

// body(begin, end, sums) for each block, adding into its sums; returns the sums over all blocks.
template <class Body>
std::vector<double> over_blocks(std::size_t n, std::size_t n_sums, std::size_t n_jobs, Body body) {
    const std::size_t n_chunks = (n + kChunk - 1) / kChunk;
    std::vector<double> of_chunk(n_chunks * n_sums, 0.0);
    parallel_for(n_chunks, n < kWorthThreads ? 1 : n_jobs, [&](std::size_t chunk, std::size_t) {
        const std::size_t last = std::min(n, (chunk + 1) * kChunk);
        for (std::size_t begin = chunk * kChunk; begin < last; begin += kBlock)
            body(begin, std::min(last, begin + kBlock), of_chunk.data() + chunk * n_sums);
    });
    std::vector<double> sums(n_sums, 0.0);
    for (std::size_t chunk = 0; chunk < n_chunks; ++chunk)
        for (std::size_t i = 0; i < n_sums; ++i) sums[i] += of_chunk[chunk * n_sums + i];
    return sums;
}

// Lanes: a sum of several partial sums, so that the compiler may keep them side by side in one register.
constexpr std::size_t kLanes = 4;

inline double sum_of_lanes(const std::array<double, kLanes>& lanes) {
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

// Adds a.x to *ax and a.y to *ay in one pass over a.
inline void add_two_dots(const float* a, const double* x, const double* y, std::size_t n, double* ax, double* ay) {
    std::array<double, kLanes> in_x{}, in_y{};
    std::size_t j = 0;
    for (; j + kLanes <= n; j += kLanes)
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            in_x[lane] += a[j + lane] * x[j + lane];
            in_y[lane] += a[j + lane] * y[j + lane];
        }
    for (std::size_t lane = 0; j < n; ++j, ++lane) {
        in_x[lane] += a[j] * x[j];
        in_y[lane] += a[j] * y[j];
    }
    *ax += sum_of_lanes(in_x);
    *ay += sum_of_lanes(in_y);
}

inline double dot(const double* x, const double* y, std::size_t n) {
    std::array<double, kLanes> in_lanes{};
    std::size_t j = 0;
    for (; j + kLanes <= n; j += kLanes)
        for (std::size_t lane = 0; lane < kLanes; ++lane) in_lanes[lane] += x[j + lane] * y[j + lane];
    for (std::size_t lane = 0; j < n; ++j, ++lane) in_lanes[lane] += x[j] * y[j];
    return sum_of_lanes(in_lanes);
}

}  // namespace tw::learners
