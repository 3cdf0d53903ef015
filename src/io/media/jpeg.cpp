// SPDX-License-Identifier: Apache-2.0
// JPEG with libjpeg-turbo.
#include <turbojpeg.h>

#include <memory>
#include <string_view>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/log.h"
#include "loci/io/media/image.h"
#include "loci/io/media/orientation.h"

namespace loci::io {

namespace {

constexpr int kFullColourQuality = 90;
constexpr int kMaxSide = 65500;  // limit of libjpeg

struct Closer {
  void operator()(void* handle) const { tjDestroy(handle); }
};
using Handle = std::unique_ptr<void, Closer>;

Handle checked(tjhandle raw) {
  if (raw == nullptr) fail_machine("cannot initialize libjpeg-turbo: {}", tjGetErrorStr2(nullptr));
  return Handle(raw);
}

// The library continues after errors and leaves grey areas; such images are rejected. Extraneous
// bytes between segments are common in photos and harmless.
void check_decoded(int result, const Handle& handle, const std::string& source) {
  if (result == 0) return;
  const std::string_view text = tjGetErrorStr2(handle.get());
  const bool harmless = tjGetErrorCode(handle.get()) == TJERR_WARNING &&
                        text.find("extraneous bytes") != std::string_view::npos;
  if (!harmless) fail("{}: damaged JPEG image: {}", source, text);
  log_debug("{}: libjpeg: {}", source, text);
}

// CMYK [height, width, 4], inverted as programs store it in practice.
at::Tensor cmyk_to_rgb(const at::Tensor& cmyk) {
  const at::Tensor wide = cmyk.to(at::kInt);
  const at::Tensor product = wide.slice(2, 0, 3) * wide.slice(2, 3, 4);
  return at::div(product + 127, 255, "floor").to(at::kByte);
}

}  // namespace

at::Tensor decode_jpeg(std::span<const std::byte> bytes, const std::string& source) {
  const Handle handle = checked(tjInitDecompress());
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  int width = 0;
  int height = 0;
  int subsampling = 0;
  int colours = 0;
  check_decoded(tjDecompressHeader3(handle.get(), data, bytes.size(), &width, &height, &subsampling,
                                    &colours),
                handle, source);
  if (width == 0) fail("{}: damaged JPEG image: the file ends before the image data", source);
  check_image_size(width, height, source);
  const bool print = colours == TJCS_CMYK || colours == TJCS_YCCK;
  at::Tensor image = at::empty({height, width, print ? 4 : 3}, at::kByte);
  check_decoded(tjDecompress2(handle.get(), data, bytes.size(), image.data_ptr<uint8_t>(), width,
                              /*pitch=*/0, height, print ? TJPF_CMYK : TJPF_RGB,
                              TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS),
                handle, source);
  if (print) image = cmyk_to_rgb(image);
  return turn_upright(image, exif_orientation(bytes));
}

std::vector<std::byte> encode_jpeg(const at::Tensor& image, int quality) {
  const at::Tensor source = checked_image(image);
  if (quality < 1 || quality > 100) fail("the JPEG quality is {}; it must be 1 to 100", quality);
  if (source.size(0) > kMaxSide || source.size(1) > kMaxSide) {
    fail("an image of {} x {} pixels does not fit a JPEG file (at most {} per side); use PNG",
         source.size(1), source.size(0), kMaxSide);
  }
  const auto width = static_cast<int>(source.size(1));
  const auto height = static_cast<int>(source.size(0));
  const int subsampling = quality >= kFullColourQuality ? TJSAMP_444 : TJSAMP_420;
  const Handle handle = checked(tjInitCompress());
  std::vector<std::byte> bytes(tjBufSize(width, height, subsampling));
  auto* target = reinterpret_cast<unsigned char*>(bytes.data());
  unsigned long size = bytes.size();
  LOCI_CHECK(
      tjCompress2(handle.get(), source.data_ptr<uint8_t>(), width, /*pitch=*/0, height, TJPF_RGB,
                  &target, &size, subsampling, quality, TJFLAG_NOREALLOC | TJFLAG_ACCURATEDCT) == 0,
      "libjpeg-turbo cannot write {} x {} pixels: {}", width, height, tjGetErrorStr2(handle.get()));
  bytes.resize(size);
  return bytes;
}

}  // namespace loci::io
