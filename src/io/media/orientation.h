// SPDX-License-Identifier: Apache-2.0
// EXIF orientation of images.
#pragma once

#include <cstddef>
#include <span>

#include <ATen/core/Tensor.h>

namespace loci::io {

// EXIF values: 1 upright, 2 mirrored left-right, 3 rotated by 180 degrees, 4 mirrored top-bottom,
// 5 transposed, 6 needs a clockwise rotation by 90 degrees, 7 transversed, 8 a counter-clockwise
// one.
using Orientation = int;

// The orientation stored in a JPEG file; 1 if there is none or it is invalid.
Orientation exif_orientation(std::span<const std::byte> jpeg);

// Applies the orientation to a stored image. The result is contiguous.
at::Tensor turn_upright(const at::Tensor& image, Orientation orientation);

inline bool swaps_sides(Orientation orientation) { return orientation >= 5; }

}  // namespace loci::io
