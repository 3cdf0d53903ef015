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

// The largest image or video frame that is read or created. Otherwise a header of a few bytes could
// request any amount of memory.
inline constexpr int64_t kMaxPixels = 100'000'000;

// Reads PNG or JPEG; the content determines the format. Grey and palette images become RGB, 16 bits
// are rounded to 8. Transparency is dropped without changing colours, like PIL's convert("RGB") and
// OpenCV. Colour profiles and gamma are ignored.
// The EXIF orientation of a JPEG is applied.
at::Tensor read_image(const std::filesystem::path& path);

// The same from memory. `source` names the image in messages.
at::Tensor decode_image(std::span<const std::byte> bytes, const std::string& source);
at::Tensor decode_png(std::span<const std::byte> bytes, const std::string& source);
at::Tensor decode_jpeg(std::span<const std::byte> bytes, const std::string& source);

std::vector<std::byte> encode_png(const at::Tensor& image);

// `quality` is 1 to 100. From quality 90 on, colour has full resolution (4:4:4), below half
// (4:2:0).
std::vector<std::byte> encode_jpeg(const at::Tensor& image, int quality = 95);

void write_png(const std::filesystem::path& path, const at::Tensor& image);
void write_jpeg(const std::filesystem::path& path, const at::Tensor& image, int quality = 95);

// By suffix: .png, .jpg or .jpeg.
void write_image(const std::filesystem::path& path, const at::Tensor& image);

// Returns the image as a contiguous tensor. Anything but uint8 [height, width, 3] on the CPU is an
// internal error.
at::Tensor checked_image(const at::Tensor& image);

// Bad input if the size is not positive or exceeds kMaxPixels. Call it before allocating memory.
void check_image_size(int64_t width, int64_t height, const std::string& source);

}  // namespace loci::io
