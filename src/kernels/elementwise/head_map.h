// SPDX-License-Identifier: Apache-2.0
// A linear map over the channels of every head that differs from token to token but not from head
// to head: 4x4 tiles (projective camera geometry) and plane rotations (rotary encodings).
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
  at::Tensor matrices;  // [N, 4, 4] or [B, N, 4, 4], FP32; undefined when tiles == 0

  // (a, b) becomes (a cos - b sin, a sin + b cos). The tables' columns follow `rotations` in order.
  std::vector<Rotation> rotations;
  at::Tensor cosine, sine;  // [N, P] or [B, N, P], FP32, P = sum of pairs

  // The transposed map: the gradient of y = map(x), and the inverse of a pure rotation.
  HeadMap transposed() const;
  // Tokens [begin, end).
  HeadMap slice(int64_t begin, int64_t end) const;
  // Tables on that device.
  HeadMap to(at::Device device) const;
};

// x [B, N, H, D] in any floating type; channels the map does not name pass unchanged. Computed in
// FP32 (FP64 for FP64 input), returned in x's type. Differentiable in x.
at::Tensor head_map(const at::Tensor& x, const HeadMap& map);

// The same in plain ATen operations, for every type and device: what head_map() falls back on, and
// what tests hold it to.
at::Tensor head_map_by_libtorch(const at::Tensor& x, const HeadMap& map);

// head_map() with every head scaled to x / sqrt(|x|² + 1e-6), in the same pass.
at::Tensor unit_head_map(const at::Tensor& x, const HeadMap& map);
at::Tensor unit_by_libtorch(const at::Tensor& x);

// addend + gate * head_map(x), in the same pass. addend [B, N, H, D], gate [B, N, H] and x, whose
// types need not be the same; given in addend's. Differentiable in all three.
at::Tensor add_gated_head_map(const at::Tensor& addend, const at::Tensor& gate, const at::Tensor& x,
                              const HeadMap& map);
at::Tensor add_gated_head_map_by_libtorch(const at::Tensor& addend, const at::Tensor& gate,
                                          const at::Tensor& x, const HeadMap& map);

}  // namespace loci::kernels
