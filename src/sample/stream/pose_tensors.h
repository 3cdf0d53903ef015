// SPDX-License-Identifier: Apache-2.0
// Poses and lenses as tensors of doubles, exact, for files.
#pragma once

#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/camera/pose.h"

namespace loci::sample {

// [n, 12]: the rotation row by row, then the position.
at::Tensor pose_tensor(std::span<const camera::Pose> poses);
// [n, 7]: field of view, xi, whether the four normalised numbers follow.
at::Tensor lens_tensor(std::span<const camera::Lens> lenses);

// Back; another shape or type, or numbers that are not finite, are bad input naming `what`.
std::vector<camera::Pose> poses_from(const at::Tensor& tensor, std::string_view what);
std::vector<camera::Lens> lenses_from(const at::Tensor& tensor, std::string_view what);

}  // namespace loci::sample
