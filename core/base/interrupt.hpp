// How long work ends early when the caller wants it to (Ctrl-C): the core looks often, and the caller says how to ask.
//
// A `Watch` is one call of the core. Loops that may take longer than some milliseconds call check_interrupt(), which
// throws when the call is to end: in the thread that made the call whatever asking threw, in its other threads
// `Interrupted`. Where nobody watches, nothing happens. Functions throw between two states that make sense, and
// `Uninterrupted` keeps together what must be done as a whole.
//
// The kernels include this file: only declarations, and what is never emitted unless it is used.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>

namespace tw {

class Interrupted : public std::exception {
public:
    const char* what() const noexcept override { return "interrupted"; }
};

class Watch {
public:
    // Throws when the call is to end; false: there is no use in asking again.
    using Ask = bool (*)();

    explicit Watch(Ask ask);  // watches this thread until it is destroyed
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    static Watch* here() noexcept;  // the one of this thread, or null

private:
    friend class Watched;
    friend void check_interrupt();

    const Ask ask_;
    std::int64_t next_;  // milliseconds: when to ask again
    std::atomic<bool> ended_{false};
    Watch* const before_;
    const bool asked_before_;
};

// A thread that works for somebody else's call, while the object lives.
class Watched {
public:
    explicit Watched(Watch* watch) noexcept;
    ~Watched();
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;

private:
    Watch* const before_;
    const bool asks_before_;
};

// While the object lives, nothing throws in this thread nor in those it starts.
class Uninterrupted : Watched {
public:
    Uninterrupted() noexcept : Watched(nullptr) {}
};

void check_interrupt();

// The same for loops whose rounds may be short: it looks every few rounds, as many as are done in a few milliseconds.
class InterruptCheck {
public:
    void operator()() {
        if (--left_ == 0) look();
    }

private:
    void look();

    std::uint32_t left_ = 1, every_ = 1;
    std::int64_t looked_ = 0;
};

}  // namespace tw
