// SPDX-License-Identifier: Apache-2.0
// How far a picture is from another. Frames are uint8 or floating point in [0, 1], [T, H, W, 3];
// the two must have one size. Every function gives one value a frame, FP64.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace loci::eval {

std::vector<double> mse(const at::Tensor& a, const at::Tensor& b);

// 10 log10(1 / mse) in dB; infinity for identical frames.
double psnr_of(double mse);
std::vector<double> psnr(const at::Tensor& a, const at::Tensor& b);

// What becomes of the 5 pixels at the border, where the window reaches beyond the picture: newer
// versions of torchmetrics count them (with the picture mirrored), older ones and scikit-image do
// not.
enum class SsimBorder { kMirrored, kCropped };

// Structural similarity with a Gaussian window (sigma 1.5, 11x11), per colour, variances without
// Bessel's correction, constants 0.01 and 0.03. Frames must be at least 11 pixels wide and high.
std::vector<double> ssim(const at::Tensor& a, const at::Tensor& b,
                         SsimBorder border = SsimBorder::kMirrored);

// Variance of the Laplacian (4 neighbours) of the luma, 0 to 255: low for blurred pictures. The
// border does not count.
std::vector<double> sharpness(const at::Tensor& frames);

}  // namespace loci::eval
