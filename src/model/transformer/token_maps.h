// SPDX-License-Identifier: Apache-2.0
// The head maps of consecutive frames: rotary encodings of softmax attention and projective maps of
// the recurrent branch and of the camera branch. They are computed once per chunk (or training
// window) and shared by all layers and denoising steps.
#pragma once

#include <span>

#include <ATen/core/Tensor.h>

#include "loci/camera/geometry.h"
#include "loci/kernels/elementwise/head_map.h"

namespace loci::model {

// Head channels of the backbone's rotary encoding: 22 temporal pairs, 21 for rows, 21 for columns.
inline constexpr int64_t kTimePairs = 22;
inline constexpr int64_t kRowPairs = 21;
inline constexpr int64_t kColumnPairs = 21;

struct TokenMaps {
  int64_t frames = 0;
  camera::TokenGrid grid;
  kernels::HeadMap rotary;            // queries and keys of softmax attention
  kernels::HeadMap recurrent_query;   // Pᵀ, patch and spatial rotations
  kernels::HeadMap recurrent_key;     // P⁻¹, the same rotations
  kernels::HeadMap recurrent_value;   // P⁻¹, patch rotations only
  kernels::HeadMap recurrent_output;  // inverse of recurrent_value
  kernels::HeadMap camera_query;      // Eᵀ and patch rotations
  kernels::HeadMap camera_key;        // E⁻¹ and patch rotations, for keys and values
  kernels::HeadMap camera_output;     // inverse of camera_key
  at::Tensor absolute;                // [N, 3] or [B, N, 3], input of the camera encoder

  int64_t tokens() const { return frames * grid.tokens(); }
  TokenMaps to(at::Device device) const;
};

// One geometry per sample of the batch, or one for all samples. `times` are the temporal positions
// of the frames. Without `projective` the recurrent maps do not depend on the camera.
TokenMaps make_token_maps(std::span<const camera::FrameGeometry> geometries,
                          std::span<const double> times, bool projective);

// Rotates the keys of past frames by differences of temporal position, one per frame.
kernels::HeadMap time_shift(std::span<const double> shifts, int64_t tokens_per_frame);

}  // namespace loci::model
