// SPDX-License-Identifier: Apache-2.0
// The loops behind gelu(), one set per instruction set. T is float or the bits of bfloat16.
#pragma once

#include <cstdint>

namespace loci::kernels::gelu_kernels {

struct Kernels {
  void (*forward)(const float* x, float* y, int64_t count);
  void (*forward_bf16)(const uint16_t* x, uint16_t* y, int64_t count);
  void (*backward)(const float* x, const float* grad_y, float* grad_x, int64_t count);
  void (*backward_bf16)(const uint16_t* x, const uint16_t* grad_y, uint16_t* grad_x, int64_t count);
};

Kernels plain();
Kernels avx2();
Kernels avx512();

}  // namespace loci::kernels::gelu_kernels
