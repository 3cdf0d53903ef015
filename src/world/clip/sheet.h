// SPDX-License-Identifier: Apache-2.0
// Contact sheets: many views beside each other in one picture.
#pragma once

#include <ATen/core/Tensor.h>

#include "loci/world/clip/clip.h"

namespace loci::world {

// uint8 [rows * height, columns * width, 3]; missing pictures stay black. All of one size.
at::Tensor tile_pictures(const std::vector<at::Tensor>& pictures, int columns);

// One view each of `count` worlds, from their viewpoints.
at::Tensor world_sheet(uint64_t seed, int64_t count, int columns, const ClipOptions& options);

// A row per clip: `columns` frames evenly over its time.
at::Tensor clip_sheet(uint64_t seed, int64_t count, int columns, const ClipOptions& options);

}  // namespace loci::world
