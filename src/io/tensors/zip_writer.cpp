// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/zip_writer.h"

#include <algorithm>

#include "loci/base/error.h"

namespace loci::io {

namespace {

constexpr uint64_t kMax32 = 0xffffffff;
constexpr uint64_t kMax16 = 0xffff;
constexpr uint16_t kPlainVersion = 20;
constexpr uint16_t kZip64Version = 45;
constexpr uint16_t kUtf8Names = 1 << 11;
constexpr uint16_t kDate = (1 << 5) | 1;  // 1980-01-01, the earliest date

// Appends little-endian numbers.
class Record {
 public:
  Record& u16(uint64_t value) { return append(value, 2); }
  Record& u32(uint64_t value) { return append(value, 4); }
  Record& u64(uint64_t value) { return append(value, 8); }
  Record& text(std::string_view value) {
    bytes_ += value;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  Record& append(uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_ += static_cast<char>(value >> (8 * i));
    return *this;
  }
  std::string bytes_;
};

// Version, flags, method, date, checksum and sizes of an entry, which are equal in both headers.
void common_fields(Record& record, bool zip64, uint32_t crc, uint64_t size) {
  record.u16(zip64 ? kZip64Version : kPlainVersion).u16(kUtf8Names).u16(0).u16(0).u16(kDate);
  record.u32(crc).u32(zip64 ? kMax32 : size).u32(zip64 ? kMax32 : size);
}

}  // namespace

void ZipWriter::begin(std::string_view name, uint64_t size, uint32_t crc) {
  if (name.size() > kMax16) {
    fail("cannot write {}: an entry name of {} bytes is too long", file_.path().string(),
         name.size());
  }
  const bool zip64 = size >= kMax32;
  Record record;
  record.u32(0x04034b50);
  common_fields(record, zip64, crc, size);
  record.u16(name.size()).u16(zip64 ? 20 : 0).text(name);
  if (zip64) record.u16(1).u16(16).u64(size).u64(size);
  file_.write(record.bytes());
  entries_.push_back({std::string(name), size, crc, position_});
  position_ += record.bytes().size() + size;
}

void ZipWriter::finish() {
  Record record;
  for (const Entry& entry : entries_) {
    // Either all three fields are in the extra field or none.
    const bool zip64 = entry.size >= kMax32 || entry.offset >= kMax32;
    record.u32(0x02014b50).u16(kZip64Version);
    common_fields(record, zip64, entry.crc, entry.size);
    record.u16(entry.name.size()).u16(zip64 ? 28 : 0).u16(0).u16(0).u16(0).u32(0);
    record.u32(zip64 ? kMax32 : entry.offset).text(entry.name);
    if (zip64) record.u16(1).u16(24).u64(entry.size).u64(entry.size).u64(entry.offset);
  }
  const uint64_t size = record.bytes().size();
  const uint64_t count = entries_.size();
  if (position_ >= kMax32 || size >= kMax32 || count >= kMax16) {
    const uint64_t end = position_ + size;
    record.u32(0x06064b50).u64(44).u16(kZip64Version).u16(kZip64Version).u32(0).u32(0);
    record.u64(count).u64(count).u64(size).u64(position_);
    record.u32(0x07064b50).u32(0).u64(end).u32(1);
  }
  record.u32(0x06054b50).u16(0).u16(0);
  record.u16(std::min(count, kMax16)).u16(std::min(count, kMax16));
  record.u32(std::min(size, kMax32)).u32(std::min(position_, kMax32)).u16(0);
  file_.write(record.bytes());
}

}  // namespace loci::io
