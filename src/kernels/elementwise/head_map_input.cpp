// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/elementwise/head_map_input.h"

#include <map>

#include <ATen/ATen.h>
#include <torch/custom_class.h>

#include "loci/base/error.h"

namespace loci::kernels {

namespace {

struct HeldMap : torch::CustomClassHolder {
  HeadMap map;
};

constexpr const char* kMapKey = "map";

}  // namespace

void check_map(const HeadMap& map, int64_t channels) {
  LOCI_CHECK((map.tile_stride == 1 || map.tile_stride == 2) && map.tile_matrices >= 1 &&
                 map.tiles % map.tile_stride == 0,
             "{} tiles of stride {} with {} matrices per token", map.tiles, map.tile_stride,
             map.tile_matrices);
  if (map.order != MapOrder::kDisjoint) {
    HeadMap tiles = map, rotations = map;
    tiles.order = rotations.order = MapOrder::kDisjoint;
    tiles.rotations.clear();
    rotations.tiles = 0;
    check_map(tiles, channels);
    check_map(rotations, channels);
    return;
  }
  std::map<int64_t, int64_t> parts;  // begin, size, in order of channels
  if (map.tiles > 0) parts[map.tiles_begin] = 4 * map.tiles;
  for (const HeadMap::Rotation& rotation : map.rotations) {
    LOCI_CHECK(parts.emplace(rotation.begin, 2 * rotation.pairs).second,
               "parts of the map overlap at channel {}", rotation.begin);
  }
  int64_t free = 0;
  for (const auto& [begin, size] : parts) {
    LOCI_CHECK(begin >= free, "parts of the map overlap at channel {}", begin);
    free = begin + size;
  }
  LOCI_CHECK(free <= channels, "the map needs {} channels, but a head has {}", free, channels);
}

HeadMap prepared_map(HeadMap map) {
  if (map.tiles > 0) map.matrices = map.matrices.to(at::kFloat).contiguous();
  if (!map.rotations.empty()) {
    map.cosine = map.cosine.to(at::kFloat).contiguous();
    map.sine = map.sine.to(at::kFloat).contiguous();
  }
  return map;
}

head_map_kernels::TokenMap token_map(const HeadMap& map, int64_t batch, int64_t tokens,
                                     int64_t heads, int64_t channels, bool transposed) {
  head_map_kernels::TokenMap input{};
  input.heads = heads;
  input.channels = channels;
  input.tiles_begin = map.tiles_begin;
  input.tiles = map.tiles;
  input.tile_stride = map.tile_stride;
  input.tile_matrices = map.tile_matrices;
  input.order = map.order;
  if (transposed && map.order != MapOrder::kDisjoint) {
    input.order =
        map.order == MapOrder::kTilesFirst ? MapOrder::kRotationsFirst : MapOrder::kTilesFirst;
  }
  input.rotations = map.rotations.data();
  input.rotation_count = std::ssize(map.rotations);
  input.transposed = transposed;
  input.period = batch * tokens;
  if (map.tiles > 0) {
    input.matrices = map.matrices.const_data_ptr<float>();
    input.period = map.matrices.numel() / (16 * map.tile_matrices);
  }
  if (!map.rotations.empty()) {
    input.cosine = map.cosine.const_data_ptr<float>();
    input.sine = map.sine.const_data_ptr<float>();
    input.pairs = map.cosine.size(-1);
    input.per_head = map.per_head;
    int64_t pairs = 0;
    for (const HeadMap::Rotation& rotation : map.rotations) pairs += rotation.pairs;
    LOCI_CHECK(pairs > 0 && pairs == input.pairs && map.sine.sizes() == map.cosine.sizes(),
               "expected cosine and sine of the same shape; they have {} columns for {} pairs",
               input.pairs, pairs);
    LOCI_CHECK(!map.per_head || (map.cosine.dim() >= 3 && map.cosine.size(-2) == heads),
               "the map has rotations for {} heads, the input has {}",
               map.cosine.dim() >= 3 ? map.cosine.size(-2) : 0, heads);
    const int64_t rows = map.cosine.numel() / input.pairs / (map.per_head ? heads : 1);
    LOCI_CHECK(map.tiles == 0 || rows == input.period,
               "the map has rotations for {} tokens but matrices for {}", rows, input.period);
    input.period = rows;
  }
  LOCI_CHECK(input.period == tokens || input.period == batch * tokens,
             "the map has {} tokens, the input has {}", input.period, tokens);
  return input;
}

void hold_map(torch::autograd::AutogradContext& context, const HeadMap& map) {
  auto held = c10::make_intrusive<HeldMap>();
  held->map = map;
  context.saved_data[kMapKey] = c10::IValue::make_capsule(held);
}

const HeadMap& held_map(torch::autograd::AutogradContext& context) {
  return static_cast<const HeldMap&>(*context.saved_data[kMapKey].toCapsule()).map;
}

}  // namespace loci::kernels
