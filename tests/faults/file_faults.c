/* Put before the system's library (LD_PRELOAD), makes one call on files under a folder fail: the n-th after arming.
   Calls on other files are not counted. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

static char folder[4096];
static long left;     /* calls until the one that fails; 0: none will */
static int error_now; /* what it fails with */
static long failed;
static char last[256];

void faults_arm(const char* path, long n, int error) {
    snprintf(folder, sizeof folder, "%s", path);
    failed = 0;
    last[0] = 0;
    error_now = error;
    left = n;
}
long faults_disarm(void) {
    left = 0;
    return failed;
}
const char* faults_last(void) { return last; }

static int under(const char* path) { return path && folder[0] && strncmp(path, folder, strlen(folder)) == 0; }

static int fails(const char* call, const char* path) {
    if (left == 0 || !under(path) || --left > 0) return 0;
    failed = 1;
    snprintf(last, sizeof last, "%s %.200s", call, path + strlen(folder));
    errno = error_now;
    return 1;
}

static int fails_descriptor(const char* call, int descriptor) {
    char link[64], path[4096];
    if (left == 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    const ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return fails(call, path);
}

#define REAL(name, result, ...)                                        \
    static result (*real)(__VA_ARGS__);                                \
    if (!real) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

#define OPEN(name)                                  \
    int name(const char* path, int flags, ...) {    \
        REAL(name, int, const char*, int, mode_t);  \
        va_list rest;                               \
        va_start(rest, flags);                      \
        const mode_t mode = va_arg(rest, mode_t);   \
        va_end(rest);                               \
        return fails("open", path) ? -1 : real(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                       \
    int name(int at, const char* path, int flags, ...) {   \
        REAL(name, int, int, const char*, int, mode_t);    \
        va_list rest;                                      \
        va_start(rest, flags);                             \
        const mode_t mode = va_arg(rest, mode_t);          \
        va_end(rest);                                      \
        return fails("open", path) ? -1 : real(at, path, flags, mode); \
    }
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int descriptor, const void* data, size_t size) {
    REAL(write, ssize_t, int, const void*, size_t);
    return fails_descriptor("write", descriptor) ? -1 : real(descriptor, data, size);
}

ssize_t read(int descriptor, void* data, size_t size) {
    REAL(read, ssize_t, int, void*, size_t);
    return fails_descriptor("read", descriptor) ? -1 : real(descriptor, data, size);
}

ssize_t pread(int descriptor, void* data, size_t size, off_t place) {
    REAL(pread, ssize_t, int, void*, size_t, off_t);
    return fails_descriptor("pread", descriptor) ? -1 : real(descriptor, data, size, place);
}

int posix_fallocate(int descriptor, off_t place, off_t size) {
    REAL(posix_fallocate, int, int, off_t, off_t);
    return fails_descriptor("posix_fallocate", descriptor) ? error_now : real(descriptor, place, size);
}

int ftruncate(int descriptor, off_t size) {
    REAL(ftruncate, int, int, off_t);
    return fails_descriptor("ftruncate", descriptor) ? -1 : real(descriptor, size);
}

int fsync(int descriptor) {
    REAL(fsync, int, int);
    return fails_descriptor("fsync", descriptor) ? -1 : real(descriptor);
}

int rename(const char* from, const char* to) {
    REAL(rename, int, const char*, const char*);
    return fails("rename", to) ? -1 : real(from, to);
}

int renameat(int old, const char* from, int new, const char* to) {
    REAL(renameat, int, int, const char*, int, const char*);
    return fails("rename", to) ? -1 : real(old, from, new, to);
}

#define MMAP(name)                                                                          \
    void* name(void* at, size_t size, int protection, int flags, int descriptor, off_t place) { \
        REAL(name, void*, void*, size_t, int, int, int, off_t);                             \
        if (descriptor >= 0 && fails_descriptor("mmap", descriptor)) return MAP_FAILED;     \
        return real(at, size, protection, flags, descriptor, place);                        \
    }
MMAP(mmap)
MMAP(mmap64)

/* Of a mapping, only its address is known. */
static int fails_address(const char* call, const void* address) {
    char line[4600];
    if (left == 0) return 0;
    FILE* const maps = fopen("/proc/self/maps", "r");
    int found = 0;
    while (maps && !found && fgets(line, sizeof line, maps)) {
        void* begin = NULL;
        int path = 0;
        if (sscanf(line, "%p-%*p %*s %*s %*s %*s %n", &begin, &path) != 1 || begin != address || path == 0) continue;
        line[strcspn(line, "\n")] = 0;
        found = fails(call, line + path);
    }
    if (maps) fclose(maps);
    if (found) errno = error_now;
    return found;
}

void* mremap(void* at, size_t before, size_t size, int flags, ...) {
    REAL(mremap, void*, void*, size_t, size_t, int, void*);
    va_list rest;
    va_start(rest, flags);
    void* const to = va_arg(rest, void*);
    va_end(rest);
    return fails_address("mremap", at) ? MAP_FAILED : real(at, before, size, flags, to);
}
