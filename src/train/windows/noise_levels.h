// SPDX-License-Identifier: Apache-2.0
// Stage "noise": the noise level of every chunk of a window (chunk-wise diffusion forcing).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loci/base/config.h"
#include "loci/base/random.h"

namespace loci::train {

// The section "noise" of a recipe: the distribution of noise levels.
struct NoiseConfig {
  std::string kind = "uniform";    // or "logit_normal"
  double shift = 5;                // level = shift*s / (1 + (shift-1)*s)
  double mean = 0, deviation = 1;  // of the logit of s, for logit_normal
  // Share of chunks that are pure noise, as in one-step sampling.
  double full_share = 0;

  static NoiseConfig from(const ConfigReader& reader);
};

// One level in (0, 1]: 0 is a clean latent, 1 is pure noise.
double draw_noise_level(const NoiseConfig& config, Random& random);

// The levels of all chunks after frame 0; `full_share` of them are 1.
std::vector<double> draw_noise_levels(const NoiseConfig& config, int64_t chunks, Random& random);

}  // namespace loci::train
