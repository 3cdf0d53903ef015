// SPDX-License-Identifier: Apache-2.0
// The two networks of the Wan2.2 video autoencoder. Activations as in vae_layers.h; names of
// parameters as in Diffusers' AutoencoderKLWan.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/model/autoencoder/vae_config.h"
#include "loci/model/autoencoder/vae_layers.h"
#include "loci/model/autoencoder/vae_resample.h"

namespace loci::model {

// Frames as patches [T, B, H/p, W/p, 3pp] → mean and log variance [T', B, h, w, 2z]. With a block
// transform: the correction to its latents, [T', B, h, w, z], which is zero before training.
struct EncoderNetwork {
  struct Level {
    std::vector<ResidualBlock> resnets;
    std::optional<Downsample> downsampler;
    int64_t out = 0;
    bool temporal = false;

    at::Tensor operator()(at::Tensor x, const VaePass& pass) const;
  };

  CausalConv conv_in, conv_out;
  std::vector<Level> down_blocks;
  MiddleBlock mid_block;
  ChannelNorm norm_out;

  EncoderNetwork(const Scope& scope, const VaeConfig& config);
  at::Tensor operator()(const at::Tensor& patches, const VaePass& pass) const;

  // Number of levels that are tiled: the two finest, if coarser levels follow.
  size_t tiled_levels() const { return std::min<size_t>(2, down_blocks.size() - 1); }

 private:
  // The first convolution and the levels below tiled_levels().
  at::Tensor start(const at::Tensor& patches, const VaePass& pass) const;

  int64_t latent_ = 0, patch_ = 0;  // side of a latent and of a patch in pixels
  int64_t reach_ = 0;               // reach of a tile's convolutions in patches
};

// Latents [T', B, h, w, z] → frames as patches [T, B, H/p, W/p, 3pp].
struct DecoderNetwork {
  struct Level {
    std::vector<ResidualBlock> resnets;
    std::optional<Upsample> upsampler;
    int64_t out = 0;
    bool temporal = false;

    at::Tensor operator()(at::Tensor x, const VaePass& pass) const;
  };

  CausalConv conv_in, conv_out;
  MiddleBlock mid_block;
  std::vector<Level> up_blocks;
  ChannelNorm norm_out;

  DecoderNetwork(const Scope& scope, const VaeConfig& config);
  at::Tensor operator()(const at::Tensor& latents, const VaePass& pass) const;

  // The first level that is tiled.
  size_t first_tiled() const { return up_blocks.size() - std::min<size_t>(2, up_blocks.size()); }

 private:
  // Runs the levels from `level` on. Large frames pass one at a time.
  at::Tensor finish(at::Tensor x, size_t level, const VaePass& pass) const;
  at::Tensor finish_tiles(const at::Tensor& x, const VaePass& pass) const;

  int64_t latent_ = 0, patch_ = 0;  // side of a latent and of a patch in pixels
  int64_t reach_ = 0;               // reach of a tile's convolutions in patches
};

}  // namespace loci::model
