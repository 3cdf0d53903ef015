// SPDX-License-Identifier: Apache-2.0
#include "loci/world/clip/tar.h"

#include <array>
#include <cstring>
#include <string>

#include "loci/base/error.h"

namespace loci::world {

namespace {

constexpr size_t kBlock = 512;

}  // namespace

void TarWriter::header(std::string_view name, uint64_t size) {
  LOCI_CHECK(!name.empty() && name.size() <= 100, "tar member '{}' has a name of {} bytes", name,
             name.size());
  LOCI_CHECK(size < (uint64_t{1} << 33), "tar member '{}' has {} bytes; ustar allows 8 GiB", name,
             size);
  std::array<char, kBlock> block{};
  const auto put = [&](size_t at, std::string_view text) {
    std::memcpy(block.data() + at, text.data(), text.size());
  };
  put(0, name);
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, fmt::format("{:011o}", size));
  put(136, "00000000000");
  put(148, "        ");  // the checksum field counts as spaces
  put(156, "0");
  put(257, std::string_view("ustar\0"
                            "00",
                            8));
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  put(148, fmt::format("{:06o}", sum));
  block[154] = '\0';
  file_.write(block.data(), block.size());
}

void TarWriter::pad(uint64_t size) {
  const std::array<char, kBlock> zeros{};
  if (size % kBlock != 0) file_.write(zeros.data(), kBlock - size % kBlock);
}

void TarWriter::add(std::string_view name, std::span<const std::byte> content) {
  header(name, content.size());
  file_.write(content.data(), content.size());
  pad(content.size());
}

void TarWriter::add_file(std::string_view name, const std::filesystem::path& from) {
  const std::string content = read_file(from, uint64_t{1} << 33);
  add(name, std::as_bytes(std::span(content)));
}

void TarWriter::finish() {
  const std::array<char, 2 * kBlock> zeros{};
  file_.write(zeros.data(), zeros.size());
  file_.commit();
}

}  // namespace loci::world
