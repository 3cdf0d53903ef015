// SPDX-License-Identifier: Apache-2.0
// Projective matrices of whole frames: P = diag(fx, fy, 1, 1) W with W world to camera, for models
// whose attention maps every channel of a head by the camera of the token's frame.
#pragma once

#include <array>
#include <optional>
#include <span>

#include <ATen/core/Tensor.h>

#include "loci/camera/camera.h"

namespace loci::camera {

struct ProjectionOptions {
  // Frames of a latent that have their own camera.
  int64_t cameras_per_latent = 1;
  // Translations t of W are divided by this scale, or become t log(1 + |t|) / (4 |t|).
  double translation_scale = 1;
  bool logarithmic = false;
  // Compute the matrices in BF16 from poses and focal lengths in pixels that are rounded to BF16,
  // as the authors' program does for pictures of this width and height.
  std::optional<std::array<double, 2>> bf16_image;
  // fx / width and fy / height for all frames. Without them, those of each camera's lens. The
  // principal point is not used.
  std::optional<std::array<double, 2>> focal;

  bool operator==(const ProjectionOptions&) const = default;
};

struct FrameProjections {
  at::Tensor project;    // [latents, cameras_per_latent * 4, 4] FP32: P of every camera
  at::Tensor unproject;  // P⁻¹
};

// `aspect` is width / height of the frames, for lenses with a field of view only. The number of
// cameras is a multiple of cameras_per_latent. Computed in FP64.
FrameProjections frame_projections(std::span<const Camera> cameras, double aspect,
                                   const ProjectionOptions& options);

}  // namespace loci::camera
