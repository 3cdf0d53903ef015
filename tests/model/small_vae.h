// SPDX-License-Identifier: Apache-2.0
// The config of a very small autoencoder.
#pragma once

#include "loci/model/autoencoder/vae_config.h"

namespace loci::model {

// With a block transform; 8x8 pixels and 4 frames per latent, 4x4 patches per block.
inline VaeConfig small_vae_config() {
  VaeConfig config;
  config.base_dim = 4;
  config.decoder_base_dim = 4;
  config.z_dim = 6;
  config.dim_mult = {1, 2, 2};
  config.num_res_blocks = 1;
  config.temporal_downsample = {true, true};
  config.patch_size = 2;
  config.block_transform = true;
  config.latents_mean.assign(6, 0.0);
  config.latents_std.assign(6, 1.0);
  return config;
}

}  // namespace loci::model
