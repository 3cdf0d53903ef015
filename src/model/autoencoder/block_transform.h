// SPDX-License-Identifier: Apache-2.0
// A linear map between blocks of pixels and latents: what an autoencoder can do without a network.
//
// A latent after the first stands for a block of 16x16 pixels of 4 frames (3,072 numbers), the
// first for one of a single frame (768). Fitted to principal components (train/autoencoder/transform_fit.h),
// the map loses the least that any linear one can, costs next to nothing, and leaves latents whose
// errors are those of the pixels.
#pragma once

#include <ATen/core/Tensor.h>

#include "loci/model/weights/parameters.h"
#include "loci/model/autoencoder/vae_config.h"

namespace loci::model {

struct BlockTransform {
  // Of one kind of block, whose numbers are in the order (colour, frame, row, column).
  struct Map {
    at::Tensor analysis, analysis_bias;    // [z, numbers], [z]
    at::Tensor synthesis, synthesis_bias;  // [numbers, z], [numbers]
    int64_t frames = 1;
  };
  Map image, clip;
  int64_t side = 16;  // of a block, in pixels

  BlockTransform(Parameters& parameters, const VaeConfig& config);

  // Pixels [B, 3, T, H, W] to [T', B, h, w, z]. `first`: the clip begins here, so that the first
  // frame has a latent of its own.
  at::Tensor encode(const at::Tensor& pixels, bool first) const;
  // Back to pixels.
  at::Tensor decode(const at::Tensor& latents, bool first) const;

  // Pixels of whole blocks as rows [T/frames, B, h, w, numbers], and back.
  static at::Tensor blocks(const at::Tensor& pixels, int64_t frames, int64_t side);
  static at::Tensor pixels(const at::Tensor& blocks, int64_t frames, int64_t side);
};

}  // namespace loci::model
