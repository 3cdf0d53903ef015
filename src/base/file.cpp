// SPDX-License-Identifier: Apache-2.0
#include "loci/base/file.h"

#include <fcntl.h>
#include <stdio.h>  // renameat2
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "loci/base/error.h"
#include "loci/base/output_path.h"
#include "loci/base/random.h"
#include "loci/base/text.h"

namespace loci {

namespace fs = std::filesystem;

namespace {

// Closes a descriptor at the end of a scope.
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
};

constexpr std::string_view kMark = ".loci-";
constexpr size_t kDigits = 8;

// A random name in the folder of `path`: ".<stem>.loci-<random><extension>". The extension stays
// last for libraries that depend on it (video muxers). A long stem is truncated to keep the name
// valid.
fs::path temporary_name(const fs::path& path) {
  static std::atomic<uint64_t> counter{std::random_device{}()};
  const uint64_t number = hash_keys({static_cast<uint64_t>(::getpid()), counter++});
  return folder_of(path) / fmt::format(".{}{}{:08x}{}", path.stem().string().substr(0, 128), kMark,
                                       static_cast<uint32_t>(number),
                                       path.extension().string().substr(0, 16));
}

bool is_temporary_name(const std::string& name) {
  const size_t mark = name.rfind(kMark);
  if (!name.starts_with('.') || mark == std::string::npos) return false;
  const std::string_view rest = std::string_view(name).substr(mark + kMark.size());
  const size_t digits = std::min(rest.find_first_not_of("0123456789abcdef"), rest.size());
  return digits == kDigits && (rest.size() == digits || rest[digits] == '.');
}

// Locks the file to mark it as in use. Returns whether it succeeded. The operating system releases
// the lock when the process ends for any reason.
bool lock_file(int descriptor) { return ::flock(descriptor, LOCK_EX | LOCK_NB) == 0; }

// Removes temporary files that killed processes have left in the folder. Runs once per folder and
// process, so that a folder of a million clips is listed once.
void remove_leftovers(const fs::path& folder) {
  if (is_temporary_name(folder.filename().string())) return;  // created by this process
  static std::mutex mutex;
  static std::set<fs::path> cleaned;
  std::error_code ignored;
  const fs::path place = fs::absolute(folder, ignored);
  {
    const std::lock_guard lock(mutex);
    if (!cleaned.insert(place).second) return;
  }
  for (auto at = fs::directory_iterator(place, ignored); !ignored && at != fs::directory_iterator();
       at.increment(ignored)) {
    if (!is_temporary_name(at->path().filename().string())) continue;
    const Descriptor file{::open(at->path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
    std::error_code gone;
    if (file.value >= 0 && lock_file(file.value)) fs::remove_all(at->path(), gone);
  }
}

// The locks of temporary folders by name. A temporary file is locked by its own descriptor.
class FolderLocks {
 public:
  // On failure, errno is set: ENOENT if another process has removed the folder as a leftover.
  bool lock(const fs::path& folder) {
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return false;
    std::error_code ignored;
    if ((!lock_file(descriptor) && errno == EWOULDBLOCK) || !fs::exists(folder, ignored)) {
      ::close(descriptor);
      errno = ENOENT;
      return false;
    }
    const std::lock_guard lock(mutex_);
    descriptors_[folder] = descriptor;
    return true;
  }
  void unlock(const fs::path& folder) {
    const std::lock_guard lock(mutex_);
    const auto found = descriptors_.find(folder);
    if (found == descriptors_.end()) return;
    ::close(found->second);
    descriptors_.erase(found);
  }

 private:
  std::mutex mutex_;
  std::map<fs::path, int> descriptors_;
};

FolderLocks& folder_locks() {
  static auto* const locks = new FolderLocks;  // never destroyed: static objects may write at exit
  return *locks;
}

// Calls `make(name)` with new random names until it succeeds. Errors other than an existing name
// are reported.
template <typename Make>
fs::path make_temporary(const fs::path& path, Make make) {
  remove_leftovers(folder_of(path));
  for (;;) {
    fs::path name = temporary_name(path);
    if (make(name)) return name;
    if (errno != EEXIST) fail_write(path, errno);
  }
}

}  // namespace

std::string read_file(const fs::path& path, uint64_t limit) {
  // O_NONBLOCK, because opening a named pipe would wait for a writer.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.value < 0 && (errno == EMFILE || errno == ENFILE)) {
    fail_machine("cannot read {}: {}", path.string(), std::strerror(errno));
  }
  if (file.value < 0) fail("cannot read {}: {}", path.string(), std::strerror(errno));
  struct stat status {};
  if (::fstat(file.value, &status) != 0) {
    fail("cannot read {}: {}", path.string(), std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) fail("cannot read {}: it is not a regular file", path.string());
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size > limit) {
    fail("cannot read {}: it has {}, more than the limit of {} for such a file", path.string(),
         format_bytes(size), format_bytes(limit));
  }
  std::string content(size, '\0');
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t got = ::read(file.value, content.data() + done, content.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("cannot read {}: {}", path.string(), std::strerror(errno));
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  content.resize(done);
  return content;
}

void write_file(const fs::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  std::error_code ignored;
  if (fs::is_symlink(path_, ignored)) {
    std::error_code error;
    const fs::path target = fs::weakly_canonical(path_, error);
    if (error) fail_write(path_, error.value());
    path_ = target;
  }
  require_output_folder(path_);
  const fs::file_status status = fs::status(path_, ignored);
  if (fs::is_directory(status)) {
    fail("cannot write {}: it is a folder; give a file name", path_.string());
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    fail("cannot write {}: it is not a regular file; give a file name", path_.string());
  }
  temporary_ = make_temporary(path_, [this](const fs::path& name) {
    descriptor_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0) return false;
    // Another process may have removed the file before it was locked; then use another name.
    struct stat status {};
    if (lock_file(descriptor_) || errno != EWOULDBLOCK) {
      if (::fstat(descriptor_, &status) == 0 && status.st_nlink > 0) return true;
    }
    ::close(std::exchange(descriptor_, -1));
    ::unlink(name.c_str());
    errno = EEXIST;
    return false;
  });
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
    ::unlink(temporary_.c_str());
  }
}

void AtomicFile::write(const void* data, size_t size) {
  const char* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t done = ::write(descriptor_, bytes, size);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail_write(path_, errno);
    bytes += done;
    size -= static_cast<size_t>(done);
  }
}

void AtomicFile::commit() {
  LOCI_CHECK(descriptor_ >= 0, "{} was committed twice", path_.string());
  if (::fsync(descriptor_) != 0) fail_write(path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_write(path_, errno);
  ::close(descriptor_);
  descriptor_ = -1;
  flush_to_disk(folder_of(path_));
}

AtomicDirectory::AtomicDirectory(fs::path path, Existing existing)
    : path_(std::move(path)), existing_(existing) {
  if (path_.filename().empty()) path_ = path_.parent_path();  // "name/" means "name"
  std::error_code error;
  if (fs::is_symlink(path_, error)) path_ = fs::weakly_canonical(path_);
  require_output_folder(path_);
  const fs::file_status status = fs::status(path_, error);
  if (fs::exists(status) && !fs::is_directory(status)) {
    fail("cannot write {}: it is a file; give the name of a folder", path_.string());
  }
  if (existing_ == Existing::kRefuse && fs::exists(status) && !fs::is_empty(path_, error)) {
    fail("cannot write {}: the folder is not empty; remove it or give another name",
         path_.string());
  }
  temporary_ = make_temporary(path_, [](const fs::path& name) {
    if (::mkdir(name.c_str(), 0777) != 0) return false;
    if (folder_locks().lock(name)) return true;
    const int reason = errno;
    ::rmdir(name.c_str());
    errno = reason == ENOENT ? EEXIST : reason;  // removed before it was locked: use another name
    return false;
  });
}

AtomicDirectory::~AtomicDirectory() {
  std::error_code ignored;
  if (temporary_.empty()) return;
  fs::remove_all(temporary_, ignored);
  folder_locks().unlock(temporary_);
}

void AtomicDirectory::commit() {
  LOCI_CHECK(!temporary_.empty(), "{} was committed twice", path_.string());
  for (const auto& entry : fs::recursive_directory_iterator(temporary_)) {
    flush_to_disk(entry.path());
  }
  flush_to_disk(temporary_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const bool occupied = errno == ENOTEMPTY || errno == EEXIST;
    if (!occupied || existing_ == Existing::kRefuse) fail_write(path_, errno);
    // Exchange both atomically, then delete the old one. Without the flush in between, a power loss
    // could undo the exchange and keep the deletions.
    if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) != 0) {
      fail_write(path_, errno);
    }
    flush_to_disk(folder_of(path_));
    std::error_code ignored;
    fs::remove_all(temporary_, ignored);
  }
  folder_locks().unlock(temporary_);
  temporary_.clear();
  flush_to_disk(folder_of(path_));
}

void remove_folder(const fs::path& folder) {
  const fs::path hidden = temporary_name(folder);
  fs::rename(folder, hidden);
  flush_to_disk(folder_of(folder));
  fs::remove_all(hidden);
}

}  // namespace loci
