// Memory for large arrays that are read here and there: on huge pages where the system has them, since looking a page
// up then costs as much as the reading.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace tw {

template <class T>
struct HugePageAllocator {
    using value_type = T;

    HugePageAllocator() = default;
    template <class U>
    HugePageAllocator(const HugePageAllocator<U>&) {}

    T* allocate(std::size_t n) {
        const std::size_t bytes = n * sizeof(T);
        void* memory = ::operator new(bytes, alignment(bytes));
#ifdef MADV_HUGEPAGE
        if (bytes >= kHuge) (void)madvise(memory, bytes / kPage * kPage, MADV_HUGEPAGE);
#endif
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, std::size_t n) { ::operator delete(memory, alignment(n * sizeof(T))); }

    friend bool operator==(const HugePageAllocator&, const HugePageAllocator&) { return true; }

private:
    static constexpr std::size_t kLine = 64, kPage = 4096, kHuge = std::size_t{1} << 21;
    static std::align_val_t alignment(std::size_t bytes) { return std::align_val_t{bytes >= kHuge ? kHuge : kLine}; }
};

template <class T>
using LargeArray = std::vector<T, HugePageAllocator<T>>;

}  // namespace tw
