// SPDX-License-Identifier: Apache-2.0
// Exclusive locks on files, across processes and machines that share the folder.
#pragma once

#include <filesystem>
#include <string_view>

namespace loci {

// The system releases a lock when its process ends, even if it crashes.
class FileLock {
 public:
  FileLock() = default;
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

  // Locks an existing file. Returns an empty lock if another process holds it or the file cannot be
  // opened. No free file descriptor is a machine error.
  static FileLock try_lock(const std::filesystem::path& file);

  // Locks the file "lock" in `folder`, which must exist; the file is created if necessary. Its
  // content names the process that holds the lock. If another process does, the call throws a
  // bad-input error that names this process and `advice`, which says what to do instead.
  static FileLock lock_folder(const std::filesystem::path& folder, std::string_view advice);
  // The name of the lock file.
  static constexpr std::string_view kFolderLock = "lock";

  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
  bool names_holder_ = false;  // the content of the file is removed with the lock
};

}  // namespace loci
