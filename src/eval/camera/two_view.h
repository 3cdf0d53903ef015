// SPDX-License-Identifier: Apache-2.0
// How a camera moved between two pictures, seen from the pictures alone: SIFT matches and an
// essential matrix fitted by RANSAC. OpenCV does it; a build without OpenCV cannot.
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

#include "loci/camera/lens.h"
#include "loci/camera/pose.h"

namespace loci::eval {

bool two_view_available();

struct TwoView {
  camera::Mat3 rotation;   // from the first camera's axes to the second's
  camera::Vec3 direction;  // of the translation in the second's axes, of length one; any length of
                           // the motion fits
  int inliers = 0;
};

// uint8 [H, W, 3] each; `lens` in pixels, the same for both. Nothing with too few matches. A build
// without OpenCV is a machine error.
std::optional<TwoView> two_view_motion(const at::Tensor& first, const at::Tensor& second,
                                       const camera::Pinhole& lens);

// The second camera's pose in the first's axes in metres, where the first picture's depth (float
// [H, W], along the ray) is known: SIFT matches and a perspective-n-point fit by RANSAC.
std::optional<camera::Pose> metric_motion(const at::Tensor& first, const at::Tensor& depth,
                                          const at::Tensor& second, const camera::Pinhole& lens);

}  // namespace loci::eval
