#include "storage.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "huge_pages.hpp"

#if defined(__unix__) || defined(__APPLE__)
#define TW_MAPPED_FILES 1
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace tw {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kLeast = 8 * kMiB;  // that can be worked with
constexpr std::size_t kMostWindow = 256 * kMiB;
constexpr std::size_t kFileStep = 64 * kMiB;   // by which a large file grows
constexpr std::size_t kLeastMapped = 1 << 16;  // smaller arrays stay in memory
constexpr std::size_t kPage = 4096;

std::string megabytes(std::size_t bytes) {
    char text[32];
    std::snprintf(text, sizeof text, "%.0f MB", static_cast<double>(bytes) / 1e6);
    return text;
}

// The heap keeps what was freed; blocks in its middle go back to the system only so.
void trim_heap() {
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}

struct Resident {
    std::size_t all = 0, files = 0;
};

// Of this process, in bytes; zeros where the system does not say.
Resident resident(int status) {
    Resident out;
#ifdef __linux__
    char text[128];
    const ssize_t n = pread(status, text, sizeof text - 1, 0);
    if (n <= 0) return out;
    text[n] = 0;
    unsigned long size = 0, all = 0, shared = 0;
    if (std::sscanf(text, "%lu %lu %lu", &size, &all, &shared) != 3) return out;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    out = {all * page, shared * page};
#else
    (void)status;
#endif
    return out;
}

}  // namespace

Storage::Storage(std::string folder, std::size_t memory, std::size_t per_weight, std::string advice)
    : folder_(std::move(folder)), advice_(std::move(advice)), memory_(memory), per_weight_(per_weight) {
#ifndef TW_MAPPED_FILES
    throw StorageError("training larger than memory needs a system with mapped files", 0);
#else
#ifdef __linux__
    status_ = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
#endif
    const Resident now = resident(status_);
    other_pages_ = now.files;
    if (memory < now.all + kLeast) {
        if (status_ >= 0) close(status_);
        throw MemoryTooSmall("memory is " + megabytes(memory) + ", but the process takes " + megabytes(now.all) +
                             " before training begins: it needs at least " + megabytes(now.all + kLeast));
    }
    available_ = memory - now.all;
    window_ = std::min(available_ / 8, kMostWindow);
    limit_ = available_ / 4;
    look_ = std::clamp<std::size_t>(window_ / 64, kLeastMapped, kMiB);
    try {
        close(new_file());  // whether that can be done is better known now
    } catch (...) {
        if (status_ >= 0) close(status_);
        throw;
    }
#endif
}

Storage::~Storage() {
#ifdef TW_MAPPED_FILES
    if (status_ >= 0) close(status_);
#endif
}

void Storage::require(std::size_t bytes, const std::string& what, const std::string& advice) {
    const std::lock_guard guard(lock_);
    limit_ = std::min(limit_, left_beside(bytes, what, advice));
    if (in_memory_ <= limit_) return;
    for (StoredBytes* array : arrays_)
        if (!array->mapped() && array->capacity_ >= kLeastMapped) array->move_to_file();
}

std::size_t Storage::left_beside(std::size_t bytes, const std::string& what, const std::string& advice) const {
    std::size_t taken = fixed() + window_ + bytes;
    if (taken > memory_) {
        trim_heap();
        taken = fixed() + window_ + bytes;
    }
    if (taken <= memory_) return memory_ - taken;
    const std::size_t others = taken - bytes;
    throw MemoryTooSmall(what + " " + (what.back() == 's' ? "take " : "takes ") + megabytes(bytes) +
                         ", but of memory=" + megabytes(memory_) + " there are " +
                         megabytes(memory_ - std::min(others, memory_)) + " left for them" + advice +
                         ", or memory of at least " +  // of which an eighth goes to the window
                         megabytes(memory_ + (taken - memory_) * 8 / 7 + kMiB));
}

// What can be neither moved nor given back. Nothing where the system does not say.
std::size_t Storage::fixed() const {
    const Resident now = resident(status_);
    std::size_t arrays = 0;
    for (const StoredBytes* array : arrays_) arrays += array->resident();
    const std::size_t anonymous = now.all - now.files;
    return anonymous > arrays ? anonymous - arrays + other_pages_ : 0;
}

void Storage::settle() {
    const std::lock_guard guard(lock_);
    release_all();
    trim_heap();
}

void Storage::require_weights(std::size_t n_weights, std::size_t more) {
    std::size_t taken = window_ + more;
    {
        const std::lock_guard guard(lock_);
        taken += fixed();
    }
    const std::size_t fit = taken < memory_ ? (memory_ - taken) / std::max<std::size_t>(per_weight_, 1) : 0;
    require(n_weights * per_weight_ + more, std::to_string(n_weights) + " weights",
            ": " + std::to_string(fit) + " would fit" + fewer_weights());
}

void Storage::require_growth(std::size_t n_weights) const {
    const std::lock_guard guard(lock_);
    (void)left_beside(n_weights / 4 * per_weight_, "vectors that grow with " + std::to_string(n_weights) + " weights",
                      fewer_weights());
}

std::string Storage::fewer_weights() const { return ". Have fewer by a larger min_count or by hash_bits" + advice_; }

// What the system counts, since it maps more pages than were asked for. Who comes while another gives pages back goes
// on, but not for long: that other thread may be waiting for a processor.
void Storage::look() {
    std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard && touched_ < window_ / 4) return;
    if (!guard) guard.lock();
    touched_ = 0;
    const Resident now = resident(status_);
    if (status_ >= 0 && now.files <= other_pages_ + window_ / 4 * 3 && now.all + window_ / 4 <= memory_) return;
    release_all();
    other_pages_ = resident(status_).files;
}

bool Storage::reads_disk() {
#ifdef TW_MAPPED_FILES
    constexpr int kOften = 16;
    rusage used{};
    if (in_files_ == 0 || getrusage(RUSAGE_SELF, &used) != 0) return false;
    if (blocks_read_.exchange(used.ru_inblock) != used.ru_inblock) asked_since_ = 0;
    return asked_since_++ < kOften;
#else
    return false;
#endif
}

void Storage::release_all() {
    for (const StoredBytes* array : arrays_) array->release();
}

void Storage::fail(const std::string& what, int code) const {
    throw StorageError(what + " in the folder " + folder_ + ": " + std::strerror(code), code);
}

int Storage::new_file() const {
    int file = -1;
#ifdef TW_MAPPED_FILES
#ifdef O_TMPFILE
    file = open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0) return file;
    if (errno != EOPNOTSUPP && errno != EISDIR) fail("no file can be made", errno);
#endif
    std::string name = folder_ + "/trelliswork-XXXXXX";
    file = mkstemp(name.data());
    if (file < 0) fail("no file can be made", errno);
    (void)unlink(name.c_str());
    (void)fcntl(file, F_SETFD, FD_CLOEXEC);
#endif
    return file;
}

StoredBytes::StoredBytes(StoragePointer storage) : storage_(std::move(storage)) {}

StoredBytes::~StoredBytes() { clear_all(); }

// Storages know arrays by their address. Nobody may look at one that is half of each.
void StoredBytes::swap(StoredBytes& other) noexcept {
    std::unique_lock<std::mutex> first, second;
    if (storage_) first = std::unique_lock(storage_->lock_, std::defer_lock);
    if (other.storage_ && other.storage_ != storage_) second = std::unique_lock(other.storage_->lock_, std::defer_lock);
    if (first.mutex() && second.mutex())
        std::lock(first, second);
    else if (first.mutex())
        first.lock();
    else if (second.mutex())
        second.lock();
    if (storage_ != other.storage_ || enlisted_ != other.enlisted_) {
        if (enlisted_) std::ranges::replace(storage_->arrays_, this, &other);
        if (other.enlisted_) std::ranges::replace(other.storage_->arrays_, &other, this);
    }
    std::swap(storage_, other.storage_);
    std::swap(data_, other.data_);
    std::swap(capacity_, other.capacity_);
    std::swap(file_, other.file_);
    std::swap(access_, other.access_);
    std::swap(enlisted_, other.enlisted_);
}

void StoredBytes::enlist() {
    if (!storage_ || data_ == nullptr || enlisted_) return;
    const std::lock_guard guard(storage_->lock_);
    storage_->arrays_.push_back(this);
    enlisted_ = true;
}

void StoredBytes::delist() {
    if (!enlisted_) return;
    const std::lock_guard guard(storage_->lock_);
    std::erase(storage_->arrays_, this);
    enlisted_ = false;
}

void StoredBytes::enlarge(std::size_t used, std::size_t needed, std::size_t wished) {
    delist();
    wished = std::max(wished, needed);
    if (!mapped() && (!storage_ || wished < kLeastMapped || storage_->takes(wished)))
        allocate(used, wished);
    else
        map(used, needed, wished);
    enlist();
}

void StoredBytes::allocate(std::size_t used, std::size_t bytes) {
    HugePageAllocator<char> memory;
    char* const fresh = memory.allocate(bytes);
    if (used > 0) std::memcpy(fresh, data_, used);
    free_block();
    data_ = fresh;
    capacity_ = bytes;
    if (storage_) storage_->in_memory_ += bytes;
}

void StoredBytes::free_block() {
    if (data_ == nullptr) return;
    HugePageAllocator<char>().deallocate(data_, capacity_);
    if (storage_) storage_->in_memory_ -= capacity_;
    data_ = nullptr;
    capacity_ = 0;
}

// From memory to a file, or to a larger one.
void StoredBytes::map([[maybe_unused]] std::size_t used, [[maybe_unused]] std::size_t needed,
                      [[maybe_unused]] std::size_t wished) {
#ifdef TW_MAPPED_FILES
    const auto whole = [](std::size_t n) { return (n + kPage - 1) / kPage * kPage; };
    const std::size_t bytes = whole(std::max(needed, std::min(wished, capacity_ + kFileStep)));
    if (mapped()) return enlarge_file(bytes);
    StoredBytes file(storage_);
    file.file_ = storage_->new_file();
    file.enlarge_file(bytes);
    for (std::size_t at = 0; at < used; at += kMiB) {
        std::memcpy(file.data_ + at, data_ + at, std::min(kMiB, used - at));
        if (at % (16 * kMiB) == 0) file.release();
    }
    file.access_ = access_;
    free_block();
    data_ = std::exchange(file.data_, nullptr);
    capacity_ = std::exchange(file.capacity_, 0);
    file_ = std::exchange(file.file_, -1);
    if (access_ == Access::kAnywhere) expect(access_);
#endif
}

void StoredBytes::enlarge_file([[maybe_unused]] std::size_t bytes) {
#ifdef TW_MAPPED_FILES
    if (bytes <= capacity_) return;
#ifdef __APPLE__
    const int failed = ftruncate(file_, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
#else
    const int failed = posix_fallocate(file_, static_cast<off_t>(capacity_), static_cast<off_t>(bytes - capacity_));
#endif
    if (failed != 0)
        storage_->fail("there is no room for files of " + megabytes(storage_->in_files_ + bytes - capacity_), failed);
    void* to = MAP_FAILED;
#ifdef MREMAP_MAYMOVE
    to = data_ == nullptr ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0)
                          : mremap(data_, capacity_, bytes, MREMAP_MAYMOVE);
#else
    to = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (to != MAP_FAILED && data_ != nullptr) munmap(data_, capacity_);
#endif
    if (to == MAP_FAILED) storage_->fail("a file cannot be mapped", errno);
    data_ = static_cast<char*>(to);
    const std::size_t files = storage_->in_files_ += bytes - capacity_;
    capacity_ = bytes;
    for (std::size_t most = storage_->most_in_files_;
         most < files && !storage_->most_in_files_.compare_exchange_weak(most, files);) {
    }
    if (access_ == Access::kAnywhere) (void)madvise(data_, capacity_, MADV_RANDOM);
#endif
}

void StoredBytes::shrink([[maybe_unused]] std::size_t used) {
    if (!mapped()) {
        if (used >= capacity_) return;
        delist();
        if (used == 0)
            free_block();
        else
            allocate(used, used);
        enlist();
        return;
    }
#ifdef MREMAP_MAYMOVE
    const std::size_t bytes = std::max((used + kPage - 1) / kPage * kPage, kPage);
    if (bytes >= capacity_) return;
    delist();
    void* const to = mremap(data_, capacity_, bytes, 0);
    if (to != MAP_FAILED) {
        storage_->in_files_ -= capacity_ - bytes;
        capacity_ = bytes;
        (void)!ftruncate(file_, static_cast<off_t>(bytes));  // a file that stays long does no harm
    }
    enlist();
#endif
}

void StoredBytes::clear_all() {
    delist();
#ifdef TW_MAPPED_FILES
    if (mapped()) {
        if (data_ != nullptr) munmap(data_, capacity_);
        close(file_);
        storage_->in_files_ -= capacity_;
        data_ = nullptr;
        capacity_ = 0;
        file_ = -1;
        return;
    }
#endif
    free_block();
}

void StoredBytes::read_ahead([[maybe_unused]] std::size_t begin, [[maybe_unused]] std::size_t end) const {
#ifdef TW_MAPPED_FILES
    begin = begin / kPage * kPage;
    end = std::min(end, capacity_);
    if (mapped() && begin < end) (void)madvise(data_ + begin, end - begin, MADV_WILLNEED);
#endif
}

void StoredBytes::copy([[maybe_unused]] std::size_t begin, [[maybe_unused]] std::size_t bytes,
                       [[maybe_unused]] char* to) const {
#ifdef TW_MAPPED_FILES
    while (bytes > 0) {
        const ssize_t n = pread(file_, to, bytes, static_cast<off_t>(begin));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) storage_->fail("a file cannot be read", n < 0 ? errno : EIO);
        begin += static_cast<std::size_t>(n);
        bytes -= static_cast<std::size_t>(n);
        to += n;
    }
#endif
}

void StoredBytes::expect(Access access) {
    access_ = access;
#ifdef TW_MAPPED_FILES
    if (mapped()) (void)madvise(data_, capacity_, access == Access::kAnywhere ? MADV_RANDOM : MADV_NORMAL);
#endif
}

std::size_t StoredBytes::resident() const {
#ifdef __linux__
    if (mapped() || data_ == nullptr) return 0;
    const auto first = reinterpret_cast<std::uintptr_t>(data_) / kPage, last = first + (capacity_ + kPage - 1) / kPage;
    std::vector<unsigned char> pages(last - first);
    if (mincore(reinterpret_cast<void*>(first * kPage), (last - first) * kPage, pages.data()) != 0) return capacity_;
    return kPage * static_cast<std::size_t>(std::ranges::count_if(pages, [](unsigned char page) { return page & 1; }));
#else
    return capacity_;
#endif
}

void StoredBytes::release() const {
#ifdef TW_MAPPED_FILES
    if (mapped() && data_ != nullptr) (void)madvise(data_, capacity_, MADV_DONTNEED);
#endif
}

}  // namespace tw
