// SPDX-License-Identifier: Apache-2.0
// Cutting large frames into overlapping tiles and joining what comes out of them.
//
// Only the finest levels of the autoencoder's networks are tiled, which is where its memory goes.
// The coarse levels and attention see the whole frame, so tiles never disagree about a picture's
// brightness or content, only about what lies within the reach of a few convolutions of their
// borders.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/model/autoencoder/vae_config.h"

namespace loci::model {

// In pixels, multiples of a latent's side (16).
struct VaeTiling {
  int64_t tile = 0;      // side of a tile; 0: whole frames
  int64_t overlap = 64;  // that neighbours share at least

  bool operator==(const VaeTiling&) const = default;

  // Refuses sides that do not divide into latents, and an overlap above half a tile.
  void check(const VaeConfig& config) const;
};

// Of one axis, in latents.
struct TileSpan {
  int64_t begin = 0, size = 0;
  int64_t end() const { return begin + size; }

  bool operator==(const TileSpan&) const = default;
};

// As few spans of `tile` as cover `length` with neighbours sharing `overlap` or more, evenly
// placed; a single one when it fits.
std::vector<TileSpan> tile_axis(int64_t length, int64_t tile, int64_t overlap);

// The share that span `index` has in the result, [size * scale] for `scale` positions a latent; the
// shares of all spans add up to 1 everywhere. Towards a neighbour it falls linearly, but is zero in
// the outer part of the overlap, up to `reach` positions and three eighths of it, where the tile
// misses what lies beyond its border.
at::Tensor tile_shares(const std::vector<TileSpan>& spans, size_t index, int64_t scale,
                       int64_t reach);

// How a network's finest levels are cut, for activations [T, B, H, W, C] of `in` positions a latent
// that become `out` positions a latent.
struct TilePlan {
  std::vector<TileSpan> rows, columns;
  int64_t in = 1, out = 1;
  int64_t reach = 0;  // of the convolutions, in positions of the result

  TilePlan(const VaeTiling& tiling, int64_t height, int64_t width, int64_t in, int64_t out,
           int64_t latent, int64_t reach);
  bool whole() const { return rows.size() * columns.size() == 1; }

  // Runs every tile of x and joins the results. `run` also gets the tile's number as a name.
  at::Tensor operator()(
      const at::Tensor& x,
      const std::function<at::Tensor(const at::Tensor& tile, const std::string& name)>& run) const;
};

}  // namespace loci::model
