// SPDX-License-Identifier: Apache-2.0
#include "loci/train/windows/noise_levels.h"

#include <cmath>

namespace loci::train {

NoiseConfig NoiseConfig::from(const ConfigReader& reader) {
  NoiseConfig c;
  c.kind = reader.choose("kind", c.kind, {"uniform", "logit_normal"});
  c.shift = reader.get<double>("shift", c.shift, 1e-3, 1e3);
  c.mean = reader.get<double>("mean", c.mean, -100.0, 100.0);
  c.deviation = reader.get<double>("deviation", c.deviation, 1e-3, 100.0);
  c.full_share = reader.get<double>("full_share", c.full_share, 0.0, 1.0);
  return c;
}

double draw_noise_level(const NoiseConfig& config, Random& random) {
  // 1 - uniform() lies in (0, 1]. At a level of exactly 0 there would be no noise to predict.
  const double s = config.kind == "uniform"
                       ? 1 - random.uniform()
                       : 1 / (1 + std::exp(-(config.mean + config.deviation * random.normal())));
  return config.shift * s / (1 + (config.shift - 1) * s);
}

std::vector<double> draw_noise_levels(const NoiseConfig& config, int64_t chunks, Random& random) {
  std::vector<double> levels;
  for (int64_t i = 0; i < chunks; ++i) {
    const double level = draw_noise_level(config, random);
    // A share of 0 draws no number, so that the sequence of levels stays the same.
    const bool full = config.full_share > 0 && random.chance(config.full_share);
    levels.push_back(full ? 1.0 : level);
  }
  return levels;
}

}  // namespace loci::train
