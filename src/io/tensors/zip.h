// SPDX-License-Identifier: Apache-2.0
// Zip archives as written by PyTorch and NumPy: stored or deflated entries, zip64.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "loci/io/tensors/input_file.h"

namespace loci::io {

struct ZipEntry {
  std::string name;
  bool deflated = false;
  uint32_t crc = 0;     // 0: not computed, an option of torch.save
  uint64_t bytes = 0;   // after inflating
  uint64_t packed = 0;  // in the archive
  uint64_t offset = 0;  // of the packed bytes
};

// The directory of an archive. The constructor checks all ranges: entries are within the file and
// do not overlap, names are unique, nothing is encrypted. Deflated entries may inflate to a total
// of at most 1 GiB plus 20 times the size of the archive; more is rejected as a zip bomb.
class ZipArchive {
 public:
  // Returns a range of the archive, which is within its size.
  using Read = std::function<SharedBytes(uint64_t offset, uint64_t size)>;
  // `source` names the archive of `size` bytes in messages.
  ZipArchive(Read read, uint64_t size, std::string source);
  static ZipArchive over(const InputFile& file);
  static ZipArchive open(const std::filesystem::path& path) { return over(InputFile::open(path)); }

  const std::vector<ZipEntry>& entries() const { return entries_; }
  // Null if there is no such entry.
  const ZipEntry* find(std::string_view name) const;

  // The content of an entry. The checksum of deflated entries is verified.
  SharedBytes read(const ZipEntry& entry) const;
  // The same, and also verifies the checksum of stored entries.
  SharedBytes read_verified(const ZipEntry& entry) const;
  // A range of an entry that is not deflated; it must be within the entry.
  SharedBytes read_stored(const ZipEntry& entry, uint64_t begin, uint64_t size) const;

 private:
  void read_directory();
  ZipEntry read_entry(std::string_view directory, uint64_t& position) const;
  void find_data(ZipEntry& entry, uint64_t header, uint64_t end) const;
  void check_sizes() const;

  Read read_;
  uint64_t size_;
  std::string source_;
  std::vector<ZipEntry> entries_;
  std::unordered_map<std::string, size_t> index_;
};

}  // namespace loci::io
