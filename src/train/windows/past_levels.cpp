// SPDX-License-Identifier: Apache-2.0
#include "loci/train/windows/past_levels.h"

namespace loci::train {

namespace {

ChunkNoise in_place(const InPlacePast& past, ChunkNoise noise, const std::vector<bool>& generated,
                    Random& random) {
  const size_t chunks = noise.levels.size();
  const auto make_cleaner = [&](size_t chunk, double weight) {
    noise.levels[chunk] *= past.noise_factor;
    noise.weights[chunk] = weight;
  };
  if (!generated.empty()) {
    for (size_t i = 0; i < chunks; ++i) {
      if (generated[i]) make_cleaner(i, 0);
    }
  } else if (random.chance(past.prefix_share)) {
    const size_t end = random.below(chunks);
    for (size_t i = 0; i < end; ++i) make_cleaner(i, past.loss_weight);
  } else {
    for (size_t i = 0; i < chunks; ++i) {
      if (random.chance(past.chunk_share)) make_cleaner(i, past.loss_weight);
    }
  }
  return noise;
}

}  // namespace

PastConfig read_past(const ConfigReader& reader) {
  if (reader.choose("kind", "in_place", {"in_place", "clean_copies"}) == "clean_copies") {
    CleanCopies c;
    c.noise_factor = reader.get<double>("noise_factor", c.noise_factor, 0.0, 1.0);
    c.new_share = reader.get<double>("new_share", c.new_share, 0.0, 1.0);
    return c;
  }
  InPlacePast c;
  c.prefix_share = reader.get<double>("prefix_share", c.prefix_share, 0.0, 1.0);
  c.chunk_share = reader.get<double>("chunk_share", c.chunk_share, 0.0, 1.0);
  c.noise_factor = reader.get<double>("noise_factor", c.noise_factor, 0.0, 1.0);
  c.loss_weight = reader.get<double>("loss_weight", c.loss_weight, 0.0, 1.0);
  return c;
}

ChunkNoise draw_past(const PastConfig& past, const NoiseConfig& noise, std::vector<double> levels,
                     const std::vector<bool>& generated, Random& random) {
  ChunkNoise drawn;
  drawn.weights.assign(levels.size(), 1.0);
  drawn.levels = std::move(levels);
  if (const auto* place = std::get_if<InPlacePast>(&past)) {
    return in_place(*place, std::move(drawn), generated, random);
  }
  const auto& copies = std::get<CleanCopies>(past);
  for (size_t i = 0; i < drawn.levels.size(); ++i) {
    drawn.copy_levels.push_back(copies.noise_factor * draw_noise_level(noise, random));
  }
  return drawn;
}

}  // namespace loci::train
