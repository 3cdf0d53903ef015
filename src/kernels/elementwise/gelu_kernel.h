// SPDX-License-Identifier: Apache-2.0
// The interface of the GELU loops, see machine/kernel_table.h. BF16 numbers are passed as their
// bits.
#pragma once

#include <cstdint>

namespace loci::kernels::gelu_kernels {

struct Kernels {
  void (*forward)(const float* x, float* y, int64_t count);
  void (*forward_bf16)(const uint16_t* x, uint16_t* y, int64_t count);
  void (*backward)(const float* x, const float* grad_y, float* grad_x, int64_t count);
  void (*backward_bf16)(const uint16_t* x, const uint16_t* grad_y, uint16_t* grad_x, int64_t count);
};

}  // namespace loci::kernels::gelu_kernels
