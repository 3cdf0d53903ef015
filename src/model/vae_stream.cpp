// SPDX-License-Identifier: Apache-2.0
#include "loci/model/vae_stream.h"

#include <algorithm>
#include <vector>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"

namespace loci::model {

VaeEncoder::VaeEncoder(const Vae& vae, bool half_cache) : vae_(&vae), cache_(half_cache) {}

at::Tensor VaeEncoder::encode(const at::Tensor& pixels) {
  LOCI_CHECK(pixels.dim() == 5, "pixels have {} dimensions, expected [B, 3, T, H, W]",
             pixels.dim());
  const VaePass pass{&cache_};
  const int64_t frames = pixels.size(2), factor = vae_->config().temporal_factor();
  std::vector<at::Tensor> latents;
  for (int64_t begin = 0; begin < frames;) {
    check_interrupt();
    // A last group that is too short is refused by encode().
    const int64_t count = std::min(pass.first() ? 1 : factor, frames - begin);
    latents.push_back(vae_->normalise(vae_->encode(pixels.narrow(2, begin, count), pass).mean));
    begin += count;
  }
  if (latents.empty()) fail("no frames to encode");
  return at::cat(latents, 2);
}

VaeDecoder::VaeDecoder(const Vae& vae, bool half_cache) : vae_(&vae), cache_(half_cache) {}

at::Tensor VaeDecoder::decode(const at::Tensor& latents) {
  LOCI_CHECK(latents.dim() == 5, "latents have {} dimensions, expected [B, z, T, h, w]",
             latents.dim());
  const VaePass pass{&cache_};
  const at::Tensor whole = vae_->denormalise(latents);
  std::vector<at::Tensor> pixels;
  for (int64_t i = 0; i < latents.size(2); ++i) {
    check_interrupt();
    pixels.push_back(vae_->decode(whole.narrow(2, i, 1), pass).clamp(-1, 1));
  }
  if (pixels.empty()) fail("no latents to decode");
  return at::cat(pixels, 2);
}

}  // namespace loci::model
