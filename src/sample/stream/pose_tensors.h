// SPDX-License-Identifier: Apache-2.0
// Poses and cameras as tensors of doubles, exact, for files. A camera is two rows: pose and lens.
#pragma once

#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/camera/camera.h"

namespace loci::sample {

// [n, 12]: the rotation row by row, then the position.
at::Tensor pose_tensor(std::span<const camera::Pose> poses);
at::Tensor pose_tensor(std::span<const camera::Camera> cameras);
// [n, 7]: field of view, xi, whether the four normalised numbers follow.
at::Tensor lens_tensor(std::span<const camera::Camera> cameras);

// The inverse. Tensors of another shape or type, values that are not finite, and different numbers
// of poses and lenses are bad input; the message begins with `what`.
std::vector<camera::Pose> poses_from(const at::Tensor& poses, std::string_view what);
std::vector<camera::Camera> cameras_from(const at::Tensor& poses, const at::Tensor& lenses,
                                         std::string_view what);

}  // namespace loci::sample
