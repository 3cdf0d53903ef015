// SPDX-License-Identifier: Apache-2.0
#include "loci/base/output_path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "loci/base/error.h"

namespace loci {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& path) {
  const fs::path parent = path.parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

void require_output_folder(const fs::path& path) {
  const std::string name = path.filename().string();
  if (name.empty() || name == "." || name == "..") {
    fail("cannot write '{}': the path ends without a file name; add one", path.string());
  }
  const fs::path folder = folder_of(path);
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    fail("cannot write {}: the folder {} does not exist; create it first", path.string(),
         folder.string());
  }
}

void fail_write(const fs::path& path, int error) {
  if (error == ENOSPC || error == EDQUOT) {
    fail_machine("cannot write {}: the disk is full; free some space and try again", path.string());
  }
  if (error == EACCES || error == EROFS || error == EPERM) {
    fail("cannot write {}: {}; choose a folder you may write to", path.string(),
         std::strerror(error));
  }
  if (error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG || error == ELOOP) {
    fail("cannot write {}: {}; give another name", path.string(), std::strerror(error));
  }
  fail_machine("cannot write {}: {}", path.string(), std::strerror(error));
}

void flush_to_disk(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail_write(path, errno);
  // Some file systems cannot flush folders and return EINVAL.
  const int error = ::fsync(file) == 0 || errno == EINVAL ? 0 : errno;
  ::close(file);
  if (error != 0) fail_write(path, error);
}

void make_folders(const fs::path& folder) {
  std::error_code ignored;
  if (fs::is_directory(folder, ignored)) return;
  const fs::path path = folder.filename().empty() ? folder.parent_path() : folder;  // "name/"
  const fs::path parent = folder_of(path);
  if (parent != path) make_folders(parent);  // equal: the current folder was deleted
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) fail_write(path, errno);
  if (!fs::is_directory(path, ignored)) fail_write(path, ENOTDIR);
  flush_to_disk(parent);
}

}  // namespace loci
