// SPDX-License-Identifier: Apache-2.0
// Resizing of images with the filters of PIL, which the original tools of the models use.
#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

namespace loci::io {

// When an image shrinks, the filter is widened in proportion to avoid aliasing. Bicubic uses a =
// -0.5 like PIL and torch's antialiased interpolation.
enum class ResizeFilter { kBilinear, kBicubic, kLanczos };

// `image` as in image.h. The result equals that of PIL's Image.resize bit by bit.
at::Tensor resize_image(const at::Tensor& image, int64_t width, int64_t height,
                        ResizeFilter filter = ResizeFilter::kLanczos);

struct FittedImage {
  at::Tensor image;
  std::string note;  // describes the resizing and cropping; empty if the size already matched
};

// Resizes with the same aspect ratio to cover width x height, then crops the centre, as Wan does
// with a first image.
FittedImage resize_and_crop(const at::Tensor& image, int64_t width, int64_t height,
                            ResizeFilter filter = ResizeFilter::kLanczos);

}  // namespace loci::io
