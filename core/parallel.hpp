// Work shared over threads: items are taken from one counter, so long ones do not hold up the rest.
//
// Threads are made per call and only when there is enough work to pay for them (about 20 microseconds each); there is
// no pool and so no state that a fork could break. What an item computes never depends on which thread takes it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace tw {

// Calls work(item, worker) for every item; worker < n_workers names the caller's scratch space.
template <class Work>
void parallel_for(std::size_t n_items, std::size_t n_workers, Work work) {
    n_workers = std::min(n_workers, n_items);
    if (n_workers <= 1) {
        for (std::size_t item = 0; item < n_items; ++item) work(item, std::size_t{0});
        return;
    }
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex failure_lock;
    const auto run = [&](std::size_t worker) {
        try {
            for (std::size_t item; (item = next.fetch_add(1, std::memory_order_relaxed)) < n_items;) work(item, worker);
        } catch (...) {
            const std::lock_guard guard(failure_lock);
            failure = std::current_exception();
            next = n_items;
        }
    };
    std::vector<std::thread> threads;
    threads.reserve(n_workers - 1);
    for (std::size_t worker = 1; worker < n_workers; ++worker) {
        try {
            threads.emplace_back(run, worker);
        } catch (const std::system_error&) {
            break;  // no more threads to be had: the ones we have do the work
        }
    }
    run(0);
    for (std::thread& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace tw
