// SPDX-License-Identifier: Apache-2.0
#include "loci/base/output_path.h"

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

}  // namespace loci
