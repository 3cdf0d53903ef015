// SPDX-License-Identifier: Apache-2.0
// Reconstruction quality of an autoencoder on validation clips.
#pragma once

#include <optional>
#include <vector>

#include "loci/model/autoencoder/vae.h"
#include "loci/model/perceptual/lpips.h"
#include "loci/train/autoencoder/latent_generator.h"
#include "loci/train/autoencoder/vae_recipe.h"
#include "loci/train/data/video_clips.h"

namespace loci::train {

struct VaeScore {
  double psnr = 0;                       // mean over clips, dB
  double first_psnr = 0;                 // of the first frames, which have their own latent
  std::optional<double> generated_psnr;  // of clips with generated latents
  double structure = 0;                  // structure_loss()
  double sharpness = 0, contrast = 0;    // relative to the recordings (image_statistics.h)
  std::optional<double> lpips;
  double posterior_deviation = 0;       // mean standard deviation of the posterior, in model space
  std::vector<double> mean, deviation;  // of the latents, per channel
};

// Encodes and decodes clips 0, 1, … of `clips`. With a generator, decodes generated latents too.
// Both networks may be null.
VaeScore score_autoencoder(const model::Vae& vae, VideoClips& clips,
                           const VaeValidationConfig& config, const LatentGenerator* generator,
                           const model::Lpips* lpips = nullptr);

}  // namespace loci::train
