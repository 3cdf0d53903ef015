// SPDX-License-Identifier: Apache-2.0
// Token maps as named tensors, for files that other implementations read.
#pragma once

#include "loci/io/tensors/safetensors.h"
#include "loci/model/transformer/token_maps.h"

namespace loci::model {

// For every map M: "map.M.layout" (first channel and number of tiles, then first channel, pairs and
// adjacency of each rotation) and, if the map has them, "map.M.matrices", "map.M.cosine" and
// "map.M.sine". Also "in.absolute", FP32. The recurrent maps must be shared by all blocks and
// heads.
io::NamedTensors map_tensors(const TokenMaps& maps);

}  // namespace loci::model
