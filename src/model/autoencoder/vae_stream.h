// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes a clip in parts, in memory that does not grow with its length.
//
// A clip passes through the networks one latent at a time, so the result does not depend on how the
// clip is divided into calls, bit for bit.
#pragma once

#include <ATen/core/Tensor.h>

#include "loci/model/autoencoder/vae.h"
#include "loci/model/autoencoder/vae_cache.h"

namespace loci::model {

// Type of the state between calls.
enum class VaeState {
  kAuto,  // kHalf if the full state would exceed kLargeVaeState, else kFull
  kFull,  // the autoencoder's type
  kHalf   // float16
};
constexpr uint64_t kLargeVaeState = uint64_t{1} << 30;  // bytes

struct VaeStreamOptions {
  VaeState state = VaeState::kAuto;
  VaeTiling tiling = {};
};

class VaeEncoder {
 public:
  // The Vae must outlive the encoder.
  explicit VaeEncoder(const Vae& vae, const VaeStreamOptions& options = {});
  // Continues from a saved state with the same tiling.
  VaeEncoder(const Vae& vae, VaeCache cache, const VaeTiling& tiling = {});

  // The next frames of the clip, [B, 3, T, H, W] in [-1, 1]: 1 + 4n frames in the first call, 4n
  // in later ones. Returns latents [B, z, T', h, w] in model space.
  at::Tensor encode(const at::Tensor& pixels);

  const VaeCache& cache() const { return cache_; }

 private:
  const Vae* vae_;
  VaeStreamOptions options_;
  VaeCache cache_;
};

// Decodes with the autoencoder's own network or with Vae::tiny_decoder(), which is not tiled.
class VaeDecoder {
 public:
  explicit VaeDecoder(const Vae& vae, const VaeStreamOptions& options = {});
  VaeDecoder(const Vae& vae, VaeCache cache, const VaeTiling& tiling = {});

  // The next latents of the clip, [B, z, T', h, w] in model space. Returns frames [B, 3, T, H, W],
  // clamped to [-1, 1]: one for the first latent of the clip, 4 for every other latent.
  at::Tensor decode(const at::Tensor& latents);

  const VaeCache& cache() const { return cache_; }

 private:
  const Vae* vae_;
  VaeStreamOptions options_;
  VaeCache cache_;
};

// Count of numbers in the state between calls, for untiled frames of this size in pixels.
uint64_t encoder_state_size(const VaeConfig& config, int64_t height, int64_t width);
uint64_t decoder_state_size(const VaeConfig& config, int64_t height, int64_t width);

// Temporal receptive field in latents. After this many latents, a decoder that was started in the
// middle of a clip gives the same bits as a decoder that has seen the whole clip.
int64_t decoder_reach(const VaeConfig& config);

}  // namespace loci::model
