// SPDX-License-Identifier: Apache-2.0
// Geometry of every token of consecutive latent frames: rays, ray frames, the absolute map and the
// projections that condition attention and recurrent memory. All layers and denoising steps share
// one computation.
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

// Unit direction (camera axes) of the ray through token (row, column). The lens is centred on
// (columns/2, rows/2); tokens have integer coordinates. The zero vector where the lens has no ray
// (xi > 1).
Vec3 token_ray(const TokenGrid& grid, int64_t row, int64_t column, const Lens& lens);

// The grid coordinates of a direction in camera axes: the inverse of token_ray. Directions outside
// the lens's view map to points far outside the grid, on the side that the direction points to.
struct GridPoint {
  double column = 0, row = 0;
};
GridPoint project_to_grid(const TokenGrid& grid, const Vec3& direction, const Lens& lens);

// FP32, on the CPU; F frames of T tokens. For a token without a ray (xi > 1), the absolute map and
// the ray axes are zero: its matrices contain the homogeneous coordinate and the translation only.
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
// first frames of the chunks. The rays of a chunk use the lens of the chunk's first frame; K̄ and
// the absolute map use the lens of each frame. Translations in P are divided by
// `translation_scale`.
FrameGeometry frame_geometry(std::span<const Camera> cameras, std::span<const int64_t> chunk_starts,
                             const TokenGrid& grid, double translation_scale);

}  // namespace loci::camera
