// SPDX-License-Identifier: Apache-2.0
#include "loci/train/loop/event_log.h"

#include <bit>
#include <cstring>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/base/file.h"

#include "toy_clips.h"

namespace loci::train {
namespace {

template <typename Number>
Number read_number(std::string_view bytes) {
  Number value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// The records of the only event file in a folder. Checks their checksums.
std::vector<std::string> read_records(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.push_back(entry.path());
  }
  EXPECT_EQ(files.size(), 1u);
  EXPECT_TRUE(files.front().filename().string().starts_with("events.out.tfevents."));
  const std::string bytes = read_file(files.front());
  const auto unmask = [](uint32_t sum) { return std::rotl(sum - 0xa282ead8U, 15); };
  std::vector<std::string> records;
  for (size_t at = 0; at < bytes.size();) {
    const std::string_view rest = std::string_view(bytes).substr(at);
    const auto length = read_number<uint64_t>(rest);
    EXPECT_EQ(unmask(read_number<uint32_t>(rest.substr(8))), crc32c(rest.substr(0, 8)));
    const std::string_view data = rest.substr(12, length);
    EXPECT_EQ(unmask(read_number<uint32_t>(rest.substr(12 + length))), crc32c(data));
    records.emplace_back(data);
    at += 16 + length;
  }
  return records;
}

TEST(EventLog, ChecksumIsCrc32c) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(""), 0U);
}

TEST(EventLog, WritesTensorBoardRecords) {
  const std::filesystem::path folder = fresh_folder("events");
  EventLog log(folder);
  log.scalar("loss", 300, 0.5);
  log.image("samples", 300, at::zeros({2, 3, 3}, at::kByte));
  const std::vector<std::string> records = read_records(folder);
  ASSERT_EQ(records.size(), 3u);
  // After the wall time (9 bytes): field 3, the version of the format.
  EXPECT_EQ(records[0].substr(9), std::string("\x1a\x0d") + "brain.Event:2");
  // Step 300 as a varint; summary { value { tag: "loss", simple_value: 0.5 } }.
  EXPECT_EQ(records[1].substr(9),
            std::string("\x10\xac\x02\x2a\x0d\x0a\x0b\x0a\x04loss\x15\x00\x00\x00\x3f", 18));
  // Height, width and number of channels of the image, then a PNG.
  EXPECT_NE(records[2].find(std::string("\x08\x02\x10\x03\x18\x03\x22", 7)), std::string::npos);
  EXPECT_NE(records[2].find("\x89PNG"), std::string::npos);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace loci::train
