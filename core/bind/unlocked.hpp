// The interpreter's lock and its signals, while the core works.
//
// Python's own handler of a signal only takes note of it; what `signal.signal` was given runs when the main thread asks
// for it. So the core asks (core/base/interrupt.hpp), and what the handler raised, as a rule KeyboardInterrupt, passes
// through the core to the caller. A call from any other thread goes on: signals are not for it.
#pragma once

#include <nanobind/nanobind.h>

#include "../base/interrupt.hpp"

namespace nb = nanobind;

namespace tw::bind {

bool run_signal_handlers();

// For long work that needs the lock.
class Interruptible {
private:
    Watch watch_{run_signal_handlers};
};

// For all that does not.
class Unlocked {
private:
    nb::gil_scoped_release released_;
    Watch watch_{run_signal_handlers};
};

}  // namespace tw::bind
