// SPDX-License-Identifier: Apache-2.0
#include "loci/train/windows/noise_levels.h"

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
  c.full_share = reader.get<double>("full_share", c.full_share, 0.0, 1.0);
  c.clean_share = reader.get<double>("clean_share", c.clean_share, 0.0, 1.0);
  c.clean_factor = reader.get<double>("clean_factor", c.clean_factor, 0.0, 1.0);
  c.past_weight = reader.get<double>("past_weight", c.past_weight, 0.0, 1.0);
  c.past_share = reader.get<double>("past_share", c.past_share, 0.0, 1.0);
  c.past_copies = reader.get<bool>("past_copies", c.past_copies);
  if (c.past_copies && (c.clean_share > 0 || c.past_share > 0)) {
    fail(
        "{}: past_copies makes every chunk past to later ones; leave out clean_share and "
        "past_share",
        reader.where());
  }
  return c;
}

ChunkNoise draw_chunk_noise(const NoiseConfig& config, int64_t chunks, Random& random,
                            const std::vector<bool>& guessed) {
  ChunkNoise noise;
  noise.weights.assign(static_cast<size_t>(chunks), 1.0);
  for (int64_t i = 0; i < chunks; ++i) {
    const double level = draw_level(config, random);
    // Nothing is drawn for a share of none: other levels stay as they were.
    const bool full = config.full_share > 0 && random.chance(config.full_share);
    noise.levels.push_back(full ? 1.0 : level);
  }
  if (config.past_copies) {
    for (int64_t i = 0; i < chunks; ++i) {
      noise.past_levels.push_back(config.clean_factor * draw_level(config, random));
    }
    return noise;
  }
  const auto make_past = [&](size_t chunk, double weight) {
    noise.levels[chunk] *= config.clean_factor;
    noise.weights[chunk] = weight;
  };
  const auto count = static_cast<size_t>(chunks);
  if (!guessed.empty()) {
    for (size_t i = 0; i < count; ++i) {
      if (guessed[i]) make_past(i, 0);
    }
  } else if (random.chance(config.clean_share)) {
    const size_t present = random.below(count);
    for (size_t i = 0; i < present; ++i) make_past(i, config.past_weight);
  } else {
    for (size_t i = 0; i < count; ++i) {
      if (random.chance(config.past_share)) make_past(i, config.past_weight);
    }
  }
  return noise;
}

}  // namespace loci::train
