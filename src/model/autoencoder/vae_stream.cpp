// SPDX-License-Identifier: Apache-2.0
#include "loci/model/autoencoder/vae_stream.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"

namespace loci::model {

namespace {

// The empty state of a new clip; its full state will have `size` numbers.
VaeCache new_cache(VaeState state, const Vae& vae, uint64_t size) {
  const bool large = size * c10::elementSize(vae.dtype()) > kLargeVaeState;
  return VaeCache(state == VaeState::kHalf || (state == VaeState::kAuto && large));
}

// Each causal convolution keeps two frames of its output.
uint64_t two_frames(int64_t channels, int64_t positions) {
  return 2 * static_cast<uint64_t>(channels) * static_cast<uint64_t>(positions);
}

}  // namespace

uint64_t encoder_state_size(const VaeConfig& config, int64_t height, int64_t width) {
  if (!config.has_encoder()) return 0;  // blocks are independent
  int64_t positions = height / config.patch_size * (width / config.patch_size);
  uint64_t size = two_frames(config.base_dim, positions);
  for (size_t i = 0; i < config.dim_mult.size(); ++i) {
    const int64_t channels = config.base_dim * config.dim_mult[i];
    size += two_frames(channels, positions) * static_cast<uint64_t>(2 * config.num_res_blocks);
    if (i + 1 == config.dim_mult.size()) break;
    positions /= 4;
    // The temporal step keeps one frame.
    if (config.temporal_downsample[i]) size += two_frames(channels, positions) / 2;
  }
  return size + 4 * two_frames(config.base_dim * config.dim_mult.back(), positions) +
         two_frames(config.encoder_channels(), positions);
}

uint64_t decoder_state_size(const VaeConfig& config, int64_t height, int64_t width) {
  int64_t positions = height / config.spatial_factor() * (width / config.spatial_factor());
  const size_t levels = config.dim_mult.size();
  uint64_t size = 5 * two_frames(config.decoder_base_dim * config.dim_mult.back(), positions);
  for (size_t i = 0; i < levels; ++i) {
    const int64_t channels = config.decoder_base_dim * config.dim_mult[levels - 1 - i];
    size += two_frames(channels, positions) * static_cast<uint64_t>(2 * config.num_res_blocks + 2);
    if (i + 1 == levels) break;
    if (config.temporal_downsample[levels - 2 - i]) size += two_frames(2 * channels, positions);
    positions *= 4;
  }
  size += two_frames(config.patch_channels(), positions);
  if (config.refiner_dim > 0) {
    size += two_frames(config.refiner_dim, positions) *
                static_cast<uint64_t>(1 + 2 * config.refiner_blocks) +
            two_frames(config.patch_channels(), positions);
  }
  return size;
}

int64_t decoder_reach(const VaeConfig& config) {
  // Every convolution depends on two earlier frames of its level, each `per` latents long.
  double per = 1, reach = 2 * 5;  // the first convolution and the middle block's four
  const size_t levels = config.dim_mult.size();
  for (size_t i = 0; i < levels; ++i) {
    reach += 2 * per * static_cast<double>(2 * (config.num_res_blocks + 1));
    if (i + 1 == levels || !config.temporal_downsample[levels - 2 - i]) continue;
    reach += 2 * per;
    per /= 2;
  }
  reach += 2 * per;  // the last convolution
  if (config.refiner_dim > 0) reach += 2 * per * static_cast<double>(2 + 2 * config.refiner_blocks);
  // One more for the latent that it treated as the first of the clip.
  return static_cast<int64_t>(std::ceil(reach)) + 1;
}

VaeEncoder::VaeEncoder(const Vae& vae, const VaeStreamOptions& options)
    : vae_(&vae), options_(options) {
  options.tiling.check(vae.config());
}

VaeEncoder::VaeEncoder(const Vae& vae, VaeCache cache, const VaeTiling& tiling)
    : VaeEncoder(vae, VaeStreamOptions{VaeState::kAuto, tiling}) {
  cache_ = std::move(cache);
}

at::Tensor VaeEncoder::encode(const at::Tensor& pixels) {
  LOCI_CHECK(pixels.dim() == 5, "pixels have {} dimensions, expected [B, 3, T, H, W]",
             pixels.dim());
  const int64_t frames = pixels.size(2), factor = vae_->config().temporal_factor();
  if (cache_.latents() == 0) {
    cache_ = new_cache(options_.state, *vae_,
                       static_cast<uint64_t>(pixels.size(0)) *
                           encoder_state_size(vae_->config(), pixels.size(3), pixels.size(4)));
  }
  const VaePass pass{&cache_, options_.tiling};
  std::vector<at::Tensor> latents;
  for (int64_t begin = 0; begin < frames;) {
    check_interrupt();
    // encode() rejects an incomplete last group.
    const int64_t count = std::min(pass.first() ? 1 : factor, frames - begin);
    latents.push_back(vae_->normalise(vae_->encode(pixels.narrow(2, begin, count), pass).mean));
    begin += count;
  }
  if (latents.empty()) fail("no frames to encode");
  return at::cat(latents, 2);
}

VaeDecoder::VaeDecoder(const Vae& vae, const VaeStreamOptions& options)
    : vae_(&vae), options_(options) {
  options.tiling.check(vae.config());
}

VaeDecoder::VaeDecoder(const Vae& vae, VaeCache cache, const VaeTiling& tiling)
    : VaeDecoder(vae, VaeStreamOptions{VaeState::kAuto, tiling}) {
  cache_ = std::move(cache);
}

at::Tensor VaeDecoder::decode(const at::Tensor& latents) {
  LOCI_CHECK(latents.dim() == 5, "latents have {} dimensions, expected [B, z, T, h, w]",
             latents.dim());
  const TinyDecoder* tiny = vae_->tiny_decoder();
  if (cache_.latents() == 0) {
    const int64_t side = vae_->config().spatial_factor();
    const int64_t height = latents.size(3), width = latents.size(4);
    cache_ = new_cache(
        options_.state, *vae_,
        static_cast<uint64_t>(latents.size(0)) *
            (tiny != nullptr ? tiny->state_size(height, width)
                             : decoder_state_size(vae_->config(), height * side, width * side)));
  }
  const VaePass pass{&cache_, options_.tiling};
  std::vector<at::Tensor> pixels;
  for (int64_t i = 0; i < latents.size(2); ++i) {
    check_interrupt();
    const at::Tensor one = latents.narrow(2, i, 1);
    pixels.push_back(tiny != nullptr ? tiny->decode(one, cache_)
                                     : vae_->decode(vae_->denormalise(one), pass).clamp(-1, 1));
  }
  if (pixels.empty()) fail("no latents to decode");
  return at::cat(pixels, 2);
}

}  // namespace loci::model
