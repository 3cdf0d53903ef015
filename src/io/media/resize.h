// SPDX-License-Identifier: Apache-2.0
// Resizing of images with the filters of PIL, which the models' own tools use on first images.
#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

namespace loci::io {

// Each widens with the scale when the image shrinks, so nothing aliases. Bicubic has a = -0.5 as in
// PIL and in torch's antialiased interpolation.
enum class ResizeFilter { kBilinear, kBicubic, kLanczos };

// `image` as in image.h. Gives the bytes that PIL's Image.resize gives.
at::Tensor resize_image(const at::Tensor& image, int64_t width, int64_t height,
                        ResizeFilter filter = ResizeFilter::kLanczos);

struct FittedImage {
  at::Tensor image;
  std::string note;  // what was resized and cut, in words; empty when the size was right already
};

// Resizes with the aspect kept so that width x height is covered, then cuts the centre out of it:
// what Wan does with a first image.
FittedImage resize_and_crop(const at::Tensor& image, int64_t width, int64_t height,
                            ResizeFilter filter = ResizeFilter::kLanczos);

}  // namespace loci::io
