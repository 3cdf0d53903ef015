// SPDX-License-Identifier: Apache-2.0
// Smoothing of the mean colour over the frames of a clip, which Astronex-World applies to its
// output.
#pragma once

#include <ATen/core/Tensor.h>

namespace loci::sample {

// Frames on each side of a frame that its correction depends on.
inline constexpr int64_t kSmoothingReach = 4;

// means [F, 3], the mean colour of every frame in [0, 1] → the colour to add to all pixels of the
// frame, [F, 3]. The means are filtered with a triangle over 9 frames, reflected at both ends. Zero
// for clips of at most 8 frames.
at::Tensor colour_correction(const at::Tensor& means);

}  // namespace loci::sample
