// SPDX-License-Identifier: Apache-2.0
#include "loci/model/vae_network.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace loci::model {

namespace {

// Frames whose activations are larger than this go through the decoder's levels one by one: a call
// then costs nothing compared with its arithmetic, and only one frame is held at a time.
constexpr int64_t kLargeFrame = 4 << 20;  // numbers

}  // namespace

EncoderNetwork::EncoderNetwork(const Scope& scope, const VaeConfig& config)
    : conv_in(scope["conv_in"], config.patch_channels(), config.base_dim, 3),
      conv_out(scope["conv_out"], config.base_dim * config.dim_mult.back(), 2 * config.z_dim, 3),
      mid_block(scope["mid_block"], config.base_dim * config.dim_mult.back()),
      norm_out(scope["norm_out"], config.base_dim * config.dim_mult.back()) {
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
}

at::Tensor EncoderNetwork::Level::operator()(at::Tensor x, const VaePass& pass) const {
  const at::Tensor around =
      shrink_shortcut(x, out, downsampler.has_value(), temporal, pass.first());
  for (const ResidualBlock& resnet : resnets) x = resnet(std::move(x), pass);
  if (downsampler) x = (*downsampler)(x, pass);
  return add_to(std::move(x), around);
}

at::Tensor EncoderNetwork::operator()(const at::Tensor& patches, const VaePass& pass) const {
  at::Tensor x = conv_in(patches, pass);
  for (const Level& level : down_blocks) x = level(std::move(x), pass);
  x = mid_block(std::move(x), pass);
  return conv_out(norm_out.silu(std::move(x)), pass);
}

DecoderNetwork::DecoderNetwork(const Scope& scope, const VaeConfig& config)
    : conv_in(scope["conv_in"], config.z_dim, config.decoder_base_dim * config.dim_mult.back(), 3),
      conv_out(scope["conv_out"], config.decoder_base_dim * config.dim_mult.front(),
               config.patch_channels(), 3),
      mid_block(scope["mid_block"], config.decoder_base_dim * config.dim_mult.back()),
      norm_out(scope["norm_out"], config.decoder_base_dim * config.dim_mult.front()) {
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
    level.upsampler.emplace(here["upsampler"], level.out, level.temporal);
  }
}

at::Tensor DecoderNetwork::Level::operator()(at::Tensor x, const VaePass& pass) const {
  const at::Tensor in = x;
  for (const ResidualBlock& resnet : resnets) x = resnet(std::move(x), pass);
  if (!upsampler) return x;
  x = (*upsampler)(std::move(x), pass);
  return add_to(std::move(x), grow_shortcut(in, out, temporal, pass.first()));
}

at::Tensor DecoderNetwork::operator()(const at::Tensor& latents, const VaePass& pass) const {
  return finish(mid_block(conv_in(latents, pass), pass), 0, pass);
}

at::Tensor DecoderNetwork::finish(at::Tensor x, size_t level, const VaePass& pass) const {
  for (; level < up_blocks.size(); ++level) {
    if (pass.cache != nullptr && x.size(0) > 1 && x[0].numel() > kLargeFrame && !pass.first()) {
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

}  // namespace loci::model
