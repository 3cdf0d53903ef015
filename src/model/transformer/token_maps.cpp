// SPDX-License-Identifier: Apache-2.0
#include "loci/model/transformer/token_maps.h"

#include <ATen/ATen.h>

#include "loci/base/error.h"

namespace loci::model {

namespace {

using kernels::HeadMap;

// Channels of the recurrent branch that the camera maps: four 4x4 tiles, then four pairs each for x
// and y.
constexpr int64_t kSlotTiles = 12;
constexpr int64_t kSlotX = 28;
constexpr int64_t kSlotY = 36;
constexpr int64_t kSlotEnd = 44;
constexpr int64_t kSlotPairs = 4;
// Channels of the camera branch: tiles in the first half of the head, a quarter each for x and y.
constexpr int64_t kCameraTiles = 16;
constexpr int64_t kCameraX = 64;
constexpr int64_t kCameraY = 96;
constexpr int64_t kCameraPairs = 16;

constexpr double kRotaryBase = 10000;
constexpr double kPatchBase = 100;

// positions [n] x frequencies base^(-i/count) → angles [n, count], FP64
at::Tensor angles(const at::Tensor& positions, int64_t count, double base) {
  const at::Tensor exponent = at::arange(count, at::kDouble) / static_cast<double>(-count);
  return positions.unsqueeze(-1) * at::pow(base, exponent);
}

void set_rotation(HeadMap& map, std::vector<HeadMap::Rotation> rotations, const at::Tensor& angle) {
  map.rotations = std::move(rotations);
  map.cosine = angle.cos().to(at::kFloat);
  map.sine = angle.sin().to(at::kFloat);
}

void set_tiles(HeadMap& map, int64_t begin, int64_t count, const at::Tensor& matrices) {
  map.tiles_begin = begin;
  map.tiles = count;
  map.matrices = matrices.contiguous();
}

constexpr HeadMap::Rotation kRotateX{kSlotX, kSlotPairs, /*adjacent=*/false};
constexpr HeadMap::Rotation kRotateY{kSlotY, kSlotPairs, /*adjacent=*/false};

// Tiles of the projection `project` and its inverse.
void set_projection(RecurrentMaps& maps, const at::Tensor& project, const at::Tensor& unproject) {
  set_tiles(maps.query, kSlotTiles, kSlotPairs, project.transpose(-1, -2));
  set_tiles(maps.key, kSlotTiles, kSlotPairs, unproject);
  set_tiles(maps.value, kSlotTiles, kSlotPairs, unproject);
  set_tiles(maps.output, kSlotTiles, kSlotPairs, project);
}

// Rotations by the patch position only. `slot` are the angles of the patch rotations, `spatial`
// those of the backbone.
RecurrentMaps patch_maps(const at::Tensor& slot, const at::Tensor& spatial) {
  RecurrentMaps maps;
  const HeadMap::Rotation rotary{kSlotEnd, kRowPairs + kColumnPairs, /*adjacent=*/true};
  for (HeadMap* map : {&maps.query, &maps.key}) {
    set_rotation(*map, {kRotateX, kRotateY, rotary}, at::cat({slot, spatial}, -1));
  }
  set_rotation(maps.value, {kRotateX, kRotateY}, slot);
  set_rotation(maps.output, {kRotateX, kRotateY}, -slot);
  return maps;
}

// Rotations by `phases` [..., N, H, P] of the rays in the last channels. If these are not all
// channels, the patch rotations remain.
RecurrentMaps ray_maps(const RayEncoding& encoding, const at::Tensor& slot,
                       const at::Tensor& phases) {
  RecurrentMaps maps;
  const bool patches = encoding.channels <= kHeadChannels - kSlotEnd;
  std::vector<HeadMap::Rotation> rotations;
  at::Tensor angles = phases;
  if (patches) {
    rotations = {kRotateX, kRotateY};
    std::vector<int64_t> shape = phases.sizes().vec();
    shape.back() = slot.size(-1);
    angles = at::cat({slot.unsqueeze(-2).expand(shape), phases}, -1);
  }
  rotations.push_back({kHeadChannels - encoding.channels, encoding.pairs(), /*adjacent=*/true});
  set_rotation(maps.query, rotations, angles);
  maps.query.per_head = true;
  maps.key = maps.query;
  if (encoding.values) {
    maps.value = maps.query;
    maps.output = maps.query.transposed();
  } else if (patches) {
    set_rotation(maps.value, {kRotateX, kRotateY}, slot);
    set_rotation(maps.output, {kRotateX, kRotateY}, -slot);
  }
  return maps;
}

// Row and column of every token of `frames` frames.
struct TokenPlaces {
  at::Tensor row, column;

  TokenPlaces(int64_t frames, const camera::TokenGrid& grid) {
    const at::Tensor index = at::arange(grid.tokens(), at::kDouble);
    const auto columns = static_cast<double>(grid.columns);
    row = at::floor(index / columns).repeat({frames});
    column = at::remainder(index, columns).repeat({frames});
  }
  // Angles of the backbone's spatial rotations.
  at::Tensor spatial() const {
    return at::cat({angles(row, kRowPairs, kRotaryBase), angles(column, kColumnPairs, kRotaryBase)},
                   -1);
  }
};

}  // namespace

HeadMap rotary_map(std::span<const double> times, const camera::TokenGrid& grid) {
  const at::Tensor time = at::tensor(at::ArrayRef<double>(times.data(), times.size()), at::kDouble)
                              .repeat_interleave(grid.tokens());
  HeadMap map;
  set_rotation(map, {{0, kTimePairs + kRowPairs + kColumnPairs, /*adjacent=*/true}},
               at::cat({angles(time, kTimePairs, kRotaryBase),
                        TokenPlaces(std::ssize(times), grid).spatial()},
                       -1));
  return map;
}

HeadMap projection_map(const at::Tensor& matrices, int64_t tokens_per_frame, int64_t tile_stride) {
  HeadMap map;
  map.tile_stride = tile_stride;
  map.tile_matrices = matrices.size(-2) / 4;
  set_tiles(map, 0, kHeadChannels / 4, matrices.repeat_interleave(tokens_per_frame, 0));
  return map;
}

HeadMap rotary_projection_map(std::span<const double> times, const camera::TokenGrid& grid,
                              const at::Tensor& matrices, int64_t tile_stride) {
  HeadMap map = projection_map(matrices, grid.tokens(), tile_stride);
  HeadMap rotary = rotary_map(times, grid);
  map.order = kernels::MapOrder::kRotationsFirst;
  map.rotations = std::move(rotary.rotations);
  map.cosine = rotary.cosine;
  map.sine = rotary.sine;
  return map;
}

HeadMap selected(const HeadMap& map, const at::Tensor& index) {
  LOCI_CHECK(!map.per_head && (map.tiles == 0 || map.matrices.dim() == 3) &&
                 (map.rotations.empty() || map.cosine.dim() == 2),
             "tokens can only be selected from tables that all samples and heads share");
  HeadMap part = map;
  if (map.tiles > 0) part.matrices = map.matrices.index_select(0, index);
  if (!map.rotations.empty()) {
    part.cosine = map.cosine.index_select(0, index);
    part.sine = map.sine.index_select(0, index);
  }
  return part;
}

HeadMap joined(std::span<const HeadMap> maps) {
  LOCI_CHECK(!maps.empty(), "no maps to join");
  HeadMap whole = maps.front();
  std::vector<at::Tensor> matrices, cosine, sine;
  for (const HeadMap& map : maps) {
    LOCI_CHECK(map.tiles == whole.tiles && map.rotations.size() == whole.rotations.size() &&
                   map.order == whole.order && map.tile_matrices == whole.tile_matrices,
               "maps of different parts cannot be joined");
    matrices.push_back(map.matrices);
    cosine.push_back(map.cosine);
    sine.push_back(map.sine);
  }
  if (whole.tiles > 0) whole.matrices = at::cat(matrices);
  if (!whole.rotations.empty()) {
    whole.cosine = at::cat(cosine);
    whole.sine = at::cat(sine);
  }
  return whole;
}

TokenMaps make_token_maps(std::span<const camera::FrameGeometry> geometries,
                          std::span<const double> times, const RecurrentMapping& mapping) {
  LOCI_CHECK(!geometries.empty(), "no geometry");
  TokenMaps maps;
  maps.frames = geometries.front().frames();
  maps.grid = geometries.front().grid;
  LOCI_CHECK(static_cast<int64_t>(times.size()) == maps.frames, "{} times for {} frames",
             times.size(), maps.frames);

  // [N, …] for one sample, [B, N, …] for several.
  const auto tokens_of = [&](at::Tensor camera::FrameGeometry::*field) {
    std::vector<at::Tensor> samples;
    for (const camera::FrameGeometry& geometry : geometries) {
      samples.push_back((geometry.*field).flatten(0, 1));
    }
    return samples.size() == 1 ? samples.front() : at::stack(samples);
  };
  maps.absolute = tokens_of(&camera::FrameGeometry::absolute);

  const TokenPlaces places(maps.frames, maps.grid);
  const at::Tensor &row = places.row, &column = places.column;
  const at::Tensor spatial = places.spatial();
  maps.rotary = rotary_map(times, maps.grid);

  // Patch rotations have the opposite sign: (c a + s b, -s a + c b).
  const at::Tensor slot =
      -at::cat({angles(column, kSlotPairs, kPatchBase), angles(row, kSlotPairs, kPatchBase)}, -1);
  if (mapping.encoding == memory::KeyEncoding::kRay) {
    std::vector<at::Tensor> samples;
    for (const camera::FrameGeometry& geometry : geometries) {
      samples.push_back(token_rays(geometry));
    }
    const at::Tensor rays = samples.size() == 1 ? samples.front() : at::stack(samples);
    for (int64_t block = 0; block < mapping.blocks; ++block) {
      maps.recurrent.push_back(ray_maps(
          mapping.ray, slot, ray_phases(rays, ray_frequencies(mapping.ray, block, mapping.heads))));
    }
  } else {
    maps.recurrent.push_back(patch_maps(slot, spatial));
  }
  const bool tiles = mapping.encoding == memory::KeyEncoding::kProjective ||
                     (mapping.encoding == memory::KeyEncoding::kRay && mapping.ray.tiles);
  if (tiles) {
    const at::Tensor project = tokens_of(&camera::FrameGeometry::project);
    const at::Tensor unproject = tokens_of(&camera::FrameGeometry::unproject);
    for (RecurrentMaps& recurrent : maps.recurrent) set_projection(recurrent, project, unproject);
  }

  const at::Tensor patch = -at::cat(
      {angles(column, kCameraPairs, kPatchBase), angles(row, kCameraPairs, kPatchBase)}, -1);
  const std::vector<HeadMap::Rotation> camera = {{kCameraX, kCameraPairs, false},
                                                 {kCameraY, kCameraPairs, false}};
  const at::Tensor to_ray = tokens_of(&camera::FrameGeometry::to_ray);
  set_rotation(maps.camera_query, camera, patch);
  set_rotation(maps.camera_key, camera, patch);
  set_rotation(maps.camera_output, camera, -patch);
  set_tiles(maps.camera_query, 0, kCameraTiles, to_ray.transpose(-1, -2));
  set_tiles(maps.camera_key, 0, kCameraTiles, tokens_of(&camera::FrameGeometry::from_ray));
  set_tiles(maps.camera_output, 0, kCameraTiles, to_ray);
  return maps;
}

TokenMaps TokenMaps::to(at::Device device) const {
  TokenMaps maps = *this;
  for (HeadMap TokenMaps::*map : {&TokenMaps::rotary, &TokenMaps::camera_query,
                                  &TokenMaps::camera_key, &TokenMaps::camera_output}) {
    maps.*map = (this->*map).to(device);
  }
  for (RecurrentMaps& block : maps.recurrent) {
    for (HeadMap* map : {&block.query, &block.key, &block.value, &block.output}) {
      *map = map->to(device);
    }
  }
  if (maps.projected) {
    ProjectedMaps& p = *maps.projected;
    for (HeadMap* map : {&p.query, &p.key, &p.value, &p.output}) *map = map->to(device);
  }
  if (absolute.defined()) maps.absolute = absolute.to(device);
  return maps;
}

const RecurrentMaps& TokenMaps::recurrent_of(int64_t block) const {
  const auto index = recurrent.size() == 1 ? 0 : static_cast<size_t>(block);
  LOCI_CHECK(index < recurrent.size(), "no maps for hybrid block {} of {}", block,
             recurrent.size());
  return recurrent[index];
}

at::Tensor token_rays(const camera::FrameGeometry& geometry) {
  // The last two columns of E⁻¹.
  const at::Tensor columns = geometry.from_ray.flatten(0, 1).narrow(-2, 0, 3);
  return at::cat({columns.select(-1, 2), columns.select(-1, 3)}, -1);
}

HeadMap time_shift(std::span<const double> shifts, int64_t tokens_per_frame) {
  HeadMap map;
  const at::Tensor shift =
      at::tensor(at::ArrayRef<double>(shifts.data(), shifts.size()), at::kDouble);
  set_rotation(map, {{0, kTimePairs, /*adjacent=*/true}},
               angles(shift, kTimePairs, kRotaryBase).repeat_interleave(tokens_per_frame, 0));
  return map;
}

}  // namespace loci::model
