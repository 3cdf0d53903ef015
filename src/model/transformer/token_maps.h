// SPDX-License-Identifier: Apache-2.0
// The head maps of consecutive frames: rotary encodings of softmax attention and projective maps of
// the recurrent branch and of the camera branch. They are computed once per chunk (or training
// window) and shared by all layers and denoising steps.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/camera/geometry.h"
#include "loci/kernels/elementwise/head_map.h"
#include "loci/memory/recurrent/recurrent_memory.h"
#include "loci/model/transformer/ray_encoding.h"

namespace loci::model {

inline constexpr int64_t kHeadChannels = 128;
// Head channels of the backbone's rotary encoding: 22 temporal pairs, 21 for rows, 21 for columns.
inline constexpr int64_t kTimePairs = 22;
inline constexpr int64_t kRowPairs = 21;
inline constexpr int64_t kColumnPairs = 21;

// The maps of a recurrent branch. The paper's: Pᵀ or P⁻¹ in four tiles, patch rotations, and the
// backbone's spatial rotations of queries and keys.
struct RecurrentMaps {
  kernels::HeadMap query;
  kernels::HeadMap key;
  kernels::HeadMap value;
  kernels::HeadMap output;  // inverse of `value`
};

// Maps of softmax attention that depend on the camera: the backbone's rotary encoding of queries
// and keys, then P of the token's frame: Pᵀ for queries, P⁻¹ for keys and values, P for the output.
struct ProjectedMaps {
  kernels::HeadMap query;
  kernels::HeadMap key;
  kernels::HeadMap value;
  kernels::HeadMap output;  // inverse of `value`
};

// What the recurrent maps depend on besides the geometry.
struct RecurrentMapping {
  memory::KeyEncoding encoding = memory::KeyEncoding::kProjective;
  // For KeyEncoding::kRay, otherwise unchanged: the encoding, and the number of hybrid blocks and
  // of their recurrent heads, each of which has its own frequencies.
  RayEncoding ray;
  int64_t blocks = 1, heads = 1;

  bool operator==(const RecurrentMapping&) const = default;
};

struct TokenMaps {
  int64_t frames = 0;
  camera::TokenGrid grid;
  kernels::HeadMap rotary;  // queries and keys of softmax attention without `projected`
  std::optional<ProjectedMaps> projected;
  // One for all hybrid blocks, or one per hybrid block if they differ.
  std::vector<RecurrentMaps> recurrent;
  kernels::HeadMap camera_query;   // Eᵀ and patch rotations; or Pᵀ
  kernels::HeadMap camera_key;     // E⁻¹ and patch rotations, or P⁻¹, for keys and values
  kernels::HeadMap camera_output;  // inverse of camera_key
  at::Tensor absolute;  // [N, 3] or [B, N, 3], input of the camera encoder; undefined without one

  int64_t tokens() const { return frames * grid.tokens(); }
  // The maps of the hybrid block with this number, counted from zero.
  const RecurrentMaps& recurrent_of(int64_t block) const;
  TokenMaps to(at::Device device) const;
};

// One geometry per sample of the batch, or one for all samples. `times` are the temporal positions
// of the frames.
TokenMaps make_token_maps(std::span<const camera::FrameGeometry> geometries,
                          std::span<const double> times, const RecurrentMapping& mapping);

// The backbone's rotary encoding of whole frames with these temporal positions.
kernels::HeadMap rotary_map(std::span<const double> times, const camera::TokenGrid& grid);

// Tiles of P, its inverse or its transpose over all channels. `matrices` are those of
// camera::FrameProjections; every matrix applies to all tokens of its frame.
kernels::HeadMap projection_map(const at::Tensor& matrices, int64_t tokens_per_frame,
                                int64_t tile_stride);
// The rotary encoding, then the tiles.
kernels::HeadMap rotary_projection_map(std::span<const double> times, const camera::TokenGrid& grid,
                                       const at::Tensor& matrices, int64_t tile_stride);

// The map of the tokens `index` (integers), and that of the tokens of several maps in a row. Tables
// are shared by all samples.
kernels::HeadMap selected(const kernels::HeadMap& map, const at::Tensor& index);
kernels::HeadMap joined(std::span<const kernels::HeadMap> maps);

// Direction and camera centre of every token's ray in the world, [N, 6].
at::Tensor token_rays(const camera::FrameGeometry& geometry);

// Rotates the keys of past frames by differences of temporal position, one per frame.
kernels::HeadMap time_shift(std::span<const double> shifts, int64_t tokens_per_frame);

}  // namespace loci::model
