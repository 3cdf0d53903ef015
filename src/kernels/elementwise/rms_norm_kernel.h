// SPDX-License-Identifier: Apache-2.0
// The interface of the RMS norm loops, see machine/kernel_table.h.
#pragma once

#include <cstdint>

#include "loci/kernels/elementwise/head_map_kernel.h"

namespace loci::kernels::rms_norm_kernels {

// Rows [begin, end) of contiguous arrays [rows, width]. T is float or the bits of BF16. A row is a
// token of map.heads heads; the map applies to each head.
template <typename T>
struct Forward {
  const T* x;
  const float* weight;  // [width]
  T* norm;              // null: not computed
  T* mapped;            // the mapped norm; null: not computed
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
  const T* grad_mapped;  // null: zero
  T* grad_x;
  float* sums;                     // [width], output: the gradient of weight
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

}  // namespace loci::kernels::rms_norm_kernels
