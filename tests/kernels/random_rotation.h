// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include "loci/kernels/elementwise/head_map.h"

namespace loci::testing {

// A rotation by random angles: adjacent pairs of channels 2 to 11, and halves of channels 16 to 23.
inline kernels::HeadMap random_rotation(int64_t tokens) {
  kernels::HeadMap rotation;
  rotation.rotations = {{.begin = 2, .pairs = 5, .adjacent = true},
                        {.begin = 16, .pairs = 4, .adjacent = false}};
  const at::Tensor angle = at::randn({tokens, 9});
  rotation.cosine = angle.cos();
  rotation.sine = angle.sin();
  return rotation;
}

}  // namespace loci::testing
