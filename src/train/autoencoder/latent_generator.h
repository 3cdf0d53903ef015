// SPDX-License-Identifier: Apache-2.0
// Latents as a trained world model generates them. They are smoother than encoded latents and
// slightly discontinuous at token borders, so a decoder that was trained on encoded latents alone
// has never seen such input.
#pragma once

#include <filesystem>

#include <ATen/core/Tensor.h>

#include "loci/model/autoencoder/vae.h"
#include "loci/sample/model_folder.h"
#include "loci/world/recording/clip.h"

namespace loci::train {

class LatentGenerator {
 public:
  // `folder` contains a transformer and optionally a text encoder. `compute` is the type of its
  // matrix products.
  LatentGenerator(const std::filesystem::path& folder, at::ScalarType compute);

  // Bad input if a clip of `frames` frames is not one latent plus whole chunks, or if the latents
  // of the model and the autoencoder have different numbers of channels.
  void check_clip(int64_t frames, const model::VaeConfig& vae) const;

  // Takes the latents [1, z, F, h, w] of a clip, not normalised, and returns them with about half
  // of the chunks replaced by the model's denoised estimate (generate_past()), drawn by `key`.
  at::Tensor generate(const model::Vae& vae, const at::Tensor& latents, const world::Clip& clip,
                      uint64_t key) const;

 private:
  sample::ModelFolder folder_;
};

}  // namespace loci::train
