// SPDX-License-Identifier: Apache-2.0
// Statistics of single pictures that show whether generated pictures become blurred or grey. Frames
// are uint8, or floating point in [0, 1], of shape [T, H, W, 3]. Statistics are one FP64 value per
// frame, computed from the luma (0.299 R + 0.587 G + 0.114 B, 0 to 255).
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace loci::io {

// The luma, FP64 [T, H, W].
at::Tensor luma(const at::Tensor& frames);

// Variance of the Laplacian (4 neighbours minus 4 times the centre) over all pixels except those at
// the border. Low for blurred pictures. Frames must be at least 3x3.
std::vector<double> sharpness(const at::Tensor& frames);

// Standard deviation of the luma over all pixels. Zero for a picture of one grey level.
std::vector<double> contrast(const at::Tensor& frames);

}  // namespace loci::io
