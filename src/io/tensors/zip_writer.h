// SPDX-License-Identifier: Apache-2.0
// Writes zip archives of stored entries, with zip64 where sizes need it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "loci/base/file.h"

namespace loci::io {

// Usage: for each entry call begin() and write its bytes to the file; finally call finish().
// Dates are fixed, so equal contents yield equal archives.
class ZipWriter {
 public:
  // The file must be empty and outlive the writer.
  explicit ZipWriter(AtomicFile& file) : file_(file) {}

  // `crc` is the CRC-32 of the content. `name` has at most 65535 bytes.
  void begin(std::string_view name, uint64_t size, uint32_t crc);
  void finish();

 private:
  struct Entry {
    std::string name;
    uint64_t size;
    uint32_t crc;
    uint64_t offset;
  };

  AtomicFile& file_;
  uint64_t position_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace loci::io
