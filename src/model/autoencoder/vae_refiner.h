// SPDX-License-Identifier: Apache-2.0
// Refines the decoded picture.
//
// The decoder network sees latents. To remove edges between blocks it would have to learn the block
// transform. The refiner sees the picture, where such edges are local.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/model/autoencoder/vae_config.h"
#include "loci/model/autoencoder/vae_layers.h"

namespace loci::model {

struct Refiner {
  CausalConv conv_in, conv_out;
  // Learned vector for a patch's position in its block, [1 + f, s, s, C] for blocks of s x s
  // patches in f frames. The first row is for the first frame of a clip, which has its own latent.
  at::Tensor position;
  std::vector<ResidualBlock> resnets;
  ChannelNorm norm_out;

  Refiner(const Scope& scope, const VaeConfig& config);

  // The picture as patches [T, B, H/p, W/p, 3pp] → the correction to add, zero before training. T
  // is the number of frames of whole latents.
  at::Tensor operator()(const at::Tensor& patches, const VaePass& pass) const;

 private:
  // `place` [T, 1, H/p, W/p, C]: position vectors of all patches.
  at::Tensor correction(const at::Tensor& patches, const at::Tensor& place,
                        const VaePass& pass) const;
};

}  // namespace loci::model
