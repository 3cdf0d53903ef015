// SPDX-License-Identifier: Apache-2.0
// Frames to latents and back, part by part, in memory that does not grow with the length.
//
// However a clip is cut into calls, the numbers are the same to the last bit: it always passes
// through the networks one latent at a time.
#pragma once

#include <ATen/core/Tensor.h>

#include "loci/model/autoencoder/vae.h"
#include "loci/model/autoencoder/vae_cache.h"

namespace loci::model {

// How the state between calls is kept.
enum class VaeState {
  kAuto,  // kHalf where the full state of such frames would exceed kLargeVaeState, else kFull
  kFull,  // in the autoencoder's own type
  kHalf   // as float16
};
constexpr uint64_t kLargeVaeState = uint64_t{1} << 30;  // bytes

struct VaeStreamOptions {
  VaeState state = VaeState::kAuto;
  VaeTiling tiling = {};
};

class VaeEncoder {
 public:
  // The Vae must outlive it.
  explicit VaeEncoder(const Vae& vae, const VaeStreamOptions& options = {});
  // Goes on from a saved state, which must have been made with the same tiling.
  VaeEncoder(const Vae& vae, VaeCache cache, const VaeTiling& tiling = {});

  // The next frames of the clip, [B, 3, T, H, W] in [-1, 1]: 1 + 4n frames in the first call, 4n
  // in later ones. Gives latents [B, z, T', h, w] in model space.
  at::Tensor encode(const at::Tensor& pixels);

  const VaeCache& cache() const { return cache_; }

 private:
  const Vae* vae_;
  VaeStreamOptions options_;
  VaeCache cache_;
};

class VaeDecoder {
 public:
  explicit VaeDecoder(const Vae& vae, const VaeStreamOptions& options = {});
  VaeDecoder(const Vae& vae, VaeCache cache, const VaeTiling& tiling = {});

  // The next latents of the clip, [B, z, T', h, w] in model space. Gives their frames
  // [B, 3, T, H, W], clamped to [-1, 1]: one for the clip's first latent, 4 for every other.
  at::Tensor decode(const at::Tensor& latents);

  const VaeCache& cache() const { return cache_; }

 private:
  const Vae* vae_;
  VaeStreamOptions options_;
  VaeCache cache_;
};

// Numbers that the state between calls consists of, for untiled frames of this size.
uint64_t encoder_state_size(const VaeConfig& config, int64_t height, int64_t width);
uint64_t decoder_state_size(const VaeConfig& config, int64_t height, int64_t width);

// Latents after which a decoder that was started anywhere in a clip goes on as one that has seen
// all of it, bit by bit: as far as its convolutions look back.
int64_t decoder_reach(const VaeConfig& config);

}  // namespace loci::model
