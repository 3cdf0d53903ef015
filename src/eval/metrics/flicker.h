// SPDX-License-Identifier: Apache-2.0
// Flicker: how much a video changes although the scene does not.
#pragma once

#include <ATen/core/Tensor.h>

#include "loci/eval/metrics/view_warp.h"

namespace loci::eval {

// Mean absolute difference between the luma of a frame and that of the frame before it after
// compensating the motion of the camera, in levels (0 to 255), over the pixels that both show.
// `before` and `frame` are lumas, FP64 [H, W]; `warp` leads from `frame` to `before`. NaN if less
// than a tenth of the picture is shown by both.
//
// The value of a steady recording is not zero: bilinear resampling blurs edges. Flicker is
// therefore compared with that of the recording along the same path.
double flicker(const at::Tensor& before, const at::Tensor& frame, const ViewWarp& warp);

// Flicker relative to that of the recording. Values below half a level, which rounding to 8 bits
// can cause, count as half a level: a steady picture of a camera at rest has ratio 1.
double relative_flicker(double generated, double recorded);

}  // namespace loci::eval
