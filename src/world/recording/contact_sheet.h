// SPDX-License-Identifier: Apache-2.0
// Contact sheets: many pictures in one.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace loci::world {

// Pictures of one size, uint8 [height, width, 3], row by row: uint8 [rows * height,
// columns * width, 3]. Empty places of the last row are black.
at::Tensor tile_pictures(const std::vector<at::Tensor>& pictures, int columns);

}  // namespace loci::world
