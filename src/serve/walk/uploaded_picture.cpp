// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/walk/uploaded_picture.h"

#include <span>

#include "loci/io/media/image.h"
#include "loci/io/media/resize.h"
#include "loci/serve/net/refusal.h"

namespace loci::serve {

namespace {

int64_t big_endian(std::string_view bytes) {
  int64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

// Finds the frame header of a JPEG (a SOF segment) and reads the size there.
std::optional<std::pair<int64_t, int64_t>> jpeg_size(std::string_view bytes) {
  size_t at = 2;
  while (at + 9 <= bytes.size()) {
    if (static_cast<unsigned char>(bytes[at]) != 0xff) {
      ++at;
      continue;
    }
    const auto marker = static_cast<unsigned char>(bytes[at + 1]);
    if (marker == 0xff || marker == 0x00 || marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8)) {
      ++at;
      continue;
    }
    const bool frame =
        marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    if (frame)
      return std::pair(big_endian(bytes.substr(at + 7, 2)), big_endian(bytes.substr(at + 5, 2)));
    at += 2 + static_cast<size_t>(big_endian(bytes.substr(at + 2, 2)));
  }
  return std::nullopt;
}

at::Tensor decode(std::string_view bytes, int64_t most_pixels) {
  const auto size = announced_size(bytes);
  if (!size) refuse("bad_request", "the picture is neither a PNG nor a JPEG image");
  if (size->first < 1 || size->second < 1 || size->first > most_pixels / size->second) {
    refuse("limit", "the picture has {} x {} pixels; at most {} pixels are accepted", size->first,
           size->second, most_pixels);
  }
  return checked("bad_request", [&] {
    return io::decode_image(std::as_bytes(std::span(bytes.data(), bytes.size())), "the picture");
  });
}

}  // namespace

std::optional<std::pair<int64_t, int64_t>> announced_size(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n") && bytes.size() >= 24) {
    return std::pair(big_endian(bytes.substr(16, 4)), big_endian(bytes.substr(20, 4)));
  }
  if (bytes.starts_with("\xff\xd8")) return jpeg_size(bytes);
  return std::nullopt;
}

at::Tensor uploaded_picture(std::string_view bytes, int64_t most_pixels, int64_t width,
                            int64_t height) {
  const at::Tensor image = decode(bytes, most_pixels);
  return checked("bad_request", [&] { return io::resize_and_crop(image, width, height).image; });
}

void check_picture(std::string_view bytes, int64_t most_pixels) { decode(bytes, most_pixels); }

}  // namespace loci::serve
