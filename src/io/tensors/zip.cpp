// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/zip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "loci/base/error.h"
#include "loci/base/text.h"
#include "loci/io/tensors/tensor_info.h"

namespace loci::io {

namespace {

constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kDirectoryEntry = 0x02014b50;
constexpr uint32_t kDirectoryEnd = 0x06054b50;
constexpr uint32_t kDirectoryEnd64 = 0x06064b50;
constexpr uint32_t kDirectoryLocator64 = 0x07064b50;
constexpr uint64_t kLocalHeaderBytes = 30;
constexpr uint64_t kDirectoryEntryBytes = 46;
constexpr uint64_t kDirectoryEndBytes = 22;
constexpr uint64_t kDirectoryEnd64Bytes = 56;
constexpr uint64_t kLocatorBytes = 20;
constexpr uint64_t kMaxComment = 0xffff;

constexpr uint64_t kMaxInflated = uint64_t{1} << 30;
constexpr uint64_t kMaxInflation = 20;
// The largest compression ratio of deflate.
constexpr uint64_t kDeflateLimit = 1032;

// The caller must check that the value is within `bytes`.
template <typename T>
T load(std::string_view bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// Whether the range is within `end` bytes.
bool fits(uint64_t end, uint64_t offset, uint64_t size) {
  return offset <= end && size <= end - offset;
}

uint32_t checksum(std::string_view bytes) {
  return static_cast<uint32_t>(
      ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// Inflates `packed` to exactly `out.size()` bytes; false if it is damaged or has another size.
bool inflate_into(std::string_view packed, std::span<char> out) {
  z_stream stream{};
  if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) {
    fail_machine("cannot initialize zlib: not enough memory");
  }
  int status = Z_OK;
  while (status == Z_OK) {
    // zlib uses 32-bit sizes.
    constexpr size_t kStep = size_t{1} << 30;
    const size_t in = std::min(packed.size(), kStep);
    const size_t room = std::min(out.size(), kStep);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = static_cast<uInt>(in);
    Bytef nothing = 0;
    stream.next_out = out.empty() ? &nothing : reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(room);
    status = ::inflate(&stream, Z_NO_FLUSH);
    packed.remove_prefix(in - stream.avail_in);
    out = out.subspan(room - stream.avail_out);
  }
  ::inflateEnd(&stream);
  return status == Z_STREAM_END && out.empty() && packed.empty();
}

}  // namespace

ZipArchive::ZipArchive(Read read, uint64_t size, std::string source)
    : read_(std::move(read)), size_(size), source_(std::move(source)) {
  read_directory();
  check_sizes();
}

ZipArchive ZipArchive::over(const InputFile& file) {
  return {[file](uint64_t offset, uint64_t size) { return file.read(offset, size); }, file.size(),
          file.name()};
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
  const auto found = index_.find(std::string(name));
  return found == index_.end() ? nullptr : &entries_[found->second];
}

void ZipArchive::read_directory() {
  // The end record is at the end of the file, followed only by an optional comment.
  const uint64_t searched = std::min(size_, kLocatorBytes + kDirectoryEndBytes + kMaxComment);
  const uint64_t skipped = size_ - searched;
  const SharedBytes tail_bytes = read_(skipped, searched);
  const std::string_view tail = tail_bytes.view;
  uint64_t end = size_;
  for (uint64_t comment = 0; comment <= kMaxComment && comment + kDirectoryEndBytes <= tail.size();
       ++comment) {
    const uint64_t position = tail.size() - kDirectoryEndBytes - comment;
    if (load<uint32_t>(tail, position) == kDirectoryEnd &&
        load<uint16_t>(tail, position + 20) == comment) {
      end = skipped + position;
      break;
    }
  }
  if (end == size_) {
    fail(
        "{}: the directory at the end of the zip archive is missing; the file is truncated or "
        "damaged",
        source_);
  }
  const uint64_t place = end - skipped;  // in the tail
  uint64_t count = load<uint16_t>(tail, place + 10);
  uint64_t size = load<uint32_t>(tail, place + 12);
  uint64_t begin = load<uint32_t>(tail, place + 16);
  if (place >= kLocatorBytes &&
      load<uint32_t>(tail, place - kLocatorBytes) == kDirectoryLocator64) {
    end = load<uint64_t>(tail, place - kLocatorBytes + 8);
    const SharedBytes record =
        fits(size_, end, kDirectoryEnd64Bytes) ? read_(end, kDirectoryEnd64Bytes) : SharedBytes();
    if (record.view.empty() || load<uint32_t>(record.view, 0) != kDirectoryEnd64) {
      fail("{}: the zip64 directory is damaged", source_);
    }
    count = load<uint64_t>(record.view, 32);
    size = load<uint64_t>(record.view, 40);
    begin = load<uint64_t>(record.view, 48);
  }
  if (begin > end || size != end - begin || count > size / kDirectoryEntryBytes) {
    fail(
        "{}: the directory of the zip archive does not fit the file; the file is truncated or "
        "damaged",
        source_);
  }
  const SharedBytes directory = read_(begin, size);
  entries_.reserve(count);
  uint64_t position = 0;
  for (uint64_t i = 0; i < count; ++i) {
    ZipEntry entry = read_entry(directory.view, position);
    // `offset` temporarily holds the position of the local header, until find_data().
    find_data(entry, entry.offset, begin);
    if (!index_.emplace(entry.name, entries_.size()).second) {
      fail("{}: the zip archive has two entries '{}'", source_, printable(entry.name));
    }
    entries_.push_back(std::move(entry));
  }
  if (position != size) fail("{}: the directory of the zip archive is damaged", source_);
}

ZipEntry ZipArchive::read_entry(std::string_view directory, uint64_t& position) const {
  if (directory.size() - position < kDirectoryEntryBytes ||
      load<uint32_t>(directory, position) != kDirectoryEntry) {
    fail("{}: the directory of the zip archive is damaged", source_);
  }
  const uint64_t start = position;
  const auto name_bytes = load<uint16_t>(directory, start + 28);
  const auto extra_bytes = load<uint16_t>(directory, start + 30);
  const auto comment_bytes = load<uint16_t>(directory, start + 32);
  const uint64_t length = kDirectoryEntryBytes + name_bytes + extra_bytes + comment_bytes;
  if (length > directory.size() - start) {
    fail("{}: the directory of the zip archive is damaged", source_);
  }
  position = start + length;

  ZipEntry entry;
  entry.name = directory.substr(start + kDirectoryEntryBytes, name_bytes);
  const auto flags = load<uint16_t>(directory, start + 8);
  const auto method = load<uint16_t>(directory, start + 10);
  if ((flags & 1) != 0 || (method != 0 && method != 8)) {
    fail("{}: entry '{}' of the zip archive is {}; only stored and deflated entries can be read",
         source_, printable(entry.name),
         (flags & 1) != 0 ? "encrypted" : fmt::format("compressed by method {}", method));
  }
  entry.deflated = method == 8;
  entry.crc = load<uint32_t>(directory, start + 16);
  entry.packed = load<uint32_t>(directory, start + 20);
  entry.bytes = load<uint32_t>(directory, start + 24);
  entry.offset = load<uint32_t>(directory, start + 42);

  // Fields with all bits set are in the zip64 extra field instead, in this order.
  constexpr uint64_t kElsewhere = 0xffffffff;
  std::string_view extra = directory.substr(start + kDirectoryEntryBytes + name_bytes, extra_bytes);
  while (extra.size() >= 4) {
    const auto id = load<uint16_t>(extra, 0);
    const auto size = load<uint16_t>(extra, 2);
    extra.remove_prefix(4);
    if (size > extra.size()) break;
    if (id == 1) {
      uint64_t at = 0;
      for (uint64_t* field : {&entry.bytes, &entry.packed, &entry.offset}) {
        if (*field != kElsewhere) continue;
        if (at + 8 > size) fail("{}: the zip64 directory is damaged", source_);
        *field = load<uint64_t>(extra, at);
        at += 8;
      }
      break;
    }
    extra.remove_prefix(size);
  }
  return entry;
}

void ZipArchive::find_data(ZipEntry& entry, uint64_t header, uint64_t end) const {
  const auto damaged = [&] {
    fail(
        "{}: entry '{}' of the zip archive does not fit the file; the file is truncated or damaged",
        source_, printable(entry.name));
  };
  // The name is the same as in the directory.
  const uint64_t length = kLocalHeaderBytes + entry.name.size();
  if (!fits(end, header, length)) damaged();
  const SharedBytes local = read_(header, length);
  const auto name_bytes = load<uint16_t>(local.view, 26);
  const auto extra_bytes = load<uint16_t>(local.view, 28);
  entry.offset = header + kLocalHeaderBytes + name_bytes + extra_bytes;
  if (load<uint32_t>(local.view, 0) != kLocalHeader || name_bytes != entry.name.size() ||
      local.view.substr(kLocalHeaderBytes) != entry.name ||
      !fits(end, entry.offset, entry.packed) ||
      (!entry.deflated && entry.packed != entry.bytes)) {
    damaged();
  }
}

void ZipArchive::check_sizes() const {
  uint64_t room = kMaxInflated + kMaxInflation * size_;
  std::vector<const ZipEntry*> order;
  for (const ZipEntry& entry : entries_) {
    order.push_back(&entry);
    if (!entry.deflated) continue;
    if (entry.bytes / kDeflateLimit > entry.packed || entry.bytes > room) {
      fail("{}: entry '{}' would inflate from {} to {}; refused as a zip bomb", source_,
           printable(entry.name), format_bytes(entry.packed), format_bytes(entry.bytes));
    }
    room -= entry.bytes;
  }
  std::sort(order.begin(), order.end(),
            [](const ZipEntry* a, const ZipEntry* b) { return a->offset < b->offset; });
  for (size_t i = 1; i < order.size(); ++i) {
    // At least a local header is between two entries.
    const ZipEntry& before = *order[i - 1];
    const uint64_t least = before.offset + before.packed + kLocalHeaderBytes;
    if (order[i]->offset < least + order[i]->name.size()) {
      fail("{}: the entries '{}' and '{}' of the zip archive overlap; refused", source_,
           printable(before.name), printable(order[i]->name));
    }
  }
}

SharedBytes ZipArchive::read(const ZipEntry& entry) const {
  return entry.deflated ? read_verified(entry) : read_(entry.offset, entry.packed);
}

SharedBytes ZipArchive::read_stored(const ZipEntry& entry, uint64_t begin, uint64_t size) const {
  LOCI_CHECK(!entry.deflated && fits(entry.packed, begin, size), "{}: no range [{}, +{}) in {}",
             source_, begin, size, entry.name);
  return read_(entry.offset + begin, size);
}

SharedBytes ZipArchive::read_verified(const ZipEntry& entry) const {
  SharedBytes content = read_(entry.offset, entry.packed);
  if (entry.deflated) {
    const auto memory = allocate_aligned(entry.bytes);
    if (!inflate_into(content.view, {memory.get(), entry.bytes})) {
      fail("{}: entry '{}' of the zip archive cannot be inflated; the file is damaged", source_,
           printable(entry.name));
    }
    content = {{memory.get(), entry.bytes}, memory};
  }
  if (entry.crc != 0 && checksum(content.view) != entry.crc) {
    fail("{}: entry '{}' of the zip archive does not match its checksum; the file is damaged",
         source_, printable(entry.name));
  }
  return content;
}

}  // namespace loci::io
