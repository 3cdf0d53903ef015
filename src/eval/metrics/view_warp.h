// SPDX-License-Identifier: Apache-2.0
// Resamples a frame as if it had been taken by another camera.
#pragma once

#include <ATen/core/Tensor.h>

#include "loci/camera/geometry.h"
#include "loci/eval/metrics/depth_frame.h"

namespace loci::eval {

// Where a source frame shows what each pixel of a target frame shows.
struct ViewWarp {
  at::Tensor place;  // float [H, W, 2]: column and row in the source; pixel centres are integers
  at::Tensor valid;  // bool [H, W]: whether the source shows it

  // Share of the target's pixels that the source shows.
  double share() const;
};

// If both frames have depth, surface points of the target are projected into the source. They are
// valid if the source shows a surface at that distance (DepthPixels::shows), sky if it shows sky.
// Otherwise only the rotation is compensated: the motion of near surfaces by translation remains.
// `size` is that of both frames in pixels.
ViewWarp view_warp(const DepthFrame& target, const DepthFrame& source,
                   const camera::TokenGrid& size);

// `picture` [H, W, C], resampled bilinearly in its floating-point type. Invalid pixels are 0.
at::Tensor resample(const at::Tensor& picture, const ViewWarp& warp);

}  // namespace loci::eval
