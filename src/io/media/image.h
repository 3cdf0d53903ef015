// SPDX-License-Identifier: Apache-2.0
// Still images: PNG and JPEG to and from tensors.
//
// An image is a uint8 tensor [height, width, 3] on the CPU, RGB, contiguous.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace loci::io {

// No image or video frame with more pixels is read or made: otherwise a header of a few bytes could
// ask for any amount of memory.
inline constexpr int64_t kMaxPixels = 100'000'000;

// PNG or JPEG, told apart by content, whatever the name. Grey and palette images become RGB, 16
// bits are rounded to 8. Transparency is dropped and the colours stay as stored (what PIL's
// convert("RGB") and OpenCV do); colour profiles and gamma are ignored. A JPEG's EXIF orientation
// is applied, so that photos stand upright.
at::Tensor read_image(const std::filesystem::path& path);

// The same from memory. `source` names the bytes in messages.
at::Tensor decode_image(std::span<const std::byte> bytes, const std::string& source);
at::Tensor decode_png(std::span<const std::byte> bytes, const std::string& source);
at::Tensor decode_jpeg(std::span<const std::byte> bytes, const std::string& source);

std::vector<std::byte> encode_png(const at::Tensor& image);

// `quality` 1 to 100. Colour is kept at full resolution from quality 90 on and at half below, where
// size matters more than edges between colours.
std::vector<std::byte> encode_jpeg(const at::Tensor& image, int quality = 95);

void write_png(const std::filesystem::path& path, const at::Tensor& image);
void write_jpeg(const std::filesystem::path& path, const at::Tensor& image, int quality = 95);

// By suffix: .png, .jpg or .jpeg.
void write_image(const std::filesystem::path& path, const at::Tensor& image);

// The image, contiguous; anything but a uint8 [height, width, 3] on the CPU is a programmer's
// error.
at::Tensor checked_image(const at::Tensor& image);

// Refuses sizes that are not positive or above kMaxPixels, before anything is allocated.
void check_image_size(int64_t width, int64_t height, const std::string& source);

}  // namespace loci::io
