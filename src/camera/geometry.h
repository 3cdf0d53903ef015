// SPDX-License-Identifier: Apache-2.0
// The geometry of a run of frames, token by token: rays, ray frames, the absolute map and the
// projections that condition attention and recurrent memory. Computed once and shared by all
// layers and denoising steps.
#pragma once

#include <span>

#include <ATen/core/Tensor.h>

#include "loci/camera/camera.h"

namespace loci::camera {

// Tokens of one latent frame, row by row.
struct TokenGrid {
  int64_t rows = 0;
  int64_t columns = 0;

  int64_t tokens() const { return rows * columns; }
  bool operator==(const TokenGrid&) const = default;
};

// Unit direction (camera axes) in which token (row, column) looks. The lens is centred on
// (columns/2, rows/2) and tokens sit on whole numbers. Zero where the lens sees nothing (xi > 1).
Vec3 token_ray(const TokenGrid& grid, int64_t row, int64_t column, const Lens& lens);

// Where a camera-axes direction falls on the grid, in tokens: the inverse of token_ray. Directions
// the lens cannot see fall far outside, on the side they point to.
struct GridPoint {
  double column = 0, row = 0;
};
GridPoint project_to_grid(const TokenGrid& grid, const Vec3& direction, const Lens& lens);

// FP32, on the CPU. F frames of T tokens. A token without a ray (xi > 1) has a zero absolute map
// and ray axes of zero: its matrices carry the homogeneous coordinate and the translation only.
struct FrameGeometry {
  TokenGrid grid;
  at::Tensor absolute;   // [F, T, 3] image direction of world up (x, y) and latitude of the ray
  at::Tensor to_ray;     // [F, T, 4, 4] E: world to the token's ray frame
  at::Tensor from_ray;   // [F, T, 4, 4] E⁻¹
  at::Tensor project;    // [F, T, 4, 4] P = lift(K̄) E with the translation scaled
  at::Tensor unproject;  // [F, T, 4, 4] P⁻¹

  int64_t frames() const { return to_ray.size(0); }
};

// The poses of `cameras` are relative to the first frame of the stream. `chunk_starts` are the
// frames at which chunks begin: rays of a whole chunk use the lens of its first frame, K̄ and the
// absolute map use each frame's own. Translations in P are divided by `translation_scale`.
FrameGeometry frame_geometry(std::span<const Camera> cameras, std::span<const int64_t> chunk_starts,
                             const TokenGrid& grid, double translation_scale);

}  // namespace loci::camera
