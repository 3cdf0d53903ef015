// SPDX-License-Identifier: Apache-2.0
// Tar archives (ustar) for WebDataset shards. Owner and time are fixed: equal content, equal bytes.
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

  // `name` has at most 100 bytes.
  void add(std::string_view name, std::span<const std::byte> content);
  void add_file(std::string_view name, const std::filesystem::path& from);
  void finish();

 private:
  void header(std::string_view name, uint64_t size);
  void pad(uint64_t size);

  AtomicFile file_;
};

}  // namespace loci::world
