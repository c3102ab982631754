// Memory for large arrays that are read here and there: on huge pages where the system has them, since looking a page
// up then costs as much as the reading.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "interrupt.hpp"

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

// Such an array without initial values, which whoever fills it asks for anew.
template <class T>
class Buffer {
public:
    T* get(std::size_t size) {
        if (size > capacity()) {
            data_.reset();
            data_ = {HugePageAllocator<T>().allocate(size), Free{size}};
        }
        return data_.get();
    }
    T* data() const { return data_.get(); }
    std::size_t memory_bytes() const { return capacity() * sizeof(T); }

private:
    struct Free {
        std::size_t size = 0;
        void operator()(T* p) const { HugePageAllocator<T>().deallocate(p, size); }
    };
    std::size_t capacity() const { return data_ ? data_.get_deleter().size : 0; }
    std::unique_ptr<T[], Free> data_;
};

// In pieces that take some milliseconds, also where the memory is fresh.
template <class Real>
void fill_zeros(Real* data, std::size_t size) {
    constexpr std::size_t kPiece = std::size_t{1} << 21;
    for (std::size_t begin = 0; begin < size; begin += kPiece) {
        check_interrupt();
        std::fill_n(data + begin, std::min(kPiece, size - begin), Real{0});
    }
}

}  // namespace tw
