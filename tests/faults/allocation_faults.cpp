// Put before the C++ library (LD_PRELOAD), makes one allocation of the core fail: the n-th after arming. Python's own
// memory does not come from operator new.
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long> left{0}, failed{0}, seen{0}, alive{0};

void* allocate(std::size_t size, std::size_t alignment) noexcept {
    seen.fetch_add(1);
    if (left.load() > 0 && left.fetch_sub(1) == 1) {
        failed = 1;
        return nullptr;
    }
    void* found = nullptr;
    if (alignment <= alignof(std::max_align_t))
        found = std::malloc(size ? size : 1);
    else if (posix_memalign(&found, alignment, size ? size : 1) != 0)
        found = nullptr;
    if (found) alive.fetch_add(1);
    return found;
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
    if (void* found = allocate(size, alignment)) return found;
    throw std::bad_alloc();
}

void release(void* memory) noexcept {
    if (memory) alive.fetch_sub(1);
    std::free(memory);
}

constexpr std::size_t kPlain = alignof(std::max_align_t);
std::size_t as_size(std::align_val_t alignment) { return static_cast<std::size_t>(alignment); }

}  // namespace

extern "C" {
void faults_arm(long n) {
    failed = 0;
    seen = 0;
    left = n;
}
long faults_disarm() {
    left = 0;
    return failed;
}
long faults_seen() { return seen; }
long faults_alive() { return alive; }
}

void* operator new(std::size_t n) { return allocate_or_throw(n, kPlain); }
void* operator new[](std::size_t n) { return allocate_or_throw(n, kPlain); }
void* operator new(std::size_t n, std::align_val_t a) { return allocate_or_throw(n, as_size(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return allocate_or_throw(n, as_size(a)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, kPlain); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, kPlain); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept { return allocate(n, as_size(a)); }
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
    return allocate(n, as_size(a));
}
void operator delete(void* p) noexcept { release(p); }
void operator delete[](void* p) noexcept { release(p); }
void operator delete(void* p, std::size_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t) noexcept { release(p); }
void operator delete(void* p, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { release(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { release(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { release(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { release(p); }
