#include "interrupt.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <limits>

namespace tw {
namespace {

constexpr std::int64_t kAskEvery = 30;  // milliseconds: asking may wait for a lock that somebody else holds
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::uint32_t kMostRounds = 64;

struct Here {
    Watch* watch = nullptr;
    bool asks = false;  // whether this thread is the one that made the call
};
thread_local Here current;

// Milliseconds, to within a few: such a clock is read without asking the processor for the time.
std::int64_t now() {
#ifdef CLOCK_MONOTONIC_COARSE
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1000 + time.tv_nsec / 1000000;
#else
    using namespace std::chrono;
    return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
#endif
}

}  // namespace

Watch::Watch(Ask ask) : ask_(ask), next_(now() + kAskEvery), before_(current.watch), asked_before_(current.asks) {
    current = {this, true};
}

Watch::~Watch() { current = {before_, asked_before_}; }

Watch* Watch::here() noexcept { return current.watch; }

Watched::Watched(Watch* watch) noexcept : before_(current.watch), asks_before_(current.asks) {
    current = {watch, false};
}

Watched::~Watched() { current = {before_, asks_before_}; }

void check_interrupt() {
    Watch* const watch = current.watch;
    if (watch == nullptr) return;
    if (watch->ended_.load(std::memory_order_relaxed)) throw Interrupted();
    if (!current.asks || now() < watch->next_) return;
    try {
        watch->next_ = watch->ask_() ? now() + kAskEvery : kNever;
    } catch (...) {
        watch->ended_.store(true, std::memory_order_relaxed);
        throw;
    }
}

void InterruptCheck::look() {
    check_interrupt();
    const std::int64_t time = now();
    every_ = time == looked_ ? std::min(2 * every_, kMostRounds) : std::max(every_ / 2, 1u);
    looked_ = time;
    left_ = every_;
}

}  // namespace tw
