// SPDX-License-Identifier: Apache-2.0
// A library for LD_PRELOAD that records every change of files below the folder $LOCI_TEST_TRACE_ROOT,
// and every fsync, in the order in which they happened. crash_states.py computes from this trace what
// a power loss would have left on the disk.
//
// Records are appended to the file $LOCI_TEST_TRACE_LOG: a line of fields separated by tabs, and for
// `write` the bytes:
//   create INODE PATH    mkdir INODE PATH    remove PATH    link FROM TO    rename FROM TO
//   exchange FROM TO     write INODE OFFSET SIZE            truncate INODE SIZE    sync INODE
// Paths are relative to the root. Writes through shared mappings and through stdio's own buffers are
// not seen; crash_states.py compares the end of a trace with the disk and reports missing records.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <climits>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

namespace {

template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// Keeps the order of the records equal to the order of the calls.
std::mutex& order() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

const std::string& root() {
  static const auto* const folder = [] {
    const char* name = std::getenv("LOCI_TEST_TRACE_ROOT");
    return new std::string(name == nullptr ? "" : name);
  }();
  return *folder;
}

// Appends a record. Call with the mutex held.
void record(const std::string& text) {
  static const int log = [] {
    const char* name = std::getenv("LOCI_TEST_TRACE_LOG");
    return name == nullptr
               ? -1
               : real<int(const char*, int, ...)>("open")(
                     name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  }();
  static auto* const next = real<ssize_t(int, const void*, size_t)>("write");
  if (log < 0 || next(log, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    std::abort();  // a trace with a gap would hide errors
  }
}

// The path relative to the root; empty if it is not below the root.
std::string inside(int folder, const char* path) {
  if (root().empty() || path == nullptr) return {};
  std::string full = path;
  if (!full.starts_with('/')) {
    const std::string link =
        folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/" + std::to_string(folder);
    char place[PATH_MAX];
    const ssize_t size = ::readlink(link.c_str(), place, sizeof place);
    if (size < 0) return {};
    full = std::string(place, static_cast<size_t>(size)) + "/" + full;
  }
  full = std::filesystem::path(full).lexically_normal().string();
  if (full.ends_with('/')) full.pop_back();
  if (!full.starts_with(root() + "/")) return {};
  return full.substr(root().size() + 1);
}

// Whether the descriptor is a file or folder below the root, or the root. Fills `status`.
bool traced(int descriptor, struct stat& status) {
  if (root().empty() || ::fstat(descriptor, &status) != 0) return false;
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return false;
  char place[PATH_MAX];
  const ssize_t size = ::readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), place,
                                  sizeof place);
  if (size <= 0) return false;
  const std::string path(place, static_cast<size_t>(size));
  return path == root() || path.starts_with(root() + "/");
}

void record_write(ino_t inode, off_t offset, std::string_view bytes) {
  std::string text = "write\t" + std::to_string(inode) + "\t" + std::to_string(offset) + "\t" +
                     std::to_string(bytes.size()) + "\n";
  text += bytes;
  record(text);
}

// Records bytes that the system has copied into a file.
void record_copied(int descriptor, ino_t inode, off_t offset, size_t size) {
  static auto* const open_file = real<int(const char*, int, ...)>("open");
  const int file =
      open_file(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), O_RDONLY | O_CLOEXEC);
  std::string bytes(size, '\0');
  if (file < 0 || ::pread(file, bytes.data(), size, offset) != static_cast<ssize_t>(size)) {
    std::abort();
  }
  ::close(file);
  record_write(inode, offset, bytes);
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::lstat((root() + "/" + path).c_str(), &status) == 0;
}

// Opens a file with `call` and records its creation or truncation.
template <typename Call>
int traced_open(int folder, const char* path, int flags, Call call) {
  const std::string name =
      (flags & (O_CREAT | O_TRUNC)) != 0 && (flags & O_TMPFILE) != O_TMPFILE ? inside(folder, path)
                                                                              : std::string();
  if (name.empty()) return call();
  const std::lock_guard lock(order());
  const bool known = exists(name);
  const int descriptor = call();
  struct stat status {};
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    return descriptor;
  }
  if (!known) {
    record("create\t" + std::to_string(status.st_ino) + "\t" + name + "\n");
  } else if ((flags & O_TRUNC) != 0) {
    record("truncate\t" + std::to_string(status.st_ino) + "\t0\n");
  }
  return descriptor;
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

std::FILE* traced_fopen(const char* path, const char* mode, const char* symbol) {
  auto* const next = real<std::FILE*(const char*, const char*)>(symbol);
  const int flags = mode[0] == 'w' ? O_CREAT | O_TRUNC : mode[0] == 'a' ? O_CREAT : 0;
  std::FILE* file = nullptr;
  traced_open(AT_FDCWD, path, flags, [&] {
    file = next(path, mode);
    return file == nullptr ? -1 : ::fileno(file);
  });
  return file;
}

// Calls `call`, which writes at the position of the descriptor, and records the bytes.
template <typename Call>
ssize_t traced_write(int descriptor, std::string_view bytes, Call call) {
  struct stat status {};
  if (!traced(descriptor, status)) return call();
  const std::lock_guard lock(order());
  const ssize_t written = call();
  if (written > 0) {
    const off_t end = ::lseek(descriptor, 0, SEEK_CUR);
    record_write(status.st_ino, end - written, bytes.substr(0, static_cast<size_t>(written)));
  }
  return written;
}

template <typename Call>
ssize_t traced_write_at(int descriptor, std::string_view bytes, off_t offset, Call call) {
  struct stat status {};
  if (!traced(descriptor, status)) return call();
  const std::lock_guard lock(order());
  const ssize_t written = call();
  if (written > 0) {
    record_write(status.st_ino, offset, bytes.substr(0, static_cast<size_t>(written)));
  }
  return written;
}

// Calls `call`, which copies bytes to `descriptor`, and records them.
template <typename Call>
ssize_t traced_copy(int descriptor, Call call) {
  struct stat status {};
  if (!traced(descriptor, status)) return call();
  const std::lock_guard lock(order());
  const off_t begin = ::lseek(descriptor, 0, SEEK_CUR);
  const ssize_t copied = call();
  if (copied > 0) record_copied(descriptor, status.st_ino, begin, static_cast<size_t>(copied));
  return copied;
}

// Calls `call`, which changes the size of the file.
template <typename Call>
int traced_resize(int descriptor, Call call) {
  struct stat status {};
  if (!traced(descriptor, status)) return call();
  const std::lock_guard lock(order());
  const int result = call();
  if (result == 0 && ::fstat(descriptor, &status) == 0) {
    record("truncate\t" + std::to_string(status.st_ino) + "\t" + std::to_string(status.st_size) +
           "\n");
  }
  return result;
}

template <typename Call>
int traced_sync(int descriptor, Call call) {
  struct stat status {};
  if (!traced(descriptor, status)) return call();
  const std::lock_guard lock(order());
  const int result = call();
  if (result == 0) record("sync\t" + std::to_string(status.st_ino) + "\n");
  return result;
}

template <typename Call>
int traced_remove(const std::string& name, Call call) {
  if (name.empty()) return call();
  const std::lock_guard lock(order());
  const int result = call();
  if (result == 0) record("remove\t" + name + "\n");
  return result;
}

// Calls `call`, which changes two names, and records it as `kind`.
template <typename Call>
int traced_names(const std::string& kind, const std::string& from, const std::string& to,
                 Call call) {
  if (from.empty() && to.empty()) return call();
  if (from.empty() || to.empty()) std::abort();  // moves into and out of the root are not traced
  const std::lock_guard lock(order());
  const int result = call();
  if (result == 0) record(kind + "\t" + from + "\t" + to + "\n");
  return result;
}

template <typename Call>
int traced_mkdir(int folder, const char* path, Call call) {
  const std::string name = inside(folder, path);
  if (name.empty()) return call();
  const std::lock_guard lock(order());
  const int result = call();
  struct stat status {};
  if (result == 0 && ::lstat((root() + "/" + name).c_str(), &status) == 0) {
    record("mkdir\t" + std::to_string(status.st_ino) + "\t" + name + "\n");
  }
  return result;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  static auto* const next = real<int(const char*, int, ...)>("open");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return traced_open(AT_FDCWD, path, flags, [&] { return next(path, flags, mode); });
}

int open64(const char* path, int flags, ...) {
  static auto* const next = real<int(const char*, int, ...)>("open64");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return traced_open(AT_FDCWD, path, flags, [&] { return next(path, flags, mode); });
}

int openat(int folder, const char* path, int flags, ...) {
  static auto* const next = real<int(int, const char*, int, ...)>("openat");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return traced_open(folder, path, flags, [&] { return next(folder, path, flags, mode); });
}

std::FILE* fopen(const char* __restrict path, const char* __restrict mode) {
  return traced_fopen(path, mode, "fopen");
}
std::FILE* fopen64(const char* __restrict path, const char* __restrict mode) {
  return traced_fopen(path, mode, "fopen64");
}

ssize_t write(int descriptor, const void* data, size_t size) {
  static auto* const next = real<ssize_t(int, const void*, size_t)>("write");
  return traced_write(descriptor, {static_cast<const char*>(data), size},
                      [&] { return next(descriptor, data, size); });
}

ssize_t writev(int descriptor, const iovec* parts, int count) {
  static auto* const next = real<ssize_t(int, const iovec*, int)>("writev");
  struct stat status {};
  if (!traced(descriptor, status)) return next(descriptor, parts, count);
  std::string bytes;
  for (int i = 0; i < count; ++i) {
    bytes.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
  }
  return traced_write(descriptor, bytes, [&] { return next(descriptor, parts, count); });
}

ssize_t pwrite(int descriptor, const void* data, size_t size, off_t offset) {
  static auto* const next = real<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  return traced_write_at(descriptor, {static_cast<const char*>(data), size}, offset,
                         [&] { return next(descriptor, data, size, offset); });
}
ssize_t pwrite64(int descriptor, const void* data, size_t size, off64_t offset) {
  static auto* const next = real<ssize_t(int, const void*, size_t, off64_t)>("pwrite64");
  return traced_write_at(descriptor, {static_cast<const char*>(data), size}, offset,
                         [&] { return next(descriptor, data, size, offset); });
}

ssize_t sendfile(int to, int from, off_t* offset, size_t size) noexcept {
  static auto* const next = real<ssize_t(int, int, off_t*, size_t)>("sendfile");
  return traced_copy(to, [&] { return next(to, from, offset, size); });
}
ssize_t sendfile64(int to, int from, off64_t* offset, size_t size) noexcept {
  static auto* const next = real<ssize_t(int, int, off64_t*, size_t)>("sendfile64");
  return traced_copy(to, [&] { return next(to, from, offset, size); });
}
ssize_t copy_file_range(int from, off64_t* begin, int to, off64_t* end, size_t size,
                        unsigned flags) {
  static auto* const next =
      real<ssize_t(int, off64_t*, int, off64_t*, size_t, unsigned)>("copy_file_range");
  return traced_copy(to, [&] { return next(from, begin, to, end, size, flags); });
}

int ftruncate(int descriptor, off_t size) noexcept {
  static auto* const next = real<int(int, off_t)>("ftruncate");
  return traced_resize(descriptor, [&] { return next(descriptor, size); });
}
int ftruncate64(int descriptor, off64_t size) noexcept {
  static auto* const next = real<int(int, off64_t)>("ftruncate64");
  return traced_resize(descriptor, [&] { return next(descriptor, size); });
}

int fsync(int descriptor) {
  static auto* const next = real<int(int)>("fsync");
  return traced_sync(descriptor, [&] { return next(descriptor); });
}
int fdatasync(int descriptor) {
  static auto* const next = real<int(int)>("fdatasync");
  return traced_sync(descriptor, [&] { return next(descriptor); });
}

int mkdir(const char* path, mode_t mode) noexcept {
  static auto* const next = real<int(const char*, mode_t)>("mkdir");
  return traced_mkdir(AT_FDCWD, path, [&] { return next(path, mode); });
}
int mkdirat(int folder, const char* path, mode_t mode) noexcept {
  static auto* const next = real<int(int, const char*, mode_t)>("mkdirat");
  return traced_mkdir(folder, path, [&] { return next(folder, path, mode); });
}

int unlink(const char* path) noexcept {
  static auto* const next = real<int(const char*)>("unlink");
  return traced_remove(inside(AT_FDCWD, path), [&] { return next(path); });
}
int unlinkat(int folder, const char* path, int flags) noexcept {
  static auto* const next = real<int(int, const char*, int)>("unlinkat");
  return traced_remove(inside(folder, path), [&] { return next(folder, path, flags); });
}
int rmdir(const char* path) noexcept {
  static auto* const next = real<int(const char*)>("rmdir");
  return traced_remove(inside(AT_FDCWD, path), [&] { return next(path); });
}
int remove(const char* path) noexcept {
  static auto* const next = real<int(const char*)>("remove");
  return traced_remove(inside(AT_FDCWD, path), [&] { return next(path); });
}

int link(const char* from, const char* to) noexcept {
  static auto* const next = real<int(const char*, const char*)>("link");
  return traced_names("link", inside(AT_FDCWD, from), inside(AT_FDCWD, to),
                      [&] { return next(from, to); });
}

int rename(const char* from, const char* to) noexcept {
  static auto* const next = real<int(const char*, const char*)>("rename");
  return traced_names("rename", inside(AT_FDCWD, from), inside(AT_FDCWD, to),
                      [&] { return next(from, to); });
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  static auto* const next = real<int(int, const char*, int, const char*, unsigned)>("renameat2");
  return traced_names((flags & RENAME_EXCHANGE) != 0 ? "exchange" : "rename",
                      inside(from_folder, from), inside(to_folder, to),
                      [&] { return next(from_folder, from, to_folder, to, flags); });
}

}  // extern "C"
