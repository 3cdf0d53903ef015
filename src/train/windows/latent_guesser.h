// SPDX-License-Identifier: Apache-2.0
// Latents as a trained world model makes them. A decoder that learnt from encoded pictures alone
// has never seen how soft those are, nor that they do not quite meet at the borders of tokens.
#pragma once

#include <filesystem>

#include <ATen/core/Tensor.h>

#include "loci/model/autoencoder/vae.h"
#include "loci/sample/model_folder.h"
#include "loci/world/recording/clip.h"

namespace loci::train {

class LatentGuesser {
 public:
  // A folder with a transformer and perhaps a text encoder. `compute` is the type of its products.
  LatentGuesser(const std::filesystem::path& folder, at::ScalarType compute);

  // Bad input where a clip of so many frames is not a first latent and whole chunks, or where the
  // model's latents have other channels than the autoencoder's.
  void check_clip(int64_t frames, const model::VaeConfig& vae) const;

  // `latents` [1, z, F, h, w] of a clip, not normalised, and back the same with about half of the
  // chunks as the model takes them for under much noise (guess_past()), by `key`.
  at::Tensor guess(const model::Vae& vae, const at::Tensor& latents, const world::Clip& clip,
                   uint64_t key) const;

 private:
  sample::ModelFolder folder_;
};

}  // namespace loci::train
