// SPDX-License-Identifier: Apache-2.0
// The interface of the loops of conv_3x3()'s weight gradient, see machine/kernel_table.h.
#pragma once

#include <cstdint>

namespace loci::kernels::conv_weight_gradient_kernels {

// Pictures [pictures, height, width, channels], dense.
struct Work {
  const float* x;       // with `in` channels
  const float* grad_y;  // with `out` channels
  float* grad_weight;   // [out, 3, 3, in]; the gradient is added
  int64_t pictures, height, width, in, out;
  int64_t first_out, last_out;  // the range of output channels that is computed
};

struct Kernels {
  void (*run)(const Work& work);
};

}  // namespace loci::kernels::conv_weight_gradient_kernels
