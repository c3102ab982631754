// The Arrow C data and stream interfaces: three structs that libraries hand each other in one process.
// (Apache Arrow, "The Arrow C data interface" and "The Arrow C stream interface"; a stable ABI.)
//
// Whoever receives a struct may move it: copy its bytes and set `release` of the original to null. Whoever has it last
// calls `release` once, in any thread.
#pragma once

#include <cstdint>
#include <utility>

namespace tw::arrow {

struct ArrowSchema {
    const char* format;
    const char* name;
    const char* metadata;
    std::int64_t flags;
    std::int64_t n_children;
    ArrowSchema** children;
    ArrowSchema* dictionary;
    void (*release)(ArrowSchema*);
    void* private_data;
};

struct ArrowArray {
    std::int64_t length;
    std::int64_t null_count;
    std::int64_t offset;
    std::int64_t n_buffers;
    std::int64_t n_children;
    const void** buffers;
    ArrowArray** children;
    ArrowArray* dictionary;
    void (*release)(ArrowArray*);
    void* private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
    int (*get_next)(ArrowArrayStream*, ArrowArray*);
    const char* (*get_last_error)(ArrowArrayStream*);
    void (*release)(ArrowArrayStream*);
    void* private_data;
};

constexpr std::int64_t kNullable = 2;  // a flag of schemas

// A struct that is released once, when its owner goes.
template <class T>
class Owned {
public:
    Owned() = default;
    explicit Owned(T* from) : value_(*from) { from->release = nullptr; }
    Owned(Owned&& other) noexcept : value_(other.value_) { other.value_.release = nullptr; }
    Owned& operator=(Owned&& other) noexcept {
        std::swap(value_, other.value_);
        return *this;
    }
    ~Owned() {
        if (value_.release) value_.release(&value_);
    }

    const T& operator*() const { return value_; }
    const T* operator->() const { return &value_; }
    T* get() { return &value_; }

private:
    T value_{};
};

}  // namespace tw::arrow
