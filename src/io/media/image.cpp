// SPDX-License-Identifier: Apache-2.0
#include "loci/io/media/image.h"

#include <cctype>
#include <string_view>
#include <utility>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/text.h"

namespace loci::io {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{512} << 20;

constexpr std::string_view kPngStart("\x89PNG\r\n\x1a\n", 8);
constexpr std::string_view kJpegStart("\xff\xd8\xff", 3);

// The name of an image format that is not supported; empty if unknown.
std::string_view foreign_kind(std::string_view bytes) {
  if (bytes.starts_with("RIFF") && bytes.size() > 8 && bytes.substr(8).starts_with("WEBP")) {
    return "a WebP image";
  }
  if (bytes.starts_with("GIF8")) return "a GIF image";
  if (bytes.starts_with("BM")) return "a BMP image";
  if (bytes.starts_with("II*") || bytes.starts_with("MM")) return "a TIFF image";
  if (bytes.size() > 8 && bytes.substr(4).starts_with("ftyp"))
    return "a HEIC or AVIF image or a video";
  return "";
}

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

void write_bytes(const fs::path& path, const std::vector<std::byte>& bytes) {
  write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

at::Tensor checked_image(const at::Tensor& image) {
  LOCI_CHECK(image.defined() && image.device().is_cpu() && image.scalar_type() == at::kByte,
             "an image must be a uint8 tensor on the CPU");
  LOCI_CHECK(image.dim() == 3 && image.size(2) == 3 && image.numel() > 0,
             "an image has {} dimensions and {} elements, expected [height, width, 3]", image.dim(),
             image.numel());
  return image.contiguous();
}

void check_image_size(int64_t width, int64_t height, const std::string& source) {
  if (width <= 0 || height <= 0) {
    fail("{}: the image has {} x {} pixels; both sides must be at least 1", source, width, height);
  }
  if (width > kMaxPixels / height) {
    fail("{}: the image has {} x {} pixels, more than the limit of {} million", source, width,
         height, kMaxPixels / 1'000'000);
  }
}

at::Tensor decode_image(std::span<const std::byte> bytes, const std::string& source) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with(kPngStart)) return decode_png(bytes, source);
  if (text.starts_with(kJpegStart)) return decode_jpeg(bytes, source);
  if (text.empty()) fail("{}: the file is empty; expected a PNG or JPEG image", source);
  const std::string_view kind = foreign_kind(text);
  if (!kind.empty()) {
    fail("{}: this looks like {}; convert it to PNG or JPEG", source, kind);
  }
  fail("{}: this is neither a PNG nor a JPEG image", source);
}

at::Tensor read_image(const fs::path& path) {
  const std::string content = read_file(path, kMaxFileBytes);
  return decode_image(as_bytes(content), path.string());
}

void write_png(const fs::path& path, const at::Tensor& image) {
  write_bytes(path, encode_png(image));
}

void write_jpeg(const fs::path& path, const at::Tensor& image, int quality) {
  write_bytes(path, encode_jpeg(image, quality));
}

void write_image(const fs::path& path, const at::Tensor& image) {
  const std::string suffix = lower(path.extension().string());
  if (suffix == ".png") {
    write_png(path, image);
  } else if (suffix == ".jpg" || suffix == ".jpeg") {
    write_jpeg(path, image);
  } else {
    fail("cannot write {}: the name of an image must end in .png, .jpg or .jpeg", path.string());
  }
}

}  // namespace loci::io
