// The kernels' way to end early: called at every position of a sequence, it looks after some milliseconds of work.
#pragma once

#include "../base/interrupt.hpp"
#include "simd.hpp"

namespace tw {
namespace {

TW_INLINE void at_position(std::size_t t, std::size_t n_labels) {
    if ((t & (n_labels < 128 ? 127 : 7)) == 0) check_interrupt();
}

}  // namespace
}  // namespace tw
