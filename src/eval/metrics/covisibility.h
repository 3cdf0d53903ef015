// SPDX-License-Identifier: Apache-2.0
// Co-visibility: which parts of earlier frames show the same surface as a frame, by geometry.
#pragma once

#include <span>

#include <ATen/core/Tensor.h>

#include "loci/camera/geometry.h"
#include "loci/eval/metrics/depth_frame.h"

namespace loci::eval {

// Co-visible tokens of past frames for every token of `frame`: bool [T, frames * T], T tokens in
// row-major order. If all frames have depth, 4x4 surface points per token are projected into the
// past frames. A point counts if the depth there agrees within 5 % plus 10 cm; a past token is
// co-visible if it contains at least a quarter of the points. Sky is never co-visible. Without
// depth, a proxy is used: the points at 1, 2, 4, 8 and 16 m on the ray through the centre of the
// token, without occlusion; one point suffices.
at::Tensor covisible_tokens(const DepthFrame& frame, std::span<const DepthFrame> past,
                            const camera::TokenGrid& grid);

// Pixels of the frame whose surface is visible in a past frame: bool [H, W]. All frames must have
// depth.
at::Tensor seen_before(const DepthFrame& frame, std::span<const DepthFrame> past);

}  // namespace loci::eval
