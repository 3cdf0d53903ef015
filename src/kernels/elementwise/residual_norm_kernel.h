// SPDX-License-Identifier: Apache-2.0
// The loops behind residual_norm(), one pair per instruction set.
#pragma once

#include <cstdint>

namespace loci::kernels::residual_norm_kernels {

// Rows [begin, end), all of one group. T is float or the bits of bfloat16.
template <typename T>
struct Forward {
  const float* x;              // [rows, width]
  const T* y;                  // null: sum = x, and is not written
  const float* gate;           // null: 1
  float* sum;                  // x + gate * y
  T* norm;                     // null: not wanted
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
  float* grad_x;          // null: not wanted
  T* grad_y;              // null: not wanted
  float* sums;            // [3, width], written: gradients of gate, scale and shift
  int64_t begin, end, width;
};

struct Kernels {
  void (*forward)(const Forward<float>&);
  void (*forward_bf16)(const Forward<uint16_t>&);
  void (*backward)(const Backward<float>&);
  void (*backward_bf16)(const Backward<uint16_t>&);
};

Kernels plain();
Kernels avx2();
Kernels avx512();

}  // namespace loci::kernels::residual_norm_kernels
