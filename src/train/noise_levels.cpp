// SPDX-License-Identifier: Apache-2.0
#include "loci/train/noise_levels.h"

#include <cmath>

namespace loci::train {

namespace {

double draw_level(const NoiseConfig& config, Random& random) {
  // 1 - uniform() lies in (0, 1]: a level of exactly zero would have no noise to predict.
  const double s = config.kind == "uniform"
                       ? 1 - random.uniform()
                       : 1 / (1 + std::exp(-(config.mean + config.deviation * random.normal())));
  return config.shift * s / (1 + (config.shift - 1) * s);
}

}  // namespace

NoiseConfig NoiseConfig::from(const ConfigReader& reader) {
  NoiseConfig c;
  c.kind = reader.choose("kind", c.kind, {"uniform", "logit_normal"});
  c.shift = reader.get<double>("shift", c.shift, 1e-3, 1e3);
  c.mean = reader.get<double>("mean", c.mean, -100.0, 100.0);
  c.deviation = reader.get<double>("deviation", c.deviation, 1e-3, 100.0);
  c.clean_share = reader.get<double>("clean_share", c.clean_share, 0.0, 1.0);
  c.clean_factor = reader.get<double>("clean_factor", c.clean_factor, 0.0, 1.0);
  return c;
}

std::vector<double> draw_noise_levels(const NoiseConfig& config, int64_t chunks, Random& random) {
  std::vector<double> levels(chunks);
  for (double& level : levels) level = draw_level(config, random);
  if (random.chance(config.clean_share)) {
    const auto present = static_cast<int64_t>(random.below(static_cast<uint64_t>(chunks)));
    for (int64_t i = 0; i < present; ++i) levels[i] *= config.clean_factor;
  }
  return levels;
}

}  // namespace loci::train
