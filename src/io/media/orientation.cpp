// SPDX-License-Identifier: Apache-2.0
#include "loci/io/media/orientation.h"

#include <cstdint>
#include <optional>
#include <string_view>

#include <ATen/ATen.h>

namespace loci::io {

namespace {

constexpr uint8_t kStartOfScan = 0xda;
constexpr uint8_t kApp1 = 0xe1;
constexpr std::string_view kExifStart("Exif\0\0", 6);
constexpr uint32_t kOrientationTag = 0x0112;
constexpr uint32_t kTypeShort = 3;

using Bytes = std::span<const std::byte>;

// An unsigned number of `size` bytes; nullopt beyond the end.
std::optional<uint32_t> number(Bytes bytes, size_t offset, size_t size, bool little_endian) {
  if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
  uint32_t value = 0;
  for (size_t i = 0; i < size; ++i) {
    const size_t at = little_endian ? offset + size - 1 - i : offset + i;
    value = value << 8 | std::to_integer<uint32_t>(bytes[at]);
  }
  return value;
}

// `tiff` is the payload of an EXIF segment: a header and a table of 12-byte entries.
Orientation tiff_orientation(Bytes tiff) {
  const bool little_endian = number(tiff, 0, 2, false) == 0x4949;  // "II"; "MM" is big-endian
  const auto table = number(tiff, 4, 4, little_endian);
  if (!table) return 1;
  const auto entries = number(tiff, *table, 2, little_endian);
  for (uint32_t i = 0; i < entries.value_or(0); ++i) {
    const size_t entry = size_t{*table} + 2 + size_t{12} * i;
    if (number(tiff, entry, 2, little_endian) != kOrientationTag) continue;
    const auto value = number(tiff, entry + 8, 2, little_endian);
    const bool valid =
        number(tiff, entry + 2, 2, little_endian) == kTypeShort && value >= 1u && value <= 8u;
    return valid ? static_cast<Orientation>(*value) : 1;
  }
  return 1;
}

}  // namespace

Orientation exif_orientation(Bytes jpeg) {
  size_t offset = 2;  // after the start-of-image marker
  while (number(jpeg, offset, 1, false) == 0xff) {
    const auto marker = number(jpeg, offset + 1, 1, false);
    const auto length = number(jpeg, offset + 2, 2, false);  // includes itself
    if (!marker || !length || *length < 2 || *marker == kStartOfScan) return 1;
    if (*length > jpeg.size() - (offset + 2)) return 1;
    const Bytes segment = jpeg.subspan(offset + 4, *length - 2);
    const std::string_view text(reinterpret_cast<const char*>(segment.data()), segment.size());
    if (*marker == kApp1 && text.starts_with(kExifStart)) {
      return tiff_orientation(segment.subspan(kExifStart.size()));
    }
    offset += 2 + *length;
  }
  return 1;
}

at::Tensor turn_upright(const at::Tensor& image, Orientation orientation) {
  const at::Tensor swapped = swaps_sides(orientation) ? image.transpose(0, 1) : image;
  switch (orientation) {
    case 2:
    case 6:
      return swapped.flip(1).contiguous();
    case 3:
    case 7:
      return swapped.flip({0, 1}).contiguous();
    case 4:
    case 8:
      return swapped.flip(0).contiguous();
    default:
      return swapped.contiguous();
  }
}

}  // namespace loci::io
