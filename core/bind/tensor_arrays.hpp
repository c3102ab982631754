// Tensors of models on their way to Python.
#pragma once

#include <string>
#include <vector>

#include "../linear/channel_tensors.hpp"
#include "arrays.hpp"

namespace tw::bind {

template <class To, class From>
void put(nb::dict& out, const std::string& name, const From& values) {
    const std::vector<To> narrowed(values.begin(), values.end());
    out[name.c_str()] = to_numpy(narrowed, {narrowed.size()});
}

// The tensors channel.NAME.*; codes in as few bytes as they need, `least` at least.
inline void put_channel(nb::dict& out, const std::string& name, const linear::ChannelTensors& from, std::size_t n_codes,
                        bool tied = false, std::size_t least = 1) {
    const std::string prefix = "channel." + name + ".";
    put<float>(out, prefix + "weights", from.weights);
    if (tied) return;
    put<std::uint32_t>(out, prefix + "starts", from.starts);
    if (n_codes <= 256 && least == 1)
        put<std::uint8_t>(out, prefix + "codes", from.codes);
    else if (n_codes <= 65536)
        put<std::uint16_t>(out, prefix + "codes", from.codes);
    else
        put<std::uint32_t>(out, prefix + "codes", from.codes);
    if (!from.keys.empty()) {
        put<std::uint64_t>(out, prefix + "keys", from.keys);
        put<std::uint32_t>(out, prefix + "slots", from.slots);
    }
    if (!from.names.ends.empty()) {
        put<std::uint8_t>(out, prefix + "names.text", from.names.text);
        put<std::uint32_t>(out, prefix + "names.ends", from.names.ends);
    }
}

}  // namespace tw::bind
