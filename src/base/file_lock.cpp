// SPDX-License-Identifier: Apache-2.0
#include "loci/base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "loci/base/error.h"
#include "loci/base/log.h"
#include "loci/base/output_path.h"
#include "loci/base/text.h"

namespace loci {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMaxHolder = 200;  // bytes of the description of a holder

// "process 12 on host (loci train …)". The arguments of a process are separated by zero bytes.
std::string this_process() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string command((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  while (command.ends_with('\0')) command.pop_back();
  for (char& c : command) {
    if (c == '\0') c = ' ';
  }
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  std::string text = fmt::format("process {} on {} ({}", ::getpid(), host.data(), command);
  if (text.size() > kMaxHolder) text = text.substr(0, kMaxHolder - 3) + "...";
  return text + ")";
}

std::string content_of(int descriptor) {
  std::array<char, kMaxHolder + 1> text{};
  const ssize_t got = ::pread(descriptor, text.data(), text.size(), 0);
  return got > 0 ? one_line({text.data(), static_cast<size_t>(got)}) : "another process";
}

// Whether the path still names the open file.
bool is_current(int descriptor, const fs::path& path) {
  struct stat open {}, named {};
  return ::fstat(descriptor, &open) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

}  // namespace

FileLock::FileLock(FileLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), names_holder_(other.names_holder_) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(names_holder_, other.names_holder_);
  return *this;
}

FileLock::~FileLock() {
  if (descriptor_ < 0) return;
  if (names_holder_) [[maybe_unused]] const int ignored = ::ftruncate(descriptor_, 0);
  ::close(descriptor_);
}

FileLock FileLock::try_lock(const fs::path& file) {
  FileLock lock;
  lock.descriptor_ = ::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (lock.descriptor_ < 0 && (errno == EMFILE || errno == ENFILE)) {
    fail_machine("cannot lock {}: {}", file.string(), std::strerror(errno));
  }
  if (lock.descriptor_ >= 0 && ::flock(lock.descriptor_, LOCK_EX | LOCK_NB) != 0) {
    ::close(std::exchange(lock.descriptor_, -1));
  }
  return lock;
}

FileLock FileLock::lock_folder(const fs::path& folder, std::string_view advice) {
  const fs::path file = folder / kFolderLock;
  for (;;) {
    FileLock lock;
    lock.descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (lock.descriptor_ < 0) fail_write(file, errno);
    if (::flock(lock.descriptor_, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno == EWOULDBLOCK) {
        fail("{} is in use by {}; {}", folder.string(), content_of(lock.descriptor_), advice);
      }
      log_warning("{} is not protected against a second process: its file system has no locks ({})",
                  folder.string(), std::strerror(errno));
    }
    // The previous holder may have removed the file after it was opened here.
    if (!is_current(lock.descriptor_, file)) continue;
    lock.names_holder_ = true;
    const std::string holder = this_process();
    errno = ENOSPC;  // the reason of a write that stops early
    if (::ftruncate(lock.descriptor_, 0) != 0 ||
        ::pwrite(lock.descriptor_, holder.data(), holder.size(), 0) !=
            static_cast<ssize_t>(holder.size())) {
      fail_write(file, errno);
    }
    return lock;
  }
}

}  // namespace loci
