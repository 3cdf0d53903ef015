// SPDX-License-Identifier: Apache-2.0
// Reading of whole files, and atomic creation of files and folders.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace loci {

// Reads a file of at most `limit` bytes. A missing, unreadable, non-regular or larger file is bad
// input.
std::string read_file(const std::filesystem::path& path, uint64_t limit = uint64_t{1} << 30);

// Writes `content` to `path` with AtomicFile.
void write_file(const std::filesystem::path& path, std::string_view content);

// A file that is written under a temporary name in the folder of `path`. commit() flushes it to
// disk and renames it. Without commit(), the destructor removes the temporary file, and `path`
// stays unchanged. Libraries that open files by name may write to temporary(). If `path` is a
// symbolic link, its target is replaced.
class AtomicFile {
 public:
  // The folder must exist and be writable, and an existing `path` must be a regular file. Otherwise
  // the constructor throws a bad-input error, before any work is done.
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& temporary() const { return temporary_; }
  int descriptor() const { return descriptor_; }

  // Appends bytes at the position of the descriptor. A full disk is a machine error.
  void write(const void* data, size_t size);
  void write(std::string_view text) { write(text.data(), text.size()); }

  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

// The same for a folder: the caller fills temporary(); commit() flushes its files and renames it.
class AtomicDirectory {
 public:
  // Treatment of an existing folder that is not empty.
  enum class Existing {
    kRefuse,   // bad input, before any work is done
    kReplace,  // commit() deletes it: only for folders that loci created
  };

  explicit AtomicDirectory(std::filesystem::path path, Existing existing = Existing::kRefuse);
  ~AtomicDirectory();
  AtomicDirectory(const AtomicDirectory&) = delete;
  AtomicDirectory& operator=(const AtomicDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& temporary() const { return temporary_; }

  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  Existing existing_;
};

}  // namespace loci
