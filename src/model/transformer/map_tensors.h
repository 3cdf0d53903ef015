// SPDX-License-Identifier: Apache-2.0
// Token maps as named tensors, for a file that another implementation reads.
#pragma once

#include "loci/io/tensors/safetensors.h"
#include "loci/model/transformer/token_maps.h"

namespace loci::model {

// Of every map M: "map.M.layout" (first channel and number of tiles, then first channel, pairs and
// adjacency of each rotation), "map.M.matrices", "map.M.cosine" and "map.M.sine" where it has them;
// and "in.absolute", FP32.
io::NamedTensors map_tensors(const TokenMaps& maps);

}  // namespace loci::model
