// Work shared over threads: items are taken from one counter, so long ones do not hold up the rest.
//
// Threads are made per call and only when there is enough work to pay for them (about 20 microseconds each); there is
// no pool and so no state that a fork could break. What an item computes never depends on which thread takes it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "interrupt.hpp"

namespace tw {

// The threads of one call of parallel_for, and what went wrong in them.
class Workers {
public:
    // Runs `work(worker)` in this thread, as worker 0, and in n - 1 more; returns when all have ended.
    template <class Work>
    void run(std::size_t n, Work work) {
        std::vector<std::thread> threads;
        threads.reserve(n - 1);
        Watch* const watch = Watch::here();
        for (std::size_t worker = 1; worker < n; ++worker) {
            try {
                threads.emplace_back([&, worker] {
                    const Watched watched(watch);
                    attempt([&] { work(worker); });
                    const std::lock_guard guard(lock_);
                    ++n_ended_;
                    ended_.notify_one();
                });
            } catch (const std::system_error&) {
                break;  // no more threads to be had: the ones we have do the work
            } catch (const std::bad_alloc&) {
                break;
            }
        }
        attempt([&] { work(std::size_t{0}); });
        attempt([&] { wait(threads.size()); });
        for (std::thread& thread : threads) thread.join();
        if (failure_) std::rethrow_exception(failure_);
    }

    bool failed() const { return failed_.load(std::memory_order_relaxed); }

private:
    template <class Work>
    void attempt(Work work) {
        try {
            work();
        } catch (const Interrupted&) {  // somebody else knows why
            fail(false);
        } catch (...) {
            fail(true);
        }
    }

    void fail(bool tells) {
        const std::lock_guard guard(lock_);
        if (!failure_ || (tells && !tells_)) failure_ = std::current_exception();
        tells_ |= tells;
        failed_.store(true, std::memory_order_relaxed);
    }

    // The caller has to look for interrupts as long as anybody works for it.
    void wait(std::size_t n) {
        constexpr std::chrono::milliseconds kLook{20};
        for (;;) {
            {
                std::unique_lock guard(lock_);
                if (ended_.wait_for(guard, kLook, [&] { return n_ended_ == n; })) return;
            }
            check_interrupt();
        }
    }

    std::mutex lock_;
    std::condition_variable ended_;
    std::size_t n_ended_ = 0;
    std::exception_ptr failure_;
    bool tells_ = false;  // whether the failure says more than that the call is to end
    std::atomic<bool> failed_{false};
};

// Calls work(item, worker) for every item; worker < n_workers names the caller's scratch space.
template <class Work>
void parallel_for(std::size_t n_items, std::size_t n_workers, Work work) {
    n_workers = std::min(n_workers, n_items);
    if (n_workers <= 1) {
        InterruptCheck check;
        for (std::size_t item = 0; item < n_items; ++item) {
            check();
            work(item, std::size_t{0});
        }
        return;
    }
    std::atomic<std::size_t> next{0};
    Workers workers;
    workers.run(n_workers, [&](std::size_t worker) {
        InterruptCheck check;
        for (std::size_t item; (item = next.fetch_add(1, std::memory_order_relaxed)) < n_items && !workers.failed();) {
            check();
            work(item, worker);
        }
    });
}

}  // namespace tw
