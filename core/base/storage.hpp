// Arrays that grow with a corpus: in memory as long as they are few, in files that are mapped when they are more.
//
//     Storage          how much memory there is, and the folder of the files        one for a training set, or none
//     Stored<T>        pointer, size, room                                          as a vector to whoever reads it
//         in memory    a block that grows by doubling                               without a storage, always so
//         in a file    a shared mapping of a file without a name, grown at its end
//
// Files are unlinked as soon as they are open, so nothing is left behind however a process ends, and their blocks are
// claimed before they are written to, so that a full disk is an error and not a signal. Pages that were read or written
// stay with the process only until most of a window has gathered: whoever goes over an array says how much it has
// touched, and then all pages are given back to the system, which keeps what it has room for. That changes nothing but
// time, so one thread may do it while others read, and these wait for it only where they would fill the rest. Who does
// not go on where the last read ended says so too: the system makes the pages around each such place resident.
//
//     memory   |  what cannot move  |  what is to come  |  arrays in memory  |  window: pages of files  |
//                 as the system        `require`           up to the limit      released at three fourths
//                 counts it
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tw {

// A file could not be made or enlarged; `code` is the system's.
class StorageError : public std::runtime_error {
public:
    StorageError(const std::string& message, int number) : std::runtime_error(message), code(number) {}
    int code;
};

// What has to be in memory does not fit; the message says what would.
class MemoryTooSmall : public std::invalid_argument {
public:
    using std::invalid_argument::invalid_argument;
};

class StoredBytes;

constexpr std::size_t kAround = std::size_t{1} << 16;  // bytes that become resident around a place, 16 pages on Linux

class Storage {
public:
    // `memory`: bytes that the process may have resident in all, what it has now included; `per_weight`: those that a
    // learner needs for each weight, and `advice` how it would need fewer. Throws MemoryTooSmall where nothing is left,
    // StorageError where the folder cannot be written to.
    Storage(std::string folder, std::size_t memory, std::size_t per_weight = 0, std::string advice = "");
    ~Storage();

    std::size_t memory() const { return memory_; }
    std::size_t available() const { return available_; }  // of it, to all that training needs
    std::size_t window() const { return window_; }        // of that, to pages of files
    std::size_t limit() const { return limit_; }          // and to arrays in memory, at most
    std::size_t in_memory() const { return in_memory_; }
    std::size_t in_files() const { return in_files_; }
    std::size_t most_in_files() const { return most_in_files_; }

    // Says that so many bytes are needed besides all that the process has now, `what` for the message: arrays move to
    // files to make room for them. Throws MemoryTooSmall where that is not enough; `advice` is the end of the message.
    void require(std::size_t bytes, const std::string& what, const std::string& advice);
    // The same for so many weights, and `more` bytes for tables of them.
    void require_weights(std::size_t n_weights, std::size_t more);
    // There are so many weights by now, of which some were met while learning: throws where a quarter more would not
    // fit. Nothing is moved.
    void require_growth(std::size_t n_weights) const;
    // Gives back all that nobody needs: pages of files, and what was freed and the heap still holds.
    void settle();

    // Whether pages have been read from the disk of late: if not, the system has them all, and need not be told which
    // will be wanted. To be asked now and then.
    bool reads_disk();

    // So many bytes of arrays were read or written since the last call. Any thread.
    void touch(std::size_t bytes) {
        if (in_files_ != 0 && touched_.fetch_add(bytes, std::memory_order_relaxed) + bytes >= look_) look();
    }

private:
    friend class StoredBytes;

    bool takes(std::size_t more) const { return in_memory_ + more <= limit_; }
    void look();
    void release_all();
    std::size_t fixed() const;
    // Of the memory, besides all that is fixed and so many bytes.
    std::size_t left_beside(std::size_t bytes, const std::string& what, const std::string& advice) const;
    std::string fewer_weights() const;
    int new_file() const;
    [[noreturn]] void fail(const std::string& what, int code) const;

    const std::string folder_, advice_;
    std::size_t memory_, per_weight_, available_, window_, limit_, look_;
    std::atomic<std::size_t> in_memory_{0}, in_files_{0}, most_in_files_{0}, touched_{0};
    std::atomic<long> blocks_read_{-1};
    std::atomic<int> asked_since_{0};
    std::size_t other_pages_ = 0;  // bytes of files that are none of ours, the program itself among them
    int status_ = -1;              // where the system says how much is resident
    mutable std::mutex lock_;      // of what follows
    std::vector<StoredBytes*> arrays_;
};

using StoragePointer = std::shared_ptr<Storage>;

// Counts what a loop touches; a thread has its own. Nothing is done where there is no storage.
class Touches {
public:
    explicit Touches(const StoragePointer& storage) : storage_(storage.get()) {}
    void operator()(std::size_t bytes) {
        if ((bytes_ += bytes) >= kOften) pass_on();
    }
    // The same for bytes in so many places, none of which is behind the last ones.
    void elsewhere(std::size_t bytes, std::size_t places) { (*this)(bytes + places * kAround); }

private:
    static constexpr std::size_t kOften = std::size_t{1} << 15;
    void pass_on() {
        if (storage_) storage_->touch(bytes_);
        bytes_ = 0;
    }
    Storage* storage_;
    std::size_t bytes_ = 0;
};

// The bytes of an array, whatever is in them.
class StoredBytes {
public:
    enum class Access { kInOrder, kAnywhere };

    bool mapped() const { return file_ >= 0; }
    // Will be read soon: the system begins to fetch what it does not have. Only where they are in a file.
    void read_ahead(std::size_t begin, std::size_t end) const;
    void expect(Access access);  // how they will be read
    // Copies bytes of a file without making its pages resident.
    void copy(std::size_t begin, std::size_t bytes, char* to) const;

protected:
    explicit StoredBytes(StoragePointer storage);
    ~StoredBytes();
    StoredBytes(const StoredBytes&) = delete;
    StoredBytes& operator=(const StoredBytes&) = delete;

    void swap(StoredBytes& other) noexcept;
    // Room for `needed` bytes, the first `used` of which are kept; for as many as are `wished` if that is not much
    // more.
    void enlarge(std::size_t used, std::size_t needed, std::size_t wished);
    void shrink(std::size_t used);
    void clear_all();

    StoragePointer storage_;
    char* data_ = nullptr;
    std::size_t capacity_ = 0;  // in bytes

private:
    friend class Storage;

    void allocate(std::size_t used, std::size_t bytes);
    void map(std::size_t used, std::size_t needed, std::size_t wished);
    void enlarge_file(std::size_t bytes);
    void move_to_file() { map(capacity_, capacity_, capacity_); }
    void release() const;
    std::size_t resident() const;  // of a block in memory
    void free_block();
    void enlist();
    void delist();

    int file_ = -1;
    Access access_ = Access::kInOrder;
    bool enlisted_ = false;
};

// An array of plain values.
template <class T>
class Stored : public StoredBytes {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    using value_type = T;

    explicit Stored(StoragePointer storage = nullptr) : StoredBytes(std::move(storage)) {}
    Stored(std::initializer_list<T> values) : StoredBytes(nullptr) { append(std::span(values.begin(), values.size())); }
    Stored(Stored&& other) noexcept : StoredBytes(nullptr) { swap(other); }
    Stored& operator=(Stored&& other) noexcept {
        Stored taken(std::move(other));
        swap(taken);
        return *this;
    }

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    std::size_t capacity() const { return capacity_ / sizeof(T); }
    std::size_t bytes() const { return size_ * sizeof(T); }
    std::size_t memory_bytes() const { return mapped() ? 0 : capacity_; }
    T* data() { return reinterpret_cast<T*>(data_); }
    const T* data() const { return reinterpret_cast<const T*>(data_); }
    T* begin() { return data(); }
    T* end() { return data() + size_; }
    const T* begin() const { return data(); }
    const T* end() const { return data() + size_; }
    T& operator[](std::size_t i) { return data()[i]; }
    const T& operator[](std::size_t i) const { return data()[i]; }
    const T& back() const { return data()[size_ - 1]; }
    const StoragePointer& storage() const { return storage_; }

    void push_back(T value) {
        if (size_ == room_) make_room(size_ + 1);
        data()[size_++] = value;
    }
    template <class From>
    void append(const From& values) {
        const T* from = std::data(values);
        for (std::size_t left = std::size(values); left > 0;) {
            if (size_ == room_) make_room(size_ + (mapped() ? std::min(left, kStep) : left));
            const std::size_t n = std::min(left, room_ - size_);
            std::copy_n(from, n, data() + size_);
            size_ += n;
            from += n;
            left -= n;
        }
    }
    void reserve(std::size_t n) {
        if (n > capacity()) enlarge(bytes(), n * sizeof(T), n * sizeof(T));
        room_ = mapped() ? std::max(size_, std::min(room_, capacity())) : capacity();
    }
    // Values that are new are `value`; or anything.
    void resize(std::size_t n, T value) {
        const std::size_t before = size_;
        resize_anyhow(n);
        constexpr std::size_t kPiece = (std::size_t{1} << 20) / sizeof(T);
        for (std::size_t i = before; i < n; i += kPiece) {
            std::fill(data() + i, data() + std::min(n, i + kPiece), value);
            if (storage_) storage_->touch(std::min(n - i, kPiece) * sizeof(T));
        }
    }
    void resize(std::size_t n) { resize(n, T{}); }
    void resize_anyhow(std::size_t n) {
        if (n > capacity()) enlarge(bytes(), n * sizeof(T), 2 * bytes());
        size_ = n;
        room_ = mapped() ? n : capacity();
    }
    void assign(std::size_t n, T value) {
        size_ = 0;
        resize(n, value);
    }
    void shrink_to_fit() {
        shrink(bytes());
        room_ = mapped() ? size_ : capacity();
    }
    void clear() { size_ = room_ = 0; }

    // Elements begin .. end - 1 will be read soon.
    void read_ahead(std::size_t begin, std::size_t end) const {
        if (mapped()) StoredBytes::read_ahead(begin * sizeof(T), end * sizeof(T));
    }

private:
    static constexpr std::size_t kStep = std::max<std::size_t>((std::size_t{1} << 18) / sizeof(T), 1);

    void swap(Stored& other) noexcept {
        StoredBytes::swap(other);
        std::swap(size_, other.size_);
        std::swap(room_, other.room_);
    }
    // In a file what was written is touched step by step.
    void make_room(std::size_t n) {
        if (n > capacity()) enlarge(bytes(), n * sizeof(T), 2 * bytes());
        room_ = capacity();
        if (!mapped()) return;
        storage_->touch(kStep * sizeof(T));
        room_ = std::min(room_, std::max(n, size_ + kStep));
    }

    std::size_t size_ = 0;
    std::size_t room_ = 0;  // what may be written to before make_room() is asked
};

}  // namespace tw
