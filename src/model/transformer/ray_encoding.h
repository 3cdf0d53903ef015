// SPDX-License-Identifier: Apache-2.0
// Ray rotary encoding: channel pairs of the recurrent queries and keys are rotated by phases
// φ = a·d + b·c of the token's ray, d its unit direction in the world and c the camera centre in
// metres, both relative to the first frame. A query and a key then interact through R(φ_i - φ_j).
// The mean of the interaction over pairs is a kernel over rays that depends only on their
// differences. Its width is the inverse of the bandwidths, the standard deviations of a and b.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/base/config.h"

namespace loci::model {

// The section `ray_encoding` of a config.json.
struct RayEncoding {
  // Pair p of a head uses entry p modulo the length of each list.
  std::vector<double> direction_bandwidths = {3, 4, 6};        // per radian
  std::vector<double> centre_bandwidths = {0.25, 0.4, 0.6};  // per metre
  // If not empty, the phases are those of the points at these distances along the ray, in metres:
  // φ = b·(c + r d). Rays from different centres to one surface at distance r then have equal
  // phases. The direction bandwidths have no effect.
  std::vector<double> distances;
  bool tiles = true;      // keep the projection of chunk_kda in channels 12:28
  bool values = false;    // rotate values like keys, and readouts back
  int64_t channels = 84;  // the last channels of a head are rotated: 84 or, without tiles, 128
  uint64_t seed = 0;      // of the frequencies

  int64_t pairs() const { return channels / 2; }
  bool operator==(const RayEncoding&) const = default;

  // Values out of range and contradictions are bad input.
  static RayEncoding from(const ConfigReader& reader);
  Json to_json() const;
};

// The coefficients (a, b) of the phases, FP64 [heads, pairs, 6]. `block` counts the hybrid blocks.
// They are determined by the seed, the block, the head and the pair.
at::Tensor ray_frequencies(const RayEncoding& encoding, int64_t block, int64_t heads);

// Phases of rays [..., 6] (direction, centre): [..., heads, pairs], FP64.
at::Tensor ray_phases(const at::Tensor& rays, const at::Tensor& frequencies);

}  // namespace loci::model
