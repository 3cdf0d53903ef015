// SPDX-License-Identifier: Apache-2.0
// Divides large frames into overlapping tiles and blends the results.
//
// Only the finest levels of the autoencoder's networks are tiled, because they need the most
// memory. The coarse levels and attention see the whole frame. Tiles therefore differ only near
// their borders, within the reach of a few convolutions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/model/autoencoder/vae_config.h"

namespace loci::model {

// Sizes in pixels, multiples of a latent's side (16).
struct VaeTiling {
  int64_t tile = 0;      // side of a tile; 0 = no tiling
  int64_t overlap = 64;  // minimum overlap of neighbours

  bool operator==(const VaeTiling&) const = default;

  // Rejects sizes that are not multiples of a latent's side, and an overlap above half a tile.
  void check(const VaeConfig& config) const;
};

// A tile along one axis, in latents.
struct TileSpan {
  int64_t begin = 0, size = 0;
  int64_t end() const { return begin + size; }

  bool operator==(const TileSpan&) const = default;
};

// The minimum number of spans of size `tile` that cover `length` with neighbours overlapping by at
// least `overlap`, evenly placed; a single span if it fits.
std::vector<TileSpan> tile_axis(int64_t length, int64_t tile, int64_t overlap);

// Blending weights of span `index`, [size * scale] with `scale` positions per latent. The weights
// of all spans sum to 1 at every position. They fall linearly towards a neighbour and are zero in
// the outer part of the overlap, whose results lack context beyond the border: `reach` positions,
// but at most three eighths of the overlap.
at::Tensor tile_shares(const std::vector<TileSpan>& spans, size_t index, int64_t scale,
                       int64_t reach);

// The tiles of a network's finest levels, for activations [T, B, H, W, C] with `in` positions per
// latent that become `out` positions per latent.
struct TilePlan {
  std::vector<TileSpan> rows, columns;
  int64_t in = 1, out = 1;
  int64_t reach = 0;  // reach of the convolutions in positions of the result

  TilePlan(const VaeTiling& tiling, int64_t height, int64_t width, int64_t in, int64_t out,
           int64_t latent, int64_t reach);
  bool whole() const { return rows.size() * columns.size() == 1; }

  // Runs every tile of x and blends the results. `run` also gets a unique name of the tile.
  at::Tensor operator()(
      const at::Tensor& x,
      const std::function<at::Tensor(const at::Tensor& tile, const std::string& name)>& run) const;
};

}  // namespace loci::model
