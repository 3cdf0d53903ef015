// SPDX-License-Identifier: Apache-2.0
// Steps between the levels of the video autoencoder: they halve or double the frame size and, if
// temporal, the frame rate.
// Activations as in vae_layers.h.
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

#include "loci/model/autoencoder/vae_layers.h"

namespace loci::model {

// Halves the frame size by a convolution of stride 2, padded by one row and column at the lower
// right. If temporal, pairs of frames after the first frame of the clip become one frame.
struct Downsample {
  PixelConv resample;
  at::Tensor time_weight, time_bias;  // [C, C, 3, 1, 1], [C]; undefined if the rate stays
  std::string name;

  Downsample(const Scope& scope, int64_t channels, bool temporal);
  at::Tensor operator()(const at::Tensor& x, const VaePass& pass) const;

 private:
  at::Tensor halve_rate(const at::Tensor& x, const VaePass& pass) const;
};

// Doubles the frame size by a convolution, either after repeating pixels or by pixel shuffle. If
// temporal, every frame but the first of the clip becomes two frames.
struct Upsample {
  bool shuffle;  // pixel shuffle: channels become 2x2 pixels
  PixelConv resample;
  std::optional<CausalConv> time_conv;  // C to 2C

  Upsample(const Scope& scope, int64_t channels, bool temporal, bool shuffle);
  at::Tensor operator()(at::Tensor x, const VaePass& pass) const;

 private:
  at::Tensor double_rate(const at::Tensor& x, const VaePass& pass) const;
};

// The encoder's shortcut: 2x2 pixels (space) and pairs of frames (time) become channels, which are
// averaged in groups of equal size to `out` channels.
at::Tensor shrink_shortcut(const at::Tensor& x, int64_t out, bool space, bool time, bool first);

// Adds the decoder's shortcut to x [T', B, 2H, 2W, out]: channels of `in` [T, B, H, W, C] are
// repeated and become 2x2 pixels and pairs of frames. Computed in the memory of x if no gradient is
// needed.
at::Tensor add_grown(at::Tensor x, const at::Tensor& in, bool time, bool first);

// Pixels [B, 3, T, H, W] → activations [T, B, H/p, W/p, 3*p*p] and the inverse. Channels are
// ordered (colour, column, row).
at::Tensor patchify(const at::Tensor& pixels, int64_t patch);
at::Tensor unpatchify(const at::Tensor& x, int64_t patch);

}  // namespace loci::model
