// SPDX-License-Identifier: Apache-2.0
// The loops behind norm_silu(), one set per instruction set. `pixels` rows of `channels` numbers.
#pragma once

#include <cstdint>

namespace loci::kernels::norm_silu_kernels {

struct Kernels {
  // May work in place.
  void (*forward)(const float* x, const float* gamma, float* y, int64_t pixels, int64_t channels);
  // The same for bfloat16, given as its bits.
  void (*forward_bf16)(const uint16_t* x, const float* gamma, uint16_t* y, int64_t pixels,
                       int64_t channels);
  // Adds to grad_gamma.
  void (*backward)(const float* x, const float* gamma, const float* grad_y, float* grad_x,
                   float* grad_gamma, int64_t pixels, int64_t channels);
};

Kernels plain();
Kernels avx2();
Kernels avx512();

}  // namespace loci::kernels::norm_silu_kernels
