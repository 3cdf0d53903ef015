// SPDX-License-Identifier: Apache-2.0
// Estimates the camera motion between two pictures: SIFT matches and an essential matrix fitted by
// RANSAC. It needs OpenCV; a build without OpenCV throws machine errors.
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

#include "loci/camera/lens.h"
#include "loci/camera/pose.h"

namespace loci::eval {

bool two_view_available();

struct TwoView {
  camera::Mat3 rotation;  // from the axes of the first camera to those of the second
  // Unit vector of the translation in the axes of the second camera. Two views do not determine its
  // length.
  camera::Vec3 direction;
  int inliers = 0;
};

// Pictures are uint8 [H, W, 3]; `lens` is in pixels and applies to both. Empty if there are too few
// matches.
std::optional<TwoView> two_view_motion(const at::Tensor& first, const at::Tensor& second,
                                       const camera::Pinhole& lens);

// Pose of the second camera in the axes of the first, in metres, from SIFT matches and a
// perspective-n-point fit by RANSAC. `depth` belongs to the first picture: float [H, W], metres
// along the ray.
std::optional<camera::Pose> metric_motion(const at::Tensor& first, const at::Tensor& depth,
                                          const at::Tensor& second, const camera::Pinhole& lens);

}  // namespace loci::eval
