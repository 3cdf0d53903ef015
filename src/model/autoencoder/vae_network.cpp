// SPDX-License-Identifier: Apache-2.0
#include "loci/model/autoencoder/vae_network.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace loci::model {

namespace {

// Initial weights of the last convolution of a network with `in` channels. With a block transform,
// the networks start with zero output.
Initialiser last_weights(const VaeConfig& config, int64_t in) {
  return config.block_transform ? Initialiser(init::zeros) : init::fan_in(in * 27);
}

}  // namespace

EncoderNetwork::EncoderNetwork(const Scope& scope, const VaeConfig& config)
    : conv_in(scope["conv_in"], config.patch_channels(), config.base_dim, 3),
      conv_out(scope["conv_out"], config.base_dim * config.dim_mult.back(),
               config.encoder_channels(), 3,
               last_weights(config, config.base_dim * config.dim_mult.back())),
      mid_block(scope["mid_block"], config.base_dim * config.dim_mult.back()),
      norm_out(scope["norm_out"], config.base_dim * config.dim_mult.back()),
      latent_(config.spatial_factor()),
      patch_(config.patch_size) {
  int64_t in = config.base_dim;
  for (size_t i = 0; i < config.dim_mult.size(); ++i) {
    const Scope here = scope["down_blocks"][static_cast<int64_t>(i)];
    Level& level = down_blocks.emplace_back();
    level.out = config.base_dim * config.dim_mult[i];
    for (int64_t j = 0; j < config.num_res_blocks; ++j) {
      level.resnets.emplace_back(here["resnets"][j], in, level.out);
      in = level.out;
    }
    if (i + 1 == config.dim_mult.size()) break;
    level.temporal = config.temporal_downsample[i];
    level.downsampler.emplace(here["downsampler"], level.out, level.temporal);
  }
  // Two convolutions per residual block; the step to the next level reaches two positions further.
  reach_ = 1;
  for (size_t i = 0; i < tiled_levels(); ++i) reach_ += (2 * config.num_res_blocks + 2) << i;
}

at::Tensor EncoderNetwork::Level::operator()(at::Tensor x, const VaePass& pass) const {
  const at::Tensor around =
      shrink_shortcut(x, out, downsampler.has_value(), temporal, pass.first());
  for (const ResidualBlock& resnet : resnets) x = resnet(std::move(x), pass);
  if (downsampler) x = (*downsampler)(x, pass);
  return add_to(std::move(x), around);
}

at::Tensor EncoderNetwork::start(const at::Tensor& patches, const VaePass& pass) const {
  at::Tensor x;
  size_t level = 0;
  if (tiled_levels() > 0 && !down_blocks[0].temporal && pass.singly(patches, conv_in.out())) {
    std::vector<at::Tensor> parts;
    for (int64_t t = 0; t < patches.size(0); ++t) {
      parts.push_back(down_blocks[0](conv_in(patches.narrow(0, t, 1), pass), pass));
    }
    x = at::cat(parts);
    level = 1;
  } else {
    x = conv_in(patches, pass);
  }
  for (; level < tiled_levels(); ++level) x = down_blocks[level](std::move(x), pass);
  return x;
}

at::Tensor EncoderNetwork::operator()(const at::Tensor& patches, const VaePass& pass) const {
  const size_t tiled = tiled_levels();
  const int64_t fine = latent_ / patch_, coarse = fine >> tiled;
  const TilePlan plan(pass.tiling, patches.size(2), patches.size(3), fine, coarse, latent_,
                      1 + (reach_ >> tiled));
  at::Tensor x = plan.whole() ? start(patches, pass)
                              : plan(patches, [&](const at::Tensor& tile, const std::string& name) {
                                  return start(tile, {pass.cache, {}, name});
                                });
  for (size_t level = tiled; level < down_blocks.size(); ++level) {
    x = down_blocks[level](std::move(x), pass);
  }
  x = mid_block(std::move(x), pass);
  return conv_out(norm_out.silu(std::move(x)), pass);
}

DecoderNetwork::DecoderNetwork(const Scope& scope, const VaeConfig& config)
    : conv_in(scope["conv_in"], config.z_dim, config.decoder_base_dim * config.dim_mult.back(), 3),
      conv_out(scope["conv_out"], config.decoder_base_dim * config.dim_mult.front(),
               config.patch_channels(), 3,
               last_weights(config, config.decoder_base_dim * config.dim_mult.front())),
      mid_block(scope["mid_block"], config.decoder_base_dim * config.dim_mult.back()),
      norm_out(scope["norm_out"], config.decoder_base_dim * config.dim_mult.front()),
      latent_(config.spatial_factor()),
      patch_(config.patch_size) {
  const size_t levels = config.dim_mult.size();
  int64_t in = config.decoder_base_dim * config.dim_mult.back();
  for (size_t i = 0; i < levels; ++i) {
    const Scope here = scope["up_blocks"][static_cast<int64_t>(i)];
    Level& level = up_blocks.emplace_back();
    level.out = config.decoder_base_dim * config.dim_mult[levels - 1 - i];
    for (int64_t j = 0; j < config.num_res_blocks + 1; ++j) {
      level.resnets.emplace_back(here["resnets"][j], in, level.out);
      in = level.out;
    }
    if (i + 1 == levels) break;
    level.temporal = config.temporal_downsample[levels - 2 - i];
    level.upsampler.emplace(here["upsampler"], level.out, level.temporal, config.shuffle);
  }
  // A step up reaches one position of the finer level; one more accounts for rounding.
  reach_ = 1;
  for (size_t i = 0; i < levels - first_tiled(); ++i) {
    reach_ += (2 * (config.num_res_blocks + 1) << i) + (i > 0 ? 1 << i : 0);
  }
}

at::Tensor DecoderNetwork::Level::operator()(at::Tensor x, const VaePass& pass) const {
  const at::Tensor in = upsampler ? x : at::Tensor();
  for (const ResidualBlock& resnet : resnets) x = resnet(std::move(x), pass);
  if (!upsampler) return x;
  return add_grown((*upsampler)(std::move(x), pass), in, temporal, pass.first());
}

at::Tensor DecoderNetwork::operator()(const at::Tensor& latents, const VaePass& pass) const {
  return finish(mid_block(conv_in(latents, pass), pass), 0, pass);
}

at::Tensor DecoderNetwork::finish(at::Tensor x, size_t level, const VaePass& pass) const {
  for (; level < up_blocks.size(); ++level) {
    if (level == first_tiled() && pass.tiling.tile > 0) return finish_tiles(x, pass);
    if (pass.singly(x, x.size(4))) {
      std::vector<at::Tensor> parts;
      for (int64_t t = 0; t < x.size(0); ++t) {
        parts.push_back(finish(x.narrow(0, t, 1), level, pass));
      }
      return at::cat(parts);
    }
    x = up_blocks[level](std::move(x), pass);
  }
  return conv_out(norm_out.silu(std::move(x)), pass);
}

at::Tensor DecoderNetwork::finish_tiles(const at::Tensor& x, const VaePass& pass) const {
  const int64_t coarse = int64_t{1} << first_tiled(), fine = latent_ / patch_;
  const TilePlan plan(pass.tiling, x.size(2), x.size(3), coarse, fine, latent_, reach_);
  return plan(x, [&](const at::Tensor& tile, const std::string& name) {
    return finish(tile, first_tiled(), {pass.cache, {}, plan.whole() ? "" : name});
  });
}

}  // namespace loci::model
