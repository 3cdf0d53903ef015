// SPDX-License-Identifier: Apache-2.0
// Writes tar archives (ustar) for WebDataset shards. Owner and time are fixed, so that equal
// content gives equal bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "loci/base/file.h"

namespace loci::world {

class TarWriter {
 public:
  // The file appears at finish().
  explicit TarWriter(const std::filesystem::path& path) : file_(path) {}

  // `name` must have at most 100 bytes.
  void add(std::string_view name, std::span<const std::byte> content);
  void add_file(std::string_view name, const std::filesystem::path& from);
  void finish();

 private:
  void header(std::string_view name, uint64_t size);
  void pad(uint64_t size);

  AtomicFile file_;
};

}  // namespace loci::world
