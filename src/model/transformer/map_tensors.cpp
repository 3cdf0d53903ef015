// SPDX-License-Identifier: Apache-2.0
#include "loci/model/transformer/map_tensors.h"

#include <ATen/ATen.h>

#include "loci/base/error.h"

namespace loci::model {

namespace {

void add_map(io::NamedTensors& tensors, const std::string& name, const kernels::HeadMap& map) {
  at::Tensor layout = at::tensor({map.tiles_begin, map.tiles}, at::kLong);
  for (const kernels::HeadMap::Rotation& rotation : map.rotations) {
    layout = at::cat({layout, at::tensor({rotation.begin, rotation.pairs,
                                          static_cast<int64_t>(rotation.adjacent)},
                                         at::kLong)});
  }
  tensors.emplace_back("map." + name + ".layout", layout);
  if (map.tiles > 0) tensors.emplace_back("map." + name + ".matrices", map.matrices.contiguous());
  if (map.rotations.empty()) return;
  tensors.emplace_back("map." + name + ".cosine", map.cosine.contiguous());
  tensors.emplace_back("map." + name + ".sine", map.sine.contiguous());
}

}  // namespace

io::NamedTensors map_tensors(const TokenMaps& maps) {
  io::NamedTensors tensors = {{"in.absolute", maps.absolute.to(at::kFloat).contiguous()}};
  add_map(tensors, "rotary", maps.rotary);
  LOCI_CHECK(maps.recurrent.size() == 1 && !maps.recurrent.front().query.per_head,
             "the maps differ between blocks or heads; only shared maps can be written");
  const RecurrentMaps& recurrent = maps.recurrent.front();
  add_map(tensors, "recurrent_query", recurrent.query);
  add_map(tensors, "recurrent_key", recurrent.key);
  add_map(tensors, "recurrent_value", recurrent.value);
  add_map(tensors, "recurrent_output", recurrent.output);
  add_map(tensors, "camera_query", maps.camera_query);
  add_map(tensors, "camera_key", maps.camera_key);
  add_map(tensors, "camera_output", maps.camera_output);
  return tensors;
}

}  // namespace loci::model
