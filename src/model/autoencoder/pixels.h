// SPDX-License-Identifier: Apache-2.0
// Converts between uint8 RGB images and the pixels of the autoencoder.
#pragma once

#include <ATen/core/Tensor.h>

namespace loci::model {

// uint8 [T, H, W, 3] (or one image [H, W, 3]) to FP32 [1, 3, T, H, W] in [-1, 1]. Another number of
// channels is bad input.
at::Tensor pixels_from_frames(const at::Tensor& frames);

// [1, 3, T, H, W] in [-1, 1] to uint8 [T, H, W, 3], rounded to the nearest level.
at::Tensor frames_from_pixels(const at::Tensor& pixels);

}  // namespace loci::model
