// SPDX-License-Identifier: Apache-2.0
// Which parts of earlier frames show what a frame shows, by geometry alone.
#pragma once

#include <span>

#include <ATen/core/Tensor.h>

#include "loci/camera/camera.h"
#include "loci/camera/geometry.h"
#include "loci/camera/lens.h"

namespace loci::eval {

// Where a frame was taken and, where that is known, how far away is what it shows.
struct FrameView {
  camera::Camera camera;
  at::Tensor depth;  // float [H, W], metres along the ray, infinite for sky; may be undefined
};

// Tokens of past frames that show what the frame's tokens show: bool [T, frames * T], T tokens row
// by row. With depth everywhere, points of the surface that a token shows (4 by 4 of them) are
// looked for in the past frames, at the depth that these have there up to 5 % and 10 cm; a quarter
// of them must be in a token. Sky is nowhere. Without depth, a token shows the points 1, 2, 4, 8
// and 16 m away on the ray through its centre, nothing hides them, and one is enough: a proxy.
at::Tensor covisible_tokens(const FrameView& frame, std::span<const FrameView> past,
                            const camera::TokenGrid& grid);

// Pixels of the frame whose surface some past frame shows: bool [H, W]. All must have depth.
at::Tensor seen_before(const FrameView& frame, std::span<const FrameView> past);

}  // namespace loci::eval
