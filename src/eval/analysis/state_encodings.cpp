// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/analysis/state_encodings.h"

#include <array>
#include <cmath>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "loci/base/error.h"
#include "loci/base/random.h"
#include "loci/camera/lens.h"
#include "loci/kernels/elementwise/head_map.h"

namespace loci::eval {

namespace {

constexpr int kSimilarityStep = 3;  // degrees

model::RecurrentMapping ray_mapping(const model::RayEncoding& ray, int64_t states) {
  return {.encoding = memory::KeyEncoding::kRay, .ray = ray, .blocks = 1, .heads = states};
}

model::RayEncoding bandwidths(double direction, double centre) {
  model::RayEncoding ray;
  ray.direction_bandwidths = {direction};
  ray.centre_bandwidths = {centre};
  return ray;
}

// Queries times keys over channels [begin, end), mean over heads, relative to the first token. The
// geometry has one token per frame.
PlotSeries similarity(const std::string& name, const StateEncoding& encoding,
                      const camera::FrameGeometry& geometry, int64_t begin, int64_t end) {
  constexpr int64_t kHeads = 256;
  const EncodedTokens tokens =
      encode_tokens(encoding, key_content(encoding, kHeads, /*seed=*/1), geometry);
  const auto part = [&](const at::Tensor& x) {
    return x[0].slice(-1, begin, end).to(at::kDouble);
  };
  const at::Tensor query = part(tokens.query)[0], key = part(tokens.key);
  const at::Tensor product = (query * key).sum(-1).mean(-1);
  PlotSeries series{name, {}};
  for (int64_t i = 0; i < product.size(0); ++i) {
    series.points.emplace_back(static_cast<double>(i * kSimilarityStep),
                               (product[i] / product[0]).item<double>());
  }
  return series;
}

}  // namespace

std::vector<StateEncoding> state_encodings(int64_t states) {
  const model::RayEncoding usual;
  model::RayEncoding no_tiles = usual, values = usual, all = usual, point = usual, points = usual;
  no_tiles.tiles = false;
  values.values = true;
  all.channels = model::kHeadChannels;
  all.tiles = false;
  point.distances = {4};
  points.distances = {2, 4, 8};
  using Content = KeyContent;
  return {
      {"chunk_kda", "the paper's maps", {}},
      {"ray_kda", "channels 44:128 rotated by the ray, default bandwidths 3, 4, 6 and 0.25, 0.4, "
                  "0.6 per metre",
       ray_mapping(usual, states)},
      {"ray-3", "ray_kda with bandwidths 3 and 0.25 per metre",
       ray_mapping(bandwidths(3, 0.25), states)},
      {"ray-4", "ray_kda with bandwidths 4 and 0.4 per metre",
       ray_mapping(bandwidths(4, 0.4), states)},
      {"ray-6", "ray_kda with bandwidths 6 and 0.6 per metre",
       ray_mapping(bandwidths(6, 0.6), states)},
      {"no-tiles", "ray_kda without tiles", ray_mapping(no_tiles, states)},
      {"ray-only", "the 84 channels that the ray rotates, the others zero",
       ray_mapping(no_tiles, states), Content::kRotated},
      {"values", "ray_kda with values rotated, too", ray_mapping(values, states)},
      {"all-channels", "ray_kda with all 128 channels rotated by the ray",
       ray_mapping(all, states)},
      {"fourier", "all-channels with content of the same length in every pair: Fourier features",
       ray_mapping(all, states), Content::kEqualPairs},
      {"point", "ray_kda with phases of the point 4 m along the ray", ray_mapping(point, states)},
      {"points", "ray_kda with phases of the points 2, 4 and 8 m along the ray",
       ray_mapping(points, states)},
  };
}

StateEncoding model_encoding(const model::TransformerConfig& config, const std::string& where,
                             int64_t states) {
  if (config.recurrent_memory == "none") {
    fail("{}: the model has no recurrent memory whose encoding could be measured", where);
  }
  model::RecurrentMapping mapping = config.recurrent_mapping();
  if (mapping.encoding == memory::KeyEncoding::kRay) {
    mapping.blocks = 1;
    mapping.heads = states;
  }
  return {"config", fmt::format("{} of {}", config.recurrent_memory, where), mapping};
}

at::Tensor key_content(const StateEncoding& encoding, int64_t states, uint64_t seed) {
  constexpr uint64_t kContentKey = 0x636f6e74;  // "cont"
  const int64_t channels = model::kHeadChannels;
  if (encoding.content == KeyContent::kEqualPairs) {
    at::Tensor equal = at::zeros({states, channels});
    equal.slice(1, 0, channels, 2).fill_(1);
    return equal;
  }
  at::Tensor content = at::randn(
      {states, channels},
      at::make_generator<at::CPUGeneratorImpl>(hash_keys({seed, kContentKey})), at::kFloat);
  if (encoding.content == KeyContent::kRotated) {
    content.narrow(1, 0, channels - encoding.mapping.ray.channels).zero_();
  }
  return content;
}

EncodedTokens encode_tokens(const StateEncoding& encoding, const at::Tensor& content,
                            const camera::FrameGeometry& geometry) {
  const std::vector<double> times(static_cast<size_t>(geometry.frames()), 0);
  model::RecurrentMapping mapping = encoding.mapping;
  if (mapping.encoding == memory::KeyEncoding::kRay) mapping.heads = content.size(0);
  const model::TokenMaps maps = model::make_token_maps({&geometry, 1}, times, mapping);
  const model::RecurrentMaps& recurrent = maps.recurrent_of(0);
  const at::Tensor x = content.expand({1, maps.tokens(), -1, -1});
  return {kernels::unit_head_map(x, recurrent.query), kernels::unit_head_map(x, recurrent.key),
          recurrent};
}

PlotPanel similarity_over_angle() {
  constexpr int kDegrees = 180;
  const camera::TokenGrid grid{8, 12};
  std::vector<camera::Camera> cameras;
  for (int angle = 0; angle <= kDegrees; angle += kSimilarityStep) {
    cameras.push_back({{camera::rotation_from_angles(camera::radians(angle), 0), {}}, {}});
  }
  constexpr std::array<int64_t, 1> kStart = {0};
  const double scale = model::TransformerConfig().kda_translation_scale;
  camera::FrameGeometry geometry = camera::frame_geometry(cameras, kStart, grid, scale);
  // Only the token in the centre of the image.
  const int64_t centre = grid.rows / 2 * grid.columns + grid.columns / 2;
  for (at::Tensor* table : {&geometry.absolute, &geometry.to_ray, &geometry.from_ray,
                            &geometry.project, &geometry.unproject}) {
    *table = table->narrow(1, centre, 1);
  }
  geometry.grid = {1, 1};
  const StateEncoding paper{"chunk_kda", "", {}};
  const auto ray = [](double bandwidth) {
    return StateEncoding{"ray", "", ray_mapping(bandwidths(bandwidth, 0.4), 1)};
  };
  PlotPanel panel{"similarity of query and key", "angle between the rays, degrees", {}, true};
  panel.series = {
      similarity("tiles of the projection (12:28)", paper, geometry, 12, 28),
      similarity("patch rotary (44:128), same patch", paper, geometry, 44, 128),
      similarity("ray rotary (44:128), bandwidth 3", ray(3), geometry, 44, 128),
      similarity("ray rotary (44:128), bandwidth 6", ray(6), geometry, 44, 128),
  };
  return panel;
}

}  // namespace loci::eval
