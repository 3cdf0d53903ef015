// SPDX-License-Identifier: Apache-2.0
#include "loci/base/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "loci/base/error.h"
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

fs::path folder_of(const fs::path& path) {
  const fs::path parent = path.parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

void require_output_folder(const fs::path& path) {
  const fs::path folder = folder_of(path);
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    fail("cannot write {}: the folder {} does not exist; create it first", path.string(),
         folder.string());
  }
}

[[noreturn]] void fail_write(const fs::path& path, int error) {
  if (error == ENOSPC || error == EDQUOT) {
    fail_machine("cannot write {}: the disk is full; free some space and try again", path.string());
  }
  if (error == EACCES || error == EROFS || error == EPERM) {
    fail("cannot write {}: {}; choose a folder you may write to", path.string(),
         std::strerror(error));
  }
  fail_machine("cannot write {}: {}", path.string(), std::strerror(error));
}

void flush_to_disk(const fs::path& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.value < 0 || (::fsync(file.value) != 0 && errno != EINVAL)) fail_write(path, errno);
}

}  // namespace

std::string read_file(const fs::path& path, uint64_t limit) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.value < 0) fail("cannot read {}: {}", path.string(), std::strerror(errno));
  struct stat status {};
  if (::fstat(file.value, &status) != 0) {
    fail("cannot read {}: {}", path.string(), std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) fail("cannot read {}: it is not a regular file", path.string());
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size > limit) {
    fail("cannot read {}: it has {}, more than the {} such a file may have", path.string(),
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
  require_output_folder(path_);
  std::error_code ignored;
  if (fs::is_directory(path_, ignored)) {
    fail("cannot write {}: it is a folder; give a file name", path_.string());
  }
  // The suffix stays last so that libraries that look at it (video muxers) still can.
  const std::string suffix = path_.extension().string();
  std::string name =
      (folder_of(path_) / ("." + path_.stem().string() + ".XXXXXX" + suffix)).string();
  descriptor_ = ::mkostemps(name.data(), static_cast<int>(suffix.size()), O_CLOEXEC);
  if (descriptor_ < 0) fail_write(path_, errno);
  temporary_ = name;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(descriptor_, 0666 & ~mask);
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

AtomicDirectory::AtomicDirectory(fs::path path) : path_(std::move(path)) {
  if (path_.filename().empty()) path_ = path_.parent_path();  // "name/" means "name"
  require_output_folder(path_);
  std::string name = (folder_of(path_) / ("." + path_.filename().string() + ".XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr) fail_write(path_, errno);
  ::chmod(name.c_str(), 0755);
  temporary_ = name;
}

AtomicDirectory::~AtomicDirectory() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

void AtomicDirectory::commit() {
  LOCI_CHECK(!temporary_.empty(), "{} was committed twice", path_.string());
  for (const auto& entry : fs::recursive_directory_iterator(temporary_)) flush_to_disk(entry.path());
  flush_to_disk(temporary_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) fail_write(path_, errno);
    // An older folder is in the way: swap the two in one step, then the old one goes.
    if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) != 0) {
      fail_write(path_, errno);
    }
    std::error_code ignored;
    fs::remove_all(temporary_, ignored);
  }
  temporary_.clear();
  flush_to_disk(folder_of(path_));
}

}  // namespace loci
