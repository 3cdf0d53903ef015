// SPDX-License-Identifier: Apache-2.0
// The loops behind rms_norm() and rms_norm_heads(), one set per instruction set.
#pragma once

#include <cstdint>

#include "loci/kernels/elementwise/head_map_kernel.h"

namespace loci::kernels::rms_norm_kernels {

// Rows [begin, end) of contiguous arrays [rows, width]. T is float or the bits of bfloat16. A row
// is a token of map.heads heads, of which the map is applied to every one.
template <typename T>
struct Forward {
  const T* x;
  const float* weight;  // [width]
  T* norm;              // null: not wanted
  T* turned;            // the map of it; null: not wanted
  head_map_kernels::TokenMap map;
  float eps;
  int64_t begin, end, width;
  float* scratch;  // 2 * width + 4 * map.pairs
};

template <typename T>
struct Backward {
  const T* x;
  const float* weight;
  const T* grad_norm;    // null: zero
  const T* grad_turned;  // null: zero
  T* grad_x;
  float* sums;                     // [width], written: the gradient of weight
  head_map_kernels::TokenMap map;  // transposed
  float eps;
  int64_t begin, end, width;
  float* scratch;
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

}  // namespace loci::kernels::rms_norm_kernels
