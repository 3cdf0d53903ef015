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
// was. Libraries that open files by name may write to temporary() themselves. A link is followed:
// its target is replaced, not the link.
class AtomicFile {
 public:
  // The folder must exist and be writable, and what is there must be a regular file; otherwise bad
  // input, before any work was done.
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

// The same for a folder of files: fill temporary(), then commit() flushes its files and renames it.
class AtomicDirectory {
 public:
  // What happens to a folder of that name with something in it.
  enum class Existing {
    kRefuse,   // bad input, before any work was done: it may be the user's home
    kReplace,  // it is deleted when the new one takes its place: only for folders of our own making
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
