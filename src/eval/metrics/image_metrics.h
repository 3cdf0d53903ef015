// SPDX-License-Identifier: Apache-2.0
// Image metrics. Frames are uint8, or floating point in [0, 1], of shape [T, H, W, 3]; compared
// frames must have equal sizes. Every function returns one FP64 value per frame.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/io/media/image_statistics.h"

namespace loci::eval {

std::vector<double> mse(const at::Tensor& a, const at::Tensor& b);

// 10 log10(1 / mse) in dB; infinity for identical frames.
double psnr_of(double mse);
std::vector<double> psnr(const at::Tensor& a, const at::Tensor& b);

// Treatment of the 5 pixels at the border, where the window exceeds the picture. kMirrored: they
// count, with the picture mirrored (newer versions of torchmetrics). kCropped: they do not count
// (older versions, scikit-image).
enum class SsimBorder { kMirrored, kCropped };

// Structural similarity with a Gaussian window (sigma 1.5, 11x11), mean over colour channels,
// variances without Bessel's correction, constants 0.01 and 0.03. Frames must be at least 11x11.
std::vector<double> ssim(const at::Tensor& a, const at::Tensor& b,
                         SsimBorder border = SsimBorder::kMirrored);

// Of single pictures (image_statistics.h).
using io::contrast;
using io::sharpness;

}  // namespace loci::eval
