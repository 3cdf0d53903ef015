// SPDX-License-Identifier: Apache-2.0
// Whole-file reads, and outputs that appear all at once or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace loci {

// Reads a file of at most `limit` bytes. A missing, unreadable, non-regular or larger file is bad
// input.
std::string read_file(const std::filesystem::path& path, uint64_t limit = uint64_t{1} << 30);

// Writes `content` to `path` by way of AtomicFile.
void write_file(const std::filesystem::path& path, std::string_view content);

// A file that is written under a temporary name beside `path`. commit() flushes it to disk and
// renames it; an object destroyed before that removes the temporary file and leaves `path` as it
// was. Libraries that open files by name may write to temporary() themselves.
class AtomicFile {
 public:
  // The folder must exist and be writable; otherwise bad input, before any work was done.
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& temporary() const { return temporary_; }
  int descriptor() const { return descriptor_; }

  // Appends bytes at the descriptor's position; a full disk is a machine error.
  void write(const void* data, size_t size);
  void write(std::string_view text) { write(text.data(), text.size()); }

  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

// The same for a folder of files: fill temporary(), then commit() renames it to `path`, replacing
// an older folder of that name. Its files are flushed first.
class AtomicDirectory {
 public:
  explicit AtomicDirectory(std::filesystem::path path);
  ~AtomicDirectory();
  AtomicDirectory(const AtomicDirectory&) = delete;
  AtomicDirectory& operator=(const AtomicDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& temporary() const { return temporary_; }

  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
};

}  // namespace loci
