// SPDX-License-Identifier: Apache-2.0
// Poses and cameras as FP64 tensors, without loss, for files. A camera has a row of pose and a row
// of lens.
#pragma once

#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/camera/camera.h"

namespace loci::sample {

// [n, 12]: rotation row by row, then position.
at::Tensor pose_tensor(std::span<const camera::Pose> poses);
at::Tensor pose_tensor(std::span<const camera::Camera> cameras);
// [n, 7]: field of view, xi, 1 if the normalised intrinsics are given, then these four numbers.
at::Tensor lens_tensor(std::span<const camera::Camera> cameras);

// The inverse. Another shape or type, NaN or infinite values, and different numbers of poses and
// lenses are bad input; the error begins with `what`.
std::vector<camera::Pose> poses_from(const at::Tensor& poses, std::string_view what);
std::vector<camera::Camera> cameras_from(const at::Tensor& poses, const at::Tensor& lenses,
                                         std::string_view what);

}  // namespace loci::sample
