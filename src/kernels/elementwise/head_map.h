// SPDX-License-Identifier: Apache-2.0
// A linear map over the channels of a head, different for each token: 4x4 matrices (projective
// camera geometry) and plane rotations (rotary encodings). The matrices are the same for all heads
// of a token; the angles of the rotations may differ between heads.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/kernels/elementwise/head_map_kernel.h"

namespace loci::kernels {

struct HeadMap {
  using Rotation = PlaneRotations;

  // Channels [tiles_begin, tiles_begin + 4*tiles) in groups of four: y = M x.
  int64_t tiles_begin = 0;
  int64_t tiles = 0;
  // Distance of the four channels of a tile, 1 or 2. With 2, two tiles with the same matrix
  // interleave: channels 0, 2, 4, 6 and 1, 3, 5, 7 of a group of eight.
  int64_t tile_stride = 1;
  // Matrices of a token. Groups of 4*tile_stride channels use them in turn.
  int64_t tile_matrices = 1;
  // [N, M*4, 4] or [B, N, M*4, 4], FP32, with M = tile_matrices; undefined when tiles == 0
  at::Tensor matrices;

  // (a, b) becomes (a cos - b sin, a sin + b cos). The columns of the tables follow `rotations`.
  std::vector<Rotation> rotations;
  at::Tensor cosine, sine;  // [N, P] or [B, N, P], FP32, P = sum of pairs
  // Whether every head has its own angles: the tables are [N, H, P] or [B, N, H, P].
  bool per_head = false;
  // With kDisjoint, tiles and rotations cover different channels. Otherwise they may cover the same
  // channels and apply one after the other.
  MapOrder order = MapOrder::kDisjoint;

  // The transposed map: the gradient of y = map(x). For a pure rotation it is the inverse.
  HeadMap transposed() const;
  // The map of tokens [begin, end).
  HeadMap slice(int64_t begin, int64_t end) const;
  // The map with its tables on `device`.
  HeadMap to(at::Device device) const;
};

// x [B, N, H, D] in any floating-point type. Channels that the map does not cover stay unchanged.
// Computes in FP32 (FP64 for FP64 input) and returns the type of x. Differentiable in x.
at::Tensor head_map(const at::Tensor& x, const HeadMap& map);

// The same with libtorch's operators, for every type and device: the fallback of head_map() and the
// reference of the tests.
at::Tensor head_map_by_libtorch(const at::Tensor& x, const HeadMap& map);

// head_map() with every head scaled to x / sqrt(|x|² + 1e-6), in the same pass.
at::Tensor unit_head_map(const at::Tensor& x, const HeadMap& map);
at::Tensor unit_by_libtorch(const at::Tensor& x);

// addend + gate * head_map(x), in the same pass. addend [B, N, H, D] and gate [B, N, H] may have
// other types than x; the result has the type of addend. Differentiable in all three.
at::Tensor add_gated_head_map(const at::Tensor& addend, const at::Tensor& gate, const at::Tensor& x,
                              const HeadMap& map);
at::Tensor add_gated_head_map_by_libtorch(const at::Tensor& addend, const at::Tensor& gate,
                                          const at::Tensor& x, const HeadMap& map);

}  // namespace loci::kernels
