// SPDX-License-Identifier: Apache-2.0
// Noise levels for chunk-wise diffusion forcing: every chunk of a window has its own.
#pragma once

#include <string>
#include <vector>

#include "loci/base/config.h"
#include "loci/base/random.h"

namespace loci::train {

struct NoiseConfig {
  std::string kind = "uniform";    // or "logit_normal"
  double shift = 5;                // sigma = shift*s / (1 + (shift-1)*s)
  double mean = 0, deviation = 1;  // of the logit
  // In this share of windows the chunks before a random one are cleaner by this factor: a memory
  // can only be learnt from a past clean enough to copy from.
  double clean_share = 0;
  double clean_factor = 0.2;

  static NoiseConfig from(const ConfigReader& reader);
};

// One level in (0, 1] for each of `chunks`; 0 is a clean latent, 1 is noise.
std::vector<double> draw_noise_levels(const NoiseConfig& config, int64_t chunks, Random& random);

}  // namespace loci::train
