// SPDX-License-Identifier: Apache-2.0
// A linear map between blocks of pixels and latents, used instead of an encoder network or below one.
//
// The first latent of a clip encodes a block of 16x16 pixels of one frame (768 numbers), every
// later latent a block of 16x16 pixels of 4 frames (3,072 numbers). The map is fitted to the
// principal components of clips (train/autoencoder/transform_fit.h), which gives the smallest error
// of all linear maps. It is cheap, and an error in latent space has the same size in pixel space.
#pragma once

#include <ATen/core/Tensor.h>

#include "loci/model/autoencoder/vae_config.h"
#include "loci/model/weights/parameters.h"

namespace loci::model {

struct BlockTransform {
  // The map of one kind of block. Numbers of a block are ordered (colour, frame, row, column).
  struct Map {
    at::Tensor analysis, analysis_bias;    // [z, numbers], [z]
    at::Tensor synthesis, synthesis_bias;  // [numbers, z], [numbers]
    int64_t frames = 1;
  };
  Map image, clip;
  int64_t side = 16;  // side of a block in pixels

  BlockTransform(Parameters& parameters, const VaeConfig& config);

  // Pixels [B, 3, T, H, W] → latents [T', B, h, w, z]. `first`: the pixels begin the clip, so the
  // first frame becomes one latent.
  at::Tensor encode(const at::Tensor& pixels, bool first) const;
  // The inverse of encode().
  at::Tensor decode(const at::Tensor& latents, bool first) const;

  // Pixels → rows [T/frames, B, h, w, numbers] of whole blocks, and the inverse.
  static at::Tensor blocks(const at::Tensor& pixels, int64_t frames, int64_t side);
  static at::Tensor pixels(const at::Tensor& blocks, int64_t frames, int64_t side);
};

}  // namespace loci::model
