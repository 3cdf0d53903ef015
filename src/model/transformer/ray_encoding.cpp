// SPDX-License-Identifier: Apache-2.0
#include "loci/model/transformer/ray_encoding.h"

#include <limits>

#include <ATen/ATen.h>

#include "loci/base/random.h"
#include "loci/model/transformer/token_maps.h"

namespace loci::model {

namespace {

// The channels of a head that the backbone's spatial rotation would rotate.
constexpr int64_t kSpatialChannels = 2 * (kRowPairs + kColumnPairs);
constexpr uint64_t kFrequencyKey = 0x726179;  // "ray"

// A list of numbers above zero and at most `high`.
std::vector<double> positive_list(const ConfigReader& reader, const std::string& key,
                                  const std::vector<double>& fallback, double high) {
  const auto list = reader.get<std::vector<double>>(key, fallback);
  for (const double value : list) {
    if (!(value > 0 && value <= high)) {
      fail("{}: {} contains {}; expected numbers above 0 and at most {}", reader.where(), key,
           value, high);
    }
  }
  return list;
}

}  // namespace

RayEncoding RayEncoding::from(const ConfigReader& reader) {
  constexpr double kMaxBandwidth = 1000, kMaxDistance = 1e6;
  RayEncoding e;
  e.direction_bandwidths =
      positive_list(reader, "direction_bandwidths", e.direction_bandwidths, kMaxBandwidth);
  e.centre_bandwidths =
      positive_list(reader, "centre_bandwidths", e.centre_bandwidths, kMaxBandwidth);
  for (const auto& [key, list] : {std::pair("direction_bandwidths", &e.direction_bandwidths),
                                  {"centre_bandwidths", &e.centre_bandwidths}}) {
    if (list->empty()) {
      fail("{}: {} is empty; expected at least one bandwidth", reader.where(), key);
    }
  }
  e.distances = positive_list(reader, "distances", e.distances, kMaxDistance);
  e.channels = reader.get<int64_t>("channels", e.channels);
  if (e.channels != kSpatialChannels && e.channels != kHeadChannels) {
    fail("{}: channels is {}; expected {} (those that chunk_kda rotates by the patch position) or "
         "{} (all)",
         reader.where(), e.channels, kSpatialChannels, kHeadChannels);
  }
  e.tiles = reader.get<bool>("tiles", e.channels == kSpatialChannels);
  if (e.tiles && e.channels == kHeadChannels) {
    fail("{}: {} channels leave no room for tiles; set tiles to false or channels to {}",
         reader.where(), kHeadChannels, kSpatialChannels);
  }
  e.values = reader.get<bool>("values", e.values);
  e.seed = static_cast<uint64_t>(
      reader.get<int64_t>("seed", 0, 0, std::numeric_limits<int64_t>::max()));
  return e;
}

Json RayEncoding::to_json() const {
  return {{"direction_bandwidths", direction_bandwidths},
          {"centre_bandwidths", centre_bandwidths},
          {"distances", distances},
          {"tiles", tiles},
          {"values", values},
          {"channels", channels},
          {"seed", seed}};
}

at::Tensor ray_frequencies(const RayEncoding& encoding, int64_t block, int64_t heads) {
  at::Tensor frequencies = at::empty({heads, encoding.pairs(), 6}, at::kDouble);
  auto rows = frequencies.accessor<double, 3>();
  for (int64_t head = 0; head < heads; ++head) {
    for (int64_t pair = 0; pair < encoding.pairs(); ++pair) {
      const auto entry = [pair](const std::vector<double>& list) {
        return list[static_cast<size_t>(pair) % list.size()];
      };
      Random random{encoding.seed, kFrequencyKey, static_cast<uint64_t>(block),
                    static_cast<uint64_t>(head), static_cast<uint64_t>(pair)};
      auto row = rows[head][pair];
      for (int i = 0; i < 3; ++i) row[i] = random.normal() * entry(encoding.direction_bandwidths);
      for (int i = 3; i < 6; ++i) row[i] = random.normal() * entry(encoding.centre_bandwidths);
      if (encoding.distances.empty()) continue;
      for (int i = 0; i < 3; ++i) row[i] = row[3 + i] * entry(encoding.distances);
    }
  }
  return frequencies;
}

at::Tensor ray_phases(const at::Tensor& rays, const at::Tensor& frequencies) {
  // Summed term by term, so that the phases of a token do not depend on the number of tokens.
  const at::Tensor wide = rays.to(at::kDouble);
  at::Tensor phases;
  for (int64_t i = 0; i < 6; ++i) {
    const at::Tensor term =
        wide.select(-1, i).unsqueeze(-1).unsqueeze(-1) * frequencies.select(-1, i);
    phases = i == 0 ? term : phases.add_(term);
  }
  return phases;
}

}  // namespace loci::model
