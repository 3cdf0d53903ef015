// SPDX-License-Identifier: Apache-2.0
// Frames to latents and back, part by part, in memory that does not grow with the length.
//
// However a clip is cut into calls, the numbers are the same to the last bit: it always passes
// through the networks one latent at a time.
#pragma once

#include <ATen/core/Tensor.h>

#include "loci/model/vae.h"
#include "loci/model/vae_cache.h"

namespace loci::model {

class VaeEncoder {
 public:
  // The Vae must outlive it. See VaeCache for half_cache.
  explicit VaeEncoder(const Vae& vae, bool half_cache = false);
  VaeEncoder(const Vae& vae, VaeCache cache) : vae_(&vae), cache_(std::move(cache)) {}

  // The next frames of the clip, [B, 3, T, H, W] in [-1, 1]: 1 + 4n frames in the first call, 4n
  // in later ones. Gives latents [B, z, T', h, w] in model space.
  at::Tensor encode(const at::Tensor& pixels);

  const VaeCache& cache() const { return cache_; }

 private:
  const Vae* vae_;
  VaeCache cache_;
};

class VaeDecoder {
 public:
  explicit VaeDecoder(const Vae& vae, bool half_cache = false);
  VaeDecoder(const Vae& vae, VaeCache cache) : vae_(&vae), cache_(std::move(cache)) {}

  // The next latents of the clip, [B, z, T', h, w] in model space. Gives their frames
  // [B, 3, T, H, W], clamped to [-1, 1]: one for the clip's first latent, 4 for every other.
  at::Tensor decode(const at::Tensor& latents);

  const VaeCache& cache() const { return cache_; }

 private:
  const Vae* vae_;
  VaeCache cache_;
};

}  // namespace loci::model
