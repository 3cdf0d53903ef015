// SPDX-License-Identifier: Apache-2.0
// The interface of the residual_norm.h loops, see machine/kernel_table.h.
#pragma once

#include <cstdint>

namespace loci::kernels::residual_norm_kernels {

// Rows [begin, end) of one group (frame). T is float or the bits of BF16.
template <typename T>
struct Forward {
  const float* x;              // [rows, width]
  const T* y;                  // null: sum = x, which is not written
  const float* gate;           // null: 1
  float* sum;                  // x + gate * y
  T* norm;                     // null: not computed
  const float *scale, *shift;  // norm = (base + scale) * LN(sum) + shift
  float base, eps;
  int64_t begin, end, width;
};

template <typename T>
struct Backward {
  const float* sum;
  const T* y;  // null without a residual
  const float* gate;
  const float* scale;
  float base, eps;
  const float* grad_sum;  // null: zero
  const T* grad_norm;     // null: zero
  float* grad_x;          // null: not computed
  T* grad_y;              // null: not computed
  float* sums;            // [3, width], output: gradients of gate, scale and shift
  int64_t begin, end, width;
};

struct Kernels {
  void (*forward)(const Forward<float>&);
  void (*forward_bf16)(const Forward<uint16_t>&);
  void (*backward)(const Backward<float>&);
  void (*backward_bf16)(const Backward<uint16_t>&);
};

}  // namespace loci::kernels::residual_norm_kernels
