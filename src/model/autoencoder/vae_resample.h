// SPDX-License-Identifier: Apache-2.0
// Steps between the levels of the video autoencoder: half or double the size, and maybe the rate.
// Activations as in vae_layers.h.
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

#include "loci/model/autoencoder/vae_layers.h"

namespace loci::model {

// Halves the frame, by a convolution of stride 2 that sees one row and column beyond the lower
// right border; in time, pairs of frames after the first of the clip become one.
struct Downsample {
  PixelConv resample;
  at::Tensor time_weight, time_bias;  // [C, C, 3, 1, 1], [C]; undefined when the rate stays
  std::string name;

  Downsample(const Scope& scope, int64_t channels, bool temporal);
  at::Tensor operator()(const at::Tensor& x, const VaePass& pass) const;

 private:
  at::Tensor halve_rate(const at::Tensor& x, const VaePass& pass) const;
};

// Doubles the frame by a convolution, either after repeating pixels or to four times the channels,
// which become pixels of 2x2; in time, every frame but the clip's first becomes two.
struct Upsample {
  bool shuffle;  // channels become pixels
  PixelConv resample;
  std::optional<CausalConv> time_conv;  // C to 2C

  Upsample(const Scope& scope, int64_t channels, bool temporal, bool shuffle);
  at::Tensor operator()(at::Tensor x, const VaePass& pass) const;

 private:
  at::Tensor double_rate(const at::Tensor& x, const VaePass& pass) const;
};

// The encoder's shortcut: pixels of 2x2 (space) and pairs of frames (time) become channels, of
// which groups of equal size are averaged to `out` channels.
at::Tensor shrink_shortcut(const at::Tensor& x, int64_t out, bool space, bool time, bool first);

// Adds the decoder's shortcut to x [T', B, 2H, 2W, out]: channels of `in` [T, B, H, W, C] are
// repeated, then become pixels of 2x2 and pairs of frames. In x's memory when no gradient needs it.
at::Tensor add_grown(at::Tensor x, const at::Tensor& in, bool time, bool first);

// Pixels [B, 3, T, H, W] to activations [T, B, H/p, W/p, 3*p*p] and back; channels in the order
// (colour, column, row).
at::Tensor patchify(const at::Tensor& pixels, int64_t patch);
at::Tensor unpatchify(const at::Tensor& x, int64_t patch);

}  // namespace loci::model
