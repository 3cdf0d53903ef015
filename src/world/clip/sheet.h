// SPDX-License-Identifier: Apache-2.0
// Contact sheets of procedural scenes and clips.
#pragma once

#include <ATen/core/Tensor.h>

#include "loci/world/clip/clip_maker.h"

namespace loci::world {

// The first frame of one clip of each of `count` scenes: uint8 [rows * height, columns * width, 3].
at::Tensor scene_sheet(uint64_t seed, int64_t count, int columns, const ClipOptions& options);

// One row per clip: `columns` frames at equal intervals.
at::Tensor clip_sheet(uint64_t seed, int64_t count, int columns, const ClipOptions& options);

}  // namespace loci::world
