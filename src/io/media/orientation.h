// SPDX-License-Identifier: Apache-2.0
// Which way is up: the orientation that cameras note beside the pixels, and its use.
#pragma once

#include <cstddef>
#include <span>

#include <ATen/core/Tensor.h>

namespace loci::io {

// As EXIF counts them: 1 upright, 2 mirrored, 3 upside down, 4 = 2 and 3, 5 transposed, 6 to be
// turned clockwise by 90 degrees, 7 transposed upside down, 8 to be turned counter-clockwise.
using Orientation = int;

// The orientation noted in a JPEG file; 1 when there is none or it makes no sense.
Orientation exif_orientation(std::span<const std::byte> jpeg);

// The upright image of one stored with this orientation; contiguous.
at::Tensor turn_upright(const at::Tensor& image, Orientation orientation);

inline bool swaps_sides(Orientation orientation) { return orientation >= 5; }

}  // namespace loci::io
