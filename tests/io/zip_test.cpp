// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/zip.h"

#include <zlib.h>

#include <cstring>

#include <gtest/gtest.h>

#include "loci/io/tensors/zip_writer.h"

#include "tensor_testing.h"

namespace loci::io {
namespace {

// One entry; each test case sets the fields it needs.
struct Piece {
  std::string name;
  std::string packed;
  uint64_t bytes = 0;  // after inflating
  uint16_t method = 0;
  uint16_t flags = 0;
  uint32_t crc = 0;
};

std::string bytes_of(uint64_t value, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

std::string raw_deflate(const std::string& content) {
  z_stream stream{};
  EXPECT_EQ(::deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(::deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  return packed;
}

// With `same_data`, all directory entries refer to the first local header.
std::string archive(const std::vector<Piece>& pieces, bool zip64 = false, bool same_data = false) {
  std::string file;
  std::string directory;
  for (const Piece& piece : pieces) {
    const uint64_t offset = same_data ? 0 : file.size();
    const std::string fields = bytes_of(20, 2) + bytes_of(piece.flags, 2) +
                               bytes_of(piece.method, 2) + bytes_of(0, 4) + bytes_of(piece.crc, 4);
    const std::string sizes = zip64 ? std::string(8, '\xff')
                                    : bytes_of(piece.packed.size(), 4) + bytes_of(piece.bytes, 4);
    if (!same_data || file.empty()) {
      file += bytes_of(0x04034b50, 4) + fields + std::string(8, '\0') +
              bytes_of(piece.name.size(), 2) + bytes_of(0, 2) + piece.name + piece.packed;
    }
    directory += bytes_of(0x02014b50, 4) + bytes_of(20, 2) + fields + sizes +
                 bytes_of(piece.name.size(), 2) + bytes_of(zip64 ? 28 : 0, 2) +
                 std::string(10, '\0') + (zip64 ? std::string(4, '\xff') : bytes_of(offset, 4)) +
                 piece.name;
    if (zip64) {
      directory += bytes_of(1, 2) + bytes_of(24, 2) + bytes_of(piece.bytes, 8) +
                   bytes_of(piece.packed.size(), 8) + bytes_of(offset, 8);
    }
  }
  const uint64_t begin = file.size();
  file += directory;
  if (zip64) {
    const uint64_t end = file.size();
    file += bytes_of(0x06064b50, 4) + bytes_of(44, 8) + bytes_of(45, 2) + bytes_of(45, 2) +
            std::string(8, '\0') + bytes_of(pieces.size(), 8) + bytes_of(pieces.size(), 8) +
            bytes_of(directory.size(), 8) + bytes_of(begin, 8);
    file += bytes_of(0x07064b50, 4) + bytes_of(0, 4) + bytes_of(end, 8) + bytes_of(1, 4);
  }
  return file + bytes_of(0x06054b50, 4) + std::string(4, '\0') + bytes_of(pieces.size(), 2) +
         bytes_of(pieces.size(), 2) + bytes_of(zip64 ? 0xffffffff : directory.size(), 4) +
         bytes_of(zip64 ? 0xffffffff : begin, 4) + bytes_of(0, 2);
}

// The file must outlive the archive.
ZipArchive open(const std::string& file) {
  const auto read = [&file](uint64_t offset, uint64_t size) {
    return SharedBytes{std::string_view(file).substr(offset, size), nullptr};
  };
  return {read, file.size(), "a.zip"};
}

uint32_t crc_of(const std::string& content) {
  return static_cast<uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
}

TEST(Zip, ReadsStoredAndDeflatedEntries) {
  const std::string content(100'000, 'x');
  for (const bool zip64 : {false, true}) {
    const std::string file =
        archive({{"stored", "abc", 3, 0, 0, crc_of("abc")},
                 {"deflated", raw_deflate(content), content.size(), 8, 0, crc_of(content)},
                 {"empty", "", 0},
                 {"nothing", raw_deflate(""), 0, 8}},
                zip64);
    const ZipArchive zip = open(file);
    ASSERT_EQ(zip.entries().size(), 4U);
    const SharedBytes stored = zip.read(*zip.find("stored"));
    EXPECT_EQ(stored.view, "abc");
    EXPECT_EQ(zip.read_stored(*zip.find("stored"), 1, 2).view, "bc");
    EXPECT_EQ(zip.read(*zip.find("deflated")).view, content);
    EXPECT_EQ(zip.read(*zip.find("empty")).view, "");
    EXPECT_EQ(zip.read(*zip.find("nothing")).view, "");
    EXPECT_EQ(zip.find("other"), nullptr);
  }
  // A comment may follow.
  std::string commented = archive({{"a", "abc", 3}});
  commented.replace(commented.size() - 2, 2, bytes_of(5, 2));
  commented += "hello";
  EXPECT_EQ(open(commented).entries().size(), 1U);
}

TEST(Zip, RejectsZipBombsAndInvalidArchives) {
  const auto refuse = [](const std::string& file, std::string_view part) {
    expect_bad_input(
        [&] {
          const ZipArchive zip = open(file);
          for (const ZipEntry& entry : zip.entries()) zip.read_verified(entry);
        },
        part);
  };
  const std::string small(2000, 'x');
  const std::string packed = raw_deflate(small);
  // Beyond the ratio of deflate, beyond the limit, and two entries that exceed the limit together.
  refuse(archive({{"a", packed, uint64_t{1} << 30, 8}}), "zip bomb");
  refuse(archive({{"a", packed, ~uint64_t{0}, 8}}, true), "zip bomb");
  const std::string block(4 << 20, 'x');
  refuse(archive({{"a", block, uint64_t{3} << 30, 8}}), "zip bomb");
  refuse(archive({{"a", block, uint64_t{1} << 30, 8}, {"b", block, uint64_t{1} << 30, 8}}),
         "entry 'b' would inflate from 4.00 MiB to 1.00 GiB");
  // Wrong sizes.
  refuse(archive({{"a", packed, 1999, 8}}), "cannot be inflated");
  refuse(archive({{"a", packed, 2001, 8}}), "cannot be inflated");
  refuse(archive({{"a", packed + "x", 2000, 8}}), "cannot be inflated");
  refuse(archive({{"a", packed.substr(0, packed.size() - 1), 2000, 8}}), "cannot be inflated");
  refuse(archive({{"a", "not deflated at all", 19, 8}}), "cannot be inflated");
  refuse(archive({{"a", "abc", 4}}), "does not fit");
  refuse(archive({{"a", "abc", 3, 0, 0, 1}}), "checksum");
  refuse(archive({{"a", packed, 2000, 8, 0, 1}}), "checksum");
  // Overlapping entries, as in a zip bomb of many entries that share data.
  refuse(archive({{"a", "abc", 3}, {"a", "abc", 3}}, false, true), "two entries 'a'");
  refuse(archive({{"a", "abc", 3}, {"b", "abc", 3}}, false, true), "does not fit");
  std::string nested = archive({{"b", "inner", 5}});
  nested.resize(36);
  std::string quoted = archive({{"a", nested, nested.size()}, {"b", "inner", 5}});
  const size_t second = quoted.rfind("PK\x01\x02");
  quoted.replace(second + 42, 4, bytes_of(31, 4));
  refuse(quoted, "overlap");
  refuse(archive({{"a", "abc", 3}, {"a", "abc", 3}}), "two entries 'a'");
  refuse(archive({{"a", "abc", 3, 0, 1}}), "encrypted");
  refuse(archive({{"a", "abc", 3, 12}}), "method 12");

  const std::string good = archive({{"a", "abc", 3}});
  refuse("", "missing");
  refuse("PK", "missing");
  refuse(good.substr(1), "does not fit");
  refuse("x" + good, "does not fit");
  for (size_t i = 0; i < good.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      std::string damaged = good;
      damaged[i] = static_cast<char>(value);
      try {
        const ZipArchive zip = open(damaged);
        for (const ZipEntry& entry : zip.entries()) zip.read_verified(entry);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
      }
    }
  }
}

TEST(Zip, WritesLargeArchives) {
  const TempFolder folder;
  // Offsets and a size beyond 32 bits. The file is sparse.
  AtomicFile file(folder / "large.zip");
  ZipWriter writer(file);
  const uint64_t large = (uint64_t{1} << 32) + 5;
  const auto skip = [&](uint64_t size) {
    ASSERT_GT(::lseek(file.descriptor(), static_cast<off_t>(size), SEEK_CUR), 0);
  };
  writer.begin("large", large, 0);
  skip(large);
  writer.begin("after", 3, crc_of("abc"));
  file.write("abc");
  writer.finish();
  file.commit();
  const ZipArchive zip = ZipArchive::open(folder / "large.zip");
  EXPECT_EQ(zip.find("large")->bytes, large);
  EXPECT_EQ(zip.read_verified(*zip.find("after")).view, "abc");
}

}  // namespace
}  // namespace loci::io
