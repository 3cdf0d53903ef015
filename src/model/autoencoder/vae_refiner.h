// SPDX-License-Identifier: Apache-2.0
// A last look at the decoded picture.
//
// The decoder's network sees latents and would have to redo the block transform to know how its
// blocks meet. This one sees the picture: joining what does not quite meet is then a local matter.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/model/autoencoder/vae_config.h"
#include "loci/model/autoencoder/vae_layers.h"

namespace loci::model {

struct Refiner {
  CausalConv conv_in, conv_out;
  // What is added where in its block a patch lies, [1 + f, s, s, C] for blocks of s x s patches in
  // f frames; the first row is for a clip's first frame, which has a latent of its own.
  at::Tensor position;
  std::vector<ResidualBlock> resnets;
  ChannelNorm norm_out;

  Refiner(const Scope& scope, const VaeConfig& config);

  // The picture as patches [T, B, H/p, W/p, 3pp] to what is to be added to it; nothing at first.
  // T: the frames of whole latents.
  at::Tensor operator()(const at::Tensor& patches, const VaePass& pass) const;

 private:
  // `place` [T, 1, H/p, W/p, C]: the positions of all patches.
  at::Tensor look(const at::Tensor& patches, const at::Tensor& place, const VaePass& pass) const;
};

}  // namespace loci::model
