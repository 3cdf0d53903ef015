// SPDX-License-Identifier: Apache-2.0
// The interface of the norm_silu() loops, see machine/kernel_table.h. Arrays are `pixels` rows of
// `channels` numbers.
#pragma once

#include <cstdint>

namespace loci::kernels::norm_silu_kernels {

struct Kernels {
  // x and y may be the same.
  void (*forward)(const float* x, const float* gamma, float* y, int64_t pixels, int64_t channels);
  // BF16 numbers are passed as their bits.
  void (*forward_bf16)(const uint16_t* x, const float* gamma, uint16_t* y, int64_t pixels,
                       int64_t channels);
  // Adds the gradient of gamma to grad_gamma.
  void (*backward)(const float* x, const float* gamma, const float* grad_y, float* grad_x,
                   float* grad_gamma, int64_t pixels, int64_t channels);
};

}  // namespace loci::kernels::norm_silu_kernels
