// A checksum of a file: finds damage, at the speed of memory; it is no protection against intent. Part of the model
// file's format: it must never change. It is for files: inputs shorter than 64 bytes all have the same one.
#pragma once

#include <span>

#include "../text/hashing.hpp"

namespace tw {

inline constexpr std::size_t kChecksumPiece = std::size_t{1} << 20;  // bytes between two pauses

// Four independent lanes of 16 bytes each, so that no product waits for another; what is left over ends the chain.
template <class Pause>
Key checksum(std::string_view bytes, Pause pause) noexcept {
    Key lanes[4] = {kHashSecret[0], kHashSecret[1], kHashSecret[2], kHashSecret[0] ^ kHashSecret[1]};
    const std::size_t whole = bytes.size() / 64 * 64;
    for (std::size_t i = 0; i < whole; i += 64) {
        if (i % kChecksumPiece == 0) pause();
        for (std::size_t lane = 0; lane < 4; ++lane) {
            const char* at = bytes.data() + i + 16 * lane;
            lanes[lane] = fold(load_little(at, 8) ^ kHashSecret[1], load_little(at + 8, 8) ^ lanes[lane]);
        }
    }
    Key state = hash_bytes(bytes.substr(whole), bytes.size());
    for (const Key lane : lanes) state = combine(state, lane);
    return state;
}

inline Key checksum(std::string_view bytes) noexcept {
    return checksum(bytes, [] {});
}

// Of several arrays one after the other, each with its size.
template <class... Arrays>
Key checksum_of(const Arrays&... arrays) noexcept {
    Key state = 0;
    const auto add = [&state](const auto& array) {
        const std::string_view bytes(reinterpret_cast<const char*>(std::data(array)),
                                     std::size(array) * sizeof(*std::data(array)));
        const auto pause = [&array] {
            if constexpr (requires { array.storage(); })
                if (array.storage()) array.storage()->touch(kChecksumPiece);
        };
        state = combine(state, bytes.size() < 64 ? hash_bytes(bytes) : checksum(bytes, pause));
    };
    (add(arrays), ...);
    return state;
}

}  // namespace tw
