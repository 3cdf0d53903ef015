// SPDX-License-Identifier: Apache-2.0
// Reads parts of a file into memory of this process. Files are never memory-mapped: a mapping would
// change with the file, and reading it beyond the end of a truncated file would kill the process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "loci/io/tensors/shared_bytes.h"

namespace loci::io {

// Identifies the content of a file without reading it. Two versions of a file compare equal only if
// it was not written to in between, up to the resolution of the file system's clock (a few
// milliseconds) and unless the modification time was set back.
struct FileVersion {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified = 0;  // nanoseconds since 1970
  int64_t changed = 0;   // like `modified`, but cannot be set back; a rename changes it, too

  // Compares all fields but `changed`.
  bool same_content(const FileVersion& other) const;
};

// A regular file that is open for reading. Changes to the file after a read have no effect on the
// bytes that were read. A read after the file was modified is bad input, so all bytes belong to the
// version that was opened. Cheap to copy; thread-safe.
class InputFile {
 public:
  // A missing or unreadable file and one that is not a regular file are bad input.
  static InputFile open(const std::filesystem::path& path);

  // The path, for messages.
  const std::string& name() const;
  uint64_t size() const { return version().size; }
  // When the file was opened.
  const FileVersion& version() const;

  // The range must be within size().
  void read(uint64_t offset, std::span<char> to) const;
  SharedBytes read(uint64_t offset, uint64_t size) const;
  SharedBytes read_all() const { return read(0, size()); }
  // The first `size` bytes, or fewer if the file is shorter.
  SharedBytes head(uint64_t size) const;

  // 16 hexadecimal digits computed from all bytes. Not a cryptographic hash: it detects damage, not
  // manipulation. Reads the file once; can be interrupted.
  std::string hash() const;

 private:
  struct Data;
  explicit InputFile(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  void require_unchanged() const;

  std::shared_ptr<const Data> data_;
};

}  // namespace loci::io
